//! Models of the circuit breaker.

use core::time::Duration;

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};
use steadfast_core::{
    Breaker, BreakerState, CircuitBreaker, Instant, Jitter, Kind, Permit, Transition,
};

use crate::memory::{LoomMemory, check};

pub(crate) type Live = CircuitBreaker<LoomMemory>;

/// Breaks of 15 s to the nanosecond. Without the window of the relative laws: its
/// sixty words have models of their own.
pub(crate) const PLAIN: Breaker = Breaker::DEFAULT
    .with_jitter(Jitter::None)
    .with_adaptive(false);
/// Opens at the first failure, closes at the first success.
const FRAGILE: Breaker = PLAIN.with_consecutive_failures(1).with_probes(1, 1);

pub(crate) const fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

pub(crate) const fn span(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn finish(
    permit: Permit<'_, LoomMemory>,
    now: Instant,
    kind: Kind,
) -> Option<Transition> {
    permit.settle(now, kind, Duration::ZERO, || 0)
}

/// Makes an attempt, if it may.
pub(crate) fn attempt(breaker: &Live, now: Instant, kind: Kind) -> Option<Transition> {
    finish(breaker.admit(now).ok()?, now, kind)
}

/// A closed breaker all of whose words exist.
fn closed(settings: Breaker) -> Arc<Live> {
    let breaker = Arc::new(Live::new(settings));
    breaker.reset();
    assert_eq!(breaker.state(at(0)), BreakerState::Closed);
    breaker
}

/// A breaker that has just opened, at zero.
pub(crate) fn opened(settings: Breaker) -> Arc<Live> {
    let breaker = closed(settings);
    while attempt(&breaker, at(0), Kind::Transient).is_none() {}
    breaker
}

/// A closed breaker whose last break ended long before 100 s.
fn recovered(settings: Breaker) -> Arc<Live> {
    let breaker = opened(settings);
    while attempt(&breaker, at(15), Kind::Ok).is_none() {}
    breaker
}

/// Checks a long model with two preemptions; each more costs many times as much.
pub(crate) fn check_long(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 5_000;
    builder.check(model);
}

pub(crate) fn race<T: 'static>(breaker: &Arc<Live>, act: fn(&Live) -> T) -> JoinHandle<T> {
    let breaker = Arc::clone(breaker);
    thread::spawn(move || act(&breaker))
}

/// Runs `second` only if `first` has said go by then, so that `first` may use an
/// earlier time: the clocks of threads differ by less than a break.
pub(crate) fn in_order<T: 'static, U: 'static>(
    breaker: &Arc<Live>,
    first: fn(&Live, &dyn Fn()) -> T,
    second: fn(&Live) -> U,
) -> (JoinHandle<T>, JoinHandle<Option<U>>) {
    let gone = Arc::new(AtomicU32::new(0));
    let (mine, theirs) = (Arc::clone(&gone), Arc::clone(breaker));
    let one = thread::spawn(move || first(&theirs, &|| mine.store(1, Ordering::Release)));
    let theirs = Arc::clone(breaker);
    let other = thread::spawn(move || (gone.load(Ordering::Acquire) == 1).then(|| second(&theirs)));
    (one, other)
}

/// Nobody left it busy: it admits, or it says why not.
pub(crate) fn assert_at_rest(breaker: &Live, now: Instant) {
    match breaker.admit(now) {
        Ok(_) => {}
        Err(refusal) => {
            let is_open = refusal.state() == BreakerState::Open;
            assert_eq!(refusal.retry_after().is_some(), is_open);
        }
    }
}

// K2
#[test]
fn it_trips_exactly_once() {
    check(|| {
        let breaker = closed(PLAIN.with_consecutive_failures(2));
        assert_eq!(attempt(&breaker, at(0), Kind::Transient), None);
        let fail = |breaker: &Live| attempt(breaker, at(0), Kind::Transient);
        let (one, other) = (race(&breaker, fail), race(&breaker, fail));
        let changes = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(changes.iter().flatten().count(), 1);
        assert_eq!(breaker.retry_after(at(0)), Some(span(15)));
    });
}

// K1
#[test]
fn no_probe_before_the_break_ends() {
    check(|| {
        let breaker = recovered(FRAGILE);
        let trips = race(&breaker, |breaker| {
            attempt(breaker, at(100), Kind::Transient)
        });
        let asks = race(&breaker, |breaker| {
            breaker.admit(at(100)).is_ok_and(|permit| permit.is_probe())
        });
        assert!(!asks.join().unwrap());
        assert_eq!(trips.join().unwrap(), Some(Transition::Opened));
        assert_eq!(breaker.retry_after(at(100)), Some(span(15)));
    });
}

// K3
#[test]
fn one_probe_only_and_no_leak() {
    check_long(|| {
        let breaker = opened(FRAGILE);
        let held = Arc::new(AtomicU32::new(0));
        let ask = || {
            let (breaker, held) = (Arc::clone(&breaker), Arc::clone(&held));
            thread::spawn(move || {
                let permit = breaker.admit(at(15)).ok()?;
                assert_eq!(held.fetch_add(1, Ordering::AcqRel), 0);
                held.fetch_sub(1, Ordering::AcqRel);
                permit.transition()
            })
        };
        let (one, other) = (ask(), ask());
        let changes = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(changes.iter().flatten().count(), 1);
        let probe = breaker.admit(at(15)).expect("the slot is free");
        assert!(probe.is_probe() && breaker.admit(at(15)).is_err());
    });
}

// K4, K5
#[test]
fn an_expired_probe_frees_no_slot() {
    check(|| {
        let breaker = opened(FRAGILE);
        let (slow, next) = in_order(
            &breaker,
            |breaker, go| {
                let probe = breaker.admit(at(15));
                go();
                drop(probe);
            },
            |breaker| {
                let probe = breaker.admit(at(40)).expect("a free slot");
                assert!(probe.is_probe() && breaker.admit(at(40)).is_err());
            },
        );
        slow.join().unwrap();
        next.join().unwrap();
        assert!(breaker.admit(at(40)).expect("a free slot").is_probe());
    });
}

/// Whatever the order, both have succeeded, and the second success closes.
#[test]
fn a_lease_given_anew_loses_no_success() {
    check(|| {
        let breaker = opened(FRAGILE.with_probes(1, 2));
        let (slow, next) = in_order(
            &breaker,
            |breaker, go| {
                let probe = breaker.admit(at(15)).expect("a probe");
                go();
                finish(probe, at(40), Kind::Ok)
            },
            |breaker| {
                let probe = breaker.admit(at(40)).expect("a probe");
                finish(probe, at(40), Kind::Ok)
            },
        );
        let late = slow.join().unwrap();
        if let Some(change) = next.join().unwrap() {
            let closed = [late, change].into_iter().flatten().count();
            assert_eq!((closed, breaker.state(at(40))), (1, BreakerState::Closed));
        }
    });
}

/// A success without a slot takes the lease from nobody who asks just then.
#[test]
fn a_late_success_puts_nobody_off() {
    check_long(|| {
        let breaker = opened(FRAGILE.with_probes(1, 3));
        let (slow, next) = in_order(
            &breaker,
            |breaker, go| {
                let expired = breaker.admit(at(15)).expect("a probe");
                core::mem::forget(breaker.admit(at(30)).expect("a probe"));
                go();
                finish(expired, at(45), Kind::Ok)
            },
            |breaker| breaker.admit(at(45)).is_ok_and(|permit| permit.is_probe()),
        );
        assert_eq!(slow.join().unwrap(), None);
        assert_ne!(next.join().unwrap(), Some(false));
    });
}

/// A lease that is given just then moves the end of no break.
#[test]
fn a_late_failure_opens_for_a_break() {
    check(|| {
        let breaker = opened(FRAGILE);
        let (slow, next) = in_order(
            &breaker,
            |breaker, go| {
                let probe = breaker.admit(at(15)).expect("a probe");
                go();
                finish(probe, at(40), Kind::Transient)
            },
            |breaker| breaker.admit(at(40)).map(drop).is_ok(),
        );
        assert_eq!(slow.join().unwrap(), Some(Transition::Opened));
        next.join().unwrap();
        assert_eq!(breaker.retry_after(at(40)), Some(span(30)));
    });
}

#[test]
fn a_lost_slot_goes_to_one() {
    check_long(|| {
        let breaker = opened(FRAGILE);
        core::mem::forget(breaker.admit(at(15)).expect("a probe"));
        let ask = |breaker: &Live| breaker.admit(at(30)).map(core::mem::forget).is_ok();
        let (one, other) = (race(&breaker, ask), race(&breaker, ask));
        let admitted = [one.join().unwrap(), other.join().unwrap()];
        assert_eq!(admitted.iter().filter(|&&yes| yes).count(), 1);
        assert!(breaker.admit(at(44)).is_err());
        assert!(breaker.admit(at(45)).is_ok());
    });
}

/// The next episode has a probe on its way, in the first lease as well.
#[test]
fn a_probe_of_an_earlier_episode_frees_no_slot() {
    check(|| {
        let breaker = opened(FRAGILE);
        let (slow, next) = in_order(
            &breaker,
            |breaker, go| {
                let early = breaker.admit(at(15));
                breaker.reset();
                attempt(breaker, at(15), Kind::Transient);
                go();
                drop(early);
            },
            |breaker| {
                let probe = breaker.admit(at(40)).expect("a free slot");
                assert!(probe.is_probe() && breaker.admit(at(40)).is_err());
            },
        );
        slow.join().unwrap();
        next.join().unwrap();
    });
}

#[test]
fn one_of_two_probes_decides() {
    check_long(|| {
        let breaker = opened(PLAIN.with_consecutive_failures(2).with_probes(2, 1));
        let good = race(&breaker, |breaker| attempt(breaker, at(15), Kind::Ok));
        let bad = race(&breaker, |breaker| {
            attempt(breaker, at(15), Kind::Transient)
        });
        let state = match (good.join().unwrap(), bad.join().unwrap()) {
            (Some(Transition::Closed), None) => BreakerState::Closed,
            (None, Some(Transition::Opened)) => BreakerState::Open,
            both => unreachable!("{both:?}"),
        };
        assert_eq!(breaker.state(at(15)), state);
        assert_at_rest(&breaker, at(15));
    });
}

#[test]
fn a_reset_races_a_trip() {
    check(|| {
        let breaker = closed(FRAGILE);
        let trips = race(&breaker, |breaker| attempt(breaker, at(0), Kind::Transient));
        let resets = race(&breaker, Live::reset);
        let change = trips.join().unwrap();
        resets.join().unwrap();
        assert_at_rest(&breaker, at(0));
        if change.is_none() {
            assert_eq!(breaker.state(at(0)), BreakerState::Closed);
        }
    });
}

/// Held up in its trip, it finds another break behind the reset.
#[test]
fn a_trip_from_before_a_reset_moves_no_end() {
    check(|| {
        let breaker = recovered(FRAGILE);
        let (early, late) = in_order(
            &breaker,
            |breaker, go| {
                let permit = breaker.admit(at(50)).expect("it is closed");
                go();
                finish(permit, at(50), Kind::Transient);
            },
            |breaker| {
                breaker.reset();
                attempt(breaker, at(100), Kind::Transient)
            },
        );
        early.join().unwrap();
        if late.join().unwrap() == Some(Some(Transition::Opened)) {
            assert_eq!(breaker.retry_after(at(100)), Some(span(15)));
        }
    });
}

#[test]
fn isolation_wins_over_a_trip() {
    check(|| {
        let breaker = closed(FRAGILE);
        let trips = race(&breaker, |breaker| attempt(breaker, at(0), Kind::Transient));
        let isolates = race(&breaker, Live::isolate);
        trips.join().unwrap();
        isolates.join().unwrap();
        assert_eq!(breaker.state(at(0)), BreakerState::Isolated);
        assert_at_rest(&breaker, at(0));
    });
}

#[test]
fn observing_loses_no_transition() {
    check(|| {
        let breaker = closed(FRAGILE);
        let trips = race(&breaker, |breaker| attempt(breaker, at(0), Kind::Transient));
        let observes = race(&breaker, Live::observe);
        assert_eq!(trips.join().unwrap(), Some(Transition::Opened));
        observes.join().unwrap();
        assert_eq!(breaker.state(at(0)), BreakerState::Open);
        assert!(breaker.is_observing());
    });
}

/// The old word with the new end, or the reverse, would be another hint.
#[test]
fn a_reading_is_never_torn() {
    check_long(|| {
        let breaker = opened(FRAGILE);
        let probes = race(&breaker, |breaker| {
            attempt(breaker, at(15), Kind::Transient)
        });
        let reads = race(&breaker, |breaker| breaker.retry_after(at(15)));
        assert_eq!(probes.join().unwrap(), Some(Transition::Opened));
        let hint = reads.join().unwrap();
        let right = [None, Some(Duration::ZERO), Some(span(30))];
        assert!(right.contains(&hint), "{hint:?}");
        assert_eq!(breaker.retry_after(at(15)), Some(span(30)));
    });
}
