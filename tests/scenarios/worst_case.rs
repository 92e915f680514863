//! The worst case that `explain` names is a bound of what calls do.

use std::time::Duration;

use steadfast::{AttemptCeiling, Backoff, Breaker, Budget, Jitter, MeasuredBase, Policy, Ratio};
use steadfast_testing::{Fault, INSTANT, Script, World};

use crate::stage::{Stage, TOUCHY, Virtual, guard, ms, secs};

/// Runs one call whose attempts all hang.
fn hang(world: &World, policy: Policy, drained: bool) -> Duration {
    let guard = guard(world, policy);
    if let (true, Some(budget)) = (drained, guard.budget()) {
        while let Some(token) = budget.take(world.now()) {
            token.spend();
        }
    }
    hang_on(world, &guard)
}

fn hang_on(world: &World, guard: &Virtual) -> Duration {
    let begun = world.elapsed();
    let call = guard.call(|_| std::future::pending::<Result<(), Fault>>());
    world.block_on(call).expect_err("it hangs");
    world.elapsed().saturating_sub(begun)
}

#[test]
fn a_refusal_is_in_the_worst_case() {
    let policy = Policy::NONE
        .with_attempts(2)
        .with_attempt_timeout(ms(10))
        .with_breaker(TOUCHY);
    assert_eq!(policy.explain().worst_case(), Some(ms(110)));
    assert_eq!(hang(&World::new(), policy, false), ms(110));
    let funded = policy
        .without_breaker()
        .with_budget(Budget::new(Ratio::percent(10), 0));
    assert_eq!(funded.explain().worst_case(), Some(ms(110)));
    assert_eq!(hang(&World::new(), funded, true), ms(110));
}

#[test]
fn no_call_outlives_the_worst_case() {
    let draw = |run, field, below: u32| steadfast::random(run, field) % below;
    let span = |run, field, below| ms(u64::from(draw(run, field, below)) + 1);
    for run in 0..2_000 {
        let jitters = [Jitter::None, Jitter::Equal, Jitter::Full];
        let backoff = Backoff::exponential(span(run, 0, 200))
            .with_maximum(span(run, 1, 400) + ms(200))
            .with_factor(Ratio::percent(50 + draw(run, 2, 200)))
            .with_jitter(jitters[draw(run, 3, 3) as usize]);
        let mut policy = INSTANT
            .with_adaptive(draw(run, 13, 2) == 0)
            .with_attempts(1 + draw(run, 4, 12))
            .with_attempt_timeout(span(run, 5, 150))
            .with_backoff(backoff);
        if draw(run, 6, 2) == 0 {
            policy = policy.with_deadline(span(run, 7, 2_000));
        }
        if draw(run, 8, 2) == 0 {
            let failures = 1 + draw(run, 9, 6);
            policy = policy.with_breaker(Breaker::DEFAULT.with_consecutive_failures(failures));
        }
        if draw(run, 10, 2) == 0 {
            let budget = Budget::new(Ratio::percent(10), 0);
            policy = policy.with_budget(budget.with_burst(1 + draw(run, 11, 6)));
        }
        let worst = policy.explain().worst_case().expect("a bound");
        let took = hang(&World::seeded(run), policy, draw(run, 12, 4) == 0);
        assert!(took <= worst, "{took:?} of\n{}", policy.explain());
        let refuses = policy.breaker().is_some() || policy.budget().is_limited();
        let is_exact = backoff.jitter() == Jitter::None && !policy.is_learning();
        if is_exact && !refuses {
            assert_eq!(took, worst, "{}", policy.explain());
        }
    }
}

// What the sentence says of short draws: they let attempts start.
#[test]
fn short_waits_let_later_attempts_start() {
    let policy = INSTANT
        .with_attempts(4)
        .with_attempt_timeout(secs(1))
        .with_deadline(secs(5))
        .with_backoff(Backoff::constant(secs(2)));
    let text = policy.explain().to_string();
    let claim = "attempts 3 to 4 start only after short waits";
    assert!(text.contains(claim), "{text}");
    let calls = |seed| {
        let world = World::seeded(seed);
        let script: Script<()> = Script::on(world.timer()).hangs().repeats_last();
        let guard = guard(&world, policy);
        let call = guard.call(|_| script.next()).outcome();
        world.block_on(call).into_result().expect_err("it hangs");
        script.calls()
    };
    assert_eq!((0..200).map(calls).max(), Some(4));
}

// core-12.21: the walk with what is measured is what a call then does.
#[test]
fn the_measured_walk_is_what_happens() {
    let backoff = Backoff::DEFAULT
        .with_jitter(Jitter::None)
        .with_measured_base(MeasuredBase::DEFAULT);
    let stage = Stage::new(Policy::DEFAULT.with_backoff(backoff));
    stage.succeed(ms(40), 200);
    let text = stage.guard.explain().to_string();
    let walk = "
      0.00s  attempt 1 until 0.13s
      0.13s  wait 41.68ms
      0.17s  attempt 2 until 0.30s
      0.30s  wait 83.36ms
      0.39s  attempt 3 until 0.52s
      0.52s  the call has ended
";
    assert!(text.contains(walk), "{text}");
    assert!(text.contains("The measured attempt ceiling, now 130.55ms: "));
    let ceiling = Duration::from_nanos(3 * 43_515_904);
    let base = Duration::from_nanos(41_680_896);
    assert_eq!(hang_on(&stage.world, &stage.guard), ceiling * 3 + base * 3);
}

// Whatever was measured, and however often ceilings double.
#[test]
fn no_measurement_outlives_the_worst_case() {
    for run in 0..1_000 {
        let draw = |field, below| steadfast::random(run, field) % below;
        let span = |field, below| ms(u64::from(draw(field, below)) + 1);
        let jitters = [Jitter::None, Jitter::Equal, Jitter::Full];
        let backoff = Backoff::exponential(span(0, 100))
            .with_factor(Ratio::percent(50 + draw(1, 200)))
            .with_jitter(jitters[draw(2, 3) as usize])
            .with_measured_base(MeasuredBase::DEFAULT.with_minimum_samples(1));
        let law = AttemptCeiling::DEFAULT
            .with_floor(ms(1))
            .with_minimum_samples(1 + draw(3, 20));
        let mut policy = INSTANT
            .with_attempts(1 + draw(4, 8))
            .with_attempt_timeout(ms(1) + span(5, 2_000))
            .with_backoff(backoff)
            .with_attempt_ceiling(law);
        if draw(6, 3) > 0 {
            policy = policy.with_deadline(span(7, 4_000));
        }
        if draw(8, 3) == 0 {
            let budget = Budget::new(Ratio::percent(10), 0);
            policy = policy.with_budget(budget.with_burst(1 + draw(9, 6)));
        }
        let stage = Stage::new(policy);
        for success in 0..u64::from(draw(10, 60)) {
            let took = span(20 + success, 1 + draw(11, 300));
            stage.succeed(took, 1);
        }
        for _ in 0..4 {
            let explained = stage.guard.explain();
            let worst = explained.worst_case().expect("a bound");
            let took = hang_on(&stage.world, &stage.guard);
            assert!(took <= worst, "run {run}: {took:?} of\n{explained}");
        }
    }
}
