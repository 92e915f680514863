//! Limits that only observe: they tell, and refuse nothing.

use steadfast::{Budget, Concurrency, EventKind, Limit, Policy, Rate, Ratio, Reason};
use steadfast_testing::Fault;

use super::FUNDED;
use super::guarded::hold;
use super::throttled::{HARSH, heat};
use crate::stage::{Stage, secs};

const EVERYTHING: Policy = FUNDED
    .with_budget(Budget::new(Ratio::percent(10), 0))
    .with_concurrency(Concurrency::fixed(1))
    .with_rate(Rate::per_window(1, secs(60)))
    .with_throttle(HARSH);

/// A stage whose limits would all refuse.
fn full() -> Stage {
    let stage = Stage::new(EVERYTHING);
    heat(&stage);
    let rate = stage.guard.rate().expect("a limit");
    rate.acquire(stage.world.now()).expect("a permit").spend();
    stage.drain();
    stage
}

#[test]
fn each_part_that_would_refuse_says_so() {
    let stage = full();
    let _held = hold(&stage);
    stage.guard.concurrency().expect("a limit").observe();
    stage.guard.rate().expect("a limit").observe();
    stage.guard.throttle().expect("a throttle").observe();
    stage.guard.budget().expect("a budget").observe();

    let script = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&script).is_success());
    let spared: Vec<_> = stage.heard.of_kind(EventKind::WouldReject);
    let spared: Vec<_> = spared.iter().map(|e| (e.limit(), e.reason())).collect();
    let throttled = Some(Reason::Throttled);
    assert_eq!(
        spared,
        [
            (Some(Limit::Concurrency), throttled),
            (Some(Limit::Rate), throttled),
            (Some(Limit::Throttle), throttled),
            (None, Some(Reason::BudgetExhausted)),
            // A retry is not throttled.
            (Some(Limit::Concurrency), throttled),
            (Some(Limit::Rate), throttled),
        ]
    );
    assert_eq!(
        stage.told(),
        "WouldReject#1 WouldReject#1 WouldReject#1 Attempt#1 WouldReject#2 Retrying#2 \
         WouldReject#2 WouldReject#2 Attempt#2 Succeeded#2"
    );
    assert_eq!(stage.guard.concurrency().expect("a limit").in_flight(), 1);
}

#[test]
fn an_observing_limit_with_room_is_silent() {
    let stage = Stage::new(EVERYTHING);
    stage.guard.concurrency().expect("a limit").observe();
    stage.guard.rate().expect("a limit").observe();
    stage.guard.throttle().expect("a throttle").observe();
    assert!(stage.play(&stage.script().returns(1)).is_success());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
}

#[test]
fn one_that_observes_does_not_excuse_others() {
    let stage = full();
    let _held = hold(&stage);
    stage.guard.concurrency().expect("a limit").observe();
    let outcome = stage.play(&stage.script::<()>());
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.limited_by(), Some(Limit::Rate));
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");

    stage.guard.reset();
    assert!(!stage.guard.concurrency().expect("a limit").is_observing());
}
