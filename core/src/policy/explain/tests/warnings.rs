use super::*;

#[test]
fn presets_give_no_warning() {
    assert_eq!(warnings(Policy::DEFAULT), []);
    assert_eq!(warnings(Policy::NONE), []);
    assert_eq!(warnings(Policy::DEFAULT.with_breaker(Breaker::DEFAULT)), []);
    assert_eq!(warnings(Policy::DEFAULT.with_attempts(1)), []);
}

//
#[test]
fn a_hot_loop_is_warned_of() {
    let policy = Policy::DEFAULT.with_backoff(Backoff::NONE);
    assert_eq!(warnings(policy), [Warning::RetriesWithoutWait]);
    assert_eq!(warnings(policy.with_attempts(1)), []);
}

#[test]
fn pointless_settings_are_warned_of() {
    let base = Policy::DEFAULT;
    let steady = Backoff::constant(secs(10)).with_jitter(Jitter::Equal);
    let slow = |threshold| Breaker::DEFAULT.with_slow_calls(threshold, Ratio::percent(50));
    let cases = [
        (
            base.with_deadline(secs(10)),
            Warning::TimeoutNotBelowDeadline,
        ),
        (
            base.without_attempt_timeout(),
            Warning::RetriesWithoutTimeout,
        ),
        (
            base.with_backoff(Backoff::constant(secs(30))),
            Warning::WaitsUseUpDeadline,
        ),
        (
            base.with_attempts(7).with_backoff(steady),
            Warning::WaitsUseUpDeadline,
        ),
        (
            base.with_backoff(Backoff::DEFAULT.with_jitter(Jitter::None)),
            Warning::RetriesInStep,
        ),
        (base.with_budget(Budget::NONE), Warning::UnlimitedRetries),
        (
            base.with_attempts(1)
                .with_budget(Budget::new(Ratio::percent(20), 1)),
            Warning::IdleBudget,
        ),
        (
            base.with_breaker(Breaker::DEFAULT.with_jitter(Jitter::None)),
            Warning::ProbesInStep,
        ),
        (
            base.with_breaker(slow(secs(10))),
            Warning::SlowCallsNeverCount,
        ),
    ];
    for (policy, warning) in cases {
        assert_eq!(warnings(policy), [warning]);
    }
    assert_eq!(warnings(base.with_attempts(6).with_backoff(steady)), []);
    assert_eq!(warnings(base.with_breaker(slow(secs(9)))), []);
    let window = |secs_of_window, minimum| {
        let breaker = Breaker::DEFAULT.with_window(secs(secs_of_window), minimum);
        warnings(base.with_breaker(breaker))
    };
    let (failures, latency) = (Warning::FailuresNotMeasured, Warning::LatencyNotMeasured);
    assert_eq!(window(361, 20), [failures]);
    assert_eq!(window(1_801, 20), [failures, latency]);
    assert_eq!(window(360, 20), []);
    assert_eq!(window(30, 30_000_001), [Warning::TooManyAttemptsNeeded]);
    assert_eq!(window(30, 30_000_000), []);
    let outgrown = Breaker::DEFAULT.with_window(secs(2_000), 20);
    for chosen in [
        outgrown.with_adaptive(false),
        outgrown
            .without_relative_failures()
            .without_relative_slow_calls(),
    ] {
        assert_eq!(warnings(base.with_breaker(chosen)), []);
    }
    let opens = base
        .with_budget(Budget::NONE)
        .with_breaker(Breaker::DEFAULT);
    assert_eq!(warnings(opens), []);
}

#[test]
fn a_missing_seed_matters_with_jitter() {
    let unseeded = |policy: Policy| policy.explain().unseeded().warnings().count();
    assert_eq!(unseeded(Policy::DEFAULT), 1);
    assert_eq!(unseeded(Policy::NONE), 0);
    assert_eq!(unseeded(Policy::NONE.with_breaker(Breaker::DEFAULT)), 1);
    let explained = Policy::DEFAULT.explain().unseeded();
    assert_eq!(
        section(&explained, "Warnings"),
        std::format!("- {}", Warning::Unseeded)
    );
}

proptest! {
    #[test]
    fn every_policy_can_be_explained(
        attempts: u32, deadline: u64, timeout: u64, base: u64, maximum: u64, ppm: u32,
    ) {
        let backoff = Backoff::exponential(Duration::from_nanos(base))
            .with_maximum(Duration::from_nanos(maximum))
            .with_factor(Ratio::ppm(ppm));
        let policy = Policy::DEFAULT
            .with_attempts(attempts)
            .with_deadline(Duration::from_nanos(deadline))
            .with_attempt_timeout(Duration::from_nanos(timeout))
            .with_backoff(backoff);
        prop_assert!(!policy.explain().to_string().is_empty());
        prop_assert!(policy.explain().worst_case() <= policy.deadline());
    }
}

#[test]
fn a_shared_budget_shows_with_one_attempt() {
    let budget = Budget::REFERENCE.with_burst(7);
    let policy = Policy::DEFAULT.with_attempts(1).with_budget(budget);
    assert!(
        policy
            .explain()
            .warnings()
            .any(|it| it == Warning::IdleBudget)
    );
    let shared = policy.explain().with_shared_budget();
    assert!(!shared.warnings().any(|it| it == Warning::IdleBudget));
    assert!(section(&shared, "Retry budget").ends_with("Shared with other guards."));
}

#[test]
fn a_budget_that_time_never_fills_is_warned_about() {
    let warned = |budget, attempts| {
        let policy = Policy::DEFAULT.with_attempts(attempts).with_budget(budget);
        let explained = policy.explain();
        explained.warnings().any(|it| it == Warning::BudgetLocksOut)
    };
    assert!(warned(Budget::new(Ratio::percent(10), 0), 2));
    assert!(warned(Budget::FLEET.without_spare(), 2));
    assert!(!warned(Budget::new(Ratio::percent(10), 0), 1));
    for budget in [Budget::NONE, Budget::FLEET, Budget::REFERENCE] {
        assert!(!warned(budget, 2));
    }
}

#[test]
fn a_law_that_never_counts_is_warned_of() {
    let relative = |calls, baseline| {
        let law = RelativeTrip::DEFAULT.with_minimum(calls, baseline);
        Breaker::DEFAULT.with_relative_failures(law, secs(300))
    };
    let slow = |minimum| {
        let law = SlowTrip::DEFAULT.with_minimum(minimum);
        Breaker::DEFAULT.with_relative_slow_calls(law, secs(300))
    };
    let warned = |breaker| warnings(Policy::DEFAULT.with_breaker(breaker));
    for breaker in [
        relative(u32::MAX, 100),
        relative(20, u32::MAX),
        slow(u32::MAX),
        slow(1_501),
    ] {
        assert_eq!(warned(breaker), [Warning::TooManyAttemptsNeeded]);
    }
    assert_eq!(warned(relative(1_000_000, 1_000_000)), []);
    assert_eq!(warned(slow(1_500)), []);
    let constant = Breaker::DEFAULT
        .with_adaptive(false)
        .with_window(secs(1), u32::MAX);
    assert_eq!(warned(constant), []);
}
