//! What a guard learns about when to race.

use std::time::Duration;

use steadfast::{AttemptCeiling, EventKind, Hedge, Ratio, WinRate};

use super::{Two, threshold};
use crate::stage::{RACED, SLOW, ms, secs};

/// Twelve races that would be lost: how many started, and how many were held
/// back.
fn losses(stage: &Two) -> (usize, usize) {
    for _ in 0..12 {
        let script = stage.script().delays(ms(45)).returns(1).hangs();
        let _ = stage.play(&script);
    }
    let counts = [EventKind::HedgeStarted, EventKind::HedgeSuppressed];
    let [started, suppressed] = counts.map(|kind| stage.heard.count_of(kind));
    stage.heard.clear();
    (started, suppressed)
}

// core-08.16, core-08.18
#[test]
fn copies_that_seldom_win_are_held_back() {
    let law = Hedge::DEFAULT.with_win_rate(WinRate::DEFAULT);
    let stage = Two::with_lanes(RACED.with_hedge(law));
    let mut seen = Vec::new();
    for _ in 0..4 {
        // So that 45 ms stay slow, and a new quarter begins.
        stage.warm_up(240);
        stage.world.advance(secs(6));
        seen.push(losses(&stage));
    }
    assert_eq!(seen, [(12, 0), (6, 6), (3, 9), (1, 11)]);
    let script = stage.script().delays(ms(45)).returns(1);
    let _ = stage.play(&script);
    assert_eq!(stage.told(), "HedgeSuppressed#2 Attempt#1 Succeeded#1");
}

// core-08.17
#[test]
fn copies_are_tried_again() {
    let law = Hedge::DEFAULT.with_win_rate(WinRate::DEFAULT);
    let stage = Two::warm(RACED.with_hedge(law));
    for _ in 0..3 {
        stage.warm_up(240);
        stage.world.advance(secs(6));
        let _ = losses(&stage);
    }
    stage.world.advance(secs(75));
    stage.warm_up(240);
    assert_eq!(losses(&stage), (12, 0));
}

// core-08.19: when all is slow, a second copy is no help.
#[test]
fn what_all_calls_take_is_not_slow() {
    let stage = Two::warm(RACED);
    let brownout = stage.script().delays(ms(500)).returns(1).repeats_last();
    for _ in 0..10 {
        let _ = stage.play(&brownout);
    }
    // The upper edge of the cell of 500 ms.
    assert_eq!(threshold(&stage), Some(Duration::from_nanos(536_870_912)));
    stage.heard.clear();
    let _ = stage.play(&brownout);
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
}

// core-08.20
#[test]
fn a_timeout_is_slow_but_no_ceiling() {
    let law = AttemptCeiling::DEFAULT
        .with_quantile(Ratio::percent(99))
        .with_minimum_samples(60);
    let policy = RACED
        .with_attempt_timeout(secs(10))
        .with_attempt_ceiling(law);
    let stage = Two::warm(policy);
    for _ in 0..2 {
        let script = stage.script::<()>().hangs();
        let call = stage.guard.call(|_| script.next()).once();
        let error = stage.world.block_on(call).expect_err("it hangs");
        assert_eq!(error.elapsed(), secs(10));
    }
    // The upper edge of the cell of 10 s.
    let ten_seconds = Duration::from_nanos(10_200_547_328);
    assert_eq!(threshold(&stage), Some(ten_seconds));
    stage.warm_up(40);
    let measured = stage.guard.measured();
    assert_eq!(measured.hedge_threshold, Some(SLOW));
    assert_eq!(measured.attempt_ceiling, Some(SLOW * 3));
}

//
#[test]
fn a_minute_is_a_sample() {
    let stage = Two::with_lanes(RACED.with_hedge(Hedge::DEFAULT.with_minimum_samples(1)));
    let _ = stage.play(&stage.script().delays(secs(60)).returns(1));
    assert!(threshold(&stage) >= Some(secs(60)));
}

// core-04.12
#[test]
fn a_race_lifts_the_ceiling() {
    let policy = RACED
        .with_hedge(Hedge::DEFAULT.with_quantile(Ratio::percent(99)))
        .with_attempt_timeout(secs(10));
    let stage = Two::with_lanes(policy);
    let slow = stage.script().delays(ms(100)).returns(0).times(3);
    for _ in 0..3 {
        let _ = stage.play(&slow);
    }
    stage.warm_up(97);
    // The upper edge of the cell of 100 ms.
    let hundred = Duration::from_nanos(103_809_024);
    let measured = stage.guard.measured();
    assert_eq!(measured.hedge_threshold, Some(hundred));
    assert_eq!(measured.attempt_ceiling, Some(hundred * 3));
    // The first copy is cut after the second has had its time.
    let script = stage.script::<()>().hangs().repeats_last();
    let call = stage.guard.call(|_| script.next());
    let _ = stage.world.block_on(call.listen(&stage.heard));
    let attempts = stage.heard.of_kind(EventKind::Attempt);
    assert_eq!(attempts[0].duration(), hundred * 3);
}

// Each attempt that raced nobody is a sample, with how long it ran, and no copy
// is. So losers count as slow, and winners do not make a race seem late.
#[test]
fn losers_are_slow_and_copies_are_nothing() {
    let stage = Two::warm(RACED);
    let lost = || stage.script().hangs().delays(ms(5)).returns(2);
    let _ = stage.play(&lost());
    // One in twenty-one may be slow at a p95, two in twenty-two may not.
    assert_eq!(threshold(&stage), Some(SLOW));
    let _ = stage.play(&lost());
    // The upper edge of the cell of 48.5 ms, which is how long they ran.
    assert_eq!(threshold(&stage), Some(Duration::from_nanos(51_904_512)));
}

// When too many hang, the quantile has no end; what would be cut without a race
// is raced by then.
#[test]
fn a_race_is_no_later_than_the_ceiling() {
    let stage = Two::warm(RACED.with_attempt_timeout(secs(10)));
    for _ in 0..200 {
        let script = stage.script().hangs().delays(ms(40)).returns(2);
        assert_eq!(stage.play(&script).value(), Some(&2));
    }
    assert_eq!(threshold(&stage), Some(SLOW * 3));
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(SLOW * 9));
}
