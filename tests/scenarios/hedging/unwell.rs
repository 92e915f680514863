//! What one copy is told binds the others, and who only watches holds nothing back.

use std::cell::RefCell;

use steadfast::{
    AttemptCeiling, Breaker, Budget, Criticality, EventKind, Hedge, Kind, Policy, Ratio, Reason,
    Throttle,
};
use steadfast_testing::Fault;

use super::{Three, Two};
use crate::stage::{RACED, SLOW, TOUCHY, ms, secs};

/// Runs one call whose first copy hangs, and returns when each copy began.
fn starts(stage: &Three, second: Fault) -> Vec<std::time::Duration> {
    let script = stage
        .script::<u32>()
        .hangs()
        .delays(ms(1))
        .fails(second)
        .returns(3)
        .repeats_last();
    let (began, at) = (stage.world.now(), RefCell::new(Vec::new()));
    let call = stage.guard.call(|_| {
        at.borrow_mut()
            .push(stage.world.now().saturating_since(began));
        script.next()
    });
    let _ = stage.world.block_on(call.listen(&stage.heard).outcome());
    at.into_inner()
}

const CUT: Policy = RACED
    .with_attempt_timeout(ms(400))
    .without_attempt_ceiling();

// A hint is kept, whichever copy was given it.
#[test]
fn a_hint_to_one_copy_binds_the_call() {
    let backoff = Policy::DEFAULT.backoff().with_maximum(secs(30));
    let stage = Three::warm(CUT.with_backoff(backoff).with_attempts(4));
    let seen = starts(&stage, Fault::Throttled(Some(secs(8))));
    assert_eq!(seen, [ms(0), SLOW, ms(400) + secs(8)]);

    let stage = Three::warm(CUT.with_backoff(backoff).with_attempts(4));
    let seen = starts(&stage, Fault::Throttled(Some(secs(3_600))));
    assert_eq!(seen, [ms(0), SLOW]);
    let ended = stage.only(EventKind::NotRetried);
    assert_eq!(ended.reason(), Some(Reason::Throttled));
    assert_eq!(ended.verdict().kind(), Kind::Throttled);
}

#[test]
fn no_copy_follows_a_permanent_answer() {
    let stage = Three::warm(CUT.with_attempts(3));
    let seen = starts(&stage, Fault::Permanent);
    // The first copy may still succeed; it is cut, and that is worth a retry.
    assert_eq!(seen, [ms(0), SLOW, ms(400)]);
}

#[test]
fn a_breaker_that_refuses_nothing_stops_no_hedge() {
    for is_disabled in [true, false] {
        let stage = Two::with_lanes(RACED.with_breaker(TOUCHY.with_adaptive(false)));
        stage.warm_up(20);
        let breaker = stage.guard.breaker().expect("a breaker");
        if is_disabled {
            breaker.disable();
        } else {
            breaker.observe();
            let _ = stage.play_failure();
        }
        stage.heard.clear();
        let script = stage.script().hangs().delays(ms(5)).returns(2);
        assert_eq!(stage.play(&script).value(), Some(&2));
        assert_eq!(stage.heard.count_of(EventKind::HedgeWon), 1);
    }
}

#[test]
fn an_observing_budget_tells_of_hedges() {
    let law = Budget::new(Ratio::percent(10), 0);
    let stage = Two::warm(RACED.with_budget(law));
    stage.drain();
    stage.guard.budget().expect("a budget").observe();
    let script = stage.script().hangs().delays(ms(5)).returns(2);
    assert_eq!(stage.play(&script).value(), Some(&2));
    let spared = stage.only(EventKind::WouldReject);
    assert_eq!(spared.reason(), Some(Reason::BudgetExhausted));
}

// A call that its copy answered was not turned away.
#[test]
fn a_throttle_counts_what_a_copy_answered() {
    let policy = RACED
        .with_attempt_ceiling(AttemptCeiling::DEFAULT)
        .with_hedge(Hedge::DEFAULT.with_quantile(Ratio::percent(50)))
        .with_breaker(Breaker::DEFAULT.with_adaptive(false))
        .with_throttle(Throttle::DEFAULT);
    let stage = Two::warm(policy);
    let script = || {
        let script = stage.script().hangs();
        script.delays(ms(40)).returns(1)
    };
    for _ in 0..200 {
        assert!(stage.play(&script()).is_success());
    }
    let throttle = stage.guard.throttle().expect("a throttle");
    let chance = throttle.chance(stage.world.now(), Criticality::Critical);
    assert_eq!(chance, Ratio::ZERO);
    for _ in 0..10 {
        let _ = stage.play_failure();
    }
    let chance = throttle.chance(stage.world.now(), Criticality::Critical);
    assert!(chance < Ratio::percent(5), "{chance}");
}
