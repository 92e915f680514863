//! A policy that never calls anything.

use steadfast::Policy;
use steadfast::tokio::Guard;

static PAYMENTS: Guard = Guard::new(Policy::DEFAULT.with_attempts(0));

fn main() {
    println!("{:?}", PAYMENTS.policy());
}
