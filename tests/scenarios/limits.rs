//! Limits: inside an operation here, in the policy of a guard in the modules.

mod adaptive;
mod guarded;
mod leaks;
mod observed;
mod races;
mod throttled;

use std::io;

use steadfast::{
    Backoff, BreakerState, Budget, Concurrency, ConcurrencyLimit, EventKind, Jitter, Kind, Limit,
    Limited, Local, Meaning, Policy, Rate, RateLimit, Ratio, Reason, Reservation, Verdict,
};
use steadfast_testing::{Fault, Recorder, World};

use crate::stage::{INSTANT, Stage, TOUCHY, Virtual, guard, ms, secs, told};

const FUNDED: Policy = INSTANT
    .with_budget(Budget::REFERENCE)
    .with_backoff(Backoff::exponential(ms(100)).with_jitter(Jitter::None));

/// Calls an operation that a rate limit guards.
fn quota(
    world: &World,
    guard: &Virtual,
    limit: &RateLimit<Local>,
    heard: &Recorder,
) -> steadfast::Outcome<u32, Limited> {
    let call = guard.call(|_| {
        let permit = limit.acquire(world.now()).map(Reservation::spend);
        std::future::ready(permit.map(|()| 7))
    });
    world.block_on(call.listen(heard).outcome())
}

// core-09.3
#[test]
fn a_refusal_waits_for_its_hint() {
    let (world, heard) = (World::new(), Recorder::new());
    let guard = guard(&world, FUNDED.with_breaker(TOUCHY));
    let limit = RateLimit::new(Rate::per_window(1, secs(16)));
    world.advance(secs(14));
    limit.acquire(world.now()).expect("a permit").spend();
    world.advance(secs(14));
    let outcome = quota(&world, &guard, &limit, &heard);
    assert_eq!(told(&heard), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(heard.single(EventKind::Retrying).delay(), Some(secs(2)));
    let first = outcome.log().entries().next().expect("an attempt");
    assert!(first.is_self_imposed() && first.kind() == Kind::Throttled);
    let budget = guard.budget().expect("a budget");
    assert_eq!(budget.utilization(world.now()), Ratio::ZERO);
    let breaker = guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(world.now()), BreakerState::Closed);
    assert_eq!(outcome.into_success(), Ok(7));
}

/// Calls an operation that a concurrency limit guards, and is full.
fn full(world: &World, guard: &Virtual, heard: &Recorder) -> steadfast::Outcome<(), Limited> {
    let limit = ConcurrencyLimit::<Local>::new(Concurrency::fixed(1));
    let _held = limit.acquire(world.now());
    let call = guard.call(|_| std::future::ready(limit.acquire(world.now()).map(drop)));
    world.block_on(call.listen(heard).outcome())
}

// core-09.4, core-09.5
#[test]
fn without_a_hint_the_throttled_curve_waits() {
    let (world, heard) = (World::new(), Recorder::new());
    let guard = guard(&world, FUNDED);
    let outcome = full(&world, &guard, &heard);
    let waits: Vec<_> = heard
        .events()
        .iter()
        .filter_map(steadfast::Event::delay)
        .collect();
    assert_eq!(waits, [secs(1), secs(2)]);
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
    assert_eq!(outcome.log().entries().count(), 3);
    assert!(outcome.log().entries().all(|at| at.is_self_imposed()));
    let refusal = outcome.error().expect("an error");
    assert_eq!(refusal.limit(), Limit::Concurrency);
    let budget = guard.budget().expect("a budget");
    assert_eq!(budget.utilization(world.now()), Ratio::ZERO);
}

// core-09.6
#[test]
fn a_refused_probe_frees_its_slot() {
    let stage = Stage::new(INSTANT.with_attempts(1).with_breaker(TOUCHY));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert!(!outcome.is_success());
    let breaker = stage.guard.breaker().expect("a breaker");
    stage.world.advance(secs(15));
    for _ in 0..3 {
        let outcome = full(&stage.world, &stage.guard, &stage.heard);
        assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
        let now = stage.world.now();
        assert_eq!(breaker.state(now), BreakerState::HalfOpen);
    }
}

#[derive(Debug)]
enum Failure {
    Limited(Limited),
    Io(io::Error),
}

impl From<Limited> for Failure {
    fn from(refusal: Limited) -> Self {
        Self::Limited(refusal)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Meaning for Failure {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Limited(refusal) => refusal.verdict(),
            Self::Io(error) => error.verdict(),
        }
    }
}

// A slot is held as long as its attempt runs, and comes back when that is cut.
// R-83, Netflix/concurrency-limits#146
#[test]
fn a_cut_attempt_gives_its_place_back() {
    let world = World::new();
    let limit = ConcurrencyLimit::<Local>::new(Concurrency::fixed(1));
    let guard = guard(&world, INSTANT.with_attempt_timeout(secs(1)));
    let attempt = async |number: u32| -> Result<u32, Failure> {
        let _slot = limit.acquire(world.now())?;
        world.sleep(secs(if number < 3 { 5 } else { 0 })).await;
        io::Result::Ok(number).map_err(Failure::from)
    };
    let outcome = world.block_on(guard.call(|at| attempt(at.number())).outcome());
    assert_eq!(limit.in_flight(), 0);
    assert_eq!(outcome.into_success().ok(), Some(3));
}
