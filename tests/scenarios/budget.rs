//! The retry budget over whole calls: what is charged, what comes back.

use steadfast::{
    Backoff, Breaker, Budget, EventKind, Guard, Kind, Plan, Policy, Ratio, Reason, Restarts,
    RetryBudget,
};
use steadfast_testing::{Fault, Script, World};

use crate::stage::{INSTANT, Stage, TOUCHY, TRANSIENT, backoff, guard, ms, secs};

const FUNDED: Policy = INSTANT.with_budget(Budget::REFERENCE);

// core-03.13, core-14.5
#[test]
fn an_empty_budget_ends_the_call() {
    let stage = Stage::new(FUNDED);
    stage.drain();
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    let refusal = stage.only(EventKind::RejectedByBudget);
    assert_eq!(refusal.delay(), Some(ms(100)));
    assert!(refusal.is_rejection());
    assert_eq!(stage.told(), "Attempt#1 RejectedByBudget#1");
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(outcome.error(), Some(&TRANSIENT));
    assert_eq!(outcome.elapsed(), ms(100));
    // Read after the pause: a third of a second less 100 ms.
    let hint = outcome.retry_after().expect("a hint");
    assert_eq!(hint.as_nanos(), 233_333_336);
}

#[test]
fn the_pause_of_a_refusal_fits_the_deadline() {
    let stage = Stage::new(FUNDED.with_deadline(ms(40)));
    stage.drain();
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(stage.told(), "Attempt#1 RejectedByBudget#1");
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(outcome.elapsed(), ms(40));
}

// core-06.16
#[test]
fn a_clock_that_steps_back_leaves_the_tokens() {
    let stage = Stage::new(FUNDED);
    stage.world.advance(secs(7_200));
    let failing = || stage.script().fails(Fault::Transient);
    assert!(stage.play(&failing().returns(1)).is_success());
    let used = |stage: &Stage| {
        let budget = stage.guard.budget().expect("a budget");
        budget.utilization(stage.world.now())
    };
    let before = used(&stage);
    stage.world.step_back(secs(3_600));
    assert_eq!(used(&stage), before);
    let outcome = stage.play(&failing().returns(1));
    assert_eq!(outcome.reason(), Reason::Succeeded);
    // Two spent, two tenths earned: 1.8 of 30 tokens, and no refill between.
    assert_eq!(used(&stage), Ratio::percent(6));
    stage.drain();
    let outcome = stage.play(&failing());
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
}

// The budget is asked before the wait is held against the deadline.
#[test]
fn an_empty_budget_speaks_before_the_deadline() {
    let stage = Stage::new(FUNDED.with_deadline(secs(1)).with_backoff(backoff(secs(5))));
    stage.drain();
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(stage.told(), "Attempt#1 RejectedByBudget#1");
}

// core-03.14
#[test]
fn a_self_imposed_retry_is_free() {
    let throttled = Backoff::exponential(ms(100)).with_jitter(steadfast::Jitter::None);
    let stage = Stage::new(FUNDED.with_backoff(throttled));
    stage.drain();
    let script = stage.script().fails(Fault::SelfImposed(None)).returns(1);
    let outcome = stage.play(&script);
    let retry = stage.only(EventKind::Retrying);
    assert_eq!(retry.delay(), Some(secs(1)));
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert_eq!(outcome.into_success(), Ok(1));
}

// core-06.12, core-01.14: budgets are the guards' own, and start full.
#[test]
fn two_guards_have_two_budgets() {
    let world = World::new();
    let (one, other) = (guard(&world, FUNDED), guard(&world, FUNDED.with_name("b")));
    let budget = one.budget().expect("a budget");
    while let Some(token) = budget.take(world.now()) {
        token.spend();
    }
    let spent =
        |guard: &crate::stage::Virtual| guard.budget().expect("a budget").utilization(world.now());
    assert_eq!(spent(&one), Ratio::ONE);
    assert_eq!(spent(&other), Ratio::ZERO);
}

// core-06.13
#[test]
fn a_single_attempt_has_no_budget() {
    let stage = Stage::new(FUNDED.with_attempts(1).with_restarts(Restarts::NONE));
    assert!(stage.guard.budget().is_none());
    for _ in 0..100 {
        let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
        assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
    }
}

// core-01.13
#[test]
fn a_shared_budget_earns_from_single_attempts() {
    static SHARED: RetryBudget = RetryBudget::new(Budget::REFERENCE);
    let world = World::new();
    let plan = Plan::new(Policy::NONE).with_budget(&SHARED);
    let guard: crate::stage::Virtual = Guard::try_on(world.timer(), plan).expect("a policy");
    while let Some(token) = SHARED.take(world.now()) {
        token.spend();
    }
    for call in 1..=10 {
        let answer = world.block_on(guard.call(|_| std::future::ready(std::io::Result::Ok(()))));
        answer.expect("a value");
        assert_eq!(SHARED.take(world.now()).is_some(), call == 10);
    }
}

// core-06.9: a `static` is the name, and the compiler keeps it unique.
#[test]
fn guards_of_one_static_share_its_tokens() {
    static SHARED: RetryBudget = RetryBudget::new(Budget::new(Ratio::percent(10), 0));
    let world = World::new();
    let guard = || -> crate::stage::Virtual {
        let plan = Plan::new(INSTANT.with_attempts(2)).with_budget(&SHARED);
        Guard::try_on(world.timer(), plan).expect("a policy")
    };
    let reason = |guard: &crate::stage::Virtual| {
        let script: Script<()> = Script::on(world.timer())
            .fails(Fault::Transient)
            .repeats_last();
        world
            .block_on(guard.call(|_| script.next()).outcome())
            .reason()
    };
    // One token for both.
    assert_eq!(reason(&guard()), Reason::AttemptsExhausted);
    assert_eq!(reason(&guard()), Reason::BudgetExhausted);
}

// core-06.14
#[test]
fn an_outage_spends_the_burst() {
    let stage = Stage::new(FUNDED);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    for call in 1..=15 {
        let outcome = stage.play(&script);
        assert_eq!(outcome.reason(), Reason::AttemptsExhausted, "call {call}");
    }
    assert_eq!(script.calls(), 45);
    let outcome = stage.play(&script);
    assert_eq!(outcome.reason(), Reason::BudgetExhausted);
    assert_eq!(script.calls(), 46);
}

// core-06.15
#[test]
fn self_imposed_refusals_cost_nothing() {
    let stage = Stage::new(FUNDED);
    let script = stage
        .script::<()>()
        .fails(Fault::SelfImposed(None))
        .repeats_last();
    for _ in 0..100 {
        let outcome = stage.play(&script);
        assert_eq!(outcome.log().attempts(), 3);
    }
    assert_eq!(stage.tokens(), 30);
}

// core-06.18, finagle#956: one deposit for a success, whatever came before.
#[test]
fn a_retried_success_costs_nine_tenths() {
    let stage = Stage::new(FUNDED);
    let script = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&script).is_success());
    let budget = stage.guard.budget().expect("a budget");
    // 0.9 of 30 tokens.
    assert_eq!(budget.utilization(stage.world.now()), Ratio::percent(3));
}

// aws-sdk-rust#1234, R-26: nobody has to ask for the budget.
#[test]
fn the_default_policy_has_a_budget() {
    let stage = Stage::new(Policy::DEFAULT.with_backoff(Backoff::NONE));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let mut refused = 0;
    for _ in 0..100 {
        let outcome = stage.play(&script);
        refused += u32::from(outcome.reason() == Reason::BudgetExhausted);
    }
    assert!(refused > 50, "{refused} of 100 calls were refused a retry");
    let text = stage.guard.explain().to_string();
    assert!(text.contains("budget"), "{text}");
}

#[test]
fn the_deadline_gives_the_token_back() {
    let stage = Stage::new(FUNDED.with_deadline(secs(1)).with_backoff(backoff(secs(1))));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(outcome.reason(), Reason::DeadlineExceeded);
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn the_breaker_gives_the_token_back() {
    let stage = Stage::new(FUNDED.with_breaker(TOUCHY));
    let outcome = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(stage.tokens(), 30);
}

// The token is spent at the moment the retry starts, not when it is granted.
#[test]
fn a_retry_that_starts_keeps_its_token() {
    let stage = Stage::new(FUNDED.with_backoff(backoff(secs(1))));
    let script = stage.script::<()>().fails(Fault::Transient).hangs();
    let mut call = Box::pin(stage.guard.call(|_| script.next()));
    stage.world.block_on(async {
        std::future::poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            if script.calls() == 2 {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        })
        .await;
    });
    drop(call);
    // 29 and the second's three, but no more than the burst.
    assert_eq!(stage.world.elapsed(), secs(1));
    assert_eq!(stage.tokens(), 30);
    // Without a floor nothing hides the spending.
    let stage = Stage::new(INSTANT.with_budget(Budget::new(Ratio::percent(10), 0)));
    let script = stage.script::<()>().fails(Fault::Transient).hangs();
    let call = stage.guard.call(|_| script.next()).within(secs(1));
    stage.world.block_on(call).expect_err("a failure");
    assert_eq!(stage.tokens(), 0);
}

#[test]
fn a_throttled_retry_is_charged() {
    let stage = Stage::new(FUNDED);
    let script = stage
        .script()
        .fails(Fault::Throttled(Some(ms(0))))
        .returns(1);
    let outcome = stage.play(&script);
    let kinds: Vec<_> = outcome.log().entries().map(|entry| entry.kind()).collect();
    assert_eq!(kinds, [Kind::Throttled, Kind::Ok]);
    assert_eq!(stage.tokens(), 29);
}

// A breaker refusal before the first attempt asks no budget.
#[test]
fn a_refused_call_asks_no_budget() {
    let stage = Stage::new(FUNDED.with_breaker(Breaker::DEFAULT));
    stage.guard.breaker().expect("a breaker").isolate();
    let outcome = stage.play(&stage.script().returns(1));
    assert_eq!(outcome.reason(), Reason::DependencyUnavailable);
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn an_observing_budget_lets_retries_go() {
    let stage = Stage::new(FUNDED);
    stage.drain();
    let budget = stage.guard.budget().expect("a budget");
    budget.observe();
    let script = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&script).is_success());
    assert_eq!(
        stage.told(),
        "Attempt#1 WouldReject#2 Retrying#2 Attempt#2 Succeeded#2"
    );
    let text = stage.guard.explain().to_string();
    assert!(text.contains("It only observes"), "{text}");

    stage.guard.reset();
    assert!(!budget.is_observing());
}

// aws-sdk-go-v2#3550: refilled by time, too, when nothing else does.
#[test]
fn the_default_comes_back_from_an_outage() {
    let stage = Stage::new(Policy::DEFAULT.with_backoff(Backoff::NONE));
    let outage = stage.script::<()>().fails(Fault::Transient).repeats_last();
    for _ in 0..60 {
        assert!(!stage.play(&outage).is_success());
        stage.world.advance(secs(60));
    }
    // 60 first attempts; two retries in minute 0, one in 1, 3, 7, 15 and 31.
    assert_eq!(outage.calls(), 60 + 7);
    // The first success shortens the wait, and retries are back.
    assert!(stage.play(&stage.script().returns(1)).is_success());
    let flaky = || stage.script().fails(Fault::Transient).returns(1);
    for _ in 0..60 {
        assert!(stage.play(&flaky()).is_success());
        stage.world.advance(secs(30));
    }
}
