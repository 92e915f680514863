//! How much it matters that a call is answered.

use steadfast::{Budget, Criticality, Hedged, Ratio, Reason, Throttle, Verdict};
use steadfast_testing::{Fault, Recorder};

use crate::stage::{Ended, INSTANT, RACED, Stage, backoff, ms, secs, told};
use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};

/// One call that fails, is retried and succeeds, if the budget has a token.
fn retried(stage: &Stage, level: Option<Criticality>) -> Ended<i32> {
    let script = stage.script().fails(Fault::Transient).returns(1);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    match level {
        Some(level) => stage.world.block_on(call.criticality(level).outcome()),
        None => stage.world.block_on(call.outcome()),
    }
}

// core-06.10, core-13.9
#[test]
fn sheddable_retries_leave_half_the_budget() {
    let stage = Stage::new(INSTANT.with_budget(Budget::REFERENCE));
    for _ in 0..17 {
        let outcome = retried(&stage, Some(Sheddable));
        if outcome.is_success() {
            continue;
        }
        assert_eq!(outcome.reason(), Reason::BudgetExhausted);
        assert_eq!(outcome.elapsed(), ms(100));
    }
    let told = stage.told();
    let refused = told.matches("RejectedByBudget#1").count();
    let funded = told.matches("Succeeded#2").count();
    // Fifteen of its thirty, and one that the ten or so successes paid.
    assert_eq!((funded, refused), (16, 1), "{told}");
    assert_eq!(stage.tokens(), 15);

    assert!(retried(&stage, None).is_success());
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
}

// core-06.11
#[test]
fn without_a_floor_sheddable_is_never_retried() {
    let stage = Stage::new(INSTANT.with_budget(Budget::new(Ratio::percent(10), 0)));
    let outcome = retried(&stage, Some(Sheddable));
    assert_eq!(stage.told(), "Attempt#1 RejectedByBudget#1");
    let error = outcome.into_result().expect_err("refused");
    assert_eq!(
        error.retry_after(),
        None,
        "there is a token, but not for it"
    );
    assert!(retried(&stage, Some(Critical)).is_success());
}

// A sheddable caller is told when there is a token for it.
#[test]
fn the_hint_is_the_sheddable_callers_own() {
    let stage = Stage::new(INSTANT.with_budget(Budget::REFERENCE));
    let budget = stage.guard.budget().expect("a budget");
    for _ in 0..15 {
        budget.take(stage.world.now()).expect("a token").spend();
    }
    let error = retried(&stage, Some(Sheddable));
    let error = error.into_result().expect_err("refused");
    let after = error.retry_after().expect("time restores it");
    assert!(after > ms(100) && after < secs(1), "{after:?}");
    stage.world.advance(after);
    assert!(retried(&stage, Some(Sheddable)).is_success());
}

// core-08.14
#[test]
fn sheddable_calls_are_never_raced() {
    let level = |level: Option<Criticality>| {
        let stage = Stage::<Hedged>::warm(RACED);
        let script = stage.script().delays(ms(200)).returns(1);
        let script = script.delays(ms(10)).returns(2);
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        let answer = match level {
            Some(level) => stage.world.block_on(call.criticality(level)),
            None => stage.world.block_on(call),
        };
        (stage.told(), answer.expect("a value"))
    };
    let plain = ("Attempt#1 Succeeded#1".to_owned(), 1);
    assert_eq!(level(Some(Sheddable)), plain);
    let raced = "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1";
    // core-13.8, core-13.10
    for other in [
        None,
        Some(SheddablePlus),
        Some(Critical),
        Some(CriticalPlus),
    ] {
        assert_eq!(level(other), (raced.to_owned(), 2), "{other:?}");
    }
}

// core-13.8, core-13.10
#[test]
fn all_but_the_lowest_have_the_whole_budget() {
    for level in [
        None,
        Some(SheddablePlus),
        Some(Critical),
        Some(CriticalPlus),
    ] {
        let stage = Stage::new(INSTANT.with_budget(Budget::new(Ratio::percent(10), 0)));
        assert!(retried(&stage, level).is_success(), "{level:?}");
    }
}

#[test]
fn a_throttle_sheds_the_sheddable_first() {
    const CALLS: usize = 400;
    let policy = INSTANT.with_attempts(1).with_throttle(Throttle::DEFAULT);
    let refused = |level| {
        let stage = Stage::new(policy);
        let throttle = stage.guard.throttle().expect("a throttle");
        let now = stage.world.now();
        // Every other one of many is turned away: refuses 45 % from now on.
        for call in 0..20_000_u32 {
            if let Ok(ticket) = throttle.admit(now, Critical, u32::MAX) {
                let verdict = [Verdict::OK, Verdict::TRANSIENT][call as usize % 2];
                ticket.settle(verdict);
            }
        }
        let script = stage.script().returns(1).repeats_last();
        let answers = (0..CALLS).map(|_| {
            let call = stage.guard.call(|_| script.next()).criticality(level);
            stage.world.block_on(call)
        });
        answers.filter(Result::is_err).count()
    };
    let [low, lower, critical, plus] =
        [Sheddable, SheddablePlus, Critical, CriticalPlus].map(refused);
    // By one draw of two, by less, by one, by both.
    assert!((250..310).contains(&low), "{low}");
    assert!((200..260).contains(&lower), "{lower}");
    assert!((150..210).contains(&critical), "{critical}");
    assert!((55..110).contains(&plus), "{plus}");
}

// It belongs to the call: the lending and the blocking form take it before.
#[test]
fn every_form_of_a_call_takes_it() {
    let policy = INSTANT
        .with_backoff(backoff(ms(10)))
        .with_budget(Budget::new(Ratio::percent(10), 0));
    for is_blocking in [false, true] {
        let stage = Stage::new(policy);
        let heard = Recorder::new();
        let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
        let prepared = stage.guard.prepare().criticality(Sheddable).listen(&heard);
        let error = if is_blocking {
            prepared.call_blocking(|_| script.next_blocking())
        } else {
            let lent = &mut ();
            let call = prepared.call_with(lent, async |(): &mut (), _| script.next().await);
            stage.world.block_on(call)
        };
        let error = error.expect_err("no token for it");
        assert_eq!(error.reason(), Reason::BudgetExhausted);
        assert_eq!(told(&heard), "Attempt#1 RejectedByBudget#1");
    }
}
