use core::time::Duration;

use super::*;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;
use crate::policy::backoff::Jitter;
use crate::policy::breaker::Breaker;
use crate::policy::ceiling::AttemptCeiling;
use crate::policy::concurrency::Concurrency;
use crate::policy::measured_base::MeasuredBase;
use crate::policy::problems::PolicyError;
use crate::policy::rate::Rate;
use crate::policy::saturation::Saturation;
use crate::policy::throttle::Throttle;

mod measured;

const ZERO: Duration = Duration::ZERO;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[track_caller]
fn assert_problems<const N: usize>(found: Result<(), Problems>, expected: [Problem; N]) {
    let found = found.err().unwrap_or_default();
    assert!(found.iter().eq(expected), "{found:?}");
}

// core-01.1
#[test]
fn the_default_reads_as_documented() {
    let policy = Policy::default();
    assert_eq!(policy.attempts(), 3);
    assert_eq!(policy.deadline(), Some(secs(30)));
    assert_eq!(policy.attempt_timeout(), Some(secs(10)));
    assert_eq!(*policy.budget(), Budget::DEFAULT);
    assert_eq!(*policy.backoff(), Backoff::DEFAULT);
    let ceiling = policy.attempt_ceiling().expect("it has one");
    assert_eq!(ceiling, AttemptCeiling::DEFAULT);
    assert_eq!(ceiling.multiple(), Ratio::times(3));
    assert_eq!(ceiling.quantile(), Ratio::percent(95));
    assert!(policy.is_adaptive());
    assert_problems(policy.validate(), []);
}

// core-01.2, core-01.3, core-01.4
#[test]
fn every_attempt_timeout_is_possible() {
    assert_problems(Policy::DEFAULT.without_attempt_timeout().validate(), []);
    for millis in [1, 50, 51, 60_000] {
        let timeout = Duration::from_millis(millis);
        assert_problems(Policy::DEFAULT.with_attempt_timeout(timeout).validate(), []);
    }
    let never = Policy::DEFAULT.with_attempt_timeout(Duration::MAX);
    assert_eq!(never, Policy::DEFAULT.without_attempt_timeout());
}

// core-01.6
#[test]
fn every_problem_is_found_at_once() {
    let policy = Policy::DEFAULT
        .with_attempts(0)
        .with_deadline(ZERO)
        .with_attempt_timeout(ZERO)
        .with_backoff(Backoff::DEFAULT.with_factor(Ratio::ZERO))
        .with_budget(Budget::new(Ratio::percent(101), 3).with_burst(0))
        .with_breaker(Breaker::DEFAULT.with_probes(0, 256));
    assert_problems(
        policy.validate(),
        [
            Problem::NoAttempts,
            Problem::ZeroDeadline,
            Problem::ZeroAttemptTimeout,
            Problem::ZeroFactor,
            Problem::ProbesOutOfRange,
            Problem::ProbeSuccessesOutOfRange,
            Problem::BudgetFractionOutOfRange,
            Problem::NoBudgetBurst,
        ],
    );
}

// core-01.16
#[test]
fn an_impossible_policy_can_be_held() {
    let bad = Policy::DEFAULT.with_attempts(0);
    let copy = bad;
    assert_eq!(copy, bad);
    assert!(copy.try_checked().is_err());
    assert_eq!(Policy::DEFAULT.try_checked(), Ok(Policy::DEFAULT.checked()));
}

#[test]
fn presets_are_possible() {
    const {
        assert!(Policy::NONE.validate().is_ok());
        assert!(
            Policy::DEFAULT
                .with_breaker(Breaker::DEFAULT)
                .validate()
                .is_ok()
        );
    }
    for backoff in [
        Backoff::NONE,
        Backoff::DEFAULT,
        Backoff::constant(secs(60)),
        Backoff::constant(Duration::MAX),
        Backoff::exponential(ZERO),
    ] {
        assert_problems(backoff.validate(), []);
    }
    assert_problems(Budget::NONE.validate(), []);
    assert_problems(Budget::REFERENCE.validate(), []);
    assert_problems(Budget::FLEET.validate(), []);
    assert_eq!(Budget::FLEET, Budget::DEFAULT);
}

// core-05.18, R-22
#[test]
fn a_factor_of_zero_is_refused() {
    let factor = |ppm| Backoff::DEFAULT.with_factor(Ratio::ppm(ppm)).validate();
    assert_problems(factor(0), [Problem::ZeroFactor]);
    assert_problems(factor(500_000), []);
    assert_problems(factor(u32::MAX), []);
}

//
#[test]
fn a_base_above_the_maximum_is_refused() {
    let five = Backoff::exponential(secs(5));
    assert_problems(
        five.with_maximum(secs(2)).validate(),
        [Problem::TransientBaseAboveMaximum],
    );
    assert_problems(five.with_maximum(secs(5)).validate(), []);
    assert_problems(
        Backoff::DEFAULT
            .with_bases(secs(1), secs(5))
            .with_maximum(secs(2))
            .validate(),
        [Problem::ThrottledBaseAboveMaximum],
    );
}

#[test]
fn a_longest_wait_of_zero_is_possible() {
    for backoff in [
        Backoff::exponential(Duration::from_millis(50)),
        Backoff::DEFAULT.with_bases(secs(1), secs(5)),
    ] {
        assert_problems(backoff.with_maximum(ZERO).validate(), []);
    }
}

#[test]
fn a_default_base_steps_aside() {
    let short = Backoff::DEFAULT.with_maximum(Duration::from_millis(50));
    assert_problems(short.validate(), []);
    let derived = Backoff::exponential(secs(1)).with_maximum(secs(2));
    assert_problems(derived.validate(), []);
}

//
#[test]
fn an_impossible_breaker_is_refused() {
    let good = Breaker::DEFAULT;
    let ratio = Ratio::percent(50);
    let over = Ratio::ppm(1_000_001);
    let cases = [
        (
            good.with_consecutive_failures(0),
            Problem::NoConsecutiveFailures,
        ),
        (
            good.with_failure_ratio(Ratio::ZERO),
            Problem::FailureRatioOutOfRange,
        ),
        (
            good.with_failure_ratio(over),
            Problem::FailureRatioOutOfRange,
        ),
        (
            good.with_slow_calls(ZERO, ratio),
            Problem::ZeroSlowThreshold,
        ),
        (
            good.with_slow_calls(secs(1), Ratio::ZERO),
            Problem::SlowRatioOutOfRange,
        ),
        (
            good.with_slow_calls(secs(1), over),
            Problem::SlowRatioOutOfRange,
        ),
        (good.with_window(secs(1), 0), Problem::NoMinimumCalls),
        (good.with_window(ZERO, 1), Problem::ZeroWindow),
        (good.with_break(ZERO, secs(1)), Problem::ZeroBreak),
        (
            good.with_break(secs(2), secs(1)),
            Problem::LongestBreakBelowFirst,
        ),
        (good.with_probes(0, 1), Problem::ProbesOutOfRange),
        (good.with_probes(256, 1), Problem::ProbesOutOfRange),
        (good.with_probes(1, 0), Problem::ProbeSuccessesOutOfRange),
        (good.with_probes(1, 256), Problem::ProbeSuccessesOutOfRange),
    ];
    for (breaker, problem) in cases {
        assert_problems(breaker.validate(), [problem]);
        assert_problems(Policy::NONE.with_breaker(breaker).validate(), [problem]);
    }
    let huge = good
        .with_window(Duration::MAX, u32::MAX)
        .with_break(secs(1), Duration::MAX)
        .with_probes(255, 255)
        .with_failure_ratio(Ratio::ONE);
    assert_problems(huge.validate(), []);
}

// core-07.25, R-11
#[test]
fn an_impossible_baseline_is_refused() {
    let law = RelativeTrip::DEFAULT;
    let with = |law, secs_of_baseline| {
        let breaker = Breaker::DEFAULT.with_relative_failures(law, secs(secs_of_baseline));
        breaker.validate()
    };
    for one in [Ratio::ZERO, Ratio::ONE] {
        let law = law.with_multiple(one);
        assert_problems(with(law, 300), [Problem::RelativeMultipleTooSmall]);
    }
    for floor in [Ratio::ZERO, Ratio::ppm(1_000_001)] {
        let law = law.with_floor(floor);
        assert_problems(with(law, 300), [Problem::RelativeFloorOutOfRange]);
    }
    assert_problems(
        with(law.with_minimum(20, 0), 300),
        [Problem::NoMinimumBaseline],
    );
    assert_problems(with(law, 0), [Problem::ZeroBaseline]);
    assert_problems(with(law, 299), [Problem::BaselineTooShort]);
    assert_problems(with(law, 300), []);
    let ten = law.with_multiple(Ratio::times(10));
    assert_problems(with(ten, 300), [Problem::BaselineTooShort]);
    assert_problems(with(ten, 600), []);
    assert_problems(Breaker::REFERENCE.validate(), []);
    for window in [60, 420] {
        let breaker = Breaker::DEFAULT.with_window(secs(window), 20);
        assert_problems(breaker.validate(), []);
    }
}

//
#[test]
fn an_impossible_budget_is_refused() {
    for ppm in [0, 1_000_001] {
        let budget = Budget::new(Ratio::ppm(ppm), 3);
        assert_problems(budget.validate(), [Problem::BudgetFractionOutOfRange]);
    }
    assert_problems(
        Budget::DEFAULT.with_burst(0).validate(),
        [Problem::NoBudgetBurst],
    );
    assert_problems(Budget::new(Ratio::ONE, 0).validate(), []);
    assert_problems(
        Budget::DEFAULT
            .with_half_life(ZERO)
            .with_spare(ZERO)
            .validate(),
        [Problem::ZeroBudgetHalfLife, Problem::ZeroBudgetSpare],
    );
    let plain = Budget::FLEET.without_half_life().without_spare();
    assert_eq!(plain, Budget::new(Ratio::percent(10), 0).with_burst(30));
    assert_problems(plain.validate(), []);
}

#[test]
fn a_refusal_has_room_for_everything() {
    let all = Problem::ALL
        .into_iter()
        .fold(Problems::NONE, |found, problem| found.with(problem, true));
    assert_eq!(all.len(), Problem::ALL.len());
    let text = refusal("this policy cannot work", all);
    assert_eq!(
        text.as_str(),
        std::format!("this policy cannot work:\n{all}")
    );
}

#[test]
#[should_panic(expected = "this policy cannot work:\n- attempts is 0")]
fn a_refusal_names_the_problem() {
    let _ = Policy::DEFAULT.with_attempts(0).checked();
}

#[test]
#[should_panic(expected = "this breaker cannot work:\n- the breaker's first break is zero")]
fn a_breaker_is_refused_alone() {
    let _ = Breaker::DEFAULT.with_break(ZERO, secs(1)).checked();
}

#[test]
#[should_panic(expected = "this budget cannot work:\n- the budget's fraction")]
fn a_budget_is_refused_alone() {
    let _ = Budget::new(Ratio::ZERO, 1).checked();
}

// core-06.8: NaN and a negative floor cannot be written down.
#[test]
fn a_fraction_is_a_share() {
    for ppm in [0, 1_010_000, u32::MAX] {
        let problems = Budget::new(Ratio::ppm(ppm), 3).validate();
        assert_eq!(
            problems.map_err(|found| found.contains(Problem::BudgetFractionOutOfRange)),
            Err(true)
        );
    }
    for ppm in [1, 1_000_000] {
        assert!(Budget::new(Ratio::ppm(ppm), 3).validate().is_ok());
    }
}

#[test]
fn an_error_shows_what_would_happen() {
    let error = Policy::DEFAULT
        .with_name("search")
        .with_backoff(Backoff::constant(secs(1)).with_jitter(Jitter::None))
        .with_budget(Budget::new(Ratio::ZERO, 0))
        .try_checked();
    let text = error.map_or_else(|error| std::format!("{error}"), |_| "valid".into());
    assert_eq!(
        text,
        "\
policy `search` cannot work: 1 problem
- the budget's fraction is 0 or above 100%: take a share such as 10%, or `Budget::NONE` for no budget
when every attempt hangs:
      0.00s  attempt 1 until 10.00s
     10.00s  wait 1s
     11.00s  attempt 2 until 21.00s
     21.00s  wait 1s
     22.00s  attempt 3 until 30.00s, cut short by the deadline
     30.00s  the call has ended"
    );
}

#[test]
fn an_error_without_a_bound_has_no_timeline() {
    let error = Policy::NONE.with_attempts(0).try_checked();
    let text = error.map_or_else(|error| std::format!("{error}"), |_| "valid".into());
    assert!(text.starts_with("the policy cannot work: 1 problem\n- attempts"));
    assert_eq!(text.lines().count(), 2);
}

// What `unwrap` prints has to say what to do.
#[test]
fn debug_of_an_error_is_its_text() {
    let error = Policy::DEFAULT
        .with_attempts(0)
        .with_budget(Budget::new(Ratio::times(2), 3))
        .try_checked()
        .expect_err("no attempts");
    let text = std::format!("{error:?}");
    assert_eq!(text, std::format!("{error}"));
    assert!(text.contains("make it at least 1"), "{text}");
    assert!(!text.contains("Ratio("), "{text}");
}

#[test]
fn problems_can_be_walked() {
    let found = Policy::DEFAULT
        .with_attempts(0)
        .with_deadline(ZERO)
        .validate()
        .expect_err("two problems");
    let mut walked = Vec::new();
    for problem in found {
        walked.push(problem);
    }
    assert_eq!(walked, [Problem::NoAttempts, Problem::ZeroDeadline]);
    assert!((&found).into_iter().eq(found.iter()));
}

#[test]
fn the_error_is_small() {
    assert!(size_of::<PolicyError>() <= 128);
}

#[test]
fn every_problem_of_a_saturation_is_found() {
    use Problem::{SaturationMultipleTooSmall, SaturationSamplesOutOfRange, ZeroSaturationFloor};
    let rule = Saturation::DEFAULT;
    assert_problems(rule.validate(), []);
    assert_problems(rule.with_minimum_samples(180).validate(), []);
    assert_problems(
        rule.with_minimum_samples(181).validate(),
        [SaturationSamplesOutOfRange],
    );
    assert_problems(
        rule.with_multiple(Ratio::ONE)
            .with_floor(ZERO)
            .with_minimum_samples(0)
            .validate(),
        [
            SaturationMultipleTooSmall,
            ZeroSaturationFloor,
            SaturationSamplesOutOfRange,
        ],
    );
}

// core-01.10
#[test]
fn saturation_needs_something_to_protect() {
    let saturated = |policy: Policy| policy.with_saturation(Saturation::DEFAULT).validate();
    let bare = Policy::DEFAULT.without_attempt_timeout();
    let problems = saturated(bare).expect_err("nothing is measured");
    assert!(problems.iter().eq([Problem::SaturationGuardsNothing]));
    assert_eq!(saturated(Policy::DEFAULT), Ok(()));
    assert_eq!(saturated(bare.with_hedge(Hedge::DEFAULT)), Ok(()));
    let measured = Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT);
    assert_eq!(saturated(bare.with_backoff(measured)), Ok(()));
    let problems = saturated(Policy::DEFAULT.with_adaptive(false)).expect_err("it contradicts");
    assert!(problems.contains(Problem::SaturationNotAdaptive));
}

#[test]
fn what_a_policy_adds_a_variant_can_drop() {
    let full = Policy::DEFAULT
        .with_concurrency(Concurrency::fixed(1))
        .with_rate(Rate::per_second(1))
        .with_throttle(Throttle::DEFAULT)
        .with_saturation(Saturation::DEFAULT);
    let bare = full
        .without_concurrency()
        .without_rate()
        .without_throttle()
        .without_saturation();
    assert_eq!(bare, Policy::DEFAULT);
}

// core-01.9, core-13.12; a throttle asks by criticality, too.
#[test]
fn criticality_needs_something_to_gate() {
    let nothing = [Problem::CriticalityGatesNothing];
    let follows = |policy: Policy| policy.with_ambient_criticality(true).validate();
    let once = Policy::DEFAULT.with_attempts(1);
    assert_problems(follows(once), nothing);
    assert_problems(follows(Policy::DEFAULT.with_attempts(2)), []);
    assert_problems(follows(Policy::NONE), nothing);
    let free = Policy::DEFAULT.with_budget(Budget::NONE);
    assert_problems(follows(free.with_attempts(2)), nothing);
    assert_problems(follows(free), nothing);
    assert_problems(follows(free.with_hedge(Hedge::DEFAULT)), []);
    assert_problems(follows(free.with_throttle(Throttle::DEFAULT)), []);
    assert_problems(follows(once.with_throttle(Throttle::DEFAULT)), []);
    // A deadline bounds whatever there is.
    assert_problems(Policy::NONE.with_ambient_deadline(true).validate(), []);
}
