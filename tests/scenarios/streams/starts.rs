//! Waiting for a stream's first item.

use std::pin::pin;

use futures_lite::StreamExt;
use steadfast::{Criticality, EventKind, Reason, StreamError};
use steadfast_testing::Fault;

use super::{STREAM, pull, script};
use crate::stage::{Stage, TOUCHY, TRANSIENT, ms, secs};

// core-11 section 4: what it gives is known before the first item is asked for.
#[test]
fn a_start_keeps_its_first_item() {
    let stage = Stage::new(STREAM);
    let script = script(&stage)
        .fails(Fault::Transient)
        .delays(ms(300))
        .yields([1, 2]);
    let call = stage.guard.prepare().listen(&stage.heard).outcome();
    let mut stream = pin!(call.stream(|_| script.open()));
    let outcome = stage.world.block_on(stream.as_mut().start());
    assert!(outcome.is_success());
    assert_eq!((outcome.log().attempts(), outcome.elapsed()), (2, ms(300)));
    assert_eq!((script.alive(), stream.delivered()), (1, 0));
    // Asked again it says the same, and nothing is lost.
    assert!(stage.world.block_on(stream.as_mut().start()).is_success());
    let rest: Vec<_> = stage.world.block_on(stream.as_mut().collect());
    assert_eq!(rest, [Ok(1), Ok(2)]);
    assert_eq!(stream.delivered(), 2);
    assert_eq!(script.alive(), 0);
    assert_eq!(stage.heard.count_of(EventKind::Succeeded), 1);
}

#[test]
fn a_start_that_fails_ends_the_stream() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).fails(Fault::Permanent);
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    let error = stage.world.block_on(stream.as_mut().start());
    let error = error.expect_err("it failed");
    assert_eq!((error.reason(), error.attempts()), (Reason::Permanent, 1));
    assert!(error.error().is_some());
    assert_eq!(pull(&stage, stream.as_mut()), None);
    let again = stage.world.block_on(stream.as_mut().start());
    assert_eq!(again.expect_err("still").reason(), Reason::Permanent);
}

// core-11.12
#[test]
fn a_started_stream_that_is_dropped_closes_its_source() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).hangs_after([1]);
    {
        let mut stream = Box::pin(stage.guard.stream(|_| script.open()));
        assert!(stage.world.block_on(stream.as_mut().start()).is_ok());
        assert_eq!(script.alive(), 1);
    }
    assert_eq!(script.alive(), 0);
}

#[test]
fn a_start_can_be_given_up_and_taken_up() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).delays(ms(500)).yields([1]);
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    assert!(!crate::stage::drop_after(
        &stage.world,
        1,
        stream.as_mut().start()
    ));
    assert_eq!(script.alive(), 1);
    assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(1)));
    assert_eq!(script.opened(), 1);
}

#[test]
fn nothing_happens_before_the_first_pull() {
    let stage = Stage::new(STREAM.with_deadline(secs(1)));
    let script = script(&stage).yields([1]);
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    assert_eq!(script.opened(), 0);
    stage.world.advance(secs(60));
    assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(1)));
}

#[test]
fn what_belongs_to_one_call_belongs_to_a_stream() {
    let stage = Stage::new(STREAM.with_breaker(TOUCHY));
    let script = script(&stage).fails(Fault::Transient).repeats_last();
    let call = stage
        .guard
        .prepare()
        .once()
        .criticality(Criticality::Sheddable);
    let stream = call.within(ms(400)).stream(|_| script.open());
    let items: Vec<_> = stage.world.block_on(pin!(stream).collect());
    let [Err(StreamError::Start(error))] = items.as_slice() else {
        panic!("{items:?}");
    };
    assert_eq!((error.attempts(), error.error()), (1, Some(&TRANSIENT)));

    let slow = super::script(&stage).delays(ms(500)).yields([1]);
    stage.guard.reset();
    let stream = stage
        .guard
        .prepare()
        .within(ms(400))
        .stream(|_| slow.open());
    let items: Vec<_> = stage.world.block_on(pin!(stream).collect());
    let [Err(StreamError::Start(error))] = items.as_slice() else {
        panic!("{items:?}");
    };
    assert_eq!(error.deadline(), Some(ms(400)));
}
