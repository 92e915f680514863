//! A stream, in a guard that races attempts.

use futures_lite::stream;
use steadfast::tokio::HedgedGuard;
use steadfast::{Hedge, Policy};

static FEED: HedgedGuard = HedgedGuard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));

// core-11.11
fn main() {
    let _feed = FEED.stream(|_| stream::iter([std::io::Result::Ok(1)]));
}
