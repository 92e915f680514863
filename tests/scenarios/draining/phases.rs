//! A stop that comes in the middle of a call.

use std::pin::pin;
use std::time::Duration;

use futures_lite::future::poll_once;
use steadfast::{Attempt, Limited, Queue, Reason};
use steadfast_testing::Fault;

use super::COUNTED;
use crate::stage::{INSTANT, Stage, TOUCHY, at, guard, ms, secs};

#[test]
fn a_call_begins_when_it_is_polled() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).outcome();
    stage.world.drain(secs(1));
    let outcome = stage.world.block_on(call);
    assert_eq!(outcome.elapsed(), secs(1));
}

#[test]
fn an_attempt_in_flight_goes_on() {
    let stage = Stage::new(COUNTED.with_deadline(secs(10)));
    let script = stage.script().delays(secs(5)).returns(1);
    let mut call = pin!(stage.guard.call(|_| script.next()));
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.drain(secs(1));
        assert_eq!(call.await.expect("a value"), 1);
    });
    assert_eq!(stage.world.now(), at(secs(5)));
}

#[test]
fn an_attempt_in_flight_is_the_last() {
    let stage = Stage::new(COUNTED.with_deadline(secs(10)));
    let script = stage.script::<()>().delays(secs(5)).fails(Fault::Transient);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut call = pin!(call);
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.drain(secs(1));
        let error = call.await.expect_err("not retried");
        assert_eq!(error.reason(), Reason::Draining);
    });
    assert_eq!(stage.told(), "Attempt#1 Draining#1");
    assert_eq!(stage.tokens(), 30);
}

// core-13.19
#[test]
fn a_wait_that_is_served_is_served() {
    for fails_again in [false, true] {
        let stage = Stage::new(COUNTED.with_deadline(secs(10)));
        let script = stage.script().fails(Fault::Transient);
        let script = if fails_again {
            script.fails(Fault::Transient)
        } else {
            script.returns(1)
        };
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        let mut call = pin!(call);
        let answer = stage.world.block_on(async {
            assert!(poll_once(call.as_mut()).await.is_none());
            stage.world.sleep(ms(300)).await;
            // Less than is left of the wait: a call that runs keeps its deadline.
            stage.world.drain(ms(10));
            call.await
        });
        assert_eq!(stage.world.now(), at(secs(1)));
        let ends = if fails_again {
            "Draining#2"
        } else {
            "Succeeded#2"
        };
        assert_eq!(answer.is_err(), fails_again);
        assert_eq!(
            stage.told(),
            ["Attempt#1 Retrying#2 Attempt#2", ends].join(" ")
        );
    }
}

#[test]
fn a_refusal_stays_what_it_is() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let _ = stage.play_failure();
    stage.heard.clear();
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut call = pin!(call);
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.drain(ms(10));
        let error = call.await.expect_err("refused");
        assert_eq!(error.reason(), Reason::DependencyUnavailable);
        assert_eq!(error.elapsed(), ms(100));
    });
    assert_eq!(stage.told(), "RejectedByBreaker#1");

    // One that begins now holds nobody up for longer than the grace.
    stage.world.advance(secs(1));
    let outcome = stage.play(&script);
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(outcome.elapsed(), ms(0));
}

// Who stands in line has been accepted: a stop lets it finish.
#[test]
fn who_waits_for_a_place_gets_it() {
    let stage = Stage::new(INSTANT.with_deadline(secs(10)));
    let queue = Queue::new(1, 10);
    let work = async |attempt: Attempt| -> Result<(), Limited> {
        let _place = queue.enter(&stage.guard, attempt).await?;
        stage.world.sleep(secs(2)).await;
        Ok(())
    };
    let (mut first, mut second) = (pin!(stage.guard.call(work)), pin!(stage.guard.call(work)));
    stage.world.block_on(async {
        assert!(poll_once(first.as_mut()).await.is_none());
        assert!(poll_once(second.as_mut()).await.is_none());
        stage.world.drain(secs(3));
        assert!(first.await.is_ok() && second.await.is_ok());
    });
    assert_eq!(stage.world.now(), at(secs(4)));
}

// Whenever it comes, at most one attempt begins after it: the one that was waited for.
#[test]
fn at_most_one_attempt_begins_afterwards() {
    let policy = COUNTED
        .with_attempts(5)
        .with_deadline(secs(30))
        .with_backoff(crate::stage::backoff(ms(7)));
    for stop in 0..40 {
        let stage = Stage::new(policy);
        let script = stage
            .script::<()>()
            .delays(ms(3))
            .fails(Fault::Transient)
            .repeats_last();
        let stopper = {
            let world = stage.world.clone();
            async move {
                world.sleep(ms(stop)).await;
                world.drain(Duration::MAX);
            }
        };
        let stopping = stage.world.spawn("stop", stopper);
        let late = std::cell::Cell::new(0);
        let call = stage.guard.call(|_| {
            late.set(late.get() + u32::from(stage.guard.is_draining()));
            script.next()
        });
        let outcome = stage.world.block_on(call.outcome());
        stage.world.block_on(stopping);
        assert!(late.get() <= 1, "stop after {stop} ms: {late:?}");
        // Each further attempt took one token, and nothing else did.
        assert_eq!(stage.tokens() + script.calls(), 31, "stop after {stop} ms");
        assert!(matches!(outcome.reason(), Reason::Draining) || script.calls() == 5);
        assert_eq!(stage.world.pending_timers(), 0);
    }
}

#[test]
fn others_in_the_world_drain_with_it() {
    let stage = Stage::new(INSTANT);
    let other = guard(&stage.world, INSTANT);
    stage.world.drain(Duration::MAX);
    assert!(other.is_draining() && stage.guard.is_draining());
}
