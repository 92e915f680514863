//! Ten times what is normal takes longer to tell than five times.

use core::time::Duration;

use steadfast::tokio::Guard;
use steadfast::{Breaker, Policy, Ratio, RelativeTrip};

const BREAKER: Breaker = Breaker::DEFAULT.with_relative_failures(
    RelativeTrip::DEFAULT.with_multiple(Ratio::times(10)),
    Duration::from_secs(300),
);

static PAYMENTS: Guard = Guard::new(Policy::DEFAULT.with_breaker(BREAKER));

fn main() {
    println!("{:?}", PAYMENTS.policy());
}
