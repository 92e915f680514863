//! Dropping is cancelling: whatever is dropped, whenever, nothing leaks.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use steadfast::{BreakerState, Budget, Policy, Ratio};
use steadfast_testing::Fault;

use crate::stage::{INSTANT, Stage, TOUCHY, backoff, drop_after, ms, secs};

// core-03.19, failsafe#52, R-55: to cancel is to drop.
#[test]
fn a_drop_in_a_delay_ends_everything() {
    let stage = Stage::new(INSTANT.with_backoff(backoff(secs(1))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let ended = stage.world.block_on(async {
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        let mut call = pin!(call);
        let mut give_up = pin!(stage.world.sleep(ms(400)));
        poll_fn(|cx| match call.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending => give_up.as_mut().poll(cx).map(|()| false),
        })
        .await
    });
    assert!(!ended);
    stage.world.advance(secs(60));
    assert_eq!(stage.told(), "Attempt#1 Retrying#2");
    assert_eq!(script.calls(), 1);
    assert_eq!(stage.world.pending_timers(), 0);
}

// core-14.11, microsoft-agentic-harness#353
#[test]
fn a_drop_in_an_attempt_tells_nothing() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    assert!(!drop_after(&stage.world, 1, call));
    assert!(stage.heard.is_empty());
    assert_eq!((script.calls(), script.alive()), (1, 0));
    let breaker = stage.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Closed);
}

// core-03.20: the success and the caller's wish to end race; who polls last
// gets the success.
#[test]
fn a_success_beats_a_cancellation() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().delays(secs(1)).returns(1);
    let value = stage.world.block_on(async {
        let mut call = pin!(stage.guard.call(|_| script.next()));
        let mut cancelled = pin!(stage.world.sleep(secs(1)));
        poll_fn(|cx| {
            let cancelled = cancelled.as_mut().poll(cx).is_ready();
            match call.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(value.ok()),
                Poll::Pending if cancelled => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    });
    assert_eq!(value, Some(1));
}

// core-07.8, R-01, R-08, R-79, X-08, rezilience#521, resilience4j#903, Polly#311
#[test]
fn a_dropped_probe_frees_its_slot() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    for _ in 0..300 {
        let script = stage.script::<()>().hangs();
        assert!(!drop_after(
            &stage.world,
            1,
            stage.guard.call(|_| script.next())
        ));
        assert_eq!(script.calls(), 1, "the probe before gave its slot back");
    }
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

/// Everything a call can hold and wait for, in one policy.
const FULL: Policy = INSTANT
    .with_attempts(4)
    .with_deadline(secs(20))
    .with_attempt_timeout(secs(2))
    .with_backoff(backoff(secs(1)))
    .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30))
    .with_breaker(TOUCHY.with_consecutive_failures(100));

// Invariant 6. concurrency-limits#190, R-79: exhaustively, at every await point.
#[test]
fn a_drop_at_any_poll_leaks_nothing() {
    let mut ended = false;
    let mut polls = 0;
    while !ended {
        let stage = Stage::new(FULL);
        let script = stage
            .script()
            .delays(ms(300))
            .fails(Fault::Transient)
            .hangs()
            .delays(ms(10))
            .fails(Fault::Throttled(Some(ms(500))))
            .delays(ms(10))
            .returns(1);
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        ended = drop_after(&stage.world, polls, call);

        // A token is gone for each retry that started, and for no other.
        let retries = script.calls().saturating_sub(1);
        assert_eq!(stage.tokens(), 30 - retries, "after {polls} polls");
        assert_eq!(script.alive(), 0, "after {polls} polls");
        assert_eq!(stage.world.pending_timers(), 0, "after {polls} polls");
        polls += 1;
        assert!(polls < 100);
    }
    assert!(polls > 8, "{polls} polls do not reach every wait");
}

// Invariant 6, in half-open and with a budget that time does not fill.
#[test]
fn a_dropped_probe_restores_the_state() {
    for polls in 0..4 {
        let stage = Stage::new(
            FULL.with_breaker(TOUCHY)
                .with_budget(Budget::new(Ratio::percent(10), 0)),
        );
        let _ = stage.play_failure();
        stage.world.advance(secs(15));
        // Throttled is evidence of nothing, so the breaker stays half-open.
        let script = stage
            .script::<()>()
            .delays(ms(10))
            .fails(Fault::Throttled(None))
            .hangs();
        let call = stage.guard.call(|_| script.next());
        assert!(!drop_after(&stage.world, polls, call));
        let retried = usize::from(script.calls() > 1);
        assert_eq!(stage.tokens(), 1 - retried, "after {polls} polls");
        let breaker = stage.guard.breaker().expect("a breaker");
        let permit = breaker.admit(stage.world.now());
        assert!(permit.is_ok(), "after {polls} polls");
    }
}

#[test]
fn a_drop_in_a_pause_ends_the_refusal() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    stage.guard.breaker().expect("a breaker").isolate();
    let script = stage.script().returns(1);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    assert!(!drop_after(&stage.world, 1, call));
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    assert_eq!(stage.world.pending_timers(), 0);
}

// The operation's future goes before anything it may have borrowed the slot of.
#[test]
fn the_attempt_is_dropped_before_it_is_judged() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_attempt_timeout(ms(10)));
    let script = stage.script::<()>().hangs().times(2);
    let call = stage.guard.call(|_| {
        assert_eq!(script.alive(), 0, "the one before is gone");
        script.next()
    });
    stage.world.block_on(call).expect_err("a failure");
    assert_eq!(script.peak_alive(), 1);
}
