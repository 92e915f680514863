//! What a call, its error and what it tells take in bytes.

use std::convert::Infallible;
use std::future::{Ready, ready};

use steadfast::tokio::{Guard, HedgedGuard, Tokio};
use steadfast::{
    Breaker, ByError, CallError, Event, Hedge, NoListener, NoRules, Policy, Timer, Verdict,
};

static GUARD: Guard = Guard::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT));

/// An operation of one word.
fn word() -> Ready<Result<u32, Infallible>> {
    ready(Ok(1))
}

/// An operation of a kibibyte, which a call must hold once, not twice.
fn kibibyte() -> impl Future<Output = Result<u32, Infallible>> {
    let held = [1_u8; 1024];
    async move {
        ready(()).await;
        Ok(u32::from(held[1]))
    }
}

#[test]
fn a_call_is_at_most_320_bytes() {
    let size = size_of_val(&GUARD.call(|_| word()));
    let sleep = size_of::<Option<<Tokio as Timer>::Sleep>>();
    let operation = size_of_val(&word());
    println!("a call takes {size} bytes, {sleep} of them tokio's sleep, {operation} the operation");
    assert!(size <= 320, "a call takes {size} bytes");
}

#[test]
fn a_call_holds_its_operation_once() {
    let small = size_of_val(&GUARD.call(|_| word()));
    let large = size_of_val(&GUARD.call(|_| kibibyte()));
    let growth = size_of_val(&kibibyte()) - size_of_val(&word());
    assert!(
        large <= small + growth + size_of::<usize>(),
        "the operation grew by {growth} bytes, the call by {}",
        large - small
    );
}

// Another lane is one more operation and its bookkeeping, nothing twice.
#[test]
fn a_race_is_room_for_two_operations() {
    const POLICY: Policy = Policy::DEFAULT
        .with_breaker(Breaker::DEFAULT)
        .with_hedge(Hedge::DEFAULT);
    static RACES: HedgedGuard = HedgedGuard::new(POLICY);
    static THREE: HedgedGuard<ByError, NoRules, NoListener, 3> = HedgedGuard::new(POLICY);
    let operation = size_of_val(&kibibyte());
    let one = size_of_val(&GUARD.call(|_| kibibyte()));
    let two = size_of_val(&RACES.call(|_| kibibyte()));
    let three = size_of_val(&THREE.call(|_| kibibyte()));
    println!(
        "a call takes {one} bytes, a race of two {two}, of three {three}; the operation {operation}"
    );
    for more in [two - one, three - two] {
        let leg = more - operation;
        assert!(leg <= 96, "{leg} bytes for a lane");
    }
}

#[test]
fn an_error_is_at_most_64_bytes_more() {
    assert!(size_of::<CallError<()>>() <= 64);
    assert!(size_of::<CallError<String>>() <= 64 + size_of::<String>());
    assert!(size_of::<CallError<std::io::Error>>() <= 64 + size_of::<std::io::Error>());
}

#[test]
fn an_event_is_at_most_64_bytes() {
    assert!(size_of::<Event>() <= 64, "{}", size_of::<Event>());
}

#[test]
fn a_verdict_is_at_most_16_bytes() {
    assert!(size_of::<Verdict>() <= 16, "{}", size_of::<Verdict>());
}
