//! What a call, its error and what it tells cost in bytes.

use std::future::Ready;
use std::mem::size_of;

use steadfast::tokio::{Guard, Tokio};
use steadfast::{Breaker, CallError, Event, Policy, Timer, Verdict};

/// An operation of one word.
type Word = Ready<Result<u32, ()>>;

static GUARD: Guard<steadfast::AnyError> = Guard::classified(
    Policy::DEFAULT.with_breaker(Breaker::DEFAULT),
    steadfast::AnyError,
);

fn size_of_call<O: Future<Output = Result<u32, ()>>>(operation: fn() -> O) -> usize {
    size_of_val(&GUARD.call(|_| operation()))
}

#[test]
fn a_call_is_small() {
    let size = size_of_call(|| std::future::ready(Ok(1)));
    println!(
        "call {size}, of that timer {}, operation {}",
        size_of::<Option<<Tokio as Timer>::Sleep>>(),
        size_of::<Word>()
    );
    assert!(size <= 320, "{size}");
}
