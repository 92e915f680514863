//! Deadlines and attempt timeouts over whole calls.

use std::future::pending;
use std::time::Duration;

use steadfast::{Backoff, Breaker, BreakerState, Budget, Ending, EventKind, Policy, Reason};
use steadfast_testing::{Fault, Scripted};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, backoff, ms, secs};

// core-03.6, core-14.6
#[test]
fn the_deadline_cuts_a_hanging_attempt() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(1))
            .with_attempt_timeout(secs(10)),
    );
    let script = stage.script::<()>().hangs();
    let mut bound = None;
    let call = stage.guard.call(|attempt| {
        bound = attempt.timeout();
        script.next()
    });
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(bound, Some(secs(1)));
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    let entries: Vec<_> = outcome.log().entries().collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].ending(), Ending::Cut);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(error.deadline(), Some(secs(1)));
    assert!(error.is_timeout());
    assert_eq!(error.error(), None);
    assert_eq!(
        error.to_string(),
        "deadline of 1s exceeded, 1 attempt in 1s; the last attempt timed out"
    );
}

// Both bounds end at once: then the deadline is over, and that is what it says.
#[test]
fn a_timeout_that_ends_with_the_deadline_is_the_deadlines() {
    for attempts in [1, 3] {
        let policy = INSTANT
            .with_attempts(attempts)
            .with_deadline(secs(1))
            .with_attempt_timeout(secs(1));
        let stage = Stage::new(policy);
        let outcome = stage.play(&stage.script::<()>().hangs());
        assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
        assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
        assert_eq!(outcome.elapsed(), secs(1));
    }
}

// core-03.7, R-46
#[test]
fn a_delay_that_fills_the_rest_is_not_begun() {
    let policy = INSTANT
        .with_deadline(secs(1))
        .with_backoff(backoff(ms(700)))
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let script = stage.script::<()>().delays(ms(300)).fails(Fault::Transient);
    let outcome = stage.play(&script);
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(outcome.elapsed(), ms(300));
    assert_eq!(outcome.error(), Some(&TRANSIENT));
    // Departure: the retry did not happen, so its token is back.
    assert_eq!(stage.tokens(), 30);
}

// core-03.8
#[test]
fn a_delay_that_just_fits_is_waited() {
    let policy = INSTANT
        .with_deadline(secs(1))
        .with_backoff(backoff(ms(699)));
    let stage = Stage::new(policy);
    let script = stage
        .script::<()>()
        .delays(ms(300))
        .fails(Fault::Transient)
        .hangs();
    let mut bounds = Vec::new();
    let call = stage.guard.call(|attempt| {
        bounds.push(attempt.timeout());
        script.next()
    });
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(bounds, [Some(secs(1)), Some(ms(1))]);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 DeadlineExceeded#2"
    );
    assert_eq!(outcome.elapsed(), secs(1));
}

// core-04.1
#[test]
fn the_smaller_bound_holds_an_attempt() {
    let policy = INSTANT
        .with_attempts(5)
        .with_deadline(secs(10))
        .with_attempt_timeout(secs(3))
        .with_backoff(backoff(secs(1)));
    let stage = Stage::new(policy);
    let script = stage.script::<()>().hangs().times(5);
    let mut bounds = Vec::new();
    let call = stage.guard.call(|attempt| {
        bounds.push(attempt.timeout());
        script.next()
    });
    let outcome = stage.world.block_on(call.outcome());
    assert_eq!(bounds, [Some(secs(3)), Some(secs(3)), Some(secs(2))]);
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
    assert_eq!(outcome.elapsed(), secs(10));
}

// core-04.10
#[test]
fn one_hang_ends_at_the_deadline() {
    let stage = Stage::new(Policy::DEFAULT.with_deadline(secs(5)));
    let script = stage.script::<()>().hangs().repeats_last();
    let outcome = stage.play(&script);
    assert_eq!(script.calls(), 1);
    assert_eq!(script.alive(), 0);
    assert_eq!(outcome.elapsed(), secs(5));
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
}

// core-04.17, R-50: a call's own bound and the policy's; the smaller holds.
#[test]
fn the_smaller_of_two_deadlines_holds() {
    let stage = Stage::new(INSTANT.with_deadline(secs(30)));
    let script = stage.script::<()>().hangs().repeats_last();
    let mut bounds = Vec::new();
    for within in [ms(200), secs(60), Duration::MAX] {
        let call = stage.guard.call(|attempt| {
            bounds.push(attempt.timeout());
            script.next()
        });
        let error = stage
            .world
            .block_on(call.within(within))
            .expect_err("a failure");
        assert_eq!(error.deadline(), Some(within.min(secs(30))));
    }
    assert_eq!(bounds, [Some(ms(200)), Some(secs(30)), Some(secs(30))]);
}

// core-03.12, core-14.6: a deadline that is already spent; the breaker is asked
// first, and its probe slot is free again afterwards.
#[test]
fn a_spent_deadline_makes_no_attempt() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let script = stage.script().returns(1).repeats_last();
    let spent = || {
        let call = stage.guard.call(|_| script.next()).within(Duration::ZERO);
        stage.world.block_on(call.listen(&stage.heard).outcome())
    };
    let outcome = spent();
    assert_eq!(stage.told(), "DeadlineExceeded#1");
    assert_eq!(outcome.log().attempts(), 0);
    assert_eq!(script.calls(), 0);

    let _ = stage.play_failure();
    stage.world.advance(secs(16));
    stage.heard.clear();
    let _ = spent();
    assert_eq!(stage.told(), "BreakerHalfOpened#1 DeadlineExceeded#1");
    assert_eq!(script.calls(), 0);
    assert_eq!(stage.play(&script).into_success(), Ok(1));
    assert_eq!(stage.told(), "Attempt#1 BreakerClosed#1 Succeeded#1");
}

// core-14.6: found spent at the head of attempt 3, after a late wake.
#[test]
fn a_late_wake_finds_the_deadline_spent() {
    let policy = INSTANT
        .with_deadline(secs(10))
        .with_backoff(backoff(secs(2)));
    let stage = Stage::new(policy);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let mut call = Box::pin(
        stage
            .guard
            .call(|_| script.next())
            .listen(&stage.heard)
            .outcome(),
    );
    let world = &stage.world;
    let outcome = world.block_on(async {
        let mut first = true;
        std::future::poll_fn(|cx| {
            let polled = call.as_mut().poll(cx);
            if script.calls() == 2 && std::mem::take(&mut first) {
                // The machine sleeps through the second wait.
                world.jump(secs(60));
            }
            polled
        })
        .await
    });
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 DeadlineExceeded#3"
    );
    assert_eq!(outcome.error(), Some(&TRANSIENT));
}

// core-05.20, extensions#7701: a hint that does not fit ends the call at once
// and is handed on.
#[test]
fn a_hint_beyond_the_deadline_is_handed_on() {
    let policy = INSTANT
        .with_deadline(secs(1))
        .with_backoff(Backoff::DEFAULT)
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let script = stage
        .script::<()>()
        .fails(Fault::Throttled(Some(secs(1))))
        .repeats_last();
    let outcome = stage.play(&script);
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(stage.world.elapsed(), Duration::ZERO);
    assert_eq!(outcome.retry_after(), Some(secs(1)));
    assert_eq!(stage.tokens(), 30);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(
        error.to_string(),
        "no time for another attempt before the deadline of 1s, 1 attempt in 0s; try again in 1s"
    );
}

// one hung node does not eat the whole deadline.
#[test]
fn an_attempt_timeout_leaves_time_for_the_next() {
    let policy = INSTANT
        .with_deadline(secs(10))
        .with_attempt_timeout(secs(2));
    let stage = Stage::new(policy);
    let outcome = stage.play(&stage.script().hangs().returns(1));
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(outcome.elapsed(), secs(2));
}

// R-25, linkerd#2369: attempts and waits count alike.
#[test]
fn nothing_starts_or_ends_past_the_deadline() {
    let policy = INSTANT
        .with_attempts(u32::MAX)
        .with_deadline(secs(10))
        .with_backoff(backoff(ms(10)));
    let stage = Stage::new(policy);
    let script = stage
        .script::<()>()
        .delays(secs(3))
        .fails(Fault::Transient)
        .repeats_last();
    let outcome = stage.play(&script);
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
    assert_eq!(script.calls(), 4);
    assert_eq!(outcome.elapsed(), secs(10));
    assert_eq!(script.alive(), 0);
}

// as long as can be is never, everywhere.
#[test]
fn the_longest_duration_means_never() {
    let policy = Policy::DEFAULT
        .with_deadline(Duration::MAX)
        .with_attempt_timeout(Duration::MAX)
        .with_backoff(Backoff::exponential(Duration::MAX).with_maximum(Duration::MAX))
        .with_breaker(Breaker::DEFAULT.with_break(Duration::MAX, Duration::MAX));
    let stage = Stage::new(policy);
    let call = stage.guard.call(|attempt| {
        assert_eq!((attempt.left(), attempt.timeout()), (None, None));
        stage.script().delays(secs(3_600)).returns(1).next()
    });
    let value = stage.world.block_on(call.within(Duration::MAX));
    assert_eq!(value.expect("a value"), 1);

    // A break without end.
    for _ in 0..5 {
        let _ = stage.play_failure();
    }
    stage.world.jump(Duration::from_nanos(u64::MAX / 2));
    let breaker = stage.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Open);
}

// as short as can be still ends.
#[test]
fn a_nanosecond_bounds_everything() {
    let tick = Duration::from_nanos(1);
    let policy = INSTANT
        .with_deadline(tick * 3)
        .with_attempt_timeout(tick)
        .with_backoff(backoff(tick));
    let stage = Stage::new(policy);
    let outcome = stage.play(&stage.script::<()>().hangs().repeats_last());
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 DeadlineExceeded#2"
    );
    assert_eq!(outcome.elapsed(), tick * 3);
}

// failsafe#260: whatever the operation does, the caller is back by the deadline.
#[test]
fn the_caller_is_back_by_the_deadline() {
    let stage = Stage::new(INSTANT.with_deadline(secs(2)));
    let call = stage.guard.call(|_| pending::<Result<(), Scripted>>());
    let error = stage.world.block_on(call).expect_err("a failure");
    assert_eq!(error.elapsed(), secs(2));
    assert_eq!(stage.world.elapsed(), secs(2));
}

// The deadline ended it, not the number of attempts.
#[test]
fn the_last_attempt_meets_the_deadline_too() {
    let stage = Stage::new(INSTANT.with_attempts(1).with_deadline(secs(2)));
    let outcome = stage.play(&stage.script::<()>().hangs());
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
}

#[test]
fn a_cut_attempt_is_told_as_a_timeout() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_attempt_timeout(ms(400)));
    let outcome = stage.play(&stage.script::<()>().hangs().times(2));
    let cut = stage.heard.of_kind(EventKind::Attempt);
    assert!(
        cut.iter()
            .all(|event| event.error() == Some("AttemptTimeout"))
    );
    assert!(cut.iter().all(|event| event.duration() == ms(400)));
    assert_eq!(
        outcome.into_result().expect_err("a failure").to_string(),
        "failed after 2 attempts in 800ms; the last attempt timed out after 400ms"
    );
}

// test-01.3
#[test]
fn a_late_value_is_cut_off() {
    let stage = Stage::new(INSTANT.with_attempts(1).with_attempt_timeout(secs(3)));
    let script = stage.script().delays(secs(30)).returns(1);
    let outcome = stage.play(&script);
    assert_eq!(stage.told(), "Attempt#1 Exhausted#1");
    assert_eq!(stage.world.elapsed(), secs(3));
    assert_eq!(stage.world.pending_timers(), 0);
    assert!(outcome.into_result().expect_err("a failure").is_timeout());
}

// core-03.9
#[test]
fn a_retry_that_cannot_end_in_time_is_not_begun() {
    for (samples, told) in [
        (20, "Attempt#1 DeadlineExceeded#1"),
        (19, "Attempt#1 Retrying#2 Attempt#2 Succeeded#2"),
    ] {
        let policy = INSTANT
            .with_deadline(secs(2))
            .with_backoff(backoff(ms(100)))
            .with_breaker(Breaker::DEFAULT);
        let stage = Stage::new(policy);
        stage.succeed(ms(420), samples);
        let normal = stage.guard.measured().normal_latency;
        assert_eq!(
            normal.is_some_and(|normal| normal >= ms(400)),
            samples == 20,
            "{normal:?}"
        );
        stage.heard.clear();
        let script = stage
            .script()
            .delays(ms(1_500))
            .fails(Fault::Transient)
            .returns(1);
        let outcome = stage.play(&script);
        assert_eq!(stage.told(), told);
        let end = if samples == 20 { 1_500 } else { 1_600 };
        assert_eq!(outcome.elapsed(), ms(end));
    }
}
