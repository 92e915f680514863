//! The measured attempt ceiling over whole calls.

mod chance;

use std::future::{pending, poll_fn};
use std::task::Poll;
use std::time::Duration;

use steadfast::{
    AttemptCeiling, Budget, ByError, Ending, EventKind, Guard, Measured, NoListener, NoRules, Plan,
    Policy, QueueReading, Ratio, Reason, Saturation, Shared, Unmeasured, random,
};
use steadfast_testing::{Fault, Script, Scripted, VirtualTimer, World};

use crate::stage::{INSTANT, Stage, TOUCHY, ms, secs};

/// What a latency of 40 ms reads at the upper edge of its cell, three times.
const CEILING: Duration = Duration::from_nanos(3 * 43_515_904);

/// Instant retries, attempts of at most 10 s, and the usual ceiling.
const CEILED: Policy = INSTANT.with_attempt_timeout(secs(10));

fn warm(policy: Policy, took: Duration, times: usize) -> Stage {
    let stage = Stage::new(policy);
    stage.succeed(took, times);
    stage
}

// core-04.2, core-04.3, core-04.4
#[test]
fn twenty_successes_bound_the_next_attempt() {
    let stage = warm(CEILED, ms(40), 19);
    assert_eq!(stage.bound(), Some(secs(10)));
    assert_eq!(stage.guard.measured().attempt_ceiling, None);
    assert_eq!(stage.guard.measured().successes, Some(19));
    stage.succeed(ms(40), 1);
    assert_eq!(stage.bound(), Some(CEILING));
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(CEILING));

    let slower = warm(CEILED, ms(100), 30).bound();
    assert_eq!(slower, Some(Duration::from_nanos(3 * 103_809_024)));
    let fast = warm(CEILED, Duration::from_micros(300), 30).bound();
    assert_eq!(fast, Some(ms(50)));
}

// core-04.5, core-14.13
#[test]
fn it_never_exceeds_the_attempt_timeout() {
    let stage = warm(CEILED.with_attempt_timeout(secs(5)), secs(2), 40);
    assert_eq!(stage.bound(), Some(secs(5)));
    assert!(!stage.heard.contains(EventKind::AttemptCeilingAdapted));
    // The reading is the measured value, before the constant.
    let reading = Duration::from_nanos(3 * 2_147_483_648);
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(reading));
}

// core-04.6
#[test]
fn its_floor_is_an_allowance() {
    let policy = CEILED
        .with_attempt_timeout(secs(5))
        .with_attempt_ceiling(AttemptCeiling::DEFAULT.with_floor(secs(2)));
    assert_eq!(warm(policy, ms(40), 20).bound(), Some(secs(2)));
}

// core-04.7
#[test]
fn five_of_a_hundred_do_not_count() {
    let mixed = |slow, fast| {
        let stage = warm(CEILED, secs(2), slow);
        stage.succeed(ms(10), fast);
        stage.bound()
    };
    assert_eq!(mixed(5, 95), Some(ms(50)));
    let two_seconds = Duration::from_nanos(3 * 2_147_483_648);
    assert_eq!(mixed(6, 94), Some(two_seconds));
}

// core-04.8
#[test]
fn failures_teach_it_nothing() {
    let stage = Stage::new(CEILED);
    for fault in [Fault::Transient, Fault::Throttled(None), Fault::Permanent] {
        let script = stage.script::<()>().delays(ms(1)).fails(fault);
        let script = script.repeats_last();
        for _ in 0..20 {
            let _ = stage.play(&script);
        }
    }
    // Neither does one that only the attempt timeout cuts, nor the deadline.
    let _ = stage.play(&stage.script::<()>().hangs().times(3));
    let hang = stage.script::<()>().hangs().repeats_last();
    let call = stage.guard.call(|_| hang.next()).within(ms(1));
    stage.world.block_on(call).expect_err("it hangs");
    assert_eq!(stage.bound(), Some(secs(10)));
    assert_eq!(stage.guard.measured().successes, Some(0));
}

// core-04.9
#[test]
fn an_attempt_it_cuts_is_retried() {
    let stage = warm(CEILED, ms(40), 20);
    stage.heard.clear();
    let outcome = stage.play(&stage.script().hangs().returns(1));
    assert_eq!(
        stage.told(),
        "AttemptCeilingAdapted#1 Attempt#1 Retrying#2 Attempt#2 Succeeded#2"
    );
    let first = outcome.log().entries().next().expect("an attempt");
    assert_eq!((first.ending(), first.duration()), (Ending::Cut, CEILING));

    let stage = warm(CEILED.with_attempts(1), ms(40), 20);
    let outcome = stage.play(&stage.script::<i32>().hangs());
    assert_eq!(
        outcome.into_result().expect_err("a failure").to_string(),
        "failed after 1 attempt in 130.55ms; the last attempt timed out after 130.55ms"
    );
}

// core-04.9: what it cuts is evidence, and costs a token.
#[test]
fn a_cut_counts_for_breaker_and_budget() {
    let policy = CEILED
        .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30))
        .with_breaker(TOUCHY);
    let stage = warm(policy, ms(40), 20);
    let _ = stage.play(&stage.script::<i32>().hangs());
    assert!(stage.heard.contains(EventKind::BreakerOpened));
    let stage = warm(policy.without_breaker(), ms(40), 20);
    let full = stage.tokens();
    let _ = stage.play(&stage.script::<i32>().hangs().times(3));
    assert_eq!(stage.tokens(), full - 2);
}

// core-04.11
#[test]
fn it_ends_a_call_long_before_the_deadline() {
    let policy = CEILED.with_deadline(secs(3));
    let hang = |stage: &Stage| stage.play(&stage.script::<i32>().hangs().times(3));
    let outcome = hang(&warm(policy, ms(40), 200));
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
    assert_eq!(outcome.elapsed(), CEILING * 3);
    // Few samples make no difference: a cut is none.
    let outcome = hang(&warm(policy, ms(40), 20));
    assert_eq!(outcome.elapsed(), CEILING * 3);
}

// core-04.13
#[test]
fn it_bounds_alone() {
    let policy = INSTANT.with_attempt_ceiling(AttemptCeiling::DEFAULT);
    let stage = Stage::new(policy);
    let made = stage.world.timers_made();
    assert_eq!(stage.bound(), None);
    assert_eq!(stage.world.timers_made(), made);
    stage.succeed(ms(40), 20);
    assert_eq!(stage.bound(), Some(CEILING));
}

// core-04.15, core-14.13
#[test]
fn a_steady_ceiling_is_told_once() {
    let stage = warm(CEILED, ms(40), 1_000);
    assert!(stage.world.elapsed() < secs(75));
    let told = stage.only(EventKind::AttemptCeilingAdapted);
    assert_eq!(told.delay(), Some(CEILING));
    assert_eq!(told.number(), 1);
    // Another value is told.
    stage.succeed(ms(100), 300);
    assert_eq!(stage.heard.count_of(EventKind::AttemptCeilingAdapted), 2);
}

// core-04.16, core-01.14
#[test]
fn a_variant_starts_cold() {
    let policy = CEILED.with_budget(Budget::REFERENCE);
    let known = warm(policy, ms(40), 20);
    known.drain();
    let variant = Stage::new(policy.with_name("variant"));
    let measured = variant.guard.measured();
    assert_eq!(measured.attempt_ceiling, None);
    assert_eq!(measured.successes, Some(0));
    assert_eq!(variant.tokens(), 30);
    assert_eq!(variant.bound(), Some(secs(10)));
    assert_eq!(known.bound(), Some(CEILING));
    assert_eq!(known.tokens(), 0);
}

// core-01.2, core-01.3, core-01.4, core-01.7
#[test]
fn it_steps_aside_where_it_cannot_work() {
    let bound = |policy| {
        let stage = warm(policy, ms(1), 40);
        (stage.guard.measured().attempt_ceiling, stage.bound())
    };
    assert_eq!(bound(INSTANT), (None, None));
    let fifty = CEILED.with_attempt_timeout(ms(50));
    assert_eq!(bound(fifty), (None, Some(ms(50))));
    let more = CEILED.with_attempt_timeout(ms(51));
    assert_eq!(bound(more), (Some(ms(50)), Some(ms(50))));
    let rigid = CEILED.with_adaptive(false);
    assert_eq!(bound(rigid), (None, Some(secs(10))));
    let off = CEILED.without_attempt_ceiling();
    assert_eq!(bound(off), (None, Some(secs(10))));
}

// A guard that must be small has no histogram, and says so.
#[test]
fn without_a_histogram_the_constant_holds() {
    type Small = Guard<VirtualTimer, ByError, NoRules, NoListener, Shared<Unmeasured>>;
    let world = World::new();
    let plan = Plan::of(CEILED, ByError, NoRules, NoListener);
    let guard = Small::try_on(world.timer(), plan).expect("a policy that works");
    let script: Script<i32> = Script::on(world.timer()).returns(1).repeats_last();
    for _ in 0..50 {
        let call = guard.call(|_| script.next());
        world.block_on(call).expect("a value");
    }
    assert_eq!(guard.measured(), Measured::default());
    let text = guard.explain().to_string();
    assert!(
        text.contains("the guard's memory is `Unmeasured`"),
        "{text}"
    );
}

/// The bounds of the attempts of one call whose dependency takes `took`.
fn bounds(stage: &Stage, took: Duration) -> Vec<Duration> {
    let mut told = Vec::new();
    let script = stage.script().delays(took).returns(1).repeats_last();
    let call = stage.guard.call(|attempt| {
        told.extend(attempt.timeout());
        script.next()
    });
    let _ = stage.world.block_on(call);
    told
}

// What learns from successes alone would cut off a dependency that became slower.
#[test]
fn a_slower_dependency_is_not_cut_off() {
    let stage = warm(CEILED, ms(10), 1_000);
    let slow = ms(450);
    assert_eq!(bounds(&stage, slow), [50, 50, 50].map(ms));
    // It comes through, as the fifth attempt is a scout; and stays through, as it
    // took longer than the plain ceiling.
    assert_eq!(bounds(&stage, slow), [100, 800].map(ms));
    assert_eq!(bounds(&stage, slow), [200, 400, 800].map(ms));
    for _ in 0..40 {
        let bound = bounds(&stage, slow);
        assert!(bound.len() == 1 && bound[0] >= slow, "{bound:?}");
    }
    // Then it is what is normal.
    stage.succeed(slow, 400);
    let normal = Duration::from_nanos(3 * 452_984_832);
    assert_eq!(bounds(&stage, slow), [normal]);
}

// A hundred that hang side by side say as much as one; without a timeout nothing
// else would stop the doubling.
#[test]
fn a_crowd_cut_at_once_doubles_it_once() {
    let policy = INSTANT
        .with_attempts(1)
        .with_attempt_ceiling(AttemptCeiling::DEFAULT);
    let stage = warm(policy, ms(10), 1_000);
    let hang = || Box::pin(stage.guard.call(|_| pending::<Result<(), Scripted>>()));
    let mut calls: Vec<_> = (0..100).map(|_| hang()).collect();
    stage.world.block_on(poll_fn(|cx| {
        calls.retain_mut(|call| call.as_mut().poll(cx).is_pending());
        if calls.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(ms(100)));
    // One of them in time, and it is as it was.
    let _ = bounds(&stage, ms(1));
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(ms(50)));
}

#[test]
fn a_dependency_that_recovers_is_bounded_again() {
    let stage = warm(CEILED, ms(10), 1_000);
    for _ in 0..4 {
        let _ = bounds(&stage, secs(60));
    }
    // Twelve cuts in a row: 50 ms doubled ten times, but never above 10 s.
    assert_eq!(bounds(&stage, ms(10)), [secs(10)]);
    assert_eq!(bounds(&stage, ms(10)), [ms(50)]);
}

// An idle guard forgets, and its constants hold again.
#[test]
fn it_forgets_what_is_old() {
    let stage = warm(CEILED, ms(40), 100);
    stage.world.advance(secs(200));
    assert_eq!(stage.bound(), Some(CEILING));
    stage.world.advance(secs(100));
    assert_eq!(stage.bound(), Some(secs(10)));
    let short = warm(CEILED.with_history(secs(8)), ms(40), 100);
    short.world.advance(secs(8));
    assert_eq!(short.bound(), Some(secs(10)));
}

// core-12.15: read where saturation is asked for and the baseline is known.
#[test]
fn the_queue_delay_is_read_with_its_baseline() {
    let known = QueueReading::new(ms(3)).with_normal(ms(2), 20);
    let read = |policy, reading| {
        let stage = Stage::new(policy);
        stage.world.set_queue_delay(Some(reading));
        stage.guard.measured().queue_delay
    };
    let saturating = CEILED.with_saturation(Saturation::DEFAULT);
    assert_eq!(read(saturating, known), Some(ms(3)));
    assert_eq!(read(saturating, QueueReading::new(ms(3))), None);
    assert_eq!(read(CEILED, known), None);
}

#[test]
fn a_reset_starts_it_afresh() {
    let stage = warm(CEILED, ms(40), 100);
    stage.guard.reset();
    assert_eq!(stage.bound(), Some(secs(10)));
    assert_eq!(stage.guard.measured().successes, Some(0));
}

// A clock that stands still teaches zeros; one that goes back, the same.
#[test]
fn strange_clocks_do_no_lasting_harm() {
    let stage = warm(CEILED, Duration::ZERO, 100);
    assert_eq!(stage.bound(), Some(ms(50)));
    stage.world.advance(secs(1_000));
    stage.succeed(ms(40), 100);
    stage.world.step_back(secs(900));
    assert_eq!(stage.bound(), Some(CEILING));
    stage.succeed(ms(40), 100);
    assert_eq!(stage.bound(), Some(CEILING));
    stage
        .world
        .jump(Duration::from_secs(u64::MAX / 4_000_000_000));
    assert_eq!(stage.bound(), Some(secs(10)));
    stage.succeed(ms(40), 20);
    assert_eq!(stage.bound(), Some(CEILING));
}

/// Runs `calls` one after the other, of which the `slow` in a hundred take `took`
/// and the others 10 ms, and returns how long each one took, or nothing for those
/// that failed.
fn mixed(stage: &Stage, calls: u32, slow: u32, took: Duration) -> Vec<Option<Duration>> {
    let one = |number: u32| {
        let is_slow = random(7, number.into()) % 100 < slow;
        let took = if is_slow { took } else { ms(10) };
        let script = stage.script().delays(took).returns(1).repeats_last();
        let outcome = stage.play(&script);
        outcome.is_success().then(|| outcome.elapsed())
    };
    (0..calls).map(one).collect()
}

// What is slow for some keys, time and again, must not be cut off for ever.
#[test]
fn what_is_always_slow_for_some_comes_through() {
    for took in [ms(200), ms(450)] {
        let stage = warm(CEILED, ms(10), 1_000);
        let _ = mixed(&stage, 1_500, 30, took);
        let calls = mixed(&stage, 1_000, 30, took);
        let succeeded = calls.iter().flatten().count();
        assert_eq!(succeeded, 1_000, "{took:?}");
    }
}

// What hangs must not raise the ceiling, or it is gone when it is needed.
#[test]
fn what_hangs_does_not_raise_it() {
    let stage = warm(CEILED.with_attempts(1), ms(10), 1_000);
    let _ = mixed(&stage, 3_000, 20, secs(3_600));
    assert_eq!(stage.guard.measured().attempt_ceiling, Some(ms(50)));
    // Attempts that hang are cut at the ceiling, but for the scouts.
    let began = stage.world.elapsed();
    let calls = mixed(&stage, 3_000, 20, secs(3_600));
    let failed = calls.iter().filter(|call| call.is_none()).count();
    assert!((500..700).contains(&failed), "{failed}");
    let mean = stage.world.elapsed().saturating_sub(began) / 3_000;
    assert!(mean < ms(40), "{mean:?}");
}

// Cut early it could not be tried again, and nobody would know what became of it.
#[test]
fn what_must_not_be_repeated_is_not_cut_early() {
    let stage = warm(CEILED, ms(10), 1_000);
    let script = stage.script().delays(secs(2)).returns(1);
    let call = stage.guard.call(|_| script.next()).once();
    assert_eq!(stage.world.block_on(call).ok(), Some(1));
    let hangs = stage.script::<i32>().hangs();
    let call = stage.guard.call(|_| hangs.next()).once();
    let error = stage.world.block_on(call).expect_err("it hangs");
    assert_eq!(error.elapsed(), secs(10));
}
