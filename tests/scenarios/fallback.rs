//! What a call that failed is answered with.

use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;

use steadfast::{Answer, Budget, CallError, Hedged, Outcome, Policy, Ratio, Reason, Verdict};
use steadfast_testing::{Fault, Scripted, World};

use crate::stage::{
    INSTANT, RACED, Stage, TOUCHY, TRANSIENT, backoff, drop_after, guard, ms, secs,
};

fn by_status(reply: &Result<u16, Scripted>) -> Verdict {
    match reply {
        Ok(500..) | Err(_) => Verdict::TRANSIENT,
        Ok(_) => Verdict::OK,
    }
}

#[test]
fn a_success_needs_no_fallback() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().fails(Fault::Transient).returns(1);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let answer = call.or_else(async |_| -1);
    assert_eq!(stage.world.block_on(answer), 1);
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
}

#[test]
fn a_failure_is_told_with_its_reason() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<u32>().fails(Fault::Transient).repeats_last();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let answer = call.or_else(async |failure: CallError<Scripted>| {
        assert_eq!(failure.reason(), Reason::AttemptsExhausted);
        assert_eq!((failure.attempts(), failure.error()), (3, Some(&TRANSIENT)));
        7
    });
    assert_eq!(stage.world.block_on(answer), 7);
}

// Who counts events counts failures, not what was shown instead.
#[test]
fn a_fallback_hides_nothing() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY));
    let script = stage.script::<u32>().fails(Fault::Transient).repeats_last();
    let answer = || {
        let call = stage.guard.call(|_| script.next()).once();
        stage.world.block_on(
            call.listen(&stage.heard)
                .or_else(async |failure| failure.attempts()),
        )
    };
    assert_eq!(answer(), 1);
    assert_eq!(stage.told(), "Attempt#1 BreakerOpened#1 Exhausted#1");

    // Refused after the pause of any refusal.
    assert_eq!(answer(), 0);
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    assert_eq!(stage.world.elapsed(), ms(100));
    assert_eq!(script.calls(), 1);
}

#[test]
fn a_value_can_be_a_failure() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let call = || guard.call_classified(by_status, async |_| Ok(503));
    assert_eq!(world.block_on(call()), Ok(503));

    let reason = Cell::new(None);
    let answer = call().or_else(|failure| {
        reason.set(Some(failure.reason()));
        assert_eq!(failure.error(), None);
        ready(200)
    });
    assert_eq!(world.block_on(answer), 200);
    assert_eq!(reason.get(), Some(Reason::AttemptsExhausted));

    // Its outcome still holds it.
    let answer = call()
        .outcome()
        .or_else(async |outcome: Outcome<u16, _>| outcome.value().copied().unwrap_or(0) + 1);
    assert_eq!(world.block_on(answer), 504);
}

#[test]
fn another_guard_may_answer() {
    let near = Stage::new(INSTANT);
    let far = guard(&near.world, INSTANT);
    let script = near
        .script()
        .fails(Fault::Permanent)
        .fails(Fault::Transient);
    let script = script.returns(3);
    let answer = || {
        let call = near.guard.call(|_| script.next());
        near.world
            .block_on(call.or_else(|_| far.call(|_| script.next())))
    };
    assert_eq!(answer(), Ok(3));

    // It may fail as well, and then tells its own failure.
    let script = near.script::<i32>().fails(Fault::Transient).times(2);
    let script = script.fails(Fault::Permanent);
    let call = near.guard.call(|_| script.next()).once();
    let error = near
        .world
        .block_on(call.or_else(|_| far.call(|_| script.next())))
        .expect_err("both failed");
    assert_eq!((error.reason(), error.attempts()), (Reason::Permanent, 2));
}

#[test]
fn it_may_give_the_failure_back() {
    let stage = Stage::new(INSTANT);
    let script = stage.script::<i32>().fails(Fault::Permanent);
    let cached: Option<i32> = None;
    let call = stage.guard.call(|_| script.next());
    let answer = call.or_else(async |failure| cached.ok_or(failure));
    let error = stage.world.block_on(answer).expect_err("nothing is cached");
    assert_eq!(error.reason(), Reason::Permanent);
}

// The call is over: no bound of it holds any more.
#[test]
fn the_fallback_has_time_of_its_own() {
    let stage = Stage::new(INSTANT.with_deadline(secs(1)));
    let script = stage.script::<u32>().hangs();
    let call = stage.guard.call(|_| script.next());
    let answer = call.or_else(async |failure| {
        assert_eq!(failure.reason(), Reason::DeadlineExceeded);
        assert_eq!(script.alive(), 0, "the attempt is gone");
        stage.world.sleep(secs(60)).await;
        5
    });
    assert_eq!(stage.world.block_on(answer), 5);
    assert_eq!(stage.world.elapsed(), secs(61));
}

#[test]
fn a_race_falls_back_once_it_is_lost() {
    let stage = Stage::<Hedged>::warm(RACED.with_deadline(secs(1)));
    let script = stage.script::<u32>().hangs();
    let call = stage.guard.call(|_| script.next());
    let answer = call.or_else(async |failure| {
        assert_eq!(script.alive(), 0, "both copies are gone");
        assert_eq!(failure.reason(), Reason::DeadlineExceeded);
        9
    });
    assert_eq!(stage.world.block_on(answer), 9);
}

#[test]
fn who_drains_falls_back_at_once() {
    let stage = Stage::new(INSTANT.with_backoff(backoff(secs(1))));
    stage.world.drain(secs(30));
    let script = stage.script::<bool>().fails(Fault::Transient);
    let call = stage.guard.call(|_| script.next());
    let answer = call.or_else(async |failure| failure.reason() == Reason::Draining);
    assert!(stage.world.block_on(answer));
    assert_eq!(stage.world.elapsed(), ms(0));
}

#[test]
fn dropped_anywhere_it_leaves_no_trace() {
    const POLICY: Policy = INSTANT
        .with_backoff(backoff(secs(1)))
        .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30))
        .with_breaker(TOUCHY.with_consecutive_failures(100));
    let mut polls = 0;
    loop {
        let stage = Stage::new(POLICY);
        let script = stage
            .script::<i32>()
            .delays(ms(100))
            .fails(Fault::Transient)
            .repeats_last();
        let call = stage.guard.call(|_| script.next());
        let fallback = stage.script().delays(ms(100)).returns(1);
        let ended = drop_after(&stage.world, polls, call.or_else(|_| fallback.next()));
        let further = script.calls().saturating_sub(1);
        assert_eq!(stage.tokens(), 30 - further, "after {polls} polls");
        assert_eq!(script.alive() + fallback.alive(), 0, "after {polls} polls");
        assert_eq!(stage.world.pending_timers(), 0, "after {polls} polls");
        if ended {
            assert_eq!((script.calls(), fallback.calls()), (3, 1));
            break;
        }
        polls += 1;
    }
    assert!(polls > 6, "{polls}");
}

// Against all custom: it has nothing more to say, and does not panic.
#[test]
fn polled_once_more_it_is_silent() {
    let stage = Stage::new(INSTANT);
    let script = stage.script().returns(1);
    let call = stage.guard.call(|_| script.next());
    let mut answer = pin!(call.or_else(async |_| 0));
    assert!(format!("{answer:?}").contains("Call"));
    stage.world.block_on(async {
        assert_eq!(answer.as_mut().await, 1);
        assert!(futures_lite::future::poll_once(answer).await.is_none());
    });
}

#[test]
fn it_can_be_sent_and_is_small() {
    fn check<A: Answer<u32>>(answer: &(impl Future<Output = A> + Send)) -> usize {
        size_of_val(answer)
    }
    static ON_TOKIO: steadfast::tokio::Guard = steadfast::tokio::Guard::new(Policy::DEFAULT);
    let call = || ON_TOKIO.call(|_| ready(std::io::Result::Ok(1_u32)));
    let plain = size_of_val(&call());
    let small = check(&call().or_else(async |_| 0));
    assert!(small <= plain + 8, "{small} bytes, the call {plain}");

    // One at a time: the room of the larger one.
    let held = [0_u8; 1024];
    let large = check(&call().or_else(|_| async move {
        pending::<()>().await;
        u32::from(held[1])
    }));
    assert!(large <= 1024 + plain + 64, "{large} bytes");
}
