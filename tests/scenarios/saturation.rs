//! When this process is what makes calls slow, nothing is learnt from them.

use std::time::Duration;

use steadfast::{
    AttemptCeiling, Backoff, BreakerState, Budget, EventKind, Hedge, Hedged, MeasuredBase, Policy,
    QueueReading, Ratio, Saturation,
};
use steadfast_testing::{Fault, World};

use crate::stage::{INSTANT, Stage, TOUCHY, at, guard, ms};

/// Everything that learns from latencies, with a ceiling that 400 ms pass.
const LEARNING: Policy = INSTANT
    .with_hedge(Hedge::DEFAULT.with_window(Duration::from_secs(300)))
    .with_attempt_ceiling(AttemptCeiling::DEFAULT.with_floor(ms(1_000)))
    .with_backoff(Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT))
    .with_saturation(Saturation::DEFAULT);

const QUIET: QueueReading = QueueReading::new(ms(2)).with_normal(ms(2), 20);
const LATE: QueueReading = QueueReading::new(ms(80)).with_normal(ms(2), 20);

type Learnt = [Option<Duration>; 3];

fn learnt(stage: &Stage<Hedged>) -> Learnt {
    let now = stage.guard.measured();
    [now.attempt_ceiling, now.backoff_base, now.hedge_threshold]
}

/// A hundred calls of 400 ms after some of 40 ms; what is learnt before and after.
fn slow_down(policy: Policy, reading: QueueReading) -> (Stage<Hedged>, Learnt, Learnt) {
    let stage = Stage::<Hedged>::warm(policy);
    let before = learnt(&stage);
    stage.world.set_queue_delay(Some(reading));
    let script = stage.script().delays(ms(400)).returns(1).repeats_last();
    for _ in 0..100 {
        assert!(stage.play(&script).is_success());
    }
    let after = learnt(&stage);
    (stage, before, after)
}

// core-12.12
#[test]
fn a_saturated_process_learns_nothing() {
    let (stage, before, after) = slow_down(LEARNING, LATE);
    assert_eq!(before[0], Some(ms(1_000)));
    assert_eq!(after, before);
    let told = stage.only(EventKind::SaturationDetected);
    assert_eq!((told.number(), told.delay()), (1, Some(ms(80))));

    let (stage, before, after) = slow_down(LEARNING, QUIET);
    for (before, after) in before.into_iter().zip(after) {
        assert!(after > before, "{after:?} after {before:?}");
    }
    assert!(!stage.heard.contains(EventKind::SaturationDetected));
}

// core-12.12: the breaker looks at what callers see, whoever is at fault.
#[test]
fn the_breaker_learns_all_the_same() {
    let slow = TOUCHY
        .with_slow_calls(ms(300), Ratio::percent(50))
        .with_window(Duration::from_secs(30), 20);
    let stage = Stage::new(LEARNING.without_hedge().with_breaker(slow));
    stage.world.set_queue_delay(Some(LATE));
    stage.succeed(ms(400), 30);
    let breaker = stage.guard.breaker().expect("a breaker");
    assert_eq!(breaker.state(stage.world.now()), BreakerState::Open);
    assert!(stage.heard.contains(EventKind::BreakerOpened));
    let normal = breaker.normal_latency(stage.world.now());
    assert!(
        normal > Some(ms(380)) && normal < Some(ms(420)),
        "{normal:?}"
    );
}

// core-12.13
#[test]
fn each_episode_is_told_once() {
    let stage = Stage::new(LEARNING.without_hedge());
    let mut told = Vec::new();
    for reading in [LATE, LATE, QUIET, LATE, LATE] {
        stage.world.set_queue_delay(Some(reading));
        stage.succeed(ms(40), 1);
        told.push(stage.told());
    }
    let (late, plain) = (
        "SaturationDetected#1 Attempt#1 Succeeded#1",
        "Attempt#1 Succeeded#1",
    );
    assert_eq!(told, [late, plain, plain, late, plain]);
}

#[test]
fn an_episode_waits_for_somebody_who_hears() {
    let stage = Stage::new(LEARNING.without_hedge());
    stage.world.set_queue_delay(Some(LATE));
    let call = stage.guard.call(|_| stage.script().returns(1).next());
    assert_eq!(stage.world.block_on(call), Ok(1));
    stage.succeed(ms(40), 1);
    assert_eq!(stage.told(), "SaturationDetected#1 Attempt#1 Succeeded#1");
}

// Each policy tells its own.
#[test]
fn two_guards_tell_two_episodes() {
    let world = World::new();
    world.set_queue_delay(Some(LATE));
    let heard = steadfast_testing::Recorder::new();
    for _ in 0..2 {
        let guard = guard(&world, LEARNING.without_hedge());
        let script: steadfast_testing::Script<u32> =
            steadfast_testing::Script::on(world.timer()).returns(1);
        let call = guard.call(|_| script.next()).listen(&heard);
        assert_eq!(world.block_on(call), Ok(1));
    }
    assert_eq!(heard.count_of(EventKind::SaturationDetected), 2);
}

// A cut is no sample either: the ceiling neither moves nor doubles.
#[test]
fn cuts_of_a_saturated_process_do_not_count() {
    let policy = INSTANT
        .with_attempts(1)
        .with_attempt_ceiling(AttemptCeiling::DEFAULT)
        .with_saturation(Saturation::DEFAULT);
    let stage = Stage::new(policy);
    stage.succeed(ms(40), 20);
    let before = stage.guard.measured();
    stage.world.set_queue_delay(Some(LATE));
    for _ in 0..10 {
        let outcome = stage.play(&stage.script::<()>().hangs());
        assert!(!outcome.is_success());
    }
    let after = stage.guard.measured();
    assert_eq!(after.attempt_ceiling, before.attempt_ceiling);
}

// A failure says nothing of how late this process is, but asks all the same.
#[test]
fn retries_and_budget_go_on() {
    let policy = LEARNING
        .without_hedge()
        .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30));
    let stage = Stage::new(policy);
    stage.world.set_queue_delay(Some(LATE));
    let script = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&script).is_success());
    assert_eq!(
        stage.told(),
        "SaturationDetected#1 Attempt#1 Retrying#2 Attempt#2 Succeeded#2"
    );
    assert_eq!(stage.tokens(), 29);
}

// core-12.15
#[test]
fn nothing_is_measured_at_first() {
    let world = World::new();
    world.set_queue_delay(Some(LATE));
    let fresh = guard(&world, Policy::DEFAULT).measured();
    assert_eq!(
        [
            fresh.attempt_ceiling,
            fresh.backoff_base,
            fresh.hedge_threshold,
            fresh.queue_delay
        ],
        [None; 4],
        "the delay is not asked for"
    );

    let asking = guard(&world, Policy::DEFAULT.with_saturation(Saturation::DEFAULT));
    let delay = |reading| {
        world.set_queue_delay(reading);
        asking.measured().queue_delay
    };
    assert_eq!(delay(None), None);
    assert_eq!(delay(Some(QueueReading::new(ms(80)))), None, "cold");
    assert_eq!(delay(Some(QUIET)), Some(ms(2)));
    assert_eq!(delay(Some(LATE)), Some(ms(80)));
    assert_eq!(world.now(), at(ms(0)));
}
