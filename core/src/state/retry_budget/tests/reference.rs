//! The bucket, mostly under the reference law.

use core::time::Duration;
use std::thread;

use proptest::prelude::*;

use super::*;

// core-06.1
#[test]
fn a_cold_start_holds_the_burst() {
    let budget = Alone::new(Budget::REFERENCE);
    assert_eq!(budget.utilization(at(0)), Ratio::ZERO);
    assert_eq!((0..31).filter(|_| spend(&budget, at(0))).count(), 30);
    assert_eq!(budget.utilization(at(0)), Ratio::ONE);
}

// core-06.2
#[test]
fn less_than_a_whole_token_refuses() {
    let budget = emptied(Budget::REFERENCE);
    assert!(!spend(&budget, at(333)));
    assert!(spend(&budget, at(334)));
}

// core-06.3
#[test]
fn the_hint_counts_down() {
    let budget = emptied(Budget::REFERENCE);
    let hint = |ms| budget.retry_after(at(ms)).unwrap_or_default().as_nanos();
    assert_eq!(hint(0), 333_333_336);
    assert_eq!(hint(100), 233_333_336);
}

// core-06.4
#[test]
fn ten_deposits_fund_one_retry() {
    let budget = emptied(Budget::REFERENCE);
    for _ in 0..9 {
        budget.deposit(at(0));
    }
    assert!(!spend(&budget, at(0)));
    budget.deposit(at(0));
    assert!(spend(&budget, at(0)));
    assert!(!spend(&budget, at(0)));
}

// core-06.5
#[test]
fn deposits_stop_at_the_burst() {
    let budget = Alone::new(Budget::REFERENCE);
    for _ in 0..100 {
        budget.deposit(at(0));
    }
    assert_eq!((0..100).filter(|_| spend(&budget, at(0))).count(), 30);
}

// core-06.6
#[test]
fn the_burst_is_ten_seconds_of_floor() {
    let budget = Alone::new(Budget::new(Ratio::percent(20), 10));
    assert_eq!((0..200).filter(|_| spend(&budget, at(0))).count(), 100);
    assert_eq!(budget.law().burst(), 100);
}

// core-06.7, aws-sdk-go-v2#3550
#[test]
fn without_a_floor_successes_refill() {
    let budget = Alone::new(Budget::new(Ratio::percent(10), 0));
    assert!(spend(&budget, at(0)));
    assert!(!spend(&budget, Instant::MAX));
    assert_eq!(budget.retry_after(at(0)), None);
    for _ in 0..10 {
        budget.deposit(at(0));
    }
    assert!(spend(&budget, at(0)));
}

// core-06.10
#[test]
fn sheddable_work_leaves_a_half() {
    let budget = Alone::new(Budget::REFERENCE);
    assert_eq!(
        (0..30).filter(|_| spend_sheddable(&budget, at(0))).count(),
        15
    );
    assert_eq!(budget.utilization(at(0)), Ratio::percent(50));
    assert!(spend(&budget, at(0)));
}

// core-06.11
#[test]
fn a_bucket_of_one_sheds_the_sheddable() {
    let budget = Alone::new(Budget::new(Ratio::percent(10), 0));
    assert!(!spend_sheddable(&budget, at(0)));
    assert_eq!(budget.retry_after_sheddable(at(0)), None);
    let floored = Alone::new(Budget::new(Ratio::percent(10), 3).with_burst(1));
    assert_eq!(floored.retry_after_sheddable(at(0)), None);
}

#[test]
fn the_sheddable_hint_counts_the_reserve() {
    let budget = emptied(Budget::REFERENCE);
    let hint = budget.retry_after_sheddable(at(0)).unwrap_or_default();
    let due = at(0).saturating_add(hint);
    assert!(!spend_sheddable(
        &budget,
        due.saturating_sub(Duration::from_nanos(1))
    ));
    assert!(spend_sheddable(&budget, due));
    assert!(hint > Duration::from_secs(5));
}

// core-06.16
#[test]
fn a_step_back_changes_nothing() {
    let budget = Alone::new(Budget::REFERENCE);
    while spend(&budget, at(10_000)) {}
    assert!(!spend(&budget, at(5_000)));
    assert!(!spend(&budget, at(10_333)));
    assert!(spend(&budget, at(10_334)));
}

// core-06.16
#[test]
fn a_step_back_keeps_what_is_left() {
    let hour = 3_600_000;
    for (left, back) in [(15, 5_000), (29, 5_000), (15, hour), (29, hour)] {
        let budget = Alone::new(Budget::REFERENCE);
        let now = 2 * hour;
        assert_eq!(
            (left..30).filter(|_| spend(&budget, at(now))).count(),
            30 - left
        );
        let used = budget.utilization(at(now));
        for stepped in [now - back, now - back + 4_000, now] {
            assert_eq!(budget.utilization(at(stepped)), used, "{stepped}");
        }
        assert_eq!(
            (0..31).filter(|_| spend(&budget, at(now - back))).count(),
            left
        );
        // The refill starts where it stood.
        let hint = budget.retry_after(at(now - back)).unwrap_or_default();
        assert_eq!(hint.as_nanos(), u128::from(back) * 1_000_000 + 333_333_336);
        assert!(!spend(&budget, at(now + 333)));
        assert!(spend(&budget, at(now + 334)));
    }
}

#[test]
fn a_success_after_a_step_back_counts() {
    let budget = emptied(Budget::REFERENCE);
    assert!(!spend(&budget, at(300)));
    budget.deposit(at(100));
    assert!(spend(&budget, at(200)));
}

//
#[test]
fn eight_threads_spend_what_there_is() {
    static BUDGET: RetryBudget = RetryBudget::new(Budget::REFERENCE);
    let race = |now| -> usize {
        let take = move || {
            let funded = (0..1_000).filter_map(|_| BUDGET.take(now));
            funded.map(Token::spend).count()
        };
        thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(take));
            threads
                .map(|thread| thread.join().unwrap_or(0))
                .iter()
                .sum()
        })
    };
    assert_eq!(race(at(0)), 30);
    assert_eq!(race(at(1_000)), 3);
    assert_eq!(race(at(10_000)), 27);
}

// Demirbas
#[test]
fn an_empty_budget_answers_at_once() {
    let budget = emptied(Budget::REFERENCE);
    assert!(budget.take(at(0)).is_none());
    assert!(budget.retry_after(at(0)).is_some());
}

#[test]
fn no_budget_funds_everything() {
    let budget = Alone::new(Budget::NONE);
    assert!((0..1_000).all(|_| spend(&budget, at(0)) && spend_sheddable(&budget, at(0))));
    budget.deposit(at(0));
    assert_eq!(budget.utilization(at(0)), Ratio::ZERO);
    assert_eq!(budget.retry_after(at(0)), Some(Duration::ZERO));
}

#[test]
fn a_refusal_gives_nothing_back() {
    let budget = emptied(Budget::REFERENCE);
    assert!(budget.take(at(0)).is_none());
    assert_eq!(budget.utilization(at(0)), Ratio::ONE);
}

#[test]
fn a_reset_fills_the_bucket() {
    let budget = emptied(Budget::REFERENCE);
    budget.reset();
    assert_eq!(budget.utilization(at(0)), Ratio::ZERO);
}

#[test]
fn a_token_is_two_words() {
    assert_eq!(size_of::<Option<Token<'_>>>(), 2 * size_of::<usize>());
}

proptest! {
    #[test]
    fn a_dropped_token_leaves_no_trace(ms in proptest::collection::vec(0..2_000_u64, 0..100)) {
        let (kept, given) = (Alone::new(Budget::REFERENCE), Alone::new(Budget::REFERENCE));
        let mut now = 0;
        for step in ms {
            now += step;
            prop_assert_eq!(spend(&kept, at(now)), spend(&given, at(now)));
            drop(given.take(at(now)));
            prop_assert_eq!(kept.utilization(at(now)), given.utilization(at(now)));
        }
    }
}
