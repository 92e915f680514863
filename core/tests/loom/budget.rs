//! Models of the retry budget.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Budget, Instant, Ratio, RetryBudget, Token};

use crate::memory::{LoomMemory, check};

type Shared = Arc<RetryBudget<LoomMemory>>;

const START: Instant = Instant::from_nanos(10_000_000_000);
const SECOND_LATER: Instant = Instant::from_nanos(11_000_000_000);
const TWO_SECONDS_LATER: Instant = Instant::from_nanos(12_000_000_000);
const DAY_LATER: Instant = Instant::from_nanos(86_410_000_000_000);

/// Makes a budget of two tokens, one of them spent at [`START`].
///
/// A success deposits half a token.
fn half_full(per_second: u32) -> Shared {
    let law = Budget::new(Ratio::percent(50), per_second).with_burst(2);
    let budget = Arc::new(RetryBudget::new(law));
    assert!(spend(&budget, START));
    // Touches the word that only a refusal looks at.
    assert!(!budget.is_observing());
    budget
}

fn spend(budget: &RetryBudget<LoomMemory>, now: Instant) -> bool {
    budget.take(now).map(Token::spend).is_some()
}

fn race<T: 'static>(budget: &Shared, act: fn(&RetryBudget<LoomMemory>) -> T) -> JoinHandle<T> {
    let budget = Arc::clone(budget);
    thread::spawn(move || act(&budget))
}

#[test]
fn one_token_funds_one_of_two() {
    check(|| {
        let budget = half_full(0);
        let one = race(&budget, |budget| spend(budget, START));
        let other = race(&budget, |budget| spend(budget, START));
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert_eq!(budget.utilization(START), Ratio::ONE);
    });
}

#[test]
fn tokens_are_conserved() {
    check(|| {
        let budget = half_full(0);
        let taken = race(&budget, |budget| spend(budget, START));
        let deposited = race(&budget, |budget| {
            budget.deposit(START);
            budget.deposit(START);
            spend(budget, START)
        });
        assert!(taken.join().unwrap());
        assert!(deposited.join().unwrap());
        assert_eq!(budget.utilization(START), Ratio::ONE);
    });
}

#[test]
fn a_stale_clock_makes_no_tokens() {
    check(|| {
        let budget = half_full(1);
        // Together they may see the token that is left and the one of a second.
        let fresh = race(&budget, |budget| {
            u32::from(spend(budget, SECOND_LATER)) + u32::from(spend(budget, SECOND_LATER))
        });
        let stale = race(&budget, |budget| {
            u32::from(spend(budget, START)) + u32::from(spend(budget, START))
        });
        let spent = fresh.join().unwrap() + stale.join().unwrap();
        assert_eq!(spent, 2);
        assert_eq!(budget.utilization(SECOND_LATER), Ratio::ONE);
    });
}

#[test]
fn a_returned_token_can_be_taken() {
    check(|| {
        let budget = half_full(0);
        let returned = race(&budget, |budget| drop(budget.take(START)));
        let taken = race(&budget, |budget| spend(budget, START));
        returned.join().unwrap();
        let left = if taken.join().unwrap() {
            Ratio::ONE
        } else {
            Ratio::percent(50)
        };
        assert_eq!(budget.utilization(START), left);
    });
}

#[test]
fn a_return_does_not_overfill() {
    check(|| {
        let budget = half_full(0);
        let token = budget.take(START).expect("one token is left");
        token.spend();
        let one = race(&budget, |budget| {
            budget.deposit(START);
            budget.deposit(START);
            drop(budget.take(START));
        });
        let other = race(&budget, |budget| {
            budget.deposit(START);
            budget.deposit(START);
        });
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(budget.utilization(START), Ratio::ZERO);
        let left = (0..3).filter(|_| spend(&budget, START)).count();
        assert_eq!(left, 2);
    });
}

// One is told the new time while the others still read the old one.
#[test]
fn a_refill_is_told_and_spent_once() {
    check(|| {
        let budget = half_full(1);
        let fresh = race(&budget, |budget| {
            budget.deposit(SECOND_LATER);
            u32::from(spend(budget, SECOND_LATER))
        });
        let stale = race(&budget, |budget| {
            u32::from(spend(budget, START)) + u32::from(spend(budget, START))
        });
        let mut spent = fresh.join().unwrap() + stale.join().unwrap();
        while spend(&budget, SECOND_LATER) {
            spent += 1;
        }
        // The one left, the one of a second; half a one of the success if it
        // came when there was room, and a half is no whole.
        assert_eq!(spent, 2);
    });
}

#[test]
fn a_clock_far_back_moves_the_level_once() {
    check(|| {
        let budget = half_full(1);
        assert!(spend(&budget, DAY_LATER));
        let one = race(&budget, |budget| spend(budget, START));
        let other = race(&budget, |budget| spend(budget, START));
        let mut spent = u32::from(one.join().unwrap()) + u32::from(other.join().unwrap());
        assert!(spent <= 1);
        while spend(&budget, START) {
            spent += 1;
        }
        assert_eq!(spent, 1);
    });
}

/// Makes a budget of one token and a spare after a second, no longer cold.
fn fleet() -> Shared {
    let law = Budget::new(Ratio::percent(50), 0)
        .with_burst(2)
        .with_half_life(Duration::from_secs(3_600))
        .with_spare(Duration::from_secs(1));
    let budget = Arc::new(RetryBudget::new(law));
    // Touches all words.
    budget.reset();
    assert!(!budget.is_observing());
    budget.deposit(START);
    budget
}

#[test]
fn a_quiet_budget_funds_one_of_two() {
    check(|| {
        let budget = fleet();
        let one = race(&budget, |budget| spend(budget, START));
        let other = race(&budget, |budget| spend(budget, START));
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert!(!spend(&budget, START));
    });
}

#[test]
fn a_spare_funds_one_of_two() {
    check(|| {
        let budget = fleet();
        assert!(spend(&budget, START));
        let one = race(&budget, |budget| spend(budget, TWO_SECONDS_LATER));
        let other = race(&budget, |budget| spend(budget, TWO_SECONDS_LATER));
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert!(!spend(&budget, TWO_SECONDS_LATER));
    });
}

// The last token and the spare can be given out in the same moment, one each.
#[test]
fn a_token_and_the_spare_fund_two_at_most() {
    check(|| {
        let budget = fleet();
        assert!(spend(&budget, START));
        budget.deposit(START);
        budget.deposit(START);
        let one = race(&budget, |budget| spend(budget, TWO_SECONDS_LATER));
        let other = race(&budget, |budget| spend(budget, TWO_SECONDS_LATER));
        assert!(one.join().unwrap() | other.join().unwrap());
        assert!(!spend(&budget, TWO_SECONDS_LATER));
    });
}

// However a success meets a retry: what it paid and the spare, and no more.
#[test]
fn a_success_beside_a_retry_pays_once() {
    check(|| {
        let budget = fleet();
        assert!(spend(&budget, START));
        let retry = race(&budget, |budget| spend(budget, TWO_SECONDS_LATER));
        let success = race(&budget, |budget| {
            budget.deposit(START);
            budget.deposit(TWO_SECONDS_LATER);
        });
        let mut spent = u32::from(retry.join().unwrap());
        success.join().unwrap();
        while spend(&budget, TWO_SECONDS_LATER) {
            spent += 1;
        }
        assert!((1..=2).contains(&spent), "{spent}");
        // The wait is short again, unless the retry came after.
        let wait = budget.retry_after(TWO_SECONDS_LATER).unwrap();
        assert!(wait <= Duration::from_secs(4), "{wait:?}");
    });
}

#[test]
fn two_successes_are_counted_once_or_twice() {
    check(|| {
        let budget = fleet();
        let one = race(&budget, |budget| budget.deposit(START));
        let other = race(&budget, |budget| budget.deposit(START));
        one.join().unwrap();
        other.join().unwrap();
        budget.deposit(START);
        budget.deposit(START);
        budget.deposit(START);
        // Counted four or five times: enough for the burst of two.
        let held = (0..3).filter(|_| spend(&budget, START)).count();
        assert_eq!(held, 2);
    });
}

// It is asked before or after; a refused one is told apart from a funded one.
#[test]
fn observing_may_begin_at_any_time() {
    check(|| {
        let budget = fleet();
        assert!(spend(&budget, START));
        let asked = race(&budget, |budget| {
            budget.take(START).map(|token| token.is_observed())
        });
        let observed = race(&budget, RetryBudget::observe);
        observed.join().unwrap();
        assert_ne!(asked.join().unwrap(), Some(false));
        assert!(budget.take(START).is_some_and(|token| token.is_observed()));
        assert_eq!(budget.utilization(START), Ratio::ONE);
    });
}
