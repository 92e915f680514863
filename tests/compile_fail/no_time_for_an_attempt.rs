//! A policy whose attempts cannot finish.

use std::time::Duration;

use steadfast::Policy;
use steadfast::tokio::Guard;

const POLICY: Policy = Policy::DEFAULT.with_attempt_timeout(Duration::ZERO);

static PAYMENTS: Guard = Guard::new(POLICY);

fn main() {
    println!("{:?}", PAYMENTS.policy());
}
