//! Faults that users of other circuit breakers met.

use super::*;
use crate::math::ratio::Ratio;
use crate::memory::Shared;
use Kind::{Ok as Fine, Permanent, Throttled, Transient};
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU32, Ordering};
use std::panic::catch_unwind;
use std::sync::Barrier;
use std::thread;
use std::vec::Vec;

/// A breaker that is half-open as soon as somebody asks at 15 s.
fn broken(settings: Breaker) -> Alone {
    let breaker = Alone::new(settings);
    opened(&breaker, secs(0));
    breaker
}

// Polly#1979, Polly#717, resilience4j#544, R-01
#[test]
fn an_unjudged_probe_leaves_a_free_slot() {
    for neutral in [Permanent, Throttled] {
        let breaker = broken(PLAIN);
        for _ in 0..100 {
            assert_eq!(attempt(&breaker, secs(15), neutral), None);
        }
        assert_eq!(in_flight(&breaker), 0);
        assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
    }
}

// Polly#311, resilience4j#903, resilience4j#935, resilience4j#1389,
// resilience4j#1568, rezilience#521, R-08
#[test]
fn a_probe_that_never_reports_wedges_nothing() {
    let breaker = broken(PLAIN);
    for _ in 0..100 {
        drop(breaker.admit(secs(15)).expect("a probe"));
    }
    core::mem::forget(breaker.admit(secs(15)).expect("a probe"));
    assert!(breaker.admit(secs(15)).is_err());
    assert!(breaker.admit(secs(30)).is_ok());
}

// resilience4j#2324, X-08
#[test]
fn a_panicking_probe_gives_its_slot_back() {
    let breaker = broken(PLAIN);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _probe = breaker.admit(secs(15)).expect("a probe");
        std::panic::resume_unwind(Box::new("the operation failed"));
    }));
    assert!(panicked.is_err());
    assert_eq!(in_flight(&breaker), 0);

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let probe = breaker.admit(secs(15)).expect("a probe");
        probe.settle(secs(15), Transient, QUICK, || {
            std::panic::resume_unwind(Box::new("the seed failed"))
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(in_flight(&breaker), 0);
    assert!(!breaker.word().is_busy());
}

// microsoft-agentic-harness#353
#[test]
fn cancelled_attempts_are_no_evidence() {
    let breaker = Alone::new(FRAGILE);
    for _ in 0..100 {
        drop(breaker.admit(secs(0)).expect("it admits"));
    }
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
}

// Polly#216, X-06, R-04
#[test]
fn hanging_probes_let_nobody_else_through() {
    let breaker = broken(PLAIN);
    let mut hanging = Vec::new();
    // A hundred a second for as long as one probe may take.
    for tick in 0..1_500 {
        hanging.extend(breaker.admit(ms(15_000 + tick * 10)));
    }
    assert_eq!(hanging.len(), 1);
    // After that one more a lease: the first is taken for lost.
    for tick in 1_500..3_000 {
        hanging.extend(breaker.admit(ms(15_000 + tick * 10)));
    }
    assert_eq!(hanging.len(), 2);
}

// Polly#217, R-08
#[test]
fn only_probes_of_now_decide_a_recovery() {
    for kind in [Fine, Transient] {
        let breaker = Alone::new(FRAGILE);
        let early = [(); 3].map(|()| breaker.admit(secs(0)).expect("it admits"));
        opened(&breaker, secs(0));
        let probe = breaker.admit(secs(15)).expect("a probe");
        for late in early {
            assert_eq!(finish(late, secs(15), kind), None);
        }
        assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
        assert_eq!((in_flight(&breaker), breaker.word().successes()), (1, 0));
        drop(probe);
    }
}

/// Closed, opened and closed again: the permit is two generations old.
#[test]
fn a_late_failure_counts_for_no_later_row() {
    let breaker = Alone::new(PLAIN.with_probes(1, 1));
    let early = [(); 5].map(|()| breaker.admit(secs(0)).expect("it admits"));
    opened(&breaker, secs(0));
    assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
    for late in early {
        assert_eq!(finish(late, secs(15), Transient), None);
    }
    assert_eq!(attempt(&breaker, secs(15), Transient), None);
}

// Polly#219
#[test]
fn late_failures_open_no_second_time() {
    let breaker = Alone::new(PLAIN);
    let permits = [(); 20].map(|()| breaker.admit(secs(0)).expect("it admits"));
    let changes = permits.map(|permit| finish(permit, secs(0), Transient));
    assert_eq!(changes.iter().flatten().count(), 1);
    assert_eq!(changes[4], Some(Transition::Opened));
    assert_eq!(hint(&breaker, secs(0)), Some(span(15)));
}

// agentic_security#328
#[test]
fn a_failed_probe_opens_at_once() {
    let breaker = broken(PLAIN.with_probes(1, 3));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(
        attempt(&breaker, secs(15), Transient),
        Some(Transition::Opened)
    );
    assert!(breaker.admit(secs(15)).is_err());
}

// resilience4j#1003
#[test]
fn an_admission_takes_one_slot() {
    let breaker = broken(PLAIN.with_probes(3, 2));
    let probes = [1, 2, 3].map(|expected| {
        let probe = breaker.admit(secs(15)).expect("a probe");
        assert_eq!(in_flight(&breaker), expected);
        probe
    });
    assert!(breaker.admit(secs(15)).is_err());
    drop(probes);
    assert_eq!(in_flight(&breaker), 0);
}

//
#[test]
fn fewer_probes_than_successes_still_close() {
    let breaker = broken(PLAIN.with_probes(1, 3));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
}

#[test]
fn the_first_of_two_probes_can_close() {
    let breaker = broken(PLAIN.with_probes(2, 1));
    let first = breaker.admit(secs(15)).expect("a probe");
    let second = breaker.admit(secs(15)).expect("a probe");
    assert_eq!(finish(first, secs(15), Fine), Some(Transition::Closed));
    assert_eq!(finish(second, secs(15), Transient), None);
    assert_eq!(breaker.state(secs(15)), BreakerState::Closed);
}

// resilience4j#842
#[test]
fn two_calls_a_minute_are_enough() {
    let breaker = Alone::new(PLAIN.with_failure_ratio(Ratio::percent(50)));
    let opens = (0..10).position(|call| attempt(&breaker, secs(call * 30), Transient).is_some());
    assert_eq!(opens, Some(4));
}

// resilience4j#1443
#[test]
fn a_ratio_waits_for_its_minimum() {
    let breaker = Alone::new(
        PATIENT
            .with_failure_ratio(Ratio::percent(10))
            .with_window(span(30), 20),
    );
    for _ in 0..19 {
        assert_eq!(attempt(&breaker, secs(0), Transient), None);
    }
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
}

//
#[test]
fn long_health_delays_no_opening() {
    let by_ratio = PATIENT
        .with_failure_ratio(Ratio::percent(50))
        .with_window(span(10), 10);
    for settings in [PLAIN, by_ratio] {
        let breaker = Alone::new(settings);
        // One a second: the window holds ten.
        for second in 0..1_000 {
            assert_eq!(attempt(&breaker, secs(second), Fine), None);
        }
        let opens =
            (1_000..2_000).position(|second| attempt(&breaker, secs(second), Transient).is_some());
        assert_eq!(opens, Some(4));
    }
}

//
#[test]
fn impossible_settings_are_refused() {
    let impossible = [
        PLAIN.with_consecutive_failures(0),
        PLAIN.with_failure_ratio(Ratio::ZERO),
        PLAIN.with_failure_ratio(Ratio::percent(101)),
        PLAIN.with_slow_calls(Duration::ZERO, Ratio::ONE),
        PLAIN.with_window(Duration::ZERO, 20),
        PLAIN.with_window(span(30), 0),
        PLAIN.with_break(Duration::ZERO, span(1)),
        PLAIN.with_break(span(2), span(1)),
        PLAIN.with_probes(0, 1),
        PLAIN.with_probes(1, 256),
    ];
    for settings in impossible {
        assert!(settings.validate().is_err(), "{settings:?}");
        assert!(catch_unwind(|| Alone::new(settings)).is_err());
    }
}

const THREADS: u32 = 20;

//
#[test]
fn a_herd_gets_no_more_than_the_probes() {
    for allowed in [1, 2] {
        for _ in 0..50 {
            let breaker: CircuitBreaker<Shared> =
                CircuitBreaker::new(FRAGILE.with_probes(allowed, 2));
            opened(&breaker, secs(0));
            let (gate, taken) = (Barrier::new(THREADS as usize), AtomicU32::new(0));
            // Whoever is refused asks again until all slots are taken, and once
            // more; nobody ends before everybody is through.
            let ask = || {
                gate.wait();
                let permit = loop {
                    let are_taken = taken.load(Ordering::SeqCst) >= allowed;
                    match breaker.admit(secs(15)) {
                        Ok(permit) => {
                            taken.fetch_add(1, Ordering::SeqCst);
                            break Some(permit);
                        }
                        Err(_) if are_taken => break None,
                        Err(_) => thread::yield_now(),
                    }
                };
                gate.wait();
                drop(permit);
            };
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(ask);
                }
            });
            let admitted = taken.into_inner();
            assert_eq!(admitted, allowed);
            assert_eq!(in_flight(&breaker), 0);
        }
    }
}

// K2
#[test]
fn a_herd_of_failures_opens_once() {
    for _ in 0..50 {
        let breaker: CircuitBreaker<Shared> = CircuitBreaker::new(PLAIN);
        let gate = Barrier::new(THREADS as usize);
        let opened: usize = thread::scope(|scope| {
            let herd: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        let permit = breaker.admit(secs(0)).expect("it admits");
                        gate.wait();
                        usize::from(finish(permit, secs(0), Transient).is_some())
                    })
                })
                .collect();
            herd.into_iter().map(|one| one.join().unwrap_or(0)).sum()
        });
        assert_eq!(opened, 1);
        assert_eq!(hint(&breaker, secs(0)), Some(span(15)));
    }
}
