//! What operators do, at rest and in the middle of a transition.

use super::*;
use Kind::{Ok as Fine, Transient};

#[test]
fn a_disabled_breaker_records_nothing() {
    let breaker = Alone::new(FRAGILE);
    breaker.disable();
    for _ in 0..10 {
        let permit = breaker.admit(secs(0)).expect("it admits");
        assert!(!permit.is_probe());
        assert_eq!(finish(permit, secs(0), Transient), None);
    }
    assert_eq!(breaker.state(secs(0)), BreakerState::Disabled);
    breaker.reset();
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
}

#[test]
fn reset_forgets_failures_and_growth() {
    let breaker = Alone::new(PLAIN);
    for _ in 0..4 {
        attempt(&breaker, secs(0), Transient);
    }
    breaker.reset();
    for _ in 0..4 {
        assert_eq!(attempt(&breaker, secs(0), Transient), None);
    }
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
    assert_eq!(
        attempt(&breaker, secs(15), Transient),
        Some(Transition::Opened)
    );
    breaker.reset();
    opened(&breaker, secs(15));
    assert_eq!(hint(&breaker, secs(15)), Some(span(15)));
}

#[test]
fn a_permit_from_before_a_reset_changes_nothing() {
    let breaker = Alone::new(FRAGILE);
    let late = breaker.admit(secs(0)).expect("it admits");
    breaker.reset();
    assert_eq!(finish(late, secs(0), Transient), None);
    assert_eq!(breaker.state(secs(0)), BreakerState::Closed);

    opened(&breaker, secs(0));
    let probe = breaker.admit(secs(15)).expect("a probe");
    breaker.reset();
    assert_eq!(finish(probe, secs(15), Transient), None);
    assert_eq!(breaker.state(secs(15)), BreakerState::Closed);
}

#[test]
fn manual_control_forgets_what_was_counted() {
    let by_hand: [fn(&Alone); 2] = [Alone::isolate, Alone::disable];
    for take_over in by_hand {
        let breaker = Alone::new(PLAIN);
        for _ in 0..4 {
            attempt(&breaker, secs(0), Transient);
        }
        take_over(&breaker);
        breaker.observe();
        assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
        assert_eq!(attempt(&breaker, secs(0), Transient), None);
    }
}

#[test]
fn observing_decides_but_never_refuses() {
    let breaker = Alone::new(PLAIN);
    breaker.observe();
    assert!(breaker.is_observing());
    for _ in 0..4 {
        assert_eq!(attempt(&breaker, secs(0), Transient), None);
    }
    assert_eq!(
        attempt(&breaker, secs(0), Transient),
        Some(Transition::Opened)
    );
    assert_eq!(breaker.state(secs(0)), BreakerState::Open);
    assert_eq!(breaker.retry_after(secs(0)), Some(span(15)));

    // Would be refused: admitted, and of no consequence.
    for kind in [Transient, Fine, Fine, Fine] {
        let permit = breaker.admit(secs(14)).expect("it admits");
        assert!(!permit.is_probe());
        assert_eq!(finish(permit, secs(14), kind), None);
    }
    assert_eq!(breaker.state(secs(14)), BreakerState::Open);

    let probe = breaker.admit(secs(15)).expect("it admits");
    assert_eq!(probe.transition(), Some(Transition::HalfOpened));
    let beside = breaker.admit(secs(15)).expect("it admits");
    assert!(!beside.is_probe());
    assert_eq!(finish(beside, secs(15), Transient), None);
    assert_eq!(finish(probe, secs(15), Transient), Some(Transition::Opened));
    assert_eq!(breaker.retry_after(secs(15)), Some(span(30)));

    assert_eq!(attempt(&breaker, secs(45), Fine), None);
    assert_eq!(attempt(&breaker, secs(45), Fine), Some(Transition::Closed));
    assert!(breaker.is_observing());
    breaker.reset();
    assert!(!breaker.is_observing());
    opened(&breaker, secs(50));
    assert!(breaker.admit(secs(50)).is_err());
}

#[test]
fn observing_keeps_what_goes_on() {
    let breaker = Alone::new(PLAIN);
    for _ in 0..4 {
        attempt(&breaker, secs(0), Transient);
    }
    let last = breaker.admit(secs(0)).expect("it admits");
    breaker.observe();
    assert_eq!(finish(last, secs(0), Transient), Some(Transition::Opened));
    let probe = breaker.admit(secs(15)).expect("a probe");
    breaker.observe();
    assert_eq!(finish(probe, secs(15), Fine), None);
    assert_eq!(breaker.word().successes(), 1);
}

#[test]
fn isolation_and_disabling_end_observation() {
    let breaker = Alone::new(PLAIN);
    breaker.observe();
    breaker.isolate();
    assert!(!breaker.is_observing());
    assert!(breaker.admit(secs(0)).is_err());
    breaker.observe();
    breaker.disable();
    assert!(!breaker.is_observing());
}

/// Runs `act` while the breaker is busy with the transition to `to`.
fn in_the_middle(breaker: &Alone, to: fn(Control) -> Control, act: impl FnOnce()) -> bool {
    let word = breaker.word();
    breaker.turn(word, to(word), |_| act())
}

#[test]
fn an_operator_wins_over_a_transition() {
    let opening = |word: Control| word.with_one_more_open().turned(BreakerState::Open);
    let interrupted = |act: fn(&Alone)| {
        let breaker = Alone::new(PLAIN);
        assert!(!in_the_middle(&breaker, opening, || act(&breaker)));
        assert!(!breaker.word().is_busy());
        breaker.state(secs(0))
    };
    assert_eq!(interrupted(Alone::isolate), BreakerState::Isolated);
    assert_eq!(interrupted(Alone::disable), BreakerState::Disabled);
    assert_eq!(interrupted(Alone::reset), BreakerState::Closed);
}

#[test]
fn observing_lets_a_transition_go_on() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    assert!(in_the_middle(&breaker, Control::half_opened, || breaker.observe()));
    assert!(!breaker.word().is_busy());
    assert!(breaker.is_observing());
    assert_eq!(breaker.word().state(), BreakerState::HalfOpen);
}

#[test]
fn a_busy_breaker_refuses_and_keeps_still() {
    let breaker = Alone::new(PLAIN);
    let late = breaker.admit(secs(0)).expect("it admits");
    let opening = |word: Control| word.with_one_more_open().turned(BreakerState::Open);
    let opened = in_the_middle(&breaker, opening, || {
        let refusal = breaker.admit(secs(0)).expect_err("it refuses");
        assert_eq!(refusal, Refusal::new(BreakerState::Open, None));
        assert_eq!(finish(late, secs(0), Transient), None);
        assert_eq!(breaker.state(secs(0)), BreakerState::Closed);
        assert_eq!(breaker.retry_after(secs(0)), None);
    });
    assert!(opened && !breaker.word().is_busy());
}

#[test]
fn a_half_opening_breaker_reads_half_open() {
    let breaker = Alone::new(PLAIN);
    opened(&breaker, secs(0));
    in_the_middle(&breaker, Control::half_opened, || {
        breaker.until.store(secs(30).as_nanos());
        assert_eq!(breaker.state(secs(15)), BreakerState::HalfOpen);
        assert_eq!(breaker.retry_after(secs(15)), None);
    });
}

/// Somebody is held up between the busy bit and the end of its break, while an
/// operator resets and the breaker opens anew.
#[test]
fn a_held_up_loser_moves_no_end() {
    let breaker = Alone::new(FRAGILE);
    let word = breaker.word();
    let next = word.with_one_more_open().turned(BreakerState::Open);
    let won = breaker.turn(word, next, |busy| {
        breaker.reset();
        opened(&breaker, secs(100));
        breaker.end_at(busy, secs(3));
    });
    assert!(!won);
    assert_eq!(hint(&breaker, secs(100)), Some(span(15)));
}
