//! Clocks that stand still, jump, or step back; leases and lost probes.

use super::*;
use Kind::{Ok as Fine, Transient};

const YEAR: Duration = span(365 * 24 * 3_600);

#[test]
fn a_clock_that_stands_still_ends_no_break() {
    let breaker = Alone::new(FRAGILE);
    opened(&breaker, secs(7));
    for _ in 0..1_000 {
        assert_eq!(hint(&breaker, secs(7)), Some(span(15)));
    }
}

#[test]
fn a_clock_that_jumps_ends_the_break() {
    let breaker = Alone::new(FRAGILE);
    opened(&breaker, secs(0));
    let later = secs(0).saturating_add(YEAR);
    let probe = breaker.admit(later).expect("a probe");
    // Back again: the lease was given a year ahead.
    assert_eq!(hint(&breaker, secs(1)), None);
    core::mem::forget(probe);
    assert_eq!(hint(&breaker, ms(15_999)), None);
    assert!(breaker.admit(secs(16)).expect("a probe").is_probe());
}

// zio-openfeature#263
#[test]
fn a_step_back_costs_one_nominal_break() {
    let breaker = Alone::new(FRAGILE);
    let start = secs(0).saturating_add(YEAR);
    opened(&breaker, start);
    let after = |secs| Instant::from_nanos(5).saturating_add(span(secs));
    assert_eq!(breaker.retry_after(after(0)), Some(span(15)));
    assert_eq!(breaker.state(after(0)), BreakerState::Open);
    assert_eq!(hint(&breaker, after(0)), Some(span(15)));
    assert_eq!(hint(&breaker, after(14)), Some(span(1)));
    assert!(breaker.admit(after(15)).expect("a probe").is_probe());
}

#[test]
fn each_step_back_counts_from_itself() {
    let breaker = Alone::new(FRAGILE);
    let mut now = secs(0).saturating_add(YEAR);
    opened(&breaker, now);
    for _ in 0..1_000 {
        now = now.saturating_sub(span(3_600));
        assert_eq!(hint(&breaker, now), Some(span(15)));
    }
    assert!(breaker.admit(now.saturating_add(span(15))).is_ok());
}

#[test]
fn a_small_step_back_costs_the_step() {
    let breaker = Alone::new(FRAGILE);
    opened(&breaker, secs(100));
    assert_eq!(hint(&breaker, secs(110)), Some(span(5)));
    assert_eq!(hint(&breaker, secs(107)), Some(span(8)));
    assert_eq!(hint(&breaker, secs(114)), Some(span(1)));
    assert!(breaker.admit(secs(115)).is_ok());
}

// K9
#[test]
fn reading_writes_nothing() {
    let breaker = Alone::new(FRAGILE);
    opened(&breaker, secs(1_000));
    let words = || (breaker.word().0, breaker.until.load());
    let before = words();
    for now in [secs(0), secs(1_000), secs(1_014), secs(1_015), Instant::MAX] {
        let _ = (breaker.state(now), breaker.retry_after(now));
        let _ = std::format!("{breaker:?}");
        assert_eq!(words(), before);
    }
}

//
#[test]
fn extreme_durations_saturate() {
    let forever = Duration::MAX;
    for jitter in [Jitter::None, Jitter::Equal, Jitter::Full] {
        let breaker = Alone::new(
            FRAGILE
                .with_break(forever, forever)
                .with_window(forever, 1)
                .with_slow_calls(forever, Ratio::ONE)
                .with_jitter(jitter),
        );
        let permit = breaker.admit(secs(1)).expect("it admits");
        let change = permit.settle(secs(1), Transient, forever, || u32::MAX);
        assert_eq!(change, Some(Transition::Opened));
        assert!(hint(&breaker, secs(2)) > Some(YEAR * 100));
        assert!(breaker.admit(Instant::MAX).is_ok());
    }

    let instant = Duration::from_nanos(1);
    let breaker = Alone::new(
        FRAGILE
            .with_break(instant, instant)
            .with_window(instant, 1)
            .with_jitter(Jitter::Equal),
    );
    opened(&breaker, secs(0));
    assert!(breaker.admit(secs(0)).expect("a probe").is_probe());
}

// K5
#[test]
fn a_lost_probe_blocks_one_lease() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    core::mem::forget(breaker.admit(secs(20)));
    assert_eq!(hint(&breaker, ms(34_999)), None);
    let probe = breaker.admit(secs(35)).expect("a probe");
    assert!(probe.is_probe());
    assert_eq!(probe.transition(), None);
    assert_eq!(hint(&breaker, secs(35)), None);
    assert_eq!(finish(probe, secs(36), Fine), None);
    assert_eq!(attempt(&breaker, secs(36), Fine), Some(Transition::Closed));
}

/// A slot is not taken from a probe just because an earlier lease is over.
#[test]
fn every_probe_has_a_lease_of_its_own() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    // Long after the first lease.
    let second = breaker.admit(secs(100)).expect("a probe");
    assert_eq!(hint(&breaker, secs(100)), None);
    assert_eq!(hint(&breaker, ms(114_999)), None);
    assert_eq!(finish(second, ms(114_999), Fine), Some(Transition::Closed));
}

#[test]
fn a_lease_grows_with_the_break() {
    let breaker = Alone::new(FRAGILE);
    opened(&breaker, secs(0));
    assert_eq!(
        attempt(&breaker, secs(15), Transient),
        Some(Transition::Opened)
    );
    core::mem::forget(breaker.admit(secs(45)));
    assert_eq!(hint(&breaker, ms(74_999)), None);
    assert!(breaker.admit(secs(75)).is_ok());
}
