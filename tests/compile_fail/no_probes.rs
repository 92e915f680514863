//! A breaker that stays open for ever.

use steadfast::tokio::Guard;
use steadfast::{Breaker, Policy};

static PAYMENTS: Guard =
    Guard::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT.with_probes(0, 0)));

fn main() {
    println!("{:?}", PAYMENTS.policy());
}
