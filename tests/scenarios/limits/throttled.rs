//! A throttle in a policy: it is asked for the first attempt that goes out.

use std::cell::Cell;

use steadfast::{
    Attempt, Criticality, EventKind, Limit, Policy, Ratio, Reason, Rules, Throttle, Verdict,
};
use steadfast_testing::Fault;

use super::FUNDED;
use crate::stage::{Stage, secs};

/// Refuses nearly everything once it is hot.
pub(super) const HARSH: Throttle = Throttle::DEFAULT.with_cap(Ratio::ONE);

const THROTTLED: Policy = FUNDED.with_throttle(HARSH);

/// Lets the dependency turn away ten thousand calls.
pub(super) fn heat(stage: &Stage) {
    let throttle = stage.guard.throttle().expect("a throttle");
    for _ in 0..10_000 {
        let ticket = throttle.admit(stage.world.now(), Criticality::Critical, u32::MAX);
        if let Ok(ticket) = ticket {
            ticket.settle(Verdict::TRANSIENT);
        }
    }
}

fn chance(stage: &Stage) -> Ratio {
    let throttle = stage.guard.throttle().expect("a throttle");
    throttle.chance(stage.world.now(), Criticality::Critical)
}

#[test]
fn a_hot_throttle_refuses_each_attempt() {
    let stage = Stage::new(THROTTLED);
    heat(&stage);
    let script = stage.script::<()>();
    let outcome = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Exhausted#3"
    );
    assert_eq!(script.calls(), 0);
    let error = outcome.into_result().expect_err("a failure");
    assert_eq!(error.limited_by(), Some(Limit::Throttle));
    assert_eq!(error.retry_after(), None);
    assert_eq!(
        error.to_string(),
        "not called: all 3 attempts in 3s refused, the last by the throttle of this process"
    );
}

#[test]
fn a_call_is_asked_until_it_is_sent() {
    let stage = Stage::new(THROTTLED);
    heat(&stage);
    let script = stage.script().fails(Fault::Transient).returns(1);
    let cools = async {
        stage.world.sleep(secs(1) / 2).await;
        stage.guard.throttle().expect("a throttle").reset();
    };
    let call = stage.guard.call(|_| {
        // From here on it would refuse.
        heat(&stage);
        script.next()
    });
    let call = call.listen(&stage.heard).outcome();
    let (outcome, ()) = stage.world.block_on(futures_lite::future::zip(call, cools));
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Succeeded#3"
    );
    let attempts: Vec<_> = outcome.log().entries().collect();
    assert!(attempts[0].is_self_imposed() && !attempts[1].is_self_imposed());
    assert_eq!(script.calls(), 2);
}

struct RefusesFirst;

impl<T, E> Rules<T, E> for RefusesFirst {
    fn admit(&self, next: &Attempt) -> Verdict {
        if next.is_first() {
            Verdict::SELF_IMPOSED
        } else {
            Verdict::OK
        }
    }
}

#[test]
fn what_a_hook_refuses_was_not_sent() {
    let stage = Stage::new(THROTTLED.with_attempts(2));
    let script = stage.script::<()>();
    let call = stage.guard.call(|_| script.next()).ruled(RefusesFirst);
    let heats = async {
        stage.world.sleep(secs(1) / 2).await;
        heat(&stage);
    };
    let call = call.listen(&stage.heard).outcome();
    let (outcome, ()) = stage.world.block_on(futures_lite::future::zip(call, heats));
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
    let limits: Vec<_> = stage.heard.of_kind(EventKind::Attempt);
    let limits: Vec<_> = limits.iter().map(steadfast::Event::limit).collect();
    assert_eq!(limits, [None, Some(Limit::Throttle)]);
    assert_eq!(script.calls(), 0);
}

// A retry has its budget: the throttle counts calls.
#[test]
fn a_call_is_one_request() {
    let policy = FUNDED.with_throttle(HARSH.with_minimum_requests(1));
    let stage = Stage::new(policy);
    let script = stage.script().fails(Fault::Transient).times(2).returns(1);
    assert!(stage.play(&script).is_success());
    // One request, which the first attempt found turned away.
    stage.world.advance(secs(6));
    assert_eq!(chance(&stage), Ratio::ppm(500_000));
}

#[test]
fn a_permanent_failure_was_taken() {
    let policy = FUNDED.with_throttle(HARSH.with_minimum_requests(1));
    let stage = Stage::new(policy);
    for _ in 0..5 {
        let _ = stage.play(&stage.script::<()>().fails(Fault::Permanent));
    }
    stage.world.advance(secs(6));
    assert_eq!(chance(&stage), Ratio::ZERO);
}

#[test]
fn a_throttled_outage_ends_by_itself() {
    let stage = Stage::new(FUNDED.with_attempts(1).with_throttle(Throttle::DEFAULT));
    let is_well = Cell::new(true);
    let sent = Cell::new(0);
    let second = || {
        let before = sent.get();
        let mut succeeded = 0;
        for _ in 0..50 {
            let call = stage.guard.call(|_| {
                sent.set(sent.get() + 1);
                let script = stage.script();
                if is_well.get() {
                    script.returns(1).next()
                } else {
                    script.fails(Fault::Transient).next()
                }
            });
            succeeded += u32::from(stage.world.block_on(call).is_ok());
            stage.world.advance(secs(1) / 50);
        }
        (sent.get() - before, succeeded)
    };
    for _ in 0..30 {
        assert_eq!(second(), (50, 50));
    }
    is_well.set(false);
    let outage: Vec<_> = (0..60).map(|_| second().0).collect();
    // After a while a tenth goes through, so that the end is noticed.
    let late: u32 = outage[40..].iter().sum();
    assert!((60..150).contains(&late), "{outage:?}");
    is_well.set(true);
    let recovery = (0..70).find(|_| second().1 >= 45);
    assert!(recovery.is_some());
}
