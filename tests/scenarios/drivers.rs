//! Three drivers, one machine: they decide alike.

use steadfast::{
    AnyError, Backoff, Breaker, Budget, ByError, CallError, Guard, NoRules, Plan, Policy, Reason,
};
use steadfast_testing::{Fault, Recorder, Script, Scripted, World};

use crate::stage::{INSTANT, Stage, TOUCHY, Virtual, backoff, ms, secs, told};

type Heard<'a> = Virtual<ByError, NoRules, &'a Recorder>;
type Answer = Result<u32, CallError<Scripted>>;

/// The script of one call, and what stands in its way.
type Scene = (&'static str, Policy, fn(Script<u32>) -> Script<u32>);

const POLICY: Policy = INSTANT
    .with_name("same")
    .with_deadline(secs(10))
    .with_backoff(backoff(ms(700)))
    .with_budget(Budget::REFERENCE)
    .with_breaker(Breaker::DEFAULT);

const SCENES: [Scene; 9] = [
    ("ok", POLICY, |script| script.delays(ms(3)).returns(1)),
    ("retried", POLICY, |script| {
        script.delays(ms(3)).fails(Fault::Transient).returns(1)
    }),
    ("permanent", POLICY, |script| script.fails(Fault::Permanent)),
    ("exhausted", POLICY, |script| {
        script
            .delays(secs(1))
            .fails(Fault::Transient)
            .repeats_last()
    }),
    ("hinted", POLICY, |script| {
        script.fails(Fault::Throttled(Some(secs(4)))).returns(1)
    }),
    ("hinted too far", POLICY, |script| {
        script.fails(Fault::Throttled(Some(secs(60))))
    }),
    ("late", POLICY, |script| {
        script
            .delays(ms(4_500))
            .fails(Fault::Transient)
            .repeats_last()
    }),
    ("tripped", POLICY.with_breaker(TOUCHY), |script| {
        script.fails(Fault::Transient).repeats_last()
    }),
    (
        "starved",
        POLICY
            .with_attempts(5)
            .with_budget(Budget::new(steadfast::Ratio::percent(1), 0)),
        |script| script.fails(Fault::Transient).repeats_last(),
    ),
];

/// Runs a scene through one driver: what it gave, and every event as text.
fn play(scene: Scene, run: impl FnOnce(&World, &Heard<'_>, &Script<u32>) -> Answer) -> String {
    let (_, policy, write) = scene;
    let world = World::new();
    let heard = Recorder::new();
    let plan = Plan::new(policy).with_listener(&heard);
    let guard: Heard<'_> = Guard::try_on(world.timer(), plan).expect("a policy that works");
    let answer = run(&world, &guard, &write(Script::on(world.timer())));
    format!("{answer:?}\n{heard}{:?}", world.elapsed())
}

#[test]
fn all_drivers_decide_alike() {
    for scene in SCENES {
        let named = play(scene, |world, guard, script| {
            world.block_on(guard.call(|_| script.next()))
        });
        let lending = play(scene, |world, guard, script| {
            let mut lent = script.clone();
            world.block_on(
                guard.call_with(&mut lent, async |script: &mut Script<u32>, _| {
                    script.next().await
                }),
            )
        });
        let blocking = play(scene, |_, guard, script| {
            guard.call_blocking(|_| script.next_blocking())
        });
        assert_eq!(named, lending, "{}", scene.0);
        assert_eq!(named, blocking, "{}", scene.0);
    }
}

// Cuts, too, where the driver can cut.
#[test]
fn both_futures_cut_alike() {
    let policy = POLICY.with_attempt_timeout(secs(2));
    let scene: Scene = ("cut", policy, |script| {
        script.hangs().delays(ms(1)).returns(1)
    });
    let named = play(scene, |world, guard, script| {
        world.block_on(guard.call(|_| script.next()))
    });
    let lending = play(scene, |world, guard, script| {
        let mut lent = script.clone();
        world.block_on(
            guard.call_with(&mut lent, async |script: &mut Script<u32>, _| {
                script.next().await
            }),
        )
    });
    assert!(named.starts_with("Ok(1)"), "{named}");
    assert_eq!(named, lending);
}

// core-03.24
#[test]
fn a_blocking_overrun_is_told() {
    let world = World::new();
    let heard = Recorder::new();
    let policy = INSTANT.with_attempt_timeout(ms(100));
    let plan = Plan::new(policy).with_listener(&heard);
    let guard: Heard<'_> = Guard::try_on(world.timer(), plan).expect("a policy that works");
    for (took, events) in [
        (ms(1_050), "Attempt#1 Succeeded#1"),
        (ms(1_100), "Attempt#1 Overran#1 Succeeded#1"),
        (ms(1_200), "Attempt#1 Overran#1 Succeeded#1"),
    ] {
        let answer = guard.call_blocking(|_| {
            world.jump(took);
            Ok::<_, Scripted>(1)
        });
        assert_eq!(answer.expect("the value, however late"), 1);
        assert_eq!(told(&heard), events);
        assert!(heard.events().iter().all(|event| event.duration() == took));
        heard.clear();
    }
}

// A blocking attempt that fails after the deadline is not repeated.
#[test]
fn a_blocking_attempt_meets_the_deadline_late() {
    let world = World::new();
    let heard = Recorder::new();
    let policy = INSTANT.with_deadline(secs(1));
    let plan = Plan::new(policy).with_listener(&heard);
    let guard: Heard<'_> = Guard::try_on(world.timer(), plan).expect("a policy that works");
    let error = guard
        .call_blocking(|_| {
            world.jump(ms(1_500));
            Err::<(), _>(Scripted::Failed(Fault::Transient))
        })
        .expect_err("a failure");
    assert_eq!(told(&heard), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(error.deadline(), Some(secs(1)));
    assert_eq!(error.elapsed(), ms(1_500));
    assert!(error.error().is_some());
}

// The lent thing is one at a time, and given back at a cut.
#[test]
fn each_attempt_borrows_anew() {
    let stage = Stage::new(INSTANT.with_attempt_timeout(secs(1)));
    let mut bus = Vec::new();
    let script = stage.script().hangs().fails(Fault::Transient).returns(7);
    let lent = stage
        .guard
        .call_with(&mut bus, async |log: &mut Vec<u32>, attempt| {
            log.push(attempt.number());
            let outcome = script.next().await;
            log.push(attempt.number() * 10);
            outcome
        });
    assert_eq!(stage.world.block_on(lent).expect("a value"), 7);
    assert_eq!(bus, [1, 2, 20, 3, 30]);
    assert_eq!(script.alive(), 0);
}

// The same drop-is-cancel for the lending driver.
#[test]
fn a_dropped_lending_call_frees_everything() {
    let stage = Stage::new(INSTANT.with_breaker(TOUCHY).with_attempt_timeout(secs(60)));
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    let script = stage.script::<()>().hangs();
    let mut bus = 1;
    {
        let lent = stage
            .guard
            .call_with(&mut bus, async |_: &mut i32, _| script.next().await);
        let mut lent = Box::pin(lent);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(lent.as_mut().poll(&mut cx).is_pending());
        assert_eq!((script.alive(), stage.world.pending_timers()), (1, 1));
    }
    bus += 1;
    assert_eq!(bus, 2);
    assert_eq!((script.alive(), stage.world.pending_timers()), (0, 0));
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

#[test]
fn a_classifier_serves_all_drivers() {
    let world = World::new();
    let policy = INSTANT.with_backoff(Backoff::NONE);
    let plan = Plan::new(policy).with_classifier(AnyError);
    let guard: Virtual<AnyError> = Guard::try_on(world.timer(), plan).expect("a policy");
    let mut left = 2;
    let mut fails_twice = || {
        if left == 0 {
            return Ok(1);
        }
        left -= 1;
        Err("an error without a meaning")
    };
    assert_eq!(guard.call_blocking(|_| fails_twice()).expect("a value"), 1);
    assert_eq!(left, 0);
}
