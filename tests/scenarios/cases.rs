//! Faults that users of other libraries met, as whole calls on ours.

use std::rc::Rc;
use std::time::Duration;

use steadfast::{
    Backoff, Breaker, BreakerState, Budget, EventKind, Jitter, Meaning, Reason, Verdict,
};
use steadfast_testing::{Fault, Recorder, Script, Scripted, World};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, guard, ms, secs, told};

//
#[test]
fn a_day_long_hint_ends_the_call() {
    let policy = INSTANT
        .with_backoff(Backoff::DEFAULT)
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let day = secs(86_400);
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Throttled(Some(day))));
    let ended = stage.only(EventKind::NotRetried);
    assert_eq!(ended.reason(), Some(Reason::Throttled));
    assert_eq!(ended.delay(), Some(day));
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    assert_eq!(stage.world.elapsed(), Duration::ZERO);
    assert_eq!(stage.tokens(), 30);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.reason(), Reason::Throttled);
    assert_eq!(error.retry_after(), Some(day));
    // Somebody else may wait that long: the meaning goes on with the error.
    assert_eq!(error.verdict(), Verdict::throttled_for(day));
}

// urllib3#3743
#[test]
fn an_absurd_hint_is_survived() {
    for hint in [secs(9_999_999_999), Duration::MAX] {
        let stage = Stage::new(INSTANT.with_backoff(Backoff::DEFAULT));
        let script = stage.script::<()>().fails(Fault::Throttled(Some(hint)));
        assert_eq!(stage.play(&script).reason(), Reason::Throttled);
        // Nor is it a panic where nothing bounds it: the deadline does.
        let unbounded = Backoff::DEFAULT.with_maximum(Duration::MAX);
        let stage = Stage::new(INSTANT.with_backoff(unbounded).with_deadline(secs(9)));
        let script = stage.script::<()>().fails(Fault::Throttled(Some(hint)));
        assert_eq!(stage.play(&script).reason(), Reason::DeadlineExceeded);
        assert_eq!(stage.world.elapsed(), Duration::ZERO);
    }
}

// Nobody waits for the last hint: the caller gets it.
#[test]
fn an_exhausted_call_hands_on_the_last_hint() {
    let stage = Stage::new(INSTANT.with_backoff(Backoff::DEFAULT));
    let script = stage
        .script::<()>()
        .fails(Fault::Transient)
        .fails(Fault::Throttled(Some(secs(5))))
        .fails(Fault::Throttled(Some(secs(7))));
    let error = stage.play(&script).into_result().expect_err("a failure");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(error.retry_after(), Some(secs(7)));
    // A hint that was waited for is none.
    let script = stage
        .script::<()>()
        .fails(Fault::Throttled(Some(secs(7))))
        .fails(Fault::Transient)
        .repeats_last();
    let error = stage.play(&script).into_result().expect_err("a failure");
    assert_eq!(error.retry_after(), None);
}

//
#[test]
fn a_hint_is_waited_for_exactly() {
    let stage = Stage::new(INSTANT.with_backoff(Backoff::DEFAULT.with_jitter(Jitter::Full)));
    let script = stage
        .script()
        .fails(Fault::Throttled(Some(secs(7))))
        .fails(Fault::Throttled(Some(Duration::ZERO)))
        .returns(1);
    let outcome = stage.play(&script);
    let pauses: Vec<_> = outcome.log().entries().map(|entry| entry.pause()).collect();
    assert_eq!(pauses, [Duration::ZERO, secs(7), Duration::ZERO]);
}

// core-05.8: without waits there is no hint either.
#[test]
fn no_backoff_ignores_hints() {
    let stage = Stage::new(INSTANT.with_backoff(Backoff::NONE));
    let script = stage
        .script()
        .fails(Fault::Throttled(Some(secs(7))))
        .returns(1);
    assert!(stage.play(&script).is_success());
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(stage.world.elapsed(), Duration::ZERO);
}

// fails at once, waits for nothing, may try for ever: the budget holds it.
#[test]
fn a_hot_loop_meets_the_budget() {
    let policy = INSTANT
        .with_attempts(u32::MAX)
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let outcome = stage.play(&script);
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(script.calls(), 31);
}

// X-17b: long health banks no more than the burst, and a cold client may retry.
#[test]
fn a_long_healthy_past_banks_one_burst() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_budget(Budget::REFERENCE));
    let cold = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&cold).is_success());
    for _ in 0..10_000 {
        assert!(stage.play(&stage.script().returns(1)).is_success());
    }
    let outage = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let calls = 1_000;
    let reasons: Vec<_> = (0..calls).map(|_| stage.play(&outage).reason()).collect();
    let refused = reasons
        .iter()
        .filter(|reason| **reason == Reason::BudgetExhausted)
        .count();
    // 30 at once, then three a second; each refusal waits a tenth of one.
    let secs = usize::try_from(stage.world.elapsed().as_secs()).expect("not many");
    assert!(
        calls - refused <= 30 + 3 * (secs + 1),
        "{refused} refused in {secs} s"
    );
}

// seven calls share a guard; one that fails slows only itself.
#[test]
fn calls_of_a_guard_wait_apart() {
    let world = World::new();
    let doubling = Backoff::exponential(secs(5)).with_jitter(Jitter::None);
    let guard = Rc::new(guard(&world, INSTANT.with_backoff(doubling)));
    let call = |script: Script<u32>| {
        let guard = Rc::clone(&guard);
        world.spawn("call", async move {
            let outcome = guard.call(|_| script.next()).outcome().await;
            outcome.elapsed()
        })
    };
    let script = || Script::on(world.timer());
    let failing = call(script().fails(Fault::Transient).repeats_last());
    // It is in its second wait when the others come.
    world.advance(secs(6));
    let stumbling =
        [(); 3].map(|()| call(script().fails(Fault::Transient).delays(ms(10)).returns(1)));
    let healthy = [(); 3].map(|()| call(script().delays(ms(10)).returns(1)));
    for call in healthy {
        assert_eq!(world.block_on(call), ms(10));
    }
    assert_eq!(world.elapsed(), ms(6_010));
    for call in stumbling {
        assert_eq!(world.block_on(call), ms(5_010));
    }
    assert_eq!(world.elapsed(), ms(11_010));
    assert_eq!(world.block_on(failing), secs(15));
    assert_eq!(world.elapsed(), secs(15));
}

// who knows that there is nowhere to go says so; it is evidence of nothing.
#[test]
fn no_endpoint_is_a_meaning_of_its_own() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY).with_budget(Budget::REFERENCE));
    let script = stage
        .script::<()>()
        .fails(Fault::SelfImposed(None))
        .repeats_last();
    for _ in 0..20 {
        assert_eq!(stage.play(&script).reason(), Reason::AttemptsExhausted);
    }
    let breaker = stage.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Closed);
    assert_eq!(stage.tokens(), 30);
}

// core-07.7, Polly#1979, resilience4j#544: a probe whose end means nothing frees
// its slot, and the next one probes.
#[test]
fn a_probe_without_evidence_frees_its_slot() {
    let stage = Stage::new(INSTANT.with_attempts(1).with_breaker(TOUCHY));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    for fault in [
        Fault::Permanent,
        Fault::Throttled(None),
        Fault::SelfImposed(None),
    ] {
        let script = stage.script::<()>().fails(fault);
        let _ = stage.play(&script);
        assert_eq!(script.calls(), 1, "{fault}");
        let breaker = stage.guard.breaker().expect("a breaker");
        assert_eq!(breaker.state(stage.world.now()), BreakerState::HalfOpen);
    }
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

// resilience4j#1003: one call, one slot.
#[test]
fn a_call_takes_one_slot() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY.with_probes(2, 2)));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    let script = stage.script().hangs().repeats_last();
    let mut calls: Vec<_> = (0..3)
        .map(|_| Box::pin(stage.guard.call(|_| script.next())))
        .collect();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for call in &mut calls {
        let polled: std::task::Poll<Result<(), _>> = call.as_mut().poll(&mut cx);
        assert!(polled.is_pending());
    }
    assert_eq!(script.calls(), 2);
}

// agentic_security#328
#[test]
fn a_failed_probe_opens_at_once_and_for_longer() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY.with_consecutive_failures(5)));
    for _ in 0..5 {
        let _ = stage.play_failure();
    }
    let breaker = stage.guard.breaker().expect("a breaker");
    for seconds in [15, 30, 60, 120, 120] {
        let after = breaker.retry_after(stage.world.now());
        assert_eq!(after, Some(secs(seconds)));
        stage.world.advance(secs(seconds));
        let _ = stage.play_failure();
    }
}

// resilience4j#842: two calls a minute are enough for a trip.
#[test]
fn little_traffic_still_trips() {
    let stage = Stage::new(INSTANT.with_breaker(Breaker::DEFAULT));
    for call in 1..=5 {
        assert!(!stage.heard.contains(EventKind::BreakerOpened), "{call}");
        let _ = stage.play_failure();
        stage.world.advance(secs(30));
    }
    assert_eq!(stage.heard.count_of(EventKind::BreakerOpened), 1);
}

// retries of a guard around a guard do not multiply when the inner one
// refuses: its refusal and its hint go through to the caller.
#[test]
fn an_outer_guard_hands_on_an_inner_refusal() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let policy = INSTANT
        .with_backoff(Backoff::DEFAULT)
        .with_deadline(secs(10));
    let outer = guard(&stage.world, policy);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let heard = Recorder::new();
    let nested = outer.call(|_| stage.guard.call(|_| script.next()));
    let outcome = stage.world.block_on(nested.listen(&heard).outcome());
    assert_eq!(script.calls(), 1);
    assert_eq!(told(&heard), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(outcome.retry_after(), Some(ms(14_900)));
    let inner = outcome.error().expect("the inner guard's");
    assert_eq!(inner.reason(), Reason::DependencyUnavailable);
}

// two phases, one deadline.
#[test]
fn two_phases_share_one_deadline() {
    let stage = Stage::new(INSTANT.with_deadline(secs(5)));
    let phases = guard(&stage.world, INSTANT.with_deadline(secs(5)));
    let hangs = stage.script::<()>().hangs().repeats_last();
    let connects = stage.script::<()>().delays(secs(3)).returns(());
    let call = stage.guard.call(async |attempt: steadfast::Attempt| {
        let begun = stage.world.elapsed();
        let left =
            || (begun + attempt.timeout().expect("a bound")).saturating_sub(stage.world.elapsed());
        let connect = phases.call(|_| connects.next()).within(left());
        connect.await.map_err(|_| TRANSIENT)?;
        let request = phases.call(|_| hangs.next()).within(left());
        request.await.map_err(|_| TRANSIENT)
    });
    let error = stage.world.block_on(call).expect_err("a failure");
    assert_eq!(error.elapsed(), secs(5));
    assert_eq!(stage.world.elapsed(), secs(5));
}

// an operation may take back what it could not send.
#[test]
fn a_request_is_taken_back_without_clone() {
    struct Request(Vec<u8>);
    let stage = Stage::new(INSTANT);
    let script = stage.script().fails(Fault::Transient).returns(());
    let mut request = Some(Request(b"abc".to_vec()));
    let call = stage
        .guard
        .call_with(&mut request, async |held: &mut Option<Request>, _| {
            let request = held.take().expect("it was handed back");
            let sent = request.0.len();
            match script.next().await {
                Ok(()) => Ok(sent),
                Err(error) => {
                    *held = Some(request);
                    Err(error)
                }
            }
        });
    assert_eq!(stage.world.block_on(call).expect("a value"), 3);
}

// the same seed takes the same course, to the byte.
#[test]
fn the_same_seed_tells_the_same_story() {
    let story = |seed: u64, calls: u64| {
        let world = World::seeded(seed);
        let policy = INSTANT
            .with_attempts(5)
            .with_deadline(secs(60))
            .with_attempt_timeout(secs(2))
            .with_backoff(Backoff::DEFAULT)
            .with_budget(Budget::REFERENCE)
            .with_breaker(Breaker::DEFAULT);
        let guard = Rc::new(guard(&world, policy));
        let heard = Rc::new(Recorder::new());
        for n in 0..calls {
            let (guard, heard, clock) = (guard.clone(), heard.clone(), world.clone());
            let script: Script<u64> = Script::on(world.timer())
                .delays(ms(n * 37 % 300))
                .fails(if n % 3 == 0 {
                    Fault::Transient
                } else {
                    Fault::Throttled(None)
                })
                .hangs()
                .returns(n);
            let call = async move {
                clock.sleep(ms(n * 13)).await;
                let _: Result<u64, steadfast::CallError<Scripted>> =
                    guard.call(|_| script.next()).listen(&*heard).await;
            };
            world.spawn("call", call).detach();
        }
        world.advance(secs(120));
        assert_eq!(world.live_tasks(), 0);
        heard.to_string()
    };
    // Pinned, so that nothing of one run or one machine is mixed in.
    assert_eq!(story(7, 2), STORY);
    assert_eq!(story(7, 50), story(7, 50));
    assert_ne!(story(7, 2), story(8, 2));
    assert!(story(7, 50).lines().count() > 100);
}

/// Two calls under seed 7.
const STORY: &str = "\
Attempt #1 Transient Scripted (0ms)
Retrying #2 Transient Scripted (0ms) +69.4ms
Attempt #1 Throttled Scripted (37ms)
Retrying #2 Throttled Scripted (37ms) +705.3ms
Attempt #2 Transient AttemptTimeout (2000ms)
Retrying #3 Transient AttemptTimeout (2069.4ms) +187.8ms
Attempt #3 Ok (0ms)
Succeeded #3 Ok (2257.1ms)
Attempt #2 Transient AttemptTimeout (2000ms)
Retrying #3 Transient AttemptTimeout (2742.3ms) +151.5ms
Attempt #3 Ok (0ms)
Succeeded #3 Ok (2893.8ms)
";
