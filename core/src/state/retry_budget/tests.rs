//! Tests of the retry budget.

mod fleet;
mod observing;
mod reference;

use super::*;
use std::vec::Vec;

use crate::memory::Local;

type Alone = RetryBudget<Local>;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn spend(budget: &Alone, now: Instant) -> bool {
    budget.take(now).map(Token::spend).is_some()
}

fn spend_sheddable(budget: &Alone, now: Instant) -> bool {
    budget.take_sheddable(now).map(Token::spend).is_some()
}

fn emptied(law: Budget) -> Alone {
    let budget = Alone::new(law);
    while spend(&budget, at(0)) {}
    budget
}
