//! When a slow attempt is raced by another copy, and when it is not.

mod estimate;
mod unwell;

use std::time::Duration;

use steadfast::{
    Breaker, BreakerState, Budget, EventKind, Hedge, Hedged, HedgedGuard, Plan, Policy, Ratio,
    Reason, Recovery,
};
use steadfast_testing::{Fault, Scripted, VirtualTimer, World};

use crate::stage::{INSTANT, RACED, SLOW, Stage, TOUCHY, TRANSIENT, backoff, ms, secs};

type Two = Stage<Hedged>;
type Three = Stage<Hedged<3>>;

/// Thirty tokens that time does not restore.
const COUNTED: Policy = RACED.with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30));

/// What a call costs that took one token and earned a tenth.
const ONE_RACE: Ratio = Ratio::percent(3);

/// How long the first copy has run when the second one has for so long.
const fn second(ran: u64) -> Duration {
    SLOW.saturating_add(ms(ran))
}

fn threshold(stage: &Two) -> Option<Duration> {
    stage.guard.measured().hedge_threshold
}

// core-08.1
#[test]
fn twenty_samples_make_a_threshold() {
    let stage = Two::with_lanes(RACED);
    stage.warm_up(19);
    assert_eq!(threshold(&stage), None);
    let slow = stage.script().delays(ms(200)).returns(1);
    assert!(stage.play(&slow).is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");

    let stage = Two::with_lanes(RACED);
    stage.warm_up(20);
    assert_eq!(threshold(&stage), Some(SLOW));
}

// core-08.2
#[test]
fn fast_calls_are_raced_after_ten_milliseconds() {
    let stage = Two::with_lanes(RACED);
    let fast = stage
        .script()
        .delays(Duration::from_micros(300))
        .returns(0)
        .repeats_last();
    for _ in 0..20 {
        let _ = stage.play(&fast);
    }
    assert_eq!(threshold(&stage), Some(ms(10)));
    let script = stage
        .script()
        .delays(ms(50))
        .returns(1)
        .delays(ms(1))
        .returns(2);
    assert_eq!(stage.play(&script).elapsed(), ms(11));
}

// core-08.3, core-14.19
#[test]
fn the_second_copy_wins() {
    let stage = Two::warm(COUNTED);
    let script = stage
        .script()
        .delays(ms(200))
        .returns(1)
        .delays(ms(5))
        .returns(2);
    let outcome = stage.play(&script);

    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&2), second(5)));
    assert_eq!(stage.only(EventKind::HedgeStarted).delay(), Some(SLOW));
    let lost = stage.only(EventKind::HedgeDiscarded);
    assert_eq!(lost.duration(), second(5));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1"
    );
    assert_eq!(
        outcome.to_string(),
        "Succeeded: 2 attempts in 48.52ms\n  #1 hedge: Ok, 5ms\n  #2 at 0s: discarded, 48.52ms"
    );
    assert_eq!(stage.spent(), ONE_RACE);
}

// core-08.4
#[test]
fn the_first_copy_wins_after_all() {
    let stage = Two::warm(COUNTED);
    let script = stage.script().delays(ms(44)).returns(1).hangs();
    let outcome = stage.play(&script);
    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&1), ms(44)));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeDiscarded#2 Succeeded#1"
    );
    assert_eq!(stage.spent(), ONE_RACE);
}

// core-08.5
#[test]
fn what_is_not_slow_is_not_raced() {
    let stage = Two::warm(COUNTED);
    let script = stage.script().delays(ms(30)).returns(1);
    assert!(stage.play(&script).is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(stage.spent(), Ratio::ZERO);
}

// core-08.6
#[test]
fn attempts_bound_the_copies() {
    let stage = Three::warm(RACED.with_attempts(2));
    let script = stage.script::<i32>().delays(ms(300)).returns(1).hangs();
    assert!(stage.play(&script).is_success());
    assert_eq!((script.calls(), script.peak_alive()), (2, 2));
}

// core-08.6: the second round has no attempt left for a race.
#[test]
fn rounds_share_the_attempts() {
    let stage = Two::warm(RACED);
    let script = stage
        .script()
        .delays(ms(60))
        .fails(Fault::Transient)
        .delays(ms(60))
        .fails(Fault::Transient)
        .delays(ms(200))
        .returns(3);
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 Attempt#2 Retrying#3 Attempt#3 Succeeded#3"
    );
    assert_eq!(outcome.elapsed(), second(260));
    assert_eq!(script.peak_alive(), 2);
}

// core-08.7
#[test]
fn each_further_copy_waits_as_long() {
    let stage = Three::warm(RACED.with_deadline(secs(1)));
    let mut starts = Vec::new();
    let begun = stage.world.now();
    let script = stage.script::<()>().hangs().times(3);
    let call = stage.guard.call(|_| {
        starts.push(stage.world.now().saturating_since(begun));
        script.next()
    });
    let error = stage.world.block_on(call.listen(&stage.heard));
    let error = error.expect_err("all hang");
    assert_eq!(starts, [Duration::ZERO, SLOW, SLOW * 2]);
    // A deadline cuts all of them.
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 HedgeStarted#3 Attempt#1 Attempt#2 Attempt#3 DeadlineExceeded#3"
    );
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!((error.attempts(), error.elapsed()), (3, secs(1)));
    assert_eq!(script.alive(), 0);
}

// core-08.8
#[test]
fn a_permanent_failure_does_not_end_a_race() {
    let stage = Two::warm(RACED);
    let permanent = || {
        stage
            .script()
            .delays(ms(50))
            .fails(Fault::Permanent)
            .delays(ms(20))
    };
    let outcome = stage.play(&permanent().returns(2));
    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&2), second(20)));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 Attempt#2 HedgeWon#2 Succeeded#2"
    );

    let outcome = stage.play(&permanent().fails(Fault::Transient).returns(3));
    assert_eq!(outcome.value(), Some(&3));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 Attempt#2 Retrying#3 Attempt#3 Succeeded#3"
    );
}

// core-08.9
#[test]
fn a_failure_in_a_race_is_not_retried() {
    let stage = Two::warm(RACED);
    let script = stage
        .script()
        .delays(ms(50))
        .fails(Fault::Transient)
        .delays(ms(300))
        .returns(2)
        .delays(ms(10))
        .returns(3);
    let outcome = stage.play(&script);
    // Its place is free for the third copy, a full threshold later.
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeStarted#3 Attempt#2 HedgeWon#2 HedgeDiscarded#3 Succeeded#2"
    );
    assert_eq!(outcome.elapsed(), ms(50) + second(10));
}

// core-08.10
#[test]
fn a_near_deadline_allows_no_race() {
    let stage = Two::warm(COUNTED);
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).within(ms(43));
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(stage.spent(), Ratio::ZERO);
}

// core-08.11
#[test]
fn a_probe_is_not_raced() {
    // By the normal latency, such a slow probe would open again.
    // Two places for probes, so that a second copy would find one.
    let breaker = TOUCHY.with_adaptive(false).with_probes(2, 1);
    let stage = Two::warm(RACED.with_breaker(breaker));
    let _ = stage.play_failure();
    assert!(!stage.play(&stage.script().returns(1)).is_success());
    stage.world.advance(secs(15));
    stage.heard.clear();
    let script = stage.script().delays(ms(200)).returns(1);
    assert!(stage.play(&script).is_success());
    assert_eq!(
        stage.told(),
        "BreakerHalfOpened#1 Attempt#1 BreakerClosed#1 Succeeded#1"
    );
}

// core-08.11: what was armed in health does not start once the breaker is open.
#[test]
fn a_breaker_that_opens_stops_the_race() {
    let stage = Two::warm(RACED.with_breaker(TOUCHY).with_budget(Budget::REFERENCE));
    let breaker = stage.guard.breaker().expect("a breaker");
    let script = stage.script().delays(ms(200)).returns(1);
    let world = &stage.world;
    let call = stage.guard.call(|_| {
        breaker.isolate();
        script.next()
    });
    let outcome = world.block_on(call.listen(&stage.heard).outcome());
    assert!(outcome.is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(stage.tokens(), 30);
}

// core-08.13, core-06.17, failsafe-go#139: who has no token for a second copy
// still has the first.
#[test]
fn an_empty_budget_skips_the_race() {
    let stage = Two::warm(COUNTED);
    stage.drain();
    let script = stage.script().delays(ms(200)).returns(1);
    let outcome = stage.play(&script);
    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&1), ms(200)));
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
}

// grpc-java#7222: a race that was not funded leaves nothing that is waited for.
#[test]
fn an_unfunded_race_fails_at_once() {
    let stage = Two::warm(COUNTED.with_deadline(secs(30)));
    stage.drain();
    let script = stage
        .script::<()>()
        .delays(ms(60))
        .fails(Fault::Permanent)
        .delays(ms(60))
        .fails(Fault::Transient);
    assert_eq!(stage.play(&script).elapsed(), ms(60));
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    // A refusal is held back for 100 ms.
    assert_eq!(stage.play(&script).elapsed(), ms(160));
    assert_eq!(stage.told(), "Attempt#1 RejectedByBudget#1");
}

// core-08.22
#[test]
fn impossible_races_are_refused() {
    let hedges = [
        Hedge::DEFAULT.with_quantile(Ratio::percent(49)),
        Hedge::DEFAULT.with_quantile(Ratio::ONE),
        Hedge::DEFAULT.with_suppression(Ratio::ZERO),
    ];
    let refuses = |policy| {
        let timer = World::new().timer();
        HedgedGuard::<VirtualTimer>::try_on(timer, Plan::new(policy)).is_err()
    };
    for hedge in hedges {
        assert!(refuses(RACED.with_hedge(hedge)), "{hedge:?}");
    }
    assert!(refuses(RACED.with_attempts(1)));
    assert!(refuses(RACED.with_adaptive(false)));
    assert!(refuses(INSTANT));
    assert!(!refuses(RACED));
}

//
#[test]
fn failures_are_retried_and_not_raced() {
    let stage = Three::warm(RACED.with_attempts(4).with_backoff(backoff(ms(100))));
    let script = stage.script::<()>().fails(Fault::Transient).times(4);
    let outcome = stage.play(&script);
    assert_eq!(outcome.elapsed(), ms(300));
    assert_eq!(script.peak_alive(), 1);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Retrying#4 Attempt#4 Exhausted#4"
    );
    assert_eq!(outcome.error(), Some(&TRANSIENT));
}

#[test]
fn once_is_not_raced() {
    let stage = Two::warm(COUNTED);
    let script = stage.script().delays(ms(200)).returns(1);
    let call = stage.guard.call(|_| script.next()).once();
    let answer = stage.world.block_on(call.listen(&stage.heard));
    assert_eq!(answer, Ok(1));
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
}

// the first accepted result wins, and an error only when all failed:
// that of the attempt which ended last.
#[test]
fn an_error_beats_nobody() {
    let stage = Two::warm(RACED.with_attempts(2));
    let hedge_fails = stage
        .script()
        .delays(ms(60))
        .returns(1)
        .delays(ms(5))
        .fails(Fault::Transient);
    let outcome = stage.play(&hedge_fails);
    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&1), ms(60)));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 Attempt#2 Succeeded#2"
    );

    let first_fails = stage
        .script()
        .delays(ms(45))
        .fails(Fault::Transient)
        .delays(ms(15))
        .returns(2);
    assert_eq!(stage.play(&first_fails).value(), Some(&2));

    let both_fail = stage
        .script::<()>()
        .delays(ms(60))
        .fails(Fault::Throttled(None))
        .delays(ms(5))
        .fails(Fault::Transient);
    let last = Scripted::Failed(Fault::Throttled(None));
    assert_eq!(stage.play(&both_fail).error(), Some(&last));
}

// What ended last is told, also when it is a cut and another one gave an error.
#[test]
fn a_cut_that_ends_last_has_no_error() {
    let stage = Two::warm(
        RACED
            .with_attempts(2)
            .with_attempt_timeout(ms(200))
            .without_attempt_ceiling(),
    );
    let script = stage
        .script::<()>()
        .delays(ms(50))
        .fails(Fault::Transient)
        .hangs();
    let call = stage.guard.call(|_| script.next());
    let error = stage.world.block_on(call).expect_err("both fail");
    assert_eq!((error.error(), error.is_timeout()), (None, true));
    assert_eq!(error.elapsed(), second(200));
    assert_eq!(
        error.to_string(),
        "failed after 2 attempts in 243.52ms; the last attempt timed out after 200ms"
    );
}

// an attempt that lost is no failure of the dependency: nobody knows
// what it would have given. It is told and in the log.
#[test]
fn losers_are_no_failures() {
    let stage = Two::warm(RACED.with_breaker(TOUCHY));
    for _ in 0..100 {
        let script = stage.script().hangs().delays(ms(5)).returns(2);
        assert_eq!(stage.play(&script).value(), Some(&2));
    }
    assert_eq!(stage.guard.breaker_state(), Some(BreakerState::Closed));
    assert_eq!(stage.heard.count_of(EventKind::HedgeWon), 100);
    assert_eq!(stage.heard.count_of(EventKind::HedgeDiscarded), 100);
    assert_eq!(stage.heard.count_of(EventKind::Attempt), 100);
}

// core-08.12
#[test]
fn a_dependency_that_fails_is_not_loaded_more() {
    // At 20 attempts of which one failed the share is below half of what opens,
    // but one failure never counts; at two it is at that half.
    for (failures, share, told) in [
        (
            1,
            50,
            "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1",
        ),
        (2, 50, "HedgeSuppressed#2 Attempt#1 Succeeded#1"),
        (2, 100, "HedgeSuppressed#2 Attempt#1 Succeeded#1"),
    ] {
        let breaker = Breaker::DEFAULT
            .without_relative_failures()
            .with_failure_ratio(Ratio::percent(8));
        let hedge = Hedge::DEFAULT.with_suppression(Ratio::percent(share));
        let policy = RACED.with_breaker(breaker).with_hedge(hedge);
        let stage = Two::with_lanes(policy);
        for _ in 0..failures {
            let _ = stage.play_failure();
        }
        stage.warm_up(22);
        let script = stage
            .script()
            .delays(ms(100))
            .returns(1)
            .delays(ms(5))
            .returns(2);
        let _ = stage.play(&script);
        assert_eq!(stage.told(), told, "{failures} at {share} %");
    }
}

// core-08.11: a breaker that recovers is not closed; nothing adds to its load.
#[test]
fn nothing_is_raced_on_a_ramp() {
    let nearly_all = Recovery::DEFAULT.with_initial(Ratio::percent(99));
    let breaker = TOUCHY.with_adaptive(false).with_recovery(nearly_all);
    let window = Hedge::DEFAULT.with_window(secs(600));
    let stage = Two::warm(RACED.with_breaker(breaker).with_hedge(window));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.warm_up(1);
    assert_eq!(stage.guard.breaker_state(), Some(BreakerState::Recovering));
    let script = stage.script().delays(ms(200)).returns(1).repeats_last();
    for _ in 0..3 {
        let _ = stage.play(&script);
    }
    assert!(stage.heard.contains(EventKind::Attempt));
    assert!(!stage.heard.contains(EventKind::HedgeStarted));
}
