//! The law that is safe for a fleet.

use std::thread;

use proptest::prelude::*;

use super::*;

/// Succeeds `per_second` times a second, from one second up to another.
fn succeed(budget: &Alone, per_second: u64, seconds: core::ops::Range<u64>) {
    for call in seconds.start * per_second..seconds.end * per_second {
        budget.deposit(at(call * 1_000 / per_second));
    }
}

/// Asks for a retry in every second, and returns the seconds that got one.
fn funded(budget: &Alone, seconds: core::ops::Range<u64>) -> Vec<u64> {
    seconds
        .filter(|second| spend(budget, at(second * 1_000)))
        .collect()
}

fn tokens(budget: &Alone, now: u64) -> usize {
    (0..100).filter(|_| spend(budget, at(now * 1_000))).count()
}

#[test]
fn a_cold_process_has_a_call_of_three_attempts() {
    for now in [at(0), at(86_400_000), Instant::MAX] {
        let budget = Alone::new(Budget::FLEET);
        assert_eq!(budget.utilization(now), Ratio::ZERO);
        assert_eq!(budget.retry_after(now), Some(Duration::ZERO));
        assert!(spend(&budget, now));
        assert!(spend(&budget, now));
        assert!(!spend(&budget, now));
        assert_eq!(budget.utilization(now), Ratio::ONE);
        assert_eq!(budget.retry_after(now), Some(Duration::from_secs(60)));
    }
}

#[test]
fn two_calls_a_minute_are_retried() {
    // One of two calls fails once, or each does.
    for every in [2, 1] {
        let budget = Alone::new(Budget::FLEET);
        for call in 0..10_000 {
            let now = at(call * 30_000 + 7);
            if call % every == 0 {
                assert!(spend(&budget, now), "call {call}");
            }
            budget.deposit(now);
        }
    }
}

// All first attempts fail, as on a connection that went stale meanwhile, so
// nothing succeeds without a retry.
#[test]
fn nobody_is_locked_out() {
    for gap in [1, 3, 10, 20, 29] {
        let budget = Alone::new(Budget::FLEET);
        let (mut last, mut longest) = (0, 0);
        for now in (0..100_000).step_by(gap) {
            if spend(&budget, at(now * 1_000)) {
                budget.deposit(at(now * 1_000));
                longest = longest.max(now - last);
                last = now;
            }
        }
        let gap = gap as u64;
        assert!(longest < 30 + gap, "{longest} s with a call each {gap} s");
    }
}

// X-17b: what was healthy for long banks no more than a burst, and that fades.
#[test]
fn a_long_health_banks_one_burst() {
    let healthy = || {
        let budget = Alone::new(Budget::FLEET);
        succeed(&budget, 1_000, 0..100);
        budget
    };
    assert_eq!(tokens(&healthy(), 100), 30);
    assert_eq!(tokens(&healthy(), 103), 15);
    assert_eq!(tokens(&healthy(), 106), 7);
    assert_eq!(tokens(&healthy(), 160), 1);

    // Of 10 000 retries asked for in 1000 s: the burst, and four spares.
    let budget = healthy();
    let asked = (0..10_000).filter(|tenth| spend(&budget, at(100_000 + tenth * 100)));
    assert_eq!(asked.count(), 34);
}

#[test]
fn the_burst_follows_the_traffic() {
    for (per_second, held) in [
        (1, 1),
        (5, 2),
        (10, 4),
        (40, 17),
        (69, 29),
        (80, 29),
        (900, 30),
    ] {
        let budget = Alone::new(Budget::FLEET);
        succeed(&budget, per_second, 0..60);
        assert_eq!(budget.utilization(at(60_000)), Ratio::ZERO);
        assert_eq!(tokens(&budget, 60), held, "{per_second} a second");
    }
}

// Nothing was spent, but what was paid long ago is gone.
#[test]
fn a_quiet_hour_leaves_one_retry() {
    let budget = Alone::new(Budget::FLEET);
    succeed(&budget, 100, 0..60);
    assert_eq!(tokens(&budget, 3_660), 1);
}

#[test]
fn a_collapse_fades_the_floor() {
    let budget = Alone::new(Budget::FLEET);
    succeed(&budget, 2, 0..100);
    assert_eq!(
        funded(&budget, 100..3_700),
        [100, 160, 280, 520, 1_000, 1_960]
    );
}

#[test]
fn retries_come_back_after_an_outage() {
    // 3 calls a second: the third part of a minute's successes pays two.
    let budget = Alone::new(Budget::FLEET);
    succeed(&budget, 3, 0..100);
    funded(&budget, 100..86_400);
    assert!(!spend(&budget, at(86_400_000)));
    succeed(&budget, 3, 86_400..86_404);
    assert!(spend(&budget, at(86_404_000)));

    // A quiet one: the next spare comes as soon as ever.
    let budget = Alone::new(Budget::FLEET);
    let last = funded(&budget, 0..86_400).last().copied();
    assert_eq!(last, Some(61_381));
    budget.deposit(at(86_400_000));
    assert!(spend(&budget, at(86_401_000)));
    assert!(!spend(&budget, at(86_430_000)));
    budget.deposit(at(86_430_000));
    assert!(spend(&budget, at(86_431_000)));
}

// core-06.10, core-06.11
#[test]
fn sheddable_work_leaves_half_of_the_traffic() {
    let budget = Alone::new(Budget::FLEET);
    assert!(spend_sheddable(&budget, at(0)));
    assert!(!spend_sheddable(&budget, at(0)));
    assert_eq!(budget.retry_after_sheddable(at(0)), None);
    succeed(&budget, 40, 0..60);
    let sheddable = (0..100).filter(|_| spend_sheddable(&budget, at(60_000)));
    assert_eq!(sheddable.count(), 8);
    assert_eq!(tokens(&budget, 60), 9);
    // The spare is not for it.
    assert!(!spend_sheddable(&budget, at(600_000)));
    assert!(spend(&budget, at(600_000)));
}

#[test]
fn a_dropped_token_is_there_again() {
    let budget = Alone::new(Budget::FLEET);
    budget.deposit(at(0));
    for now in [0, 60_000, 180_000, 420_000] {
        drop(budget.take(at(now)));
        drop(budget.take(at(now)));
        assert!(spend(&budget, at(now)));
        assert!(!spend(&budget, at(now)));
    }
}

#[test]
fn a_clock_that_stands_funds_one() {
    let budget = Alone::new(Budget::FLEET);
    assert_eq!(tokens(&budget, 5), 2);
    for _ in 0..9 {
        budget.deposit(at(5_000));
    }
    assert_eq!(tokens(&budget, 5), 0);
    budget.deposit(at(5_000));
    assert_eq!(tokens(&budget, 5), 1);
}

// core-06.16: it neither makes nor takes tokens, but for the spare of one wait.
#[test]
fn a_step_back_is_worth_one_retry() {
    for back in [1, 29, 31, 3_599, 7_200] {
        let budget = Alone::new(Budget::FLEET);
        succeed(&budget, 100, 10_000..10_060);
        assert_eq!(tokens(&budget, 10_060), 29);
        let now = 10_060 - back;
        assert!(tokens(&budget, now) <= 1, "back by {back}");
        assert!(budget.retry_after(at(now * 1_000)) <= Some(Duration::from_secs(120)));
        succeed(&budget, 100, now..now + 10);
        assert!(tokens(&budget, now + 10) >= 29, "back by {back}");
    }
}

//
#[test]
fn eight_threads_share_the_first_retries() {
    static BUDGET: RetryBudget = RetryBudget::new(Budget::FLEET);
    let race = |now| -> usize {
        let take = move || {
            let funded = (0..1_000).filter_map(|_| BUDGET.take(now));
            funded.map(Token::spend).count()
        };
        thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(take));
            threads
                .map(|thread| thread.join().unwrap_or(9))
                .iter()
                .sum()
        })
    };
    assert_eq!(race(at(0)), 2);
    assert_eq!(race(at(59_999)), 0);
    assert_eq!(race(at(60_000)), 1);
    for _ in 0..10 {
        BUDGET.deposit(at(60_001));
    }
    assert_eq!(race(at(60_002)), 1);
}

#[test]
fn a_reset_is_a_cold_start() {
    let budget = Alone::new(Budget::FLEET);
    succeed(&budget, 1_000, 0..60);
    assert_eq!(tokens(&budget, 60), 30);
    budget.reset();
    assert_eq!(budget.utilization(at(60_000)), Ratio::ZERO);
    assert_eq!(tokens(&budget, 60), 2);
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Succeed,
    Retry,
    Drop,
}

fn ops(longest: u64) -> impl Strategy<Value = Vec<(Op, u64)>> {
    let op = prop_oneof![
        4 => Just(Op::Succeed),
        4 => Just(Op::Retry),
        1 => Just(Op::Drop),
    ];
    let ms = prop_oneof![8 => 0..50_u64, 2 => 0..longest];
    proptest::collection::vec((op, ms), 1..600)
}

/// Does one of `ops`; returns the tenths of tokens it paid, and took.
fn act(budget: &Alone, op: Op, now: u64) -> (u64, u64) {
    match op {
        Op::Succeed => budget.deposit(at(now)),
        Op::Retry => return (0, 10 * u64::from(spend(budget, at(now)))),
        Op::Drop => drop(budget.take(at(now))),
    }
    (u64::from(matches!(op, Op::Succeed)), 0)
}

proptest! {
    // B2, for any span of the run
    #[test]
    fn retries_follow_successes_and_time(ops in ops(90_000), from in 0..600_usize) {
        let budget = Alone::new(Budget::FLEET);
        let (mut now, mut start, mut paid, mut taken) = (0, 0, 0, 0);
        for (index, (op, ms)) in ops.into_iter().enumerate() {
            now += ms;
            let (earned, spent) = act(&budget, op, now);
            if index < from {
                start = now;
            } else {
                paid += earned;
                taken += spent;
            }
        }
        let whiles = (now - start) / 30_000;
        prop_assert!(taken <= 300 + paid + 10 * (1 + whiles));
    }

    // B2: without a success, the log of the time.
    #[test]
    fn without_success_retries_are_few(
        successes in proptest::collection::vec(0..100_u64, 0..200),
        asks in proptest::collection::vec(0..90_000_u64, 1..300),
    ) {
        let budget = Alone::new(Budget::FLEET);
        let (mut now, mut taken) = (0, 0);
        for ms in successes {
            now += ms;
            budget.deposit(at(now));
        }
        let start = now;
        let recent = budget.recent.share_of(30, at(now));
        for ms in asks {
            now += ms;
            taken += u64::from(spend(&budget, at(now)));
        }
        let whiles = (now - start) / 30_000;
        prop_assert!(taken <= recent.max(1) + 1 + u64::from((1 + whiles).ilog2()));
    }

    // B2, core-06.16
    #[test]
    fn no_order_of_clocks_makes_retries(ops in ops(1 << 40), start in 0..1_u64 << 40) {
        let budget = Alone::new(Budget::FLEET);
        let (mut before, mut moved, mut paid, mut taken) = (start, 0, 0, 0);
        for (op, ms) in ops {
            let now = start + ms;
            let (earned, spent) = act(&budget, op, now);
            paid += earned;
            taken += spent;
            moved += now.abs_diff(before);
            before = now;
        }
        prop_assert!(taken <= 300 + paid + 10 * (1 + moved / 30_000));
    }

    // B5
    #[test]
    fn the_hint_is_kept(ops in ops(90_000)) {
        let budget = Alone::new(Budget::FLEET);
        let mut now = 0;
        for (op, ms) in ops {
            now += ms;
            act(&budget, op, now);
        }
        let hint = budget.retry_after(at(now)).unwrap_or(Duration::MAX);
        let due = at(now).saturating_add(hint);
        prop_assert!(budget.take(due).is_some());
    }

    // B7
    #[test]
    fn nothing_panics(
        ppm in 1..=1_000_000_u32,
        per_second: u32,
        burst in 1..=u32::MAX,
        half_life in 1..=u64::MAX,
        spare in 1..=u64::MAX,
        ops in proptest::collection::vec((0..7, any::<u64>()), 0..60),
    ) {
        let law = Budget::new(Ratio::ppm(ppm), per_second)
            .with_burst(burst)
            .with_half_life(Duration::from_nanos(half_life))
            .with_spare(Duration::from_nanos(spare));
        let budget = Alone::new(law);
        for (op, now) in ops {
            let now = Instant::from_nanos(now);
            match op {
                0 => budget.deposit(now),
                1 => budget.reset(),
                2 => budget.observe(),
                3 => prop_assert!(budget.utilization(now) <= Ratio::ONE),
                4 => drop((budget.retry_after(now), budget.retry_after_sheddable(now))),
                5 => drop(budget.take_sheddable(now)),
                _ => drop(budget.take(now).map(Token::spend)),
            }
        }
    }
}
