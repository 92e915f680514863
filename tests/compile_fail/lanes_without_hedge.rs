//! A guard with room for two attempts at a time whose policy never hedges.

use steadfast::Policy;
use steadfast::tokio::HedgedGuard;

static SEARCH: HedgedGuard = HedgedGuard::new(Policy::DEFAULT);

fn main() {
    println!("{}", SEARCH.policy().attempts());
}
