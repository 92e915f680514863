//! The measured first wait over whole calls.

use std::time::Duration;

use steadfast::{Backoff, EventKind, Jitter, MeasuredBase, Policy, Ratio};
use steadfast_testing::Fault;

use crate::stage::{INSTANT, Stage, ms, secs};

/// The middle of the cell of 40 ms.
const FORTY: Duration = Duration::from_nanos(41_680_896);

const BACKOFF: Backoff = Backoff::DEFAULT.with_jitter(Jitter::None);

/// Four attempts, no bounds, waits without jitter and with a measured base.
const fn based(law: MeasuredBase) -> Policy {
    INSTANT
        .with_attempts(4)
        .with_backoff(BACKOFF.with_measured_base(law))
}

const BASED: Policy = based(MeasuredBase::DEFAULT);

fn warm(policy: Policy, took: Duration, times: usize) -> Stage {
    let stage = Stage::new(policy);
    stage.succeed(took, times);
    stage.heard.clear();
    stage
}

/// The waits of one call whose attempts all fail with `fault`, at once.
fn waits(stage: &Stage, fault: Fault) -> Vec<Duration> {
    let script = stage.script::<i32>().fails(fault).repeats_last();
    let _ = stage.play(&script);
    let retries = stage.heard.of_kind(EventKind::Retrying);
    stage.heard.clear();
    retries.iter().filter_map(steadfast::Event::delay).collect()
}

fn first_wait(policy: Policy, normal: Duration) -> Duration {
    waits(&warm(policy, normal, 20), Fault::Transient)[0]
}

// core-05.12
#[test]
fn waits_grow_from_what_is_normal() {
    let stage = warm(BASED, ms(40), 20);
    let grown = [FORTY, FORTY * 2, FORTY * 4];
    assert_eq!(waits(&stage, Fault::Transient), grown);
    assert_eq!(stage.guard.measured().backoff_base, Some(FORTY));
}

// core-05.13
#[test]
fn it_stays_near_the_constant() {
    assert_eq!(first_wait(BASED, Duration::from_micros(2_048)), ms(10));
    assert_eq!(first_wait(BASED, secs(3)), secs(1));
}

// core-05.14
#[test]
fn multiple_and_spread_are_followed() {
    let double = based(
        MeasuredBase::DEFAULT
            .with_multiple(Ratio::times(2))
            .with_spread(2),
    );
    assert_eq!(first_wait(double, ms(40)), FORTY * 2);
    assert_eq!(first_wait(double, ms(10)), ms(50));
    assert_eq!(first_wait(double, secs(1)), ms(200));
}

// core-05.15
#[test]
fn the_constant_holds_until_it_is_warm() {
    let stage = warm(BASED, ms(40), 19);
    assert_eq!(stage.guard.measured().backoff_base, None);
    assert_eq!(waits(&stage, Fault::Transient)[0], ms(100));
    stage.succeed(ms(40), 1);
    assert_eq!(waits(&stage, Fault::Transient)[0], FORTY);
}

// core-05.16
#[test]
fn what_is_throttled_waits_by_the_constant() {
    let stage = warm(BASED, ms(40), 20);
    let script = stage.script::<i32>().fails(Fault::Throttled(None));
    let _ = stage.play(&script.repeats_last());
    assert!(!stage.heard.contains(EventKind::BackoffBaseAdapted));
    let retries = stage.heard.of_kind(EventKind::Retrying);
    let waited = retries.iter().filter_map(steadfast::Event::delay);
    assert!(waited.eq([1, 2, 4].map(secs)));
}

#[test]
fn a_new_base_is_told_once() {
    let stage = warm(BASED, ms(40), 20);
    let script = stage.script::<i32>().fails(Fault::Transient).repeats_last();
    for _ in 0..3 {
        let _ = stage.play(&script);
    }
    let told = stage.only(EventKind::BackoffBaseAdapted);
    assert_eq!((told.number(), told.delay()), (2, Some(FORTY)));
    stage.succeed(ms(10), 40);
    let _ = stage.play(&script);
    assert_eq!(stage.heard.count_of(EventKind::BackoffBaseAdapted), 2);
}

// A base of zero stays zero: there is nothing to be near to.
#[test]
fn no_wait_stays_no_wait() {
    let backoff = BACKOFF
        .with_bases(Duration::ZERO, secs(1))
        .with_measured_base(MeasuredBase::DEFAULT);
    let policy = INSTANT.with_backoff(backoff);
    assert_eq!(first_wait(policy, ms(40)), Duration::ZERO);
}

// The longest wait still holds.
#[test]
fn the_longest_wait_caps_it() {
    let backoff = BACKOFF.with_measured_base(MeasuredBase::DEFAULT);
    let policy = INSTANT.with_backoff(backoff.with_maximum(ms(100)));
    assert_eq!(first_wait(policy, ms(400)), ms(100));
}

// Failures teach it nothing, and it needs no attempt ceiling.
#[test]
fn only_successes_are_normal() {
    let stage = warm(BASED, ms(40), 20);
    assert_eq!(stage.guard.measured().attempt_ceiling, None);
    let script = stage
        .script::<i32>()
        .delays(ms(500))
        .fails(Fault::Transient);
    let script = script.repeats_last();
    for _ in 0..40 {
        let _ = stage.play(&script);
    }
    assert_eq!(stage.guard.measured().backoff_base, Some(FORTY));
}

#[test]
fn it_is_never_beyond_its_spread() {
    for run in 0..300 {
        let draw = |field, below: u32| steadfast::random(run, field) % below;
        let spread = 2 + draw(0, 30);
        let constant = ms(u64::from(1 + draw(1, 500)));
        let law = MeasuredBase::DEFAULT
            .with_multiple(Ratio::percent(1 + draw(2, 1_000)))
            .with_quantile(Ratio::percent(1 + draw(3, 50)))
            .with_minimum_samples(1 + draw(4, 20))
            .with_spread(u16::try_from(spread).expect("small"));
        let backoff = BACKOFF
            .with_bases(constant, secs(1))
            .with_measured_base(law);
        let stage = Stage::new(INSTANT.with_attempts(2).with_backoff(backoff));
        for field in 10..40 {
            stage.succeed(Duration::from_micros(draw(field, 3_000_000).into()), 1);
            stage
                .world
                .step_back(ms(u64::from(draw(field + 100, 2_000))));
            stage.heard.clear();
            let first = waits(&stage, Fault::Transient)[0];
            assert!(first >= constant / spread, "run {run}: {first:?}");
            assert!(first <= constant * spread, "run {run}: {first:?}");
        }
    }
}
