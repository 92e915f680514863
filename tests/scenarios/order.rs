//! The order of one call: what is asked, and what it is told as.

use steadfast::{
    AnyError, Backoff, Budget, Ending, EventKind, Kind, LogEntry, Meaning, Reason, Verdict,
};
use steadfast_testing::{Fault, Scripted};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, backoff, guard, ms, secs};

// core-03.1, core-14.2, test-01.1
#[test]
fn a_failure_is_retried() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().fails(Fault::Transient).returns(42);
    let outcome = stage.play(&script);
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(outcome.log().entries().count(), 2);
    assert_eq!(outcome.into_success(), Ok(42));
    assert_eq!(script.calls(), 2);
}

// core-03.2
#[test]
fn all_attempts_fail_and_the_last_error_is_told() {
    let stage = Stage::new(INSTANT.with_budget(Budget::REFERENCE));
    let script = stage
        .script::<()>()
        .fails(Fault::Throttled(None))
        .fails(Fault::Throttled(None))
        .fails(Fault::Transient);
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
    assert_eq!(outcome.error(), Some(&TRANSIENT));
    assert_eq!(stage.tokens(), 28);
}

// core-03.3, core-14.3
#[test]
fn a_permanent_failure_is_not_retried() {
    let stage = Stage::new(INSTANT.with_backoff(Backoff::DEFAULT));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Permanent));
    let ended = stage.only(EventKind::NotRetried);
    assert_eq!(ended.reason(), Some(Reason::Permanent));
    assert!(ended.error().is_some_and(|name| name.contains("Scripted")));
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    assert_eq!(outcome.error(), Some(&Scripted::Failed(Fault::Permanent)));
    assert_eq!(stage.world.elapsed(), ms(0));
}

// core-03.4
#[test]
fn a_single_attempt_is_exhausted() {
    let stage = Stage::new(INSTANT.with_attempts(1));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(stage.told(), "Attempt#1 Exhausted#1");
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
}

// core-03.5
#[test]
fn permanent_is_asked_before_attempts() {
    let stage = Stage::new(INSTANT.with_attempts(1));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Permanent));
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    assert_eq!(outcome.reason(), Reason::Permanent);
}

// core-02.11
#[test]
fn an_error_judged_ok_is_permanent() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().fails(Fault::Transient);
    let all_is_well = |_: &Result<(), Scripted>| Verdict::OK;
    let call = stage.guard.call_classified(all_is_well, |_| script.next());
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    assert_eq!(outcome.reason(), Reason::Permanent);
    assert_eq!(
        outcome.into_result().expect_err("a failure").error(),
        Some(&TRANSIENT)
    );
}

// core-02.17: a cancellation that is not the caller's is an error like any
// other, and means what its type says.
#[test]
fn a_foreign_cancellation_is_an_error() {
    #[derive(Debug)]
    struct Cancelled;
    impl Meaning for Cancelled {
        fn verdict(&self) -> Verdict {
            Verdict::PERMANENT
        }
    }
    let stage = Stage::new(INSTANT);
    let mut attempts = 0;
    let call = stage.guard.call(|_| {
        attempts += 1;
        std::future::ready(Err::<(), _>(Cancelled))
    });
    let error = stage.world.block_on(call).expect_err("a failure");
    assert_eq!(error.reason(), Reason::Permanent);
    assert_eq!(attempts, 1);
}

// envoy#32580
#[test]
fn never_more_attempts_than_allowed() {
    for attempts in [1, 2, 10] {
        let stage = Stage::new(INSTANT.with_attempts(attempts));
        let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
        stage.play(&script).into_result().expect_err("a failure");
        assert_eq!(script.calls(), attempts as usize);
        assert_eq!(stage.heard.count_of(EventKind::Attempt), attempts as usize);
    }
}

// test-01.2
#[test]
fn the_end_of_a_script_is_permanent() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().fails(Fault::Transient).times(2);
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 NotRetried#3"
    );
    assert_eq!(
        outcome.error(),
        Some(&Scripted::Exhausted {
            steps: 2,
            call: 3,
            trailing_delay: None
        })
    );
}

// core-03.22, core-14.7, R-15
#[test]
fn a_trip_blocks_the_next_attempt() {
    let policy = INSTANT
        .with_breaker(TOUCHY)
        .with_backoff(backoff(ms(200)))
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let script = stage.script::<()>().fails(Fault::Transient);
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 BreakerOpened#1 Retrying#2 RejectedByBreaker#2"
    );
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(outcome.error(), Some(&TRANSIENT));
    assert_eq!(outcome.elapsed(), ms(300));
    // Departure: the retry did not happen, so its token is back.
    assert_eq!(stage.tokens(), 30);
}

// core-02.12: the limiter's own error comes with the limiters; a self-imposed
// throttle is what it will mean.
#[test]
fn a_self_imposed_throttle_is_no_evidence() {
    let policy = INSTANT.with_breaker(TOUCHY).with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let script = stage
        .script::<()>()
        .fails(Fault::SelfImposed(None))
        .repeats_last();
    let outcome = stage.play(&script);
    let entries: Vec<_> = outcome.log().entries().collect();
    assert!(entries.iter().all(LogEntry::is_self_imposed));
    assert!(entries.iter().all(|entry| entry.kind() == Kind::Throttled));
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn the_operation_is_told_where_it_stands() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(10))
            .with_attempt_timeout(secs(3))
            .with_backoff(backoff(secs(1))),
    );
    let mut seen = Vec::new();
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let call = stage.guard.call(|attempt| {
        seen.push((
            attempt.number(),
            attempt.previous(),
            attempt.left(),
            attempt.timeout(),
        ));
        script.next()
    });
    stage.world.block_on(call).expect_err("a failure");
    assert_eq!(
        seen,
        [
            (1, Verdict::OK, Some(secs(10)), Some(secs(3))),
            (2, Verdict::TRANSIENT, Some(secs(9)), Some(secs(3))),
            (3, Verdict::TRANSIENT, Some(secs(8)), Some(secs(3))),
        ]
    );
}

#[test]
fn a_call_that_must_not_repeat_does_not() {
    let stage = Stage::new(INSTANT.with_budget(Budget::REFERENCE));
    let outcome = stage.play_failure();
    assert_eq!(stage.told(), "Attempt#1 Exhausted#1");
    assert_eq!(outcome.log().attempts(), 1);
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn a_call_may_have_its_own_classifier() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().fails(Fault::Permanent).returns(1);
    let call = stage.guard.call_classified(AnyError, |_| script.next());
    assert_eq!(stage.world.block_on(call).expect("a value"), 1);
}

// core-01.11, core-01.12: a policy that does nothing still runs once; a
// listener hears one attempt and one end, and the outcome has its log.
#[test]
fn a_policy_of_nothing_runs_once() {
    let stage = Stage::new(steadfast::Policy::NONE);
    let call = stage.guard.call(|_| stage.script().returns(7).next());
    assert_eq!(stage.world.block_on(call).expect("a value"), 7);
    assert_eq!(stage.world.timers_made(), 0);

    let outcome = stage.play(&stage.script().returns(7));
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    let entries: Vec<_> = outcome.log().entries().collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].ending(), Ending::Value);
}

// Polly.Contrib.WaitAndRetry#24 and every other way to overflow a schedule.
#[test]
fn a_thousand_attempts_stay_in_order() {
    let world = steadfast_testing::World::new();
    let guard = guard(
        &world,
        INSTANT
            .with_attempts(1_000)
            .with_backoff(Backoff::DEFAULT.with_jitter(steadfast::Jitter::None)),
    );
    let script: steadfast_testing::Script<()> = steadfast_testing::Script::on(world.timer())
        .fails(Fault::Transient)
        .repeats_last();
    let outcome = world.block_on(guard.call(|_| script.next()).outcome());
    assert_eq!(outcome.log().attempts(), 1_000);
    // 100 ms doubling to 25.6 s, then the cap.
    assert_eq!(outcome.elapsed(), ms(100 * 511) + secs(30) * 990);
}
