//! A call prepared before it has an operation: the same settings, every form.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use steadfast::{AnyError, Attempt, EventKind, Hedged, Reason, Rules};
use steadfast_testing::{Fault, Recorder, World};

use crate::stage::{INSTANT, RACED, Stage, backoff, ms, secs};

#[test]
fn once_holds_for_every_form() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let once = || stage.guard.prepare().once();

    let by_call = stage.world.block_on(once().call(|_| script.next()));
    let by_lending = stage
        .world
        .block_on(once().call_with(&mut (), async |(), _| script.next().await));
    let by_blocking = once().call_blocking(|_| script.next_blocking());

    for answer in [by_call, by_lending, by_blocking] {
        let error = answer.expect_err("a failure");
        assert_eq!(error.reason(), Reason::AttemptsExhausted);
        assert_eq!(error.attempts(), 1);
    }
    assert_eq!(script.calls(), 3);
}

#[test]
fn within_bounds_every_form() {
    let stage = Stage::new(INSTANT.with_backoff(backoff(secs(1))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let soon = || stage.guard.prepare().within(ms(500));

    let by_lending = stage
        .world
        .block_on(soon().call_with(&mut (), async |(), _| script.next().await));
    let by_blocking = soon().call_blocking(|_| script.next_blocking());

    for answer in [by_lending, by_blocking] {
        let error = answer.expect_err("a failure");
        assert_eq!(error.reason(), Reason::DeadlineExceeded);
        assert_eq!(error.deadline(), Some(ms(500)));
    }
}

#[test]
fn an_outcome_comes_with_every_form() {
    let stage = Stage::new(INSTANT);
    let script = stage
        .script()
        .fails(Fault::Transient)
        .returns(7)
        .fails(Fault::Transient)
        .returns(7);
    let heard = Recorder::new();

    let prepared = stage.guard.prepare().listen(&heard).outcome();
    let by_lending = stage
        .world
        .block_on(prepared.call_with(&mut (), async |(), _| script.next().await));
    let prepared = stage.guard.prepare().listen(&heard).outcome();
    let by_blocking = prepared.call_blocking(|_| script.next_blocking());

    for outcome in [by_lending, by_blocking] {
        assert_eq!(outcome.log().attempts(), 2);
        assert_eq!(outcome.into_success(), Ok(7));
    }
    assert_eq!(heard.count_of(EventKind::Succeeded), 2);
}

#[test]
fn another_classifier_judges() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().fails(Fault::Permanent).repeats_last();
    let judged = stage.guard.prepare().classified(AnyError);
    let error = judged
        .call_blocking(|_| script.next_blocking())
        .expect_err("a failure");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(script.calls(), 3);
}

#[test]
fn a_race_can_be_prepared() {
    let stage = Stage::<Hedged>::warm(RACED);
    let script = stage.script().hangs().delays(ms(5)).returns(2);
    let prepared = stage.guard.prepare().listen(&stage.heard);
    let answer = stage.world.block_on(prepared.call(|_| script.next()));
    assert_eq!(answer, Ok(2));
    assert!(stage.heard.contains(EventKind::HedgeWon));

    let once = stage.guard.prepare().once().within(secs(1));
    let answer = stage.world.block_on(once.call(|_| script.next()));
    assert!(answer.is_err());
    assert_eq!(script.calls(), 3);
}

#[test]
fn a_call_in_flight_can_still_be_heard() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().delays(secs(1)).returns(7);
    let heard = Recorder::new();
    let mut call = stage.guard.call(|_| Box::pin(script.next()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut call).poll(&mut context).is_pending());
    // The attempt goes on; only what comes after is heard.
    let answer = stage.world.block_on(call.listen(&heard));
    assert_eq!(answer, Ok(7));
    assert_eq!(heard.count_of(EventKind::Attempt), 1);
    assert_eq!(script.calls(), 1);
}

#[test]
fn a_hint_that_was_waited_out_is_not_told_again() {
    struct Slow<'a>(&'a World);
    impl<T, E> Rules<T, E> for Slow<'_> {
        fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
            if !next.is_first() {
                self.0.jump(secs(60));
            }
            Ok(())
        }
    }
    let stage = Stage::new(INSTANT.with_deadline(secs(30)).with_backoff(backoff(ms(1))));
    let script = stage.script::<()>().fails(Fault::Throttled(Some(secs(7))));
    let call = stage.guard.call(|_| script.next());
    let error = stage
        .world
        .block_on(call.ruled(Slow(&stage.world)))
        .expect_err("a deadline");
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(error.retry_after(), None);
}
