//! What a caller gets: values, failed values, outcomes and their log.

use std::time::Duration;

use steadfast::{Budget, Ending, Kind, Reason, Verdict};
use steadfast_testing::{Fault, Scripted};

use crate::stage::{INSTANT, Stage, TOUCHY, backoff, ms, secs};

/// A reply of 500 and more is a failure that is still a reply.
fn by_status(reply: &Result<u16, Scripted>) -> Verdict {
    match reply {
        Ok(500..) => Verdict::TRANSIENT,
        Ok(_) => Verdict::OK,
        Err(_) => Verdict::PERMANENT,
    }
}

// core-03.15
#[test]
fn a_failed_value_is_returned() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_budget(Budget::REFERENCE));
    stage.drain();
    let script = stage.script().returns(503).repeats_last();
    let call = || stage.guard.call_classified(by_status, |_| script.next());
    assert_eq!(stage.world.block_on(call()).expect("a reply"), 503);
    stage.drain();
    let outcome = stage.world.block_on(call().outcome());
    assert!(!outcome.is_success());
    assert_eq!(outcome.value(), Some(&503));
    assert_eq!(outcome.error(), None);
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(outcome.clone().into_success(), Err(outcome.clone()));
    assert_eq!(outcome.into_result().expect("a reply"), 503);
}

#[test]
fn a_failed_value_survives_a_refusal() {
    let policy = INSTANT
        .with_breaker(TOUCHY)
        .with_deadline(secs(10))
        .with_backoff(backoff(secs(1)));
    let stage = Stage::new(policy);
    let script = stage.script().returns(503);
    let call = stage.guard.call_classified(by_status, |_| script.next());
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(
        stage.told(),
        "Attempt#1 BreakerOpened#1 Retrying#2 RejectedByBreaker#2"
    );
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(outcome.into_result().expect("a reply"), 503);
}

#[test]
fn a_failed_value_survives_the_deadline() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(1))
            .with_backoff(backoff(secs(1))),
    );
    let script = stage.script().returns(503);
    let call = stage.guard.call_classified(by_status, |_| script.next());
    assert_eq!(stage.world.block_on(call).expect("a reply"), 503);
}

// A later attempt that gave no value leaves none of an earlier one.
#[test]
fn a_cut_attempt_forgets_the_value_before() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_attempt_timeout(secs(1)));
    let script = stage.script().returns(503).hangs();
    let call = stage.guard.call_classified(by_status, |_| script.next());
    let outcome = stage.world.block_on(call.outcome());
    assert_eq!(outcome.value(), None);
    let error = outcome.into_result().expect_err("a timeout");
    assert!(error.is_timeout());
    assert_eq!(error.error(), None);
}

#[test]
fn an_accepted_value_is_a_success() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().returns(503).returns(200);
    let call = stage.guard.call_classified(by_status, |_| script.next());
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(outcome.into_success(), Ok(200));
}

#[test]
fn the_log_tells_the_whole_story() {
    let policy = INSTANT
        .with_attempts(4)
        .with_deadline(secs(10))
        .with_attempt_timeout(secs(2))
        .with_backoff(backoff(ms(250)));
    let stage = Stage::new(policy);
    let script = stage
        .script()
        .delays(ms(12))
        .fails(Fault::Transient)
        .hangs()
        .delays(ms(1))
        .fails(Fault::Throttled(Some(ms(1_250))))
        .delays(Duration::from_micros(340))
        .returns(1);
    let outcome = stage.play(&script);
    assert_eq!(
        outcome.to_string(),
        "Succeeded: 4 attempts in 3.76s\
         \n  #1: Transient Scripted, 12ms\
         \n  #2 after 250ms: Transient (timed out), 2s\
         \n  #3 after 250ms: Throttled Scripted, 1ms\
         \n  #4 after 1.25s: Ok, 340us"
    );
    let entries: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| (entry.start(), entry.duration(), entry.left()))
        .collect();
    assert_eq!(
        entries,
        [
            (ms(0), ms(12), Some(secs(10))),
            (ms(262), secs(2), Some(ms(9_738))),
            (ms(2_512), ms(1), Some(ms(7_488))),
            (ms(3_763), Duration::from_micros(340), Some(ms(6_237))),
        ]
    );
}

#[test]
fn the_log_keeps_the_last_eight() {
    let stage = Stage::new(INSTANT.with_attempts(11));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let outcome = stage.play(&script);
    let numbers: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| entry.number())
        .collect();
    assert_eq!(numbers, [4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(outcome.log().attempts(), 11);
    assert!(
        outcome
            .to_string()
            .starts_with("AttemptsExhausted: 11 attempts in 0s")
    );
}

#[test]
fn a_log_without_attempts_is_empty() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    stage.guard.breaker().expect("a breaker").isolate();
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(
        outcome.to_string(),
        "DependencyUnavailable: 0 attempts in 100ms"
    );
    assert_eq!(outcome.log().entries().count(), 0);
}

#[test]
fn the_error_says_everything_once() {
    let stage = Stage::new(INSTANT.with_name("search").with_backoff(backoff(ms(100))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let call = stage.guard.call(|_| script.next());
    let error = stage.world.block_on(call).expect_err("a failure");
    assert_eq!(
        error.to_string(),
        "search: failed after 3 attempts in 200ms"
    );
    assert_eq!(error.attempts(), 3);
    assert_eq!(error.elapsed(), ms(200));
    assert_eq!(error.last_verdict(), Verdict::TRANSIENT);
    assert_eq!(error.policy(), Some("search"));
    let source = std::error::Error::source(&error).expect("the operation's own");
    assert_eq!(source.to_string(), "a transient fault");
}

#[test]
fn entries_say_what_an_attempt_ended_with() {
    let stage = Stage::new(INSTANT.with_attempt_timeout(secs(1)));
    let script = stage
        .script()
        .hangs()
        .fails(Fault::Throttled(None))
        .returns(1);
    let outcome = stage.play(&script);
    let entries: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| (entry.ending(), entry.kind()))
        .collect();
    assert_eq!(
        entries,
        [
            (Ending::Cut, Kind::Transient),
            (Ending::Error, Kind::Throttled),
            (Ending::Value, Kind::Ok),
        ]
    );
}
