//! The vectors of the specification that need no measured baseline.

use super::*;
use crate::math::ratio::Ratio;
use Kind::{Ok as Fine, Permanent, Throttled, Transient};

fn outcomes(breaker: &Alone, now: Instant, kinds: &[(Kind, u32)]) {
    for &(kind, times) in kinds {
        for _ in 0..times {
            assert_eq!(attempt(breaker, now, kind), None);
        }
    }
}

// core-07.1
#[test]
fn the_fifth_failure_in_a_row_opens() {
    let breaker = Alone::new(PLAIN);
    outcomes(&breaker, secs(0), &[(Transient, 4)]);
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
    assert_eq!(breaker.state(secs(0)), BreakerState::Open);
    let refusal = breaker.admit(secs(0)).expect_err("it refuses");
    assert_eq!(refusal, Refusal::new(BreakerState::Open, Some(span(15))));
    assert_eq!(breaker.retry_after(secs(0)), Some(span(15)));
}

// core-07.2
#[test]
fn a_success_begins_the_row_again() {
    let breaker = Alone::new(PLAIN);
    outcomes(
        &breaker,
        secs(0),
        &[(Transient, 4), (Fine, 1), (Transient, 4)],
    );
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
}

// core-07.3
#[test]
fn refusals_and_faults_are_no_evidence() {
    let breaker = Alone::new(PLAIN);
    outcomes(
        &breaker,
        secs(0),
        &[(Transient, 4), (Throttled, 10), (Permanent, 3)],
    );
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
}

// core-07.4
#[test]
fn a_break_ends_to_the_nanosecond() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    assert_eq!(hint(&breaker, ms(14_999)), Some(Duration::from_millis(1)));
    let last = Instant::from_nanos(14_999_999_999);
    assert_eq!(hint(&breaker, last), Some(Duration::from_nanos(1)));
    assert_eq!(breaker.state(last), BreakerState::Open);

    let before = (breaker.word().0, breaker.until.load());
    assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
    assert_eq!((breaker.word().0, breaker.until.load()), before);

    let probe = breaker.admit(secs(15)).expect("a probe");
    assert!(probe.is_probe());
    assert_eq!(probe.transition(), Some(Transition::HalfOpened));
    let refusal = breaker.admit(secs(15)).expect_err("one at a time");
    assert_eq!(refusal, Refusal::new(BreakerState::HalfOpen, None));
    assert_eq!(breaker.retry_after(secs(15)), None);
}

// core-07.5
#[test]
fn two_good_probes_close() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
    assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
    assert_eq!(breaker.state(secs(15)), BreakerState::Closed);
    opened(&breaker, secs(20));
    assert_eq!(hint(&breaker, secs(20)), Some(span(15)));
}

// core-07.5, envoy#26877
#[test]
fn failed_recoveries_double_the_break() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    let mut now = secs(15);
    assert_eq!(attempt(&breaker, now, Fine), None);
    for expected in [30, 60, 120, 120] {
        assert_eq!(attempt(&breaker, now, Transient), Some(Transition::Opened));
        assert_eq!(hint(&breaker, now), Some(span(expected)));
        now = now.saturating_add(span(expected));
    }
}

// core-07.6
#[test]
fn jitter_only_shortens() {
    let range = |jitter, opens: u32| {
        let served = |draw: u32| {
            let breaker = Alone::new(FRAGILE.with_jitter(jitter));
            let mut now = secs(0);
            let mut last = Duration::ZERO;
            for _ in 0..opens {
                let permit = breaker.admit(now).expect("it admits");
                permit.settle(now, Transient, QUICK, || draw);
                last = breaker.retry_after(now).expect("it is open");
                now = now.saturating_add(last);
            }
            last
        };
        (served(0), served(u32::MAX))
    };
    let (shortest, longest) = range(Jitter::Equal, 1);
    assert_eq!(shortest, Duration::from_millis(7_500));
    assert!(longest > Duration::from_millis(14_999) && longest < span(15));
    let (shortest, longest) = range(Jitter::Equal, 2);
    assert_eq!(shortest, span(15));
    assert!(longest > Duration::from_millis(29_999) && longest < span(30));
    let (shortest, longest) = range(Jitter::Full, 1);
    assert_eq!(shortest, Duration::ZERO);
    assert!(longest > Duration::from_millis(14_999) && longest < span(15));
}

// core-07.7
#[test]
fn a_throttled_probe_frees_its_slot() {
    for neutral in [Throttled, Permanent] {
        let breaker = Alone::new(PLAIN);
        opened(&breaker, secs(0));
        assert_eq!(attempt(&breaker, secs(15), Fine), None);
        assert_eq!(attempt(&breaker, secs(15), neutral), None);
        assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
        assert_eq!((in_flight(&breaker), breaker.word().successes()), (0, 1));
        assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
    }
}

// core-07.8
#[test]
fn a_cancelled_probe_frees_its_slot() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    let probe = breaker.admit(secs(15)).expect("a probe");
    assert_eq!(hint(&breaker, secs(15)), None);
    drop(probe);
    assert_eq!(breaker.word().successes(), 0);
    assert!(breaker.admit(secs(15)).expect("a probe").is_probe());
}

// core-07.9
#[test]
fn a_share_of_failures_opens() {
    let settings = PATIENT
        .with_failure_ratio(Ratio::percent(50))
        .with_window(span(30), 20);
    let opens_after = |first, second| {
        let breaker = Alone::new(settings);
        let kinds = [first, second].into_iter().cycle();
        let opens = kinds
            .take(100)
            .position(|kind| attempt(&breaker, secs(0), kind).is_some());
        opens.map(|at| at + 1)
    };
    assert_eq!(opens_after(Fine, Transient), Some(20));
    // The 20th is a success, and nobody looks after a success.
    assert_eq!(opens_after(Transient, Fine), Some(21));
}

// core-07.10
#[test]
fn one_failure_of_twenty_can_be_enough() {
    let breaker = Alone::new(
        PATIENT
            .with_failure_ratio(Ratio::percent(5))
            .with_window(span(30), 20),
    );
    outcomes(&breaker, secs(0), &[(Fine, 19)]);
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
}

fn slow_breaker() -> Alone {
    let threshold = Duration::from_millis(25);
    Alone::new(
        PATIENT
            .with_slow_calls(threshold, Ratio::percent(50))
            .with_window(span(30), 20),
    )
}

fn takes(breaker: &Alone, micros: u64) -> Option<Transition> {
    let took = Duration::from_micros(micros);
    let permit = breaker.admit(secs(0)).expect("it admits");
    permit.settle(secs(0), Fine, took, || 0)
}

// core-07.15, the constant threshold
#[test]
fn slow_begins_at_the_threshold() {
    let breaker = slow_breaker();
    for _ in 0..100 {
        assert_eq!(takes(&breaker, 24_999), None);
    }
    let breaker = slow_breaker();
    for _ in 0..10 {
        assert_eq!(takes(&breaker, 24_999), None);
    }
    for _ in 0..9 {
        assert_eq!(takes(&breaker, 25_000), None);
    }
    assert_eq!(takes(&breaker, 25_000), Some(Transition::Opened));
}

// core-07.16, without a baseline
#[test]
fn nothing_is_slow_without_a_threshold() {
    let breaker = Alone::new(PATIENT.with_failure_ratio(Ratio::percent(1)));
    for _ in 0..100 {
        assert_eq!(takes(&breaker, 10_000_000), None);
    }
}

// core-07.17, the constant threshold, no ramp
#[test]
fn a_slow_probe_opens_again() {
    let breaker = slow_breaker();
    for _ in 0..20 {
        takes(&breaker, 40_000);
    }
    let probe = breaker.admit(secs(15)).expect("a probe");
    let slow = Duration::from_millis(40);
    assert_eq!(
        probe.settle(secs(15), Fine, slow, || 0),
        Some(Transition::Opened)
    );
    assert_eq!(hint(&breaker, secs(15)), Some(span(30)));
}

#[test]
fn a_slow_failure_counts_as_a_failure() {
    let breaker = slow_breaker();
    for _ in 0..100 {
        let permit = breaker.admit(secs(0)).expect("it admits");
        assert_eq!(permit.settle(secs(0), Transient, span(9), || 0), None);
    }
}

// core-07.24
#[test]
fn isolation_lasts_until_reset() {
    let breaker = Alone::new(PLAIN);
    breaker.isolate();
    for now in [secs(0), secs(1_000_000), Instant::MAX] {
        let refusal = breaker.admit(now).expect_err("it refuses");
        assert_eq!(refusal, Refusal::new(BreakerState::Isolated, None));
        assert_eq!(breaker.state(now), BreakerState::Isolated);
        assert_eq!(breaker.retry_after(now), None);
    }
    breaker.reset();
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
    assert!(breaker.admit(secs(0)).is_ok());
}

// core-07.26
#[test]
fn a_late_failure_changes_no_open_breaker() {
    let breaker = Alone::new(FRAGILE);
    let late = breaker.admit(secs(0)).expect("it admits");
    opened(&breaker, secs(0));
    let before = breaker.word().0;
    assert_eq!(finish(late, secs(1), Transient), None);
    assert_eq!(breaker.word().0, before);
    assert_eq!(hint(&breaker, secs(1)), Some(span(14)));
}

#[test]
fn a_window_forgets_what_is_old() {
    let breaker = Alone::new(
        PATIENT
            .with_failure_ratio(Ratio::percent(50))
            .with_window(span(30), 20),
    );
    outcomes(&breaker, secs(0), &[(Transient, 19)]);
    outcomes(&breaker, secs(30), &[(Transient, 19)]);
    assert_eq!(
        attempt(&breaker, secs(30), Transient),
        Some(Transition::Opened)
    );
}

// K10
#[test]
fn closing_forgets_the_failures_before() {
    let breaker = Alone::new(
        PATIENT
            .with_failure_ratio(Ratio::percent(50))
            .with_window(span(600), 2),
    );
    outcomes(&breaker, secs(0), &[(Transient, 1)]);
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
    outcomes(&breaker, secs(15), &[(Transient, 1)]);
}
