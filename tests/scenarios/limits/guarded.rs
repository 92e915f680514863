//! What a limit of the policy's does to a call.

use steadfast::{
    BreakerState, Budget, Concurrency, ConcurrencyLimit, Ending, EventKind, Limit, Plan, Rate,
    RateLimit, Ratio, Reason, Slot, Verdict,
};
use steadfast_testing::{Fault, Script, World};

use super::FUNDED;
use crate::stage::{INSTANT, Stage, TOUCHY, Virtual, ms, secs};

/// Takes a place of the guard's limit.
#[track_caller]
pub(super) fn hold(stage: &Stage) -> Slot<'_> {
    let limit = stage.guard.concurrency().expect("a limit");
    limit.acquire(stage.world.now()).expect("a place")
}

fn in_flight(guard: &Virtual) -> u32 {
    guard.concurrency().expect("a limit").in_flight()
}

fn free(stage: &Stage) -> u32 {
    let rate = stage.guard.rate().expect("a limit");
    rate.free(stage.world.now())
}

/// Two places, three permits that come back in a minute.
const LIMITED: steadfast::Policy = FUNDED
    .with_concurrency(Concurrency::fixed(2))
    .with_rate(Rate::per_window(3, secs(60)));

// core-09.3, core-14.12
#[test]
fn the_hint_is_waited_exactly() {
    let stage = Stage::new(FUNDED.with_rate(Rate::per_window(1, secs(16))));
    stage.world.advance(secs(14));
    let rate = stage.guard.rate().expect("a limit");
    rate.acquire(stage.world.now()).expect("a permit").spend();
    stage.world.advance(secs(14));
    let script = stage.script().returns(7);
    let outcome = stage.play(&script);
    assert_eq!(
        stage.heard.lines(),
        [
            "Attempt #1 Throttled by the rate limit (0ms)",
            "Retrying #2 Throttled (0ms) +2000ms",
            "Attempt #2 Ok (0ms)",
            "Succeeded #2 Ok (2000ms)",
        ]
    );
    let refused = stage.heard.get(0).expect("an event");
    assert_eq!(refused.limit(), Some(Limit::Rate));
    assert!(refused.verdict().is_self_imposed() && !refused.is_rejection());
    let first = outcome.log().entries().next().expect("an attempt");
    assert!(first.is_self_imposed());
    assert_eq!(first.ending(), Ending::Refused);
    assert_eq!(script.calls(), 1, "nothing was sent before the hint");
    assert_eq!(stage.spent(), Ratio::ZERO);
    assert_eq!(outcome.into_success(), Ok(7));
}

// core-09.4, core-09.5
#[test]
fn a_call_can_be_refused_altogether() {
    let stage = Stage::new(FUNDED.with_concurrency(Concurrency::fixed(1)));
    let held = hold(&stage);
    let script = stage.script::<()>();
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    // One second, then two: the throttled curve.
    assert_eq!(outcome.elapsed(), secs(3));
    assert_eq!(outcome.log().entries().count(), 3);
    assert!(outcome.log().entries().all(|at| at.is_self_imposed()));
    assert_eq!(
        outcome.to_string(),
        "AttemptsExhausted: 3 attempts in 3s\n  \
         #1: Throttled (not admitted), 0s\n  \
         #2 after 1s: Throttled (not admitted), 0s\n  \
         #3 after 2s: Throttled (not admitted), 0s"
    );
    assert_eq!((script.calls(), stage.spent()), (0, Ratio::ZERO));

    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(error.limited_by(), Some(Limit::Concurrency));
    assert!(!error.is_sent() && error.error().is_none());
    assert_eq!(
        error.to_string(),
        "not called: all 3 attempts in 3s refused, the last by the concurrency limit of this process"
    );
    drop(held);
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

// core-09.3: neither a failure nor a success.
#[test]
fn a_refusal_is_no_evidence() {
    let policy = INSTANT
        .with_attempts(1)
        .with_breaker(TOUCHY.with_consecutive_failures(2))
        .with_concurrency(Concurrency::fixed(1));
    let stage = Stage::new(policy);
    let breaker = stage.guard.breaker().expect("a breaker");
    let stands = || breaker.state(stage.world.now());
    let _ = stage.play_failure();
    let held = hold(&stage);
    for _ in 0..9 {
        let _ = stage.play(&stage.script::<()>());
    }
    assert_eq!(stands(), BreakerState::Closed);
    drop(held);
    let _ = stage.play_failure();
    assert_eq!(stands(), BreakerState::Open, "two failures running");
}

// core-09.6
#[test]
fn a_limited_probe_frees_its_slot() {
    let policy = INSTANT.with_attempts(1).with_breaker(TOUCHY);
    let stage = Stage::new(policy.with_concurrency(Concurrency::fixed(1)));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    let breaker = stage.guard.breaker().expect("a breaker");
    let held = hold(&stage);
    for _ in 0..3 {
        let outcome = stage.play(&stage.script::<()>());
        assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
        assert_eq!(breaker.state(stage.world.now()), BreakerState::HalfOpen);
    }
    drop(held);
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(
        breaker.state(stage.world.now()),
        BreakerState::Closed,
        "the probe got through"
    );
}

#[test]
fn each_attempt_costs_a_permit() {
    let policy = INSTANT.with_rate(Rate::per_second(2));
    let stage = Stage::new(policy.with_concurrency(Concurrency::fixed(1)));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    assert_eq!((script.calls(), free(&stage)), (2, 0));
    assert_eq!(in_flight(&stage.guard), 0);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.limited_by(), Some(Limit::Rate));
    assert!(error.is_sent());
    assert_eq!(error.retry_after(), Some(ms(500)));
    assert_eq!(
        error.to_string(),
        "failed after 3 attempts in 0s; the last attempt was refused by the rate limit of this process; try again in 500ms"
    );
}

#[test]
fn a_retry_takes_its_place_anew() {
    let stage = Stage::new(LIMITED);
    let script = stage
        .script()
        .delays(secs(1))
        .fails(Fault::Transient)
        .delays(secs(1))
        .returns(1);
    let call = stage.guard.call(|_| {
        assert_eq!(in_flight(&stage.guard), 1);
        script.next()
    });
    assert_eq!(stage.world.block_on(call), Ok(1));
    assert_eq!((in_flight(&stage.guard), free(&stage)), (0, 1));
}

#[test]
fn what_is_not_attempted_takes_nothing() {
    let stage = Stage::new(LIMITED.with_breaker(TOUCHY));
    stage.guard.breaker().expect("a breaker").isolate();
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!((error.limited_by(), error.is_sent()), (None, false));

    let call = stage.guard.call(|_| stage.script().returns(1).next());
    let late = stage.world.block_on(call.within(secs(0)));
    assert!(late.is_err());
    assert_eq!((in_flight(&stage.guard), free(&stage)), (0, 3));
}

// A refused retry neither loses its token nor gets a free ride.
#[test]
fn a_token_outlives_a_refusal() {
    let policy = FUNDED
        .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30))
        .with_concurrency(Concurrency::fixed(1));
    for is_let_out in [true, false] {
        let stage = Stage::new(policy);
        let script = stage.script().fails(Fault::Transient).returns(1);
        let held = std::cell::RefCell::new(None);
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        stage.world.block_on(async {
            let meanwhile = async {
                // The first attempt has failed, the second one comes to be refused.
                stage.world.sleep(ms(50)).await;
                *held.borrow_mut() = Some(hold(&stage));
                stage.world.sleep(ms(100)).await;
                if is_let_out {
                    held.borrow_mut().take();
                }
            };
            let _ = futures_lite::future::zip(call.outcome(), meanwhile).await;
        });
        let told = stage.told();
        if is_let_out {
            assert_eq!(
                told,
                "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Succeeded#3"
            );
            assert_eq!(stage.tokens(), 29, "one retry was sent");
        } else {
            assert!(told.ends_with("Attempt#3 Exhausted#3"), "{told}");
            assert_eq!(stage.tokens(), 30, "no retry was sent");
        }
    }
}

// As core-05.5: waiting less would be to be refused again.
#[test]
fn a_hint_above_the_longest_wait_ends_the_call() {
    let stage = Stage::new(LIMITED);
    for _ in 0..3 {
        assert!(stage.play(&stage.script().returns(1)).is_success());
    }
    stage.heard.clear();
    let outcome = stage.play(&stage.script::<()>());
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    assert_eq!(outcome.reason(), Reason::Throttled);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.retry_after(), Some(secs(60)));
    assert_eq!(
        error.to_string(),
        "not called: the rate limit of this process asks for a longer pause than the policy allows; try again in 1m"
    );
}

#[test]
fn a_guard_around_it_is_not_to_blame_anybody() {
    let stage = Stage::new(INSTANT.with_rate(Rate::per_second(1)));
    let around = Stage::new(INSTANT.with_breaker(TOUCHY));
    assert!(stage.play(&stage.script().returns(1)).is_success());
    let mut attempts = 0;
    let call = around.guard.call(|_| {
        attempts += 1;
        stage.guard.call(|_| stage.script().returns(1).next())
    });
    let error = around.world.block_on(call).expect_err("refused");
    assert_eq!(attempts, 3);
    let hint = Verdict::self_imposed_for(secs(1));
    assert_eq!(error.last_verdict(), hint);
    let breaker = around.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(around.world.now()), BreakerState::Closed);
}

#[test]
fn guards_can_share_limits() {
    static PLACES: ConcurrencyLimit = ConcurrencyLimit::new(Concurrency::fixed(1));
    static QUOTA: RateLimit = RateLimit::new(Rate::per_window(3, secs(60)));
    let world = World::new();
    let plan = || {
        Plan::new(INSTANT.with_concurrency(Concurrency::fixed(99)))
            .with_concurrency(&PLACES)
            .with_rate(&QUOTA)
    };
    let [one, other]: [Virtual; 2] =
        [(); 2].map(|()| Virtual::try_on(world.timer(), plan()).expect("a policy that works"));
    assert_eq!(one.policy().concurrency(), Some(&Concurrency::fixed(1)));
    assert_eq!(one.policy().rate(), Some(QUOTA.rate()));

    let script: Script<u32> = Script::on(world.timer())
        .delays(secs(1))
        .returns(1)
        .repeats_last();
    world.block_on(async {
        let first = one.call(|_| script.next());
        let second = async {
            world.sleep(ms(500)).await;
            let error = other.call(|_| script.next()).await.expect_err("refused");
            assert_eq!(error.limited_by(), Some(Limit::Concurrency));
        };
        let (first, ()) = futures_lite::future::zip(first, second).await;
        assert_eq!(first, Ok(1));
    });
    for _ in 0..2 {
        assert_eq!(world.block_on(other.call(|_| script.next())), Ok(1));
    }
    let error = world
        .block_on(one.call(|_| script.next()))
        .expect_err("refused");
    assert_eq!(error.limited_by(), Some(Limit::Rate));
    // What is shared outlives the reset of one who uses it.
    one.reset();
    assert_eq!((PLACES.in_flight(), QUOTA.free(world.now())), (0, 0));
}

#[test]
fn the_other_drivers_are_limited_too() {
    let stage = Stage::new(LIMITED);
    let script = stage.script().delays(secs(1)).returns(1).repeats_last();
    let mut lent = 0;
    let call = stage.guard.call_with(&mut lent, async |lent: &mut u32, _| {
        *lent += in_flight(&stage.guard);
        script.next().await
    });
    assert_eq!(stage.world.block_on(call), Ok(1));
    assert_eq!((lent, in_flight(&stage.guard)), (1, 0));

    let mut seen = 0;
    let answer = stage.guard.call_blocking(|_| {
        seen = in_flight(&stage.guard);
        script.next_blocking()
    });
    assert_eq!((answer, seen), (Ok(1), 1));
    assert_eq!((in_flight(&stage.guard), free(&stage)), (0, 1));

    let held = [hold(&stage), hold(&stage)];
    let error = stage.guard.call_blocking(|_| script.next_blocking());
    let error = error.expect_err("refused");
    assert_eq!(error.limited_by(), Some(Limit::Concurrency));
    drop(held);
}

#[test]
fn a_reset_starts_limits_afresh() {
    let stage = Stage::new(LIMITED);
    for _ in 0..3 {
        assert!(stage.play(&stage.script().returns(1)).is_success());
    }
    assert_eq!(free(&stage), 0);
    stage.guard.reset();
    assert_eq!(free(&stage), 3);
    assert_eq!(stage.heard.count_of(EventKind::Succeeded), 3);
}

#[test]
fn a_guard_explains_its_limits() {
    static QUOTA: RateLimit = RateLimit::new(Rate::per_window(9, secs(60)));
    let world = World::new();
    let policy = INSTANT.with_concurrency(Concurrency::fixed(3));
    let plan = Plan::new(policy).with_rate(&QUOTA);
    let guard: Virtual = Virtual::try_on(world.timer(), plan).expect("a policy that works");
    let script: Script<String> = Script::on(world.timer());
    let call = guard.call(|_| {
        let text = guard.explain().to_string();
        script.clone().returns(text).next()
    });
    let text = world.block_on(call).expect("a value");
    guard.rate().expect("a limit").observe();
    assert!(
        text.contains(
            "\n\nLimits\n  concurrency  at most 3 attempts in flight. Now 1 of 3.\n  \
             rate         at most 9 attempts in 1m. Now 8 free. Shared with other guards.\n  \
             An attempt that one of them refuses is not sent. It counts as one of the attempts,\n  \
             and costs no token of the budget; the next one follows at once."
        ),
        "{text}"
    );
    let text = guard.explain().to_string();
    assert!(text.contains("8 free. It only observes."), "{text}");
}
