//! Hooks before an attempt, and delay rules.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use steadfast::{Attempt, Backoff, Budget, Ending, EventKind, Kind, Reason, Retry, Rules, Verdict};
use steadfast_testing::{Fault, Script, Scripted};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, backoff, ms, secs};

/// Runs a function before every attempt.
struct Before<F>(F);

impl<T, E, F: Fn(&Attempt) -> Result<(), E>> Rules<T, E> for Before<F> {
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        (self.0)(next)
    }
}

/// Asks a function for admission.
struct Admit<F>(F);

impl<T, E, F: Fn(&Attempt) -> Verdict> Rules<T, E> for Admit<F> {
    fn admit(&self, next: &Attempt) -> Verdict {
        (self.0)(next)
    }
}

/// Asks a function for the wait.
struct Delay<F>(F);

impl<T, E, F: Fn(&Retry<'_>) -> Duration> Rules<T, E> for Delay<F> {
    fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
        (self.0)(retry)
    }
}

// core-03.18
#[test]
fn a_failing_setup_ends_the_call() {
    let policy = INSTANT.with_breaker(TOUCHY).with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.heard.clear();

    let script = stage.script::<()>().hangs();
    let fails = Before(|_: &Attempt| Err(TRANSIENT));
    let call = stage.guard.call(|_| script.next()).ruled(fails);
    let error = stage
        .world
        .block_on(call.listen(&stage.heard))
        .expect_err("the hook failed");
    assert_eq!(error.reason(), Reason::Setup);
    assert_eq!(error.to_string(), "the hook before attempt 1 failed");
    assert_eq!(error.into_error(), Some(TRANSIENT));
    // Half-opening was told; the call itself is told by nothing.
    assert_eq!(stage.told(), "BreakerHalfOpened#1");
    assert_eq!(script.calls(), 0);
    assert_eq!(stage.tokens(), 30);
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(stage.told(), "Attempt#1 BreakerClosed#1 Succeeded#1");
}

#[test]
fn a_failing_setup_gives_the_token_back() {
    let stage = Stage::new(INSTANT.with_budget(Budget::REFERENCE));
    let script = stage.script::<()>().fails(Fault::Transient);
    let fails_twice = Before(|next: &Attempt| {
        if next.is_first() {
            return Ok(());
        }
        Err(Scripted::Failed(Fault::Permanent))
    });
    let call = stage.guard.call(|_| script.next()).ruled(fails_twice);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(outcome.reason(), Reason::Setup);
    assert_eq!(outcome.error(), Some(&Scripted::Failed(Fault::Permanent)));
    assert_eq!(stage.told(), "Attempt#1 Retrying#2");
    assert_eq!(stage.tokens(), 30);
}

// A hook that takes long is bounded by the check after it.
#[test]
fn a_slow_setup_meets_the_deadline() {
    let stage = Stage::new(INSTANT.with_deadline(secs(1)));
    let script = stage.script::<()>().hangs();
    let slow = Before(|_: &Attempt| {
        stage.world.jump(secs(2));
        Ok(())
    });
    let call = stage.guard.call(|_| script.next()).ruled(slow);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "DeadlineExceeded#1");
    assert_eq!(outcome.elapsed(), secs(2));
    assert_eq!(script.calls(), 0);
}

// The attempt timeout starts after the hook, the deadline before it.
#[test]
fn a_setup_takes_from_the_deadline_only() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(10))
            .with_attempt_timeout(secs(3)),
    );
    let slow = Before(|next: &Attempt| {
        assert_eq!((next.left(), next.timeout()), (Some(secs(10)), None));
        stage.world.jump(secs(2));
        Ok(())
    });
    let call = stage.guard.call(|attempt| {
        assert_eq!(attempt.left(), Some(secs(8)));
        assert_eq!(attempt.timeout(), Some(secs(3)));
        stage.script().returns(1).next()
    });
    let value = stage.world.block_on(call.ruled(slow));
    assert_eq!(value.expect("a value"), 1);
}

// core-03.16
#[test]
fn a_refusing_admission_is_judged_like_an_attempt() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<()>().hangs();
    let refuses = Admit(|_: &Attempt| Verdict::SELF_IMPOSED);
    let call = stage.guard.call(|_| script.next()).ruled(refuses);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(script.calls(), 0);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    for entry in outcome.log().entries() {
        assert_eq!(entry.kind(), Kind::Throttled);
        assert_eq!(entry.ending(), Ending::Refused);
        assert!(entry.is_self_imposed());
    }
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(error.retry_after(), None);
    assert_eq!(error.error(), None);
    assert_eq!(error.attempts(), 3);
}

// An admission may take its time, and the attempt it refuses took that long.
#[test]
fn a_refused_attempt_took_what_the_hook_took() {
    let stage = Stage::new(INSTANT.with_attempts(1));
    let slow = Admit(|_: &Attempt| {
        stage.world.jump(ms(300));
        Verdict::SELF_IMPOSED
    });
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).ruled(slow);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.only(EventKind::Attempt).duration(), ms(300));
    let took: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| entry.duration())
        .collect();
    assert_eq!(took, [ms(300)]);
    assert_eq!(outcome.elapsed(), ms(300));
}

// core-03.17: an admission that fails for a moment is a transient verdict.
#[test]
fn a_transient_admission_is_retried() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().returns(1);
    let flaky = Admit(|next: &Attempt| {
        if next.is_first() {
            Verdict::TRANSIENT
        } else {
            Verdict::OK
        }
    });
    let call = stage.guard.call(|_| script.next()).ruled(flaky);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(outcome.into_success(), Ok(1));
    assert_eq!(script.calls(), 1);
}

// A refused attempt gave no value, and leaves none of the one before.
#[test]
fn a_refused_attempt_forgets_the_value_before() {
    let stage = Stage::new(INSTANT.with_attempts(2));
    let first_only = Admit(|next: &Attempt| {
        if next.is_first() {
            Verdict::OK
        } else {
            Verdict::SELF_IMPOSED
        }
    });
    let unwanted = |_: &Result<u16, Scripted>| Verdict::TRANSIENT;
    let script = stage.script().returns(503);
    let call = stage.guard.call_classified(unwanted, |_| script.next());
    let outcome = stage.world.block_on(call.ruled(first_only).outcome());
    assert_eq!((outcome.value(), outcome.error()), (None, None));
    assert_eq!(outcome.log().attempts(), 2);
}

// A refusal returns the probe slot and is evidence of nothing.
#[test]
fn a_refused_probe_frees_its_slot() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY).with_attempts(5));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.heard.clear();
    let script = stage.script().returns(1);
    let fourth = Admit(|next: &Attempt| {
        if next.number() == 4 {
            Verdict::OK
        } else {
            Verdict::SELF_IMPOSED
        }
    });
    let call = stage.guard.call(|_| script.next()).ruled(fourth);
    let value = stage.world.block_on(call.listen(&stage.heard));
    assert_eq!(value.expect("a value"), 1);
    assert_eq!(
        stage.told(),
        "BreakerHalfOpened#1 Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Retrying#4 \
         Attempt#4 BreakerClosed#4 Succeeded#4"
    );
}

/// Writes down what runs.
struct Both<'a>(&'a RefCell<Vec<String>>);
impl<T, E> Rules<T, E> for Both<'_> {
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        self.0
            .borrow_mut()
            .push(format!("before {}", next.number()));
        Ok(())
    }
    fn admit(&self, next: &Attempt) -> Verdict {
        self.0.borrow_mut().push(format!("admit {}", next.number()));
        Verdict::OK
    }
    fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
        self.0
            .borrow_mut()
            .push(format!("delay {}", retry.number()));
        retry.delay()
    }
}

#[test]
fn hooks_run_in_order() {
    let order = RefCell::new(Vec::new());
    let stage = Stage::new(INSTANT);
    let script = stage.script().fails(Fault::Transient).returns(1);
    let call = stage.guard.call(|attempt| {
        order.borrow_mut().push(format!("run {}", attempt.number()));
        script.next()
    });
    stage
        .world
        .block_on(call.ruled(Both(&order)))
        .expect("a value");
    assert_eq!(
        order.take(),
        [
            "before 1", "admit 1", "run 1", "delay 2", "before 2", "admit 2", "run 2"
        ]
    );
}

// core-05.11: a rule is not capped; no rule can wait less than nothing.
#[test]
fn a_delay_rule_chooses_the_wait() {
    let stage = Stage::new(INSTANT.with_backoff(backoff(secs(1))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let longer = Delay(|retry: &Retry<'_>| match retry.number() {
        2 => {
            assert_eq!(retry.delay(), secs(1));
            assert_eq!(retry.verdict(), Verdict::TRANSIENT);
            secs(40)
        }
        _ => Duration::ZERO,
    });
    let call = stage.guard.call(|_| script.next()).ruled(longer);
    let outcome = stage.world.block_on(call.outcome());
    let pauses: Vec<_> = outcome.log().entries().map(|entry| entry.pause()).collect();
    assert_eq!(pauses, [Duration::ZERO, secs(40), Duration::ZERO]);
}

// Departure from core-05.11: a rule cannot come back before a hint allows it.
#[test]
fn a_delay_rule_respects_the_hint() {
    let stage = Stage::new(INSTANT.with_backoff(Backoff::DEFAULT));
    let script = stage
        .script()
        .fails(Fault::Throttled(Some(secs(3))))
        .fails(Fault::Throttled(Some(secs(3))))
        .returns(1);
    let waits = Delay(|retry: &Retry<'_>| if retry.number() == 2 { ms(10) } else { secs(5) });
    let call = stage.guard.call(|_| script.next()).ruled(waits);
    let outcome = stage.world.block_on(call.outcome());
    let pauses: Vec<_> = outcome.log().entries().map(|entry| entry.pause()).collect();
    assert_eq!(pauses, [Duration::ZERO, secs(3), secs(5)]);
}

#[test]
fn a_delay_rule_sees_the_outcome() {
    struct AsTold;
    impl Rules<u16, io::Error> for AsTold {
        fn delay(&self, retry: &Retry<'_>, last: Option<&Result<u16, io::Error>>) -> Duration {
            match last {
                Some(Ok(seconds)) => secs(u64::from(*seconds)),
                _ => retry.delay(),
            }
        }
    }
    let stage = Stage::new(INSTANT.with_backoff(backoff(ms(1))));
    let small = |reply: &io::Result<u16>| match reply {
        Ok(0) => Verdict::OK,
        _ => Verdict::TRANSIENT,
    };
    let mut replies = [Ok(7), Err(io::Error::other("lost")), Ok(0)].into_iter();
    let call = stage.guard.call_classified(small, |_| {
        std::future::ready(replies.next().expect("three attempts"))
    });
    let outcome = stage.world.block_on(call.ruled(AsTold).outcome());
    let pauses: Vec<_> = outcome.log().entries().map(|entry| entry.pause()).collect();
    assert_eq!(pauses, [Duration::ZERO, secs(7), ms(1)]);
}

// A rule's wait meets the deadline like any other.
#[test]
fn a_delay_rule_meets_the_deadline() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(10))
            .with_budget(Budget::REFERENCE),
    );
    let script: Script<()> = stage.script().fails(Fault::Transient);
    let long = Delay(|_: &Retry<'_>| Duration::MAX);
    let call = stage.guard.call(|_| script.next()).ruled(long);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(outcome.elapsed(), Duration::ZERO);
    assert_eq!(stage.tokens(), 30);
}
