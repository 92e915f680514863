//! Faults that are asked for more often than there are calls.

use std::time::Duration;

use steadfast::Ratio;
use steadfast_testing::{Chaos, FaultInjector};

static GAME_DAY: FaultInjector = FaultInjector::new(
    Chaos::OFF
        .with_faults(Ratio::percent(150))
        .with_latency(Ratio::percent(5), Duration::ZERO),
);

fn main() {
    println!("{:?}", GAME_DAY.profile());
}
