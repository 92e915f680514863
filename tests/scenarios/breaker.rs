//! The circuit breaker over whole calls.

use std::sync::Arc;

use std::task::{Context, Poll, Waker};

use steadfast::{
    Breaker, BreakerState, CircuitBreaker, EventKind, Guard, Jitter, Plan, Ratio, Reason, Recovery,
    Verdict,
};
use steadfast_testing::{Fault, Recorder, Script, World};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, Virtual, at, guard, ms, secs, told};

// core-03.10, core-14.4, test-01.9, R-10
#[test]
fn an_open_breaker_refuses_after_a_pause() {
    let stage = Stage::new(INSTANT.with_breaker(Breaker::DEFAULT));
    stage.guard.breaker().expect("a breaker").isolate();
    let script = stage.script().returns(1);
    let mut call = Box::pin(
        stage
            .guard
            .call(|_| script.next())
            .listen(&stage.heard)
            .outcome(),
    );
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    // Told before the pause is served.
    let refusal = stage.only(EventKind::RejectedByBreaker);
    assert_eq!(refusal.delay(), Some(ms(100)));
    assert_eq!(refusal.verdict(), Verdict::OK);
    assert_eq!(refusal.reason(), Some(Reason::DependencyUnavailable));
    assert!(refusal.is_rejection() && refusal.error().is_none());

    stage.world.advance(ms(99));
    assert!(call.as_mut().poll(&mut cx).is_pending());
    stage.world.advance(ms(1));
    let Poll::Ready(outcome) = call.as_mut().poll(&mut cx) else {
        unreachable!("the pause is over");
    };
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(outcome.log().attempts(), 0);
    assert_eq!(script.calls(), 0);
}

// core-03.11
#[test]
fn the_pause_fits_the_deadline() {
    let stage = Stage::new(INSTANT.with_breaker(Breaker::DEFAULT).with_deadline(ms(40)));
    stage.guard.breaker().expect("a breaker").isolate();
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(outcome.elapsed(), ms(40));
}

#[test]
fn a_refusal_says_when_to_come_back() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let _ = stage.play_failure();
    let outcome = stage.play(&stage.script().returns(1));
    // Read after the pause.
    assert_eq!(outcome.retry_after(), Some(ms(14_900)));
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(
        error.to_string(),
        "not called: the circuit breaker is open; try again in 14.9s"
    );
}

// core-03.23, core-14.8
#[test]
fn a_probe_that_succeeds_closes() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.heard.clear();
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(
        stage.told(),
        "BreakerHalfOpened#1 Attempt#1 BreakerClosed#1 Succeeded#1"
    );
    assert!(outcome.is_success());
}

// core-07.23 without the ramp: everything a recovery tells, in order.
#[test]
fn a_recovery_is_told_in_order() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY.with_probes(1, 2)));
    let _ = stage.play_failure();
    assert_eq!(stage.told(), "Attempt#1 BreakerOpened#1 Exhausted#1");
    let _ = stage.play(&stage.script().returns(1));
    assert_eq!(stage.told(), "RejectedByBreaker#1");

    stage.world.advance(secs(15));
    let _ = stage.play(&stage.script().returns(1));
    assert_eq!(stage.told(), "BreakerHalfOpened#1 Attempt#1 Succeeded#1");
    let _ = stage.play(&stage.script().returns(1));
    assert_eq!(stage.told(), "Attempt#1 BreakerClosed#1 Succeeded#1");

    let _ = stage.play_failure();
    assert_eq!(stage.told(), "Attempt#1 BreakerOpened#1 Exhausted#1");
    stage.world.advance(secs(15));
    let _ = stage.play_failure();
    assert_eq!(
        stage.told(),
        "BreakerHalfOpened#1 Attempt#1 BreakerOpened#1 Exhausted#1"
    );
}

// test-01.8
#[test]
fn a_break_that_is_over_lets_a_probe_through() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY.with_consecutive_failures(2)));
    let _ = stage.play_failure();
    let _ = stage.play_failure();
    let standing = || {
        let breaker = stage.guard.breaker().expect("a breaker");
        breaker.state(stage.world.now())
    };
    assert_eq!(standing(), BreakerState::Open);
    stage.world.advance(secs(16));
    assert_eq!(standing(), BreakerState::HalfOpen);
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(standing(), BreakerState::Closed);
}

// core-01.15
#[test]
fn a_shared_breaker_refuses_everybody() {
    static SHARED: CircuitBreaker = CircuitBreaker::new(TOUCHY);
    let world = World::new();
    let on = |name| -> Virtual {
        let plan = Plan::new(INSTANT.with_name(name)).with_breaker(&SHARED);
        Guard::try_on(world.timer(), plan).expect("a policy that works")
    };
    let (one, other) = (on("one"), on("other"));
    let script: Script<()> = Script::on(world.timer()).fails(Fault::Transient);
    world
        .block_on(one.call(|_| script.next()).once())
        .expect_err("a failure");
    let error = world
        .block_on(other.call(|_| script.next()))
        .expect_err("a refusal");
    assert_eq!(error.reason(), Reason::DependencyUnavailable);
    assert_eq!(error.policy(), Some("other"));
    assert_eq!(script.calls(), 1);
}

// core-01.15 at run time: held by `Arc`, found from outside as well.
#[test]
fn a_held_breaker_is_shared_too() {
    let world = World::new();
    let shared = Arc::new(CircuitBreaker::new(TOUCHY));
    let one = guard(&world, INSTANT).holding_breaker(Arc::clone(&shared));
    let other = guard(&world, INSTANT).holding_breaker(Arc::clone(&shared));
    let script: Script<()> = Script::on(world.timer()).fails(Fault::Transient);
    world
        .block_on(one.call(|_| script.next()).once())
        .expect_err("a failure");
    assert_eq!(shared.state(world.now()), BreakerState::Open);
    let error = world
        .block_on(other.call(|_| script.next()))
        .expect_err("a refusal");
    assert_eq!(error.reason(), Reason::DependencyUnavailable);
}

// Polly#217, R-08: what began before the trip says nothing about now.
#[test]
fn a_late_outcome_of_another_era_is_ignored() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let slow = stage
        .script::<()>()
        .delays(secs(20))
        .fails(Fault::Transient);
    let late = Recorder::new();
    let outcome = stage.world.block_on(async {
        let call = stage.guard.call(|_| slow.next()).once().listen(&late);
        let mut call = Box::pin(call.outcome());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut cx).is_pending());
        // Trips, breaks for 15 s and closes while the slow one is on its way.
        let quick = stage.script().fails(Fault::Transient).returns(());
        let trip = stage.guard.call(|_| quick.next()).once();
        trip.listen(&stage.heard).await.expect_err("a failure");
        stage.world.sleep(secs(15)).await;
        let probe = stage.guard.call(|_| quick.next()).once();
        probe.listen(&stage.heard).await.expect("a value");
        call.await
    });
    assert_eq!(outcome.elapsed(), secs(20));
    assert_eq!(told(&late), "Attempt#1 Exhausted#1");
    let breaker = stage.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Closed);
    assert_eq!(stage.world.now(), at(secs(20)));
}

// Polly#216, R-02, R-03, R-04, X-06, X-07: 50 calls race to a backend that hangs.
#[test]
fn a_hanging_backend_sees_one_probe() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY).with_deadline(secs(5)));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    let script = stage.script::<()>().hangs().repeats_last();
    stage.world.block_on(async {
        let calls = (0..50).map(|_| Box::pin(stage.guard.call(|_| script.next())));
        let mut calls: Vec<_> = calls.collect();
        std::future::poll_fn(|cx| {
            calls.retain_mut(|call| call.as_mut().poll(cx).is_pending());
            if calls.is_empty() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    });
    assert_eq!(script.calls(), 1);
    assert_eq!(script.peak_alive(), 1);
}

//
#[test]
fn an_operator_holds_the_breaker() {
    let stage = Stage::new(INSTANT.with_breaker(Breaker::DEFAULT));
    let breaker = stage.guard.breaker().expect("a breaker");
    breaker.isolate();
    assert!(!stage.play(&stage.script().returns(1)).is_success());
    breaker.reset();
    assert!(stage.play(&stage.script().returns(1)).is_success());
    // What an operator does is told to nobody.
    assert_eq!(stage.told(), "RejectedByBreaker#1 Attempt#1 Succeeded#1");
    breaker.disable();
    for _ in 0..10 {
        assert_eq!(stage.play_failure().error(), Some(&TRANSIENT));
    }
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Disabled);
}

#[test]
fn observing_tells_and_refuses_nothing() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    stage.guard.breaker().expect("a breaker").observe();
    let _ = stage.play_failure();
    assert_eq!(stage.told(), "Attempt#1 BreakerOpened#1 Exhausted#1");
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(
        stage.only(EventKind::WouldReject).reason(),
        Some(Reason::DependencyUnavailable)
    );
    assert_eq!(stage.told(), "WouldReject#1 Attempt#1 Succeeded#1");
    assert!(outcome.is_success());
}

//
#[test]
fn a_long_healthy_past_does_not_blind() {
    let window = Breaker::DEFAULT
        .with_consecutive_failures(1_000)
        .with_failure_ratio(Ratio::percent(50))
        .with_window(secs(10), 10);
    let stage = Stage::new(INSTANT.with_attempts(1).with_breaker(window));
    for _ in 0..1_000 {
        assert!(stage.play(&stage.script().returns(1)).is_success());
    }
    stage.world.advance(secs(20));
    let mut sent = 0;
    while stage.play_failure().reason() == Reason::AttemptsExhausted {
        sent += 1;
    }
    assert_eq!(sent, 10);
}

/// Every third call fails, so never five in a row.
#[test]
fn failures_above_the_normal_share_open() {
    let stage = Stage::new(
        INSTANT
            .with_attempts(1)
            .with_breaker(Breaker::DEFAULT.with_jitter(Jitter::None)),
    );
    let breaker = stage.guard.breaker().expect("a breaker");
    for call in 0..600 {
        let outcome = match call % 100 {
            0 => stage.play_failure().reason(),
            _ => stage.play(&stage.script().returns(())).reason(),
        };
        assert_ne!(outcome, Reason::DependencyUnavailable);
        stage.world.advance(ms(500));
    }
    // About 1 %, for the baseline holds no whole hundreds.
    let normal = || breaker.normal_failure_rate(stage.world.now());
    assert!(normal().is_some_and(|share| share < Ratio::percent(2)));
    let opened = (0..60).position(|call| {
        stage.world.advance(ms(500));
        stage.heard.clear();
        let _ = match call % 3 {
            0 => stage.play_failure(),
            _ => stage.play(&stage.script().returns(())),
        };
        told(&stage.heard).contains("BreakerOpened")
    });
    // Eight failures: 0.6 were to be expected.
    assert_eq!(opened, Some(21));
    assert!(normal().is_some_and(|share| share < Ratio::percent(2)));
    stage.guard.reset();
    assert_eq!(normal(), None);
}

// core-07.23
#[test]
fn a_ramp_is_told_as_closing() {
    let ramp = TOUCHY.with_recovery(Recovery::DEFAULT);
    let stage = Stage::new(INSTANT.with_attempts(1).with_breaker(ramp));
    let breaker = stage.guard.breaker().expect("a breaker");
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.heard.clear();
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(
        stage.told(),
        "BreakerHalfOpened#1 Attempt#1 BreakerClosed#1 Succeeded#1"
    );
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Recovering);

    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    let error = outcome.into_result().expect_err("a refusal");
    assert_eq!(
        (error.breaker_state(), error.retry_after()),
        (Some(BreakerState::Recovering), None)
    );

    // The ramp is over: nothing is told.
    stage.world.advance(secs(4));
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Closed);
}

/// Every call succeeds, at last ten times as slowly.
#[test]
fn a_brownout_opens() {
    let stage = Stage::new(
        INSTANT
            .with_attempts(1)
            .with_breaker(Breaker::DEFAULT.with_jitter(Jitter::None)),
    );
    let breaker = stage.guard.breaker().expect("a breaker");
    let play = |took| stage.play(&stage.script().delays(ms(took)).returns(()));
    for _ in 0..600 {
        assert!(play(20).is_success());
        stage.world.advance(ms(480));
    }
    let normal = breaker.normal_latency(stage.world.now());
    assert!(normal.is_some_and(|normal| normal.abs_diff(ms(20)) < ms(1)));
    stage.heard.clear();
    let opened = (1..100).find(|_| {
        assert!(play(200).is_success());
        stage.world.advance(ms(300));
        told(&stage.heard).contains("BreakerOpened")
    });
    // Half of the sixty that the window holds, less what it forgets by slices.
    assert!(opened.is_some_and(|calls| (27..=31).contains(&calls)));
    assert_eq!(breaker.normal_latency(stage.world.now()), normal);
    stage.guard.reset();
    assert_eq!(breaker.normal_latency(stage.world.now()), None);
}
