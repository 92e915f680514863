//! The ramp after a break.

use super::*;
use crate::math::ratio::Ratio;
use crate::memory::Shared;
use crate::policy::recovery::Recovery;
use Kind::{Ok as Fine, Permanent, Throttled, Transient};
use std::thread;
use std::vec::Vec;

const RAMP: Breaker = PLAIN
    .with_slow_calls(Duration::from_millis(25), Ratio::percent(50))
    .with_recovery(Recovery::DEFAULT);

/// A breaker whose ramp begins at 15 s and ends at 18.75 s.
fn recovering<M: Memory>(settings: Breaker) -> CircuitBreaker<M> {
    let breaker = CircuitBreaker::new(settings);
    opened(&breaker, secs(0));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), Some(Transition::Closed));
    assert_eq!(breaker.state(secs(15)), BreakerState::Recovering);
    breaker
}

/// Returns which of so many admissions at once go through.
fn through(breaker: &Alone, now: Instant, asked: usize) -> Vec<usize> {
    (1..=asked).filter(|_| breaker.admit(now).is_ok()).collect()
}

/// Asks until it is let through.
fn admitted(breaker: &Alone, now: Instant) -> Permit<'_, Local> {
    (0..100)
        .find_map(|_| breaker.admit(now).ok())
        .expect("at least one of twenty is let through")
}

fn succeed(breaker: &Alone, now: Instant, millis: u64) {
    let took = Duration::from_millis(millis);
    assert_eq!(admitted(breaker, now).settle(now, Fine, took, || 0), None);
}

fn cap(breaker: &Alone) -> Ratio {
    breaker.ramp.cap(breaker.word())
}

// core-07.18
#[test]
fn the_share_grows_with_the_clock() {
    let breaker: Alone = recovering(RAMP);
    let share = |millis: u64| {
        let (word, left) = breaker.snapshot(ms(15_000 + millis));
        breaker.share(word, left)
    };
    assert_eq!(share(0), Some(Ratio::percent(5)));
    assert_eq!(share(1_875), Some(Ratio::permille(525)));
    assert!(share(3_749) < Some(Ratio::ONE));
    assert_eq!(share(3_750), Some(Ratio::ONE));
    assert_eq!(through(&breaker, secs(15), 60), [20, 40, 60]);
}

// core-07.18
#[test]
fn a_ramp_is_a_quarter_of_the_break() {
    for (break_secs, ramp) in [(1, 1_000), (15, 3_750), (120, 30_000), (1_000, 30_000)] {
        let breaker = Alone::new(RAMP.with_break(span(break_secs), span(break_secs)));
        opened(&breaker, secs(0));
        let end = break_secs * 1_000;
        assert_eq!(attempt(&breaker, ms(end), Fine), None);
        assert_eq!(attempt(&breaker, ms(end), Fine), Some(Transition::Closed));
        let state = |millis: u64| breaker.state(ms(end + millis));
        assert_eq!(state(ramp - 1), BreakerState::Recovering);
        assert_eq!(state(ramp), BreakerState::Closed);
    }
}

#[test]
fn a_ramp_follows_the_break_that_was_served() {
    let breaker = Alone::new(RAMP.with_jitter(Jitter::Equal));
    opened(&breaker, secs(0));
    // Half of the nominal one; the probes come late.
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(20), Fine), Some(Transition::Closed));
    assert_eq!(breaker.state(ms(21_874)), BreakerState::Recovering);
    assert_eq!(breaker.state(ms(21_875)), BreakerState::Closed);
}

// core-07.19
#[test]
fn the_share_is_let_through_evenly() {
    let breaker: Alone = recovering(RAMP);
    succeed(&breaker, ms(18_749), 25);
    assert!(cap(&breaker) < Ratio::percent(50));
    let half = RAMP.with_recovery(Recovery::DEFAULT.with_initial(Ratio::percent(50)));
    let breaker: Alone = recovering(half);
    assert_eq!(through(&breaker, secs(15), 8), [2, 4, 6, 8]);
    let quarter = RAMP.with_recovery(Recovery::DEFAULT.with_initial(Ratio::percent(25)));
    let breaker: Alone = recovering(quarter);
    assert_eq!(through(&breaker, secs(15), 12), [4, 8, 12]);
}

// core-07.20
#[test]
fn slow_successes_hold_a_ramp_down() {
    let breaker: Alone = recovering(RAMP);
    // 0.05 + 0.95 * 0.8 is 0.81, half of it 0.405.
    succeed(&breaker, secs(18), 25);
    assert_eq!(cap(&breaker), Ratio::permille(405));
    succeed(&breaker, secs(18), 24);
    assert_eq!(cap(&breaker), Ratio::permille(405));
    succeed(&breaker, secs(18), 24);
    assert_eq!(cap(&breaker), Ratio::permille(455));
    for _ in 0..10 {
        succeed(&breaker, secs(18), 25);
    }
    assert_eq!(cap(&breaker), Ratio::percent(5));
    // However long: nothing but fast successes lets go.
    assert_eq!(breaker.state(secs(1_000)), BreakerState::Recovering);
    for _ in 0..2 * 19 {
        succeed(&breaker, secs(1_000), 1);
    }
    assert_eq!(breaker.state(secs(1_000)), BreakerState::Closed);
}

#[test]
fn the_normal_latency_paces_a_ramp() {
    let breaker = Alone::new(PLAIN.with_recovery(Recovery::DEFAULT));
    for call in 0..200 {
        let permit = breaker.admit(ms(call)).expect("it is closed");
        permit.settle(ms(call), Fine, Duration::from_millis(10), || 0);
    }
    opened(&breaker, secs(1));
    for _ in 0..2 {
        attempt(&breaker, secs(16), Fine);
    }
    succeed(&breaker, secs(19), 31);
    assert_eq!(cap(&breaker), Ratio::ONE);
    succeed(&breaker, secs(19), 32);
    assert_eq!(cap(&breaker), Ratio::permille(405));
}

// core-07.21
#[test]
fn a_failure_during_a_ramp_opens() {
    let breaker: Alone = recovering(RAMP.with_consecutive_failures(100));
    let permit = admitted(&breaker, secs(16));
    assert_eq!(
        finish(permit, secs(16), Transient),
        Some(Transition::Opened)
    );
    assert_eq!(hint(&breaker, secs(16)), Some(span(30)));
}

// core-07.22
#[test]
fn a_ramp_that_is_over_closes_in_silence() {
    let breaker: Alone = recovering(RAMP);
    let before = (breaker.word().0, breaker.until.load());
    assert_eq!(breaker.state(secs(75)), BreakerState::Closed);
    assert_eq!((breaker.word().0, breaker.until.load()), before);
    assert_eq!(breaker.word().opens(), 1);
    let permit = breaker.admit(secs(75)).expect("it is closed");
    assert_eq!((permit.transition(), permit.is_probe()), (None, false));
    assert_eq!(finish(permit, secs(75), Fine), None);
    assert_eq!(breaker.word().opens(), 0);
    opened(&breaker, secs(75));
    assert_eq!(hint(&breaker, secs(75)), Some(span(15)));
}

// core-07.23
#[test]
fn closing_is_told_when_the_ramp_begins() {
    let breaker = Alone::new(RAMP);
    let mut told = Vec::new();
    for tick in 0..1_000 {
        let now = ms(tick * 20);
        if let Ok(permit) = breaker.admit(now) {
            told.extend(permit.transition());
            let kind = if tick < 5 { Transient } else { Fine };
            told.extend(finish(permit, now, kind));
        }
    }
    assert_eq!(
        told,
        [
            Transition::Opened,
            Transition::HalfOpened,
            Transition::Closed
        ]
    );
    assert_eq!(breaker.word().state(), BreakerState::Closed);
}

#[test]
fn a_ramp_refuses_without_a_hint() {
    let breaker: Alone = recovering(RAMP);
    let refusal = breaker.admit(secs(15)).expect_err("one of twenty");
    assert_eq!(refusal, Refusal::new(BreakerState::Recovering, None));
    assert_eq!(breaker.retry_after(secs(15)), None);
}

// K8
#[test]
fn what_is_no_evidence_changes_no_ramp() {
    let breaker: Alone = recovering(RAMP);
    succeed(&breaker, secs(18), 25);
    let before = (breaker.word().0, cap(&breaker));
    drop(admitted(&breaker, secs(18)));
    for kind in [Throttled, Permanent] {
        assert_eq!(finish(admitted(&breaker, secs(18)), secs(18), kind), None);
    }
    assert_eq!((breaker.word().0, cap(&breaker)), before);
}

// K4
#[test]
fn an_outcome_of_another_ramp_changes_nothing() {
    for kind in [Fine, Transient] {
        let breaker: Alone = recovering(RAMP);
        let late = [(); 2].map(|()| admitted(&breaker, secs(16)));
        let failing = admitted(&breaker, secs(16));
        assert_eq!(
            finish(failing, secs(16), Transient),
            Some(Transition::Opened)
        );
        for _ in 0..2 {
            attempt(&breaker, secs(46), Fine);
        }
        let before = (breaker.word().0, cap(&breaker));
        for permit in late {
            assert_eq!(permit.settle(secs(47), kind, span(1), || 0), None);
        }
        assert_eq!((breaker.word().0, cap(&breaker)), before);
    }
}

// K10
#[test]
fn a_ramp_forgets_the_failures_before() {
    let settings = RAMP
        .with_consecutive_failures(1_000_000)
        .with_failure_ratio(Ratio::percent(50))
        .with_window(span(600), 2);
    let breaker: Alone = recovering(settings);
    assert_eq!(attempt(&breaker, secs(19), Transient), None);
    assert_eq!(breaker.state(secs(19)), BreakerState::Closed);
}

// K7
#[test]
fn a_ramp_lets_its_integral_through() {
    let breaker: Alone = recovering(RAMP);
    let mut admitted = 0_u64;
    let mut owed = 0_u64;
    for call in 0..2_000 {
        let now = Instant::from_nanos(15_000_000_000 + call * 3_750_000_000 / 2_000);
        let (word, left) = breaker.snapshot(now);
        owed += u64::from(breaker.share(word, left).expect("nobody turns it").as_ppm());
        if let Ok(permit) = breaker.admit(now) {
            admitted += 1;
            assert_eq!(finish(permit, now, Fine), None);
        }
        assert!((admitted * 1_000_000).abs_diff(owed) <= 1_000_000);
    }
    assert!(admitted.abs_diff(1_049) <= 1, "{admitted}");
}

#[test]
fn a_step_back_begins_the_ramp_anew() {
    let settings = RAMP.with_break(span(1_000), span(1_000));
    let breaker = Alone::new(settings);
    opened(&breaker, secs(5_000));
    for _ in 0..2 {
        attempt(&breaker, secs(6_000), Fine);
    }
    // Nobody has asked yet, and reading changes nothing.
    assert_eq!(breaker.state(secs(1_000)), BreakerState::Recovering);
    assert_eq!(through(&breaker, secs(1_000), 40), [20, 40]);
    assert_eq!(breaker.state(ms(1_029_999)), BreakerState::Recovering);
    assert_eq!(breaker.state(secs(1_030)), BreakerState::Closed);
    // A jump ahead ends it.
    assert!(breaker.admit(Instant::MAX).is_ok());
    assert_eq!(breaker.word().state(), BreakerState::Closed);
}

#[test]
fn operators_end_a_ramp() {
    let isolated = (Alone::isolate as fn(&Alone), BreakerState::Isolated);
    let disabled = (Alone::disable as fn(&Alone), BreakerState::Disabled);
    let reset = (Alone::reset as fn(&Alone), BreakerState::Closed);
    for (act, state) in [isolated, disabled, reset] {
        let breaker: Alone = recovering(RAMP);
        let late = admitted(&breaker, secs(16));
        act(&breaker);
        assert_eq!(breaker.state(secs(16)), state);
        assert_eq!(finish(late, secs(16), Transient), None);
        assert_eq!(breaker.state(secs(16)), state);
    }
}

#[test]
fn an_observed_ramp_refuses_nothing() {
    let breaker: Alone = recovering(RAMP);
    breaker.observe();
    assert_eq!(breaker.state(secs(15)), BreakerState::Recovering);
    let overruled: Vec<_> = (0..20)
        .map(|_| {
            let permit = breaker.admit(secs(15)).expect("it observes");
            permit.would_be_refused_in()
        })
        .collect();
    assert_eq!(overruled[..19], [Some(BreakerState::Recovering); 19]);
    assert_eq!(overruled[19], None);
}

// K2
#[test]
fn a_herd_opens_a_ramp_once() {
    for _ in 0..50 {
        let breaker: CircuitBreaker<Shared> = recovering(RAMP);
        let opened: usize = thread::scope(|scope| {
            let herd: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let permit = (0..1_000).find_map(|_| breaker.admit(secs(16)).ok());
                        permit.map_or(0, |permit| {
                            usize::from(finish(permit, secs(16), Transient).is_some())
                        })
                    })
                })
                .collect();
            herd.into_iter().map(|one| one.join().unwrap_or(0)).sum()
        });
        assert_eq!(opened, 1);
        assert_eq!(hint(&breaker, secs(16)), Some(span(30)));
    }
}
