//! Models of the retry budget.

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Budget, Instant, Ratio, RetryBudget, Token};

use crate::memory::{LoomMemory, check};

type Shared = Arc<RetryBudget<LoomMemory>>;

const START: Instant = Instant::from_nanos(10_000_000_000);
const SECOND_LATER: Instant = Instant::from_nanos(11_000_000_000);
const DAY_LATER: Instant = Instant::from_nanos(86_410_000_000_000);

/// Makes a budget of two tokens, one of them spent at [`START`].
///
/// A success deposits half a token.
fn half_full(per_second: u32) -> Shared {
    let law = Budget::new(Ratio::percent(50), per_second).with_burst(2);
    let budget = Arc::new(RetryBudget::new(law));
    assert!(spend(&budget, START));
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
