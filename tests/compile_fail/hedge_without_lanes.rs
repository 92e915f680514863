//! A hedged policy in a guard with room for one attempt at a time.

use steadfast::tokio::Guard;
use steadfast::{Hedge, Policy};

static SEARCH: Guard = Guard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));

fn main() {
    println!("{}", SEARCH.policy().attempts());
}
