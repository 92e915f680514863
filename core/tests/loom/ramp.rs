//! Models of a recovering breaker.

use core::time::Duration;

use loom::sync::Arc;
use steadfast_core::{Breaker, BreakerState, Instant, Kind, Ratio, Recovery, Transition};

use crate::circuit_breaker::{
    Live, PLAIN, assert_at_rest, at, attempt, check_long, finish, opened, race, span,
};
use crate::memory::check;

/// Opens at the first failure and recovers at the first success, from 15 s to
/// 25 s.
const RAMP: Breaker = PLAIN
    .with_consecutive_failures(1)
    .with_probes(1, 1)
    .with_recovery(STEPS);

const STEPS: Recovery = Recovery::DEFAULT.with_bounds(span(10), span(10));

const fn from(initial: Ratio) -> Breaker {
    RAMP.with_recovery(STEPS.with_initial(initial))
}

/// Lets nearly all through, so that each ask but the first goes through.
const OPEN_HANDED: Breaker = from(Ratio::ppm(999_999));

/// The same with slow successes. Its window takes part in every order.
const PACED: Breaker = from(Ratio::percent(10)).with_slow_calls(span(1), Ratio::ONE);

/// A breaker whose ramp has just begun, at 15 s.
fn recovering(settings: Breaker) -> Arc<Live> {
    let breaker = opened(settings);
    assert_eq!(
        attempt(&breaker, at(15), Kind::Ok),
        Some(Transition::Closed)
    );
    assert_eq!(breaker.state(at(15)), BreakerState::Recovering);
    breaker
}

/// The same after the one ask of many that is refused.
fn willing(settings: Breaker, secs: u64) -> Arc<Live> {
    let breaker = recovering(settings);
    assert!(breaker.admit(at(secs)).is_err());
    breaker
}

/// Succeeds at a time when 0.991 are let through, and tells whether it could.
fn succeed(breaker: &Live, took: Duration) -> bool {
    let permit = breaker.admit(ALMOST).ok();
    permit.map(|permit| permit.settle(ALMOST, Kind::Ok, took, || 0)) == Some(None)
}

/// A tenth of a second before the end of a ramp.
const ALMOST: Instant = Instant::from_nanos(24_900_000_000);

/// Returns how many of twenty are let through.
fn share(breaker: &Live, now: Instant) -> usize {
    (0..20).filter(|_| breaker.admit(now).is_ok()).count()
}

// K7
#[test]
fn a_ramp_owes_what_it_owes() {
    check(|| {
        let breaker = recovering(from(Ratio::percent(50)));
        let ask = |breaker: &Live| breaker.admit(at(15)).is_ok();
        let (one, other) = (race(&breaker, ask), race(&breaker, ask));
        let through = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(through.iter().filter(|&&yes| yes).count(), 1);
    });
}

#[test]
fn no_slow_success_is_lost() {
    check_long(|| {
        let breaker = recovering(PACED);
        assert!(breaker.admit(ALMOST).is_err());
        let slow = |breaker: &Live| succeed(breaker, span(1));
        let (one, other) = (race(&breaker, slow), race(&breaker, slow));
        assert!(one.join().unwrap() && other.join().unwrap());
        // A quarter of 0.991.
        let share = share(&breaker, ALMOST);
        assert!((4..=5).contains(&share), "{share}");
    });
}

#[test]
fn slow_and_fast_have_an_order() {
    check_long(|| {
        let breaker = recovering(PACED.with_recovery(STEPS.with_initial(Ratio::percent(30))));
        assert!(breaker.admit(ALMOST).is_err());
        assert!(succeed(&breaker, span(1)) && succeed(&breaker, Duration::ZERO));
        let slow = race(&breaker, |breaker| succeed(breaker, span(1)));
        let fast = race(&breaker, |breaker| succeed(breaker, Duration::ZERO));
        // From 0.7965: halved and 0.3 more, or the reverse, or half of it only,
        // where the second was refused.
        let right = match (slow.join().unwrap(), fast.join().unwrap()) {
            (true, true) => [13, 9],
            (true, false) => [7, 7],
            both => unreachable!("{both:?}"),
        };
        let share = share(&breaker, ALMOST);
        assert!(
            right.contains(&share) || right.contains(&(share - 1)),
            "{share}"
        );
    });
}

#[test]
fn the_end_of_a_ramp_races_a_failure() {
    check_long(|| {
        let breaker = willing(OPEN_HANDED, 20);
        let fails = race(&breaker, |breaker| {
            let permit = breaker.admit(at(20)).ok()?;
            finish(permit, at(25), Kind::Transient)
        });
        let asks = race(&breaker, |breaker| breaker.admit(at(25)).is_ok());
        // A permit of the closed breaker opens it, too: for the first time again.
        let hint = match (fails.join().unwrap(), asks.join().unwrap()) {
            (Some(_), true) => Some(span(15)),
            (Some(_), false) => Some(span(30)),
            (None, _) => None,
        };
        assert_eq!(breaker.retry_after(at(25)), hint);
        assert_at_rest(&breaker, at(25));
    });
}

// K2
#[test]
fn a_failing_ramp_opens_once() {
    check_long(|| {
        let breaker = willing(OPEN_HANDED, 20);
        let fail = |breaker: &Live| {
            let permit = breaker.admit(at(20)).ok()?;
            finish(permit, at(20), Kind::Transient)
        };
        let (one, other) = (race(&breaker, fail), race(&breaker, fail));
        let changes = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(changes.iter().flatten().count(), 1);
        assert_eq!(breaker.retry_after(at(20)), Some(span(30)));
    });
}

#[test]
fn a_ramp_begins_once() {
    check_long(|| {
        let breaker = opened(RAMP.with_probes(2, 1));
        let succeed = |breaker: &Live| attempt(breaker, at(15), Kind::Ok);
        let (one, other) = (race(&breaker, succeed), race(&breaker, succeed));
        let changes = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(changes.iter().flatten().count(), 1);
        assert_eq!(breaker.state(at(15)), BreakerState::Recovering);
        assert_eq!(breaker.state(at(25)), BreakerState::Closed);
    });
}

/// Between closed and recovering, never open.
#[test]
fn a_reading_of_a_ramp_is_never_torn() {
    check(|| {
        let breaker = opened(RAMP);
        let recovers = race(&breaker, |breaker| attempt(breaker, at(15), Kind::Ok));
        let reads = race(&breaker, |breaker| breaker.state(at(15)));
        assert_eq!(recovers.join().unwrap(), Some(Transition::Closed));
        let state = reads.join().unwrap();
        let right = [BreakerState::HalfOpen, BreakerState::Recovering];
        assert!(right.contains(&state), "{state:?}");
    });
}
