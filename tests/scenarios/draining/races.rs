//! No copy of a slow attempt starts shortly before a stop.

use std::pin::pin;
use std::time::Duration;

use futures_lite::future::poll_once;
use steadfast::{Hedged, Reason};
use steadfast_testing::Fault;

use crate::stage::{RACED, SLOW, Stage, at, ms, secs};

type Two = Stage<Hedged>;

// core-08.15, core-13.20: ours is not armed, nor does it fire if it was before.
#[test]
fn a_slow_attempt_is_not_raced() {
    let stage = Two::warm(RACED);
    stage.world.drain(Duration::MAX);
    let script = stage.script().delays(secs(1)).returns(1).repeats_last();
    assert!(stage.play(&script).is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(script.calls(), 1);
}

// core-13.20
#[test]
fn a_copy_that_was_due_does_not_start() {
    let stage = Two::warm(RACED);
    let script = stage.script().delays(secs(1)).returns(1).repeats_last();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut call = pin!(call);
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.guard.drain(Duration::MAX);
        assert_eq!(call.await.expect("a value"), 1);
    });
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(script.calls(), 1);
}

// core-08.15
#[test]
fn a_race_that_is_on_goes_on() {
    let stage = Two::warm(RACED);
    let begin = stage.world.now();
    let script = stage.script().hangs().delays(ms(20)).returns(2);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut call = pin!(call);
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.sleep(SLOW).await;
        assert!(poll_once(call.as_mut()).await.is_none());
        assert_eq!(script.alive(), 2);
        stage.world.drain(ms(1));
        assert_eq!(call.await.expect("a value"), 2);
    });
    assert_eq!(stage.world.now().saturating_since(begin), SLOW + ms(20));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1"
    );
}

#[test]
fn a_race_that_is_lost_is_not_run_again() {
    let stage = Two::warm(RACED);
    let script = stage
        .script::<i32>()
        .delays(ms(100))
        .fails(Fault::Transient)
        .repeats_last();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut call = pin!(call);
    stage.world.block_on(async {
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.sleep(SLOW).await;
        assert!(poll_once(call.as_mut()).await.is_none());
        stage.world.drain(Duration::MAX);
        let error = call.await.expect_err("both failed");
        assert_eq!((error.reason(), error.attempts()), (Reason::Draining, 2));
    });
    assert_eq!(script.calls(), 2);
}

#[test]
fn the_grace_cuts_both_copies() {
    let stage = Two::warm(RACED);
    stage.world.drain(ms(500));
    let outcome = stage.play(&stage.script::<i32>().hangs());
    assert_eq!(outcome.elapsed(), ms(500));
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
    assert!(stage.world.now() > at(ms(500)));
}
