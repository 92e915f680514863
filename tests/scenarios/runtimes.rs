//! The same calls on real runtimes.

use std::time::Duration;

use steadfast::{
    AnyError, Backoff, Breaker, BreakerState, Budget, Guard, Jitter, Plan, Policy, Reason,
};
use steadfast_testing::{Fault, INSTANT, Recorder, Script, Scripted, World};

use crate::stage::{backoff, guard, ms, secs, told};

const POLICY: Policy = INSTANT
    .with_deadline(secs(10))
    .with_attempt_timeout(ms(20))
    .with_backoff(backoff(ms(5)));

const TOLD: &str = "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Succeeded#3";

/// Hangs, fails, succeeds: a timeout, two waits and a value.
async fn operate(attempt: steadfast::Attempt) -> Result<u32, Fault> {
    match attempt.number() {
        1 => std::future::pending().await,
        2 => Err(Fault::Transient),
        number => Ok(number),
    }
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

// a guard without a timer is not a type, so none can skip its waits.
// async on any executor, and blocking (`drivers`).
#[test]
fn one_scenario_runs_everywhere() {
    static ON_TOKIO: steadfast::tokio::Guard = Guard::new(POLICY);
    static ON_SMOL: steadfast::smol::Guard = Guard::new(POLICY);
    static ON_STD: steadfast::std_timer::Guard = Guard::new(POLICY);

    let heard = Recorder::new();
    let elapsed = paused().block_on(async {
        let start = tokio::time::Instant::now();
        let answer = ON_TOKIO.call(operate).listen(&heard).await;
        assert_eq!(answer.expect("a value"), 3);
        start.elapsed()
    });
    assert_eq!(told(&heard), TOLD);
    // Tokio's wheel rounds up to whole milliseconds.
    assert!((ms(30)..=ms(33)).contains(&elapsed), "{elapsed:?}");

    heard.clear();
    let answer = smol::block_on(ON_SMOL.call(operate).listen(&heard));
    assert_eq!(answer.expect("a value"), 3);
    assert_eq!(told(&heard), TOLD);

    heard.clear();
    let answer = futures_lite::future::block_on(ON_STD.call(operate).listen(&heard));
    assert_eq!(answer.expect("a value"), 3);
    assert_eq!(told(&heard), TOLD);

    //
    heard.clear();
    let world = World::new();
    let guard = guard(&world, POLICY);
    let answer = world.block_on(guard.call(operate).listen(&heard));
    assert_eq!(answer.expect("a value"), 3);
    assert_eq!(told(&heard), TOLD);
    assert_eq!(world.elapsed(), ms(30));
}

#[test]
fn a_call_can_be_spawned() {
    static SPAWNED: steadfast::tokio::Guard = Guard::new(POLICY);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    let answers = runtime.block_on(async {
        let calls = (0..32).map(|_| tokio::spawn(SPAWNED.call(operate)));
        let calls: Vec<_> = calls.collect();
        let mut answers = 0;
        for call in calls {
            answers += call.await.expect("no panic").expect("a value");
        }
        answers
    });
    assert_eq!(answers, 32 * 3);
}

#[test]
fn a_guard_outlives_its_runtime() {
    static LASTING: steadfast::tokio::Guard = Guard::new(POLICY);
    for _ in 0..2 {
        let heard = Recorder::new();
        let runtime = paused();
        let answer = runtime.block_on(LASTING.call(operate).listen(&heard));
        assert_eq!(answer.expect("a value"), 3);
        assert_eq!(told(&heard), TOLD);
        // Cancelled by the runtime that goes away.
        runtime.spawn(async {
            LASTING
                .call(|_| std::future::pending::<Result<(), Fault>>())
                .await
        });
    }
}

#[test]
fn two_runtimes_share_a_guard() {
    static SHARED: steadfast::tokio::Guard = Guard::new(POLICY);
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(SHARED.call(operate)).expect("a value")
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(run);
        assert_eq!(run(), 3);
        assert_eq!(other.join().expect("no panic"), 3);
    });
}

const TRIPS: Breaker = Breaker::DEFAULT
    .with_consecutive_failures(1)
    .with_probes(1, 1)
    .with_jitter(Jitter::None);

fn fail<T>(_: T) -> std::future::Ready<Result<u32, Fault>> {
    std::future::ready(Err(Fault::Transient))
}

#[test]
fn a_reset_guard_starts_afresh() {
    static TESTED: steadfast::tokio::Guard = Guard::new(
        POLICY
            .with_breaker(TRIPS)
            .with_budget(Budget::REFERENCE)
            .with_backoff(Backoff::NONE),
    );
    let breaker = TESTED.breaker().expect("a breaker");
    for _ in 0..2 {
        TESTED.reset();
        paused().block_on(async {
            use steadfast::Clock;
            let now = || TESTED.timer().now();
            assert_eq!(breaker.state(now()), BreakerState::Closed);
            let error = TESTED.call(fail).await.expect_err("a failure");
            assert_eq!(error.reason(), Reason::DependencyUnavailable);
            assert_eq!(breaker.state(now()), BreakerState::Open);
            tokio::time::advance(secs(3_600)).await;
            TESTED.call(fail).await.expect_err("a failure");
            assert_eq!(breaker.state(now()), BreakerState::Open);
        });
    }
    assert_eq!(TESTED.policy().attempts(), 3);
}

// A paused clock that starts behind the last one's end is a clock that stepped
// back: the break lasts one nominal break more, not an hour.
#[test]
fn an_older_clock_cannot_wedge_a_guard() {
    static FORGOTTEN: steadfast::tokio::Guard =
        Guard::new(POLICY.with_attempts(1).with_breaker(TRIPS));
    paused().block_on(async {
        tokio::time::advance(secs(3_600)).await;
        FORGOTTEN.call(fail).await.expect_err("a failure");
    });
    paused().block_on(async {
        let refused = FORGOTTEN.call(operate).await.expect_err("a refusal");
        assert_eq!(refused.reason(), Reason::DependencyUnavailable);
        let after = refused.retry_after().expect("a hint");
        assert!(after <= secs(15), "{after:?}");
        tokio::time::advance(after).await;
        let ready = FORGOTTEN.call(|_| std::future::ready(Ok::<_, Fault>(1)));
        assert_eq!(ready.await.expect("a value"), 1);
    });
}

// zio-openfeature#263, smithy-rs#3744: a clock that steps back in the middle of a call.
#[test]
fn a_clock_that_steps_back_is_survived() {
    let world = World::new();
    world.jump(secs(100));
    let policy = POLICY.with_breaker(TRIPS).with_budget(Budget::REFERENCE);
    let guard = guard(&world, policy);
    let back = |span| {
        world.step_back(span);
        std::future::ready(Err::<u32, _>(Scripted::Failed(Fault::Transient)))
    };
    let error = world
        .block_on(guard.call(|_| back(secs(60))))
        .expect_err("a failure");
    assert_eq!(error.reason(), Reason::DependencyUnavailable);
    assert_eq!(error.elapsed(), Duration::ZERO);
    let breaker = guard.breaker().expect("a breaker");
    assert!(breaker.retry_after(world.now()) <= Some(secs(15)));
    world.step_back(secs(3_600));
    assert!(breaker.retry_after(world.now()) <= Some(secs(15)));
    // The first who asks has the break counted anew, and it ends.
    let ready = || guard.call(|_| std::future::ready(Ok::<_, Scripted>(1)));
    world.block_on(ready()).expect_err("a refusal");
    world.advance(secs(15));
    assert_eq!(world.block_on(ready()).expect("a value"), 1);
}

// no two guards and no two calls share their jitter.
#[test]
fn a_thousand_first_waits_all_differ() {
    let waits = |seed: Option<u64>| -> Vec<Duration> {
        let world = World::new();
        let policy = INSTANT
            .with_attempts(2)
            .with_backoff(Backoff::exponential(secs(1)));
        let plan = Plan::new(policy).with_classifier(AnyError);
        let plan = match seed {
            Some(seed) => plan.with_seed(seed),
            None => plan,
        };
        let guard: crate::stage::Virtual<AnyError> =
            Guard::try_on(world.timer(), plan).expect("a policy that works");
        let wait = |_| {
            let start = world.elapsed();
            let call = guard.call(|_| std::future::ready(Err::<(), _>(())));
            world.block_on(call).expect_err("a failure");
            world.elapsed().saturating_sub(start)
        };
        (0..1_000).map(wait).collect()
    };
    let mut seeded = waits(Some(7));
    assert_eq!(seeded, waits(Some(7)));
    assert_ne!(seeded, waits(Some(8)));
    seeded.sort();
    seeded.dedup();
    assert_eq!(seeded.len(), 1_000);
    assert!(seeded.iter().all(|wait| *wait < secs(1)));
    assert!(seeded[500] > ms(400) && seeded[500] < ms(600));
}

/// Uses up its task's budget at every poll, and never ends.
async fn hog() -> Result<u32, Fault> {
    loop {
        tokio::task::coop::consume_budget().await;
    }
}

#[test]
fn a_hog_is_cut_at_its_bound() {
    static GUARD: steadfast::tokio::Guard =
        steadfast::tokio::Guard::new(INSTANT.with_attempts(1).with_attempt_timeout(ms(5)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let called = runtime.block_on(GUARD.call(|_| hog()));
    assert!(called.expect_err("a cut").is_timeout());
    let lent = runtime.block_on(GUARD.call_with(&mut (), async |(), _| hog().await));
    assert!(lent.expect_err("a cut").is_timeout());
}

#[test]
fn a_script_follows_a_paused_tokio() {
    static GUARD: steadfast::tokio::Guard =
        steadfast::tokio::Guard::new(INSTANT.with_attempt_timeout(secs(5)));
    let script: Script<u32, Fault, steadfast::tokio::Tokio> = Script::on(steadfast::tokio::Tokio)
        .delays(secs(3600))
        .returns(1)
        .delays(secs(1))
        .returns(2);
    let answer = paused().block_on(GUARD.call(|_| script.next()));
    // The first step takes an hour and is cut; nobody has waited for real.
    assert_eq!(answer, Ok(2));
    assert_eq!((script.calls(), script.alive()), (2, 0));
}
