//! The measured attempt ceiling under drawn policies, latencies and clocks.

use std::time::Duration;

use steadfast::{AttemptCeiling, Backoff, Breaker, Policy, Ratio};
use steadfast_testing::Fault;

use super::warm;
use crate::stage::{INSTANT, Stage, ms, secs};

/// What one run of chance is bounded by.
struct Bounds {
    timeout: Duration,
    floor: Duration,
}

fn chance(run: u64, step: u64, below: u32) -> u32 {
    steadfast::random(run, step) % below
}

/// A policy with a ceiling, drawn.
fn drawn(run: u64) -> (Policy, Bounds) {
    let draw = |field, below| chance(run, field, below);
    let floor = ms(u64::from(1 + draw(0, 400)));
    let law = AttemptCeiling::DEFAULT
        .with_multiple(Ratio::percent(110 + draw(1, 400)))
        .with_quantile(Ratio::percent(50 + draw(2, 50)))
        .with_minimum_samples(1 + draw(3, 30))
        .with_floor(floor);
    let mut policy = INSTANT
        .with_attempts(1 + draw(4, 4))
        .with_attempt_ceiling(law)
        .with_history(secs(u64::from(1 + draw(5, 60))));
    let mut timeout = Duration::MAX;
    if draw(6, 4) > 0 {
        timeout = floor + ms(u64::from(1 + draw(7, 3_000)));
        policy = policy.with_attempt_timeout(timeout);
    }
    if draw(8, 3) > 0 {
        policy = policy.with_deadline(ms(u64::from(1 + draw(9, 6_000))));
    }
    if draw(10, 3) == 0 {
        policy = policy.with_breaker(Breaker::DEFAULT);
    }
    if draw(11, 3) == 0 {
        policy = policy.with_backoff(Backoff::DEFAULT);
    }
    (policy, Bounds { timeout, floor })
}

// Whatever a dependency and a clock do: at most the timeout, at most what is
// left, and cut below the floor by neither.
#[test]
fn it_keeps_between_floor_and_constants() {
    for run in 0..1_000 {
        let (policy, bounds) = drawn(run);
        let stage = Stage::new(policy);
        let is_strange = chance(run, 12, 3) == 0;
        for call in 0..60_u64 {
            let draw = |field, below| chance(run, 100 + 10 * call + field, below);
            let script = stage.script();
            let script = match draw(0, 8) {
                0 if bounds.timeout < Duration::MAX => script.hangs(),
                1 => script.fails(Fault::Transient),
                2 => script.delays(secs(2)).returns(1),
                _ => script.delays(ms(u64::from(draw(1, 300)))).returns(1),
            };
            let script = script.repeats_last();
            let world = &stage.world;
            let running = stage.guard.call(|attempt| {
                let left = attempt.left().unwrap_or(Duration::MAX);
                let most = left.min(bounds.timeout);
                let bound = attempt.timeout().unwrap_or(Duration::MAX);
                assert!(bound <= most, "run {run}: {bound:?} of {most:?}");
                assert!(bound >= most.min(bounds.floor), "run {run}: {bound:?}");
                if is_strange {
                    match draw(2, 5) {
                        0 => world.jump(ms(u64::from(draw(3, 100_000)))),
                        1 => world.step_back(ms(u64::from(draw(3, 100_000)))),
                        _ => {}
                    }
                }
                script.next()
            });
            let _ = world.block_on(running);
        }
        let _ = stage.guard.explain().to_string();
    }
}

// A wave of failures cannot move it, neither up nor down.
#[test]
fn failures_never_move_it() {
    for run in 0..200 {
        let (policy, _) = drawn(run);
        let policy = policy.without_breaker().without_deadline();
        let stage = warm(policy.with_history(secs(100_000)), ms(7), 60);
        let before = stage.guard.measured();
        assert!(before.attempt_ceiling.is_some());
        for call in 0..40 {
            let took = ms(u64::from(chance(run, 100 + call, 300)));
            let faults = [Fault::Transient, Fault::Permanent, Fault::Throttled(None)];
            let fault = faults[chance(run, 500 + call, 3) as usize];
            let bound = before.attempt_ceiling.unwrap_or_default();
            let script = stage
                .script::<()>()
                .delays(took.min(bound / 2))
                .fails(fault);
            let _ = stage.play(&script.repeats_last());
        }
        assert_eq!(stage.guard.measured(), before, "run {run}");
    }
}
