use super::*;
use crate::policy::measured_base::MeasuredBase;

// core-01.2, core-01.3, core-01.4, core-01.7
#[test]
fn the_usual_ceiling_steps_aside() {
    let ceiling = |policy: Policy| {
        assert_problems(policy.validate(), []);
        policy.attempt_ceiling()
    };
    let timeout = |millis| Policy::DEFAULT.with_attempt_timeout(Duration::from_millis(millis));
    assert_eq!(ceiling(Policy::DEFAULT.without_attempt_timeout()), None);
    assert_eq!(ceiling(timeout(50)), None);
    assert_eq!(ceiling(timeout(51)), Some(AttemptCeiling::DEFAULT));
    assert_eq!(ceiling(Policy::DEFAULT.with_adaptive(false)), None);
    assert_eq!(ceiling(Policy::NONE), None);
}

// core-01.5
#[test]
fn a_chosen_ceiling_does_not_step_aside() {
    let law = AttemptCeiling::DEFAULT.with_floor(secs(1));
    let policy = Policy::DEFAULT.with_attempt_ceiling(law);
    assert_problems(
        policy.with_attempt_timeout(secs(1)).validate(),
        [Problem::CeilingFloorAboveTimeout],
    );
    let more = secs(1).saturating_add(Duration::from_nanos(1));
    assert_problems(policy.with_attempt_timeout(more).validate(), []);
    assert_problems(policy.without_attempt_timeout().validate(), []);
}

// core-04.14
#[test]
fn an_impossible_ceiling_is_refused() {
    let law = AttemptCeiling::DEFAULT;
    let with = |law| Policy::DEFAULT.with_attempt_ceiling(law).validate();
    for one in [Ratio::ZERO, Ratio::ONE] {
        assert_problems(
            with(law.with_multiple(one)),
            [Problem::CeilingMultipleTooSmall],
        );
    }
    assert_problems(with(law.with_multiple(Ratio::ppm(1_000_001))), []);
    for quantile in [0, 499, 991, 995, 1_000] {
        assert_problems(
            with(law.with_quantile(Ratio::permille(quantile))),
            [Problem::CeilingQuantileOutOfRange],
        );
    }
    for quantile in [500, 990] {
        assert_problems(with(law.with_quantile(Ratio::permille(quantile))), []);
    }
    assert_problems(
        with(law.with_minimum_samples(0)),
        [Problem::NoCeilingSamples],
    );
    assert_problems(with(law.with_floor(ZERO)), [Problem::ZeroCeilingFloor]);
    let timeless = Policy::DEFAULT.with_history(ZERO);
    assert_problems(timeless.validate(), [Problem::ZeroHistory]);
    assert_problems(timeless.without_attempt_ceiling().validate(), []);
}

// core-05.17
#[test]
fn an_impossible_base_is_refused() {
    let law = MeasuredBase::DEFAULT;
    let with = |law| Backoff::DEFAULT.with_measured_base(law).validate();
    assert_problems(with(law), []);
    assert_problems(
        with(law.with_multiple(Ratio::ZERO)),
        [Problem::ZeroBaseMultiple],
    );
    for quantile in [Ratio::ZERO, Ratio::percent(51), Ratio::percent(60)] {
        assert_problems(
            with(law.with_quantile(quantile)),
            [Problem::BaseQuantileOutOfRange],
        );
    }
    assert_problems(with(law.with_minimum_samples(0)), [Problem::NoBaseSamples]);
    for spread in [0, 1] {
        assert_problems(with(law.with_spread(spread)), [Problem::BaseSpreadTooSmall]);
    }
    for constant in [Backoff::NONE, Backoff::constant(secs(1))] {
        let backoff = constant.with_measured_base(law);
        assert_problems(backoff.validate(), [Problem::MeasuredConstant]);
    }
}

// core-01.8
#[test]
fn who_measures_nothing_may_ask_for_nothing() {
    let rigid = Policy::DEFAULT.with_adaptive(false);
    let base = Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT);
    let asks = rigid
        .with_attempt_ceiling(AttemptCeiling::DEFAULT)
        .with_hedge(Hedge::DEFAULT);
    assert_problems(
        asks.validate(),
        [Problem::CeilingNotAdaptive, Problem::HedgeNotAdaptive],
    );
    assert_problems(
        rigid.with_backoff(base).validate(),
        [Problem::BaseNotAdaptive],
    );
    assert_problems(asks.with_adaptive(true).validate(), []);
}

// core-08.22
#[test]
fn an_impossible_hedge_is_refused() {
    let law = Hedge::DEFAULT;
    let with = |law| Policy::DEFAULT.with_hedge(law).validate();
    for quantile in [Ratio::percent(49), Ratio::ONE, Ratio::ZERO] {
        assert_problems(
            with(law.with_quantile(quantile)),
            [Problem::HedgeQuantileOutOfRange],
        );
    }
    for share in [Ratio::ZERO, Ratio::ppm(1_000_001)] {
        assert_problems(
            with(law.with_suppression(share)),
            [Problem::HedgeSuppressionOutOfRange],
        );
    }
    assert_problems(with(law.with_minimum_samples(0)), [Problem::NoHedgeSamples]);
    assert_problems(with(law.with_window(ZERO)), [Problem::ZeroHedgeWindow]);
    let hedged = Policy::DEFAULT.with_hedge(law);
    assert_problems(
        hedged.with_attempts(1).validate(),
        [Problem::HedgeWithoutRetry],
    );
    // One copy at a time is a guard without lanes: `Hedged<1>` does not compile.
    assert_problems(hedged.validate_in(1, true), [Problem::HedgeWithoutLanes]);
    assert_problems(hedged.validate_in(2, true), []);
    assert_problems(
        Policy::DEFAULT.validate_in(2, true),
        [Problem::LanesWithoutHedge],
    );
}

#[test]
fn an_impossible_win_rate_is_refused() {
    let law = WinRate::DEFAULT;
    let cases = [
        (law.with_minimum(Ratio::ZERO), Problem::WinRateOutOfRange),
        (law.with_minimum(Ratio::ONE), Problem::WinRateOutOfRange),
        (law.with_window(ZERO, 1), Problem::ZeroWinWindow),
        (law.with_window(secs(1), 0), Problem::NoWinSamples),
        (
            law.with_minimum_allowance(Ratio::ONE),
            Problem::WinAllowanceTooLarge,
        ),
    ];
    for (law, problem) in cases {
        assert_problems(Hedge::DEFAULT.with_win_rate(law).validate(), [problem]);
    }
    assert_problems(Hedge::DEFAULT.with_win_rate(law).validate(), []);
}

#[test]
fn a_guard_without_histograms_cannot_be_asked() {
    let asks = [
        Policy::DEFAULT.with_attempt_ceiling(AttemptCeiling::DEFAULT),
        Policy::DEFAULT.with_backoff(Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT)),
    ];
    for policy in asks {
        assert_problems(
            policy.validate_in(1, false),
            [Problem::NothingToMeasureWith],
        );
        assert_problems(policy.validate_in(1, true), []);
    }
    // What the library chose steps aside.
    assert_problems(Policy::DEFAULT.validate_in(1, false), []);
}

// core-01.6
#[test]
fn a_hopeless_policy_lists_its_problems() {
    let policy = Policy::DEFAULT
        .with_attempts(0)
        .with_deadline(ZERO)
        .with_hedge(Hedge::DEFAULT.with_quantile(Ratio::percent(40)));
    assert_problems(
        policy.validate(),
        [
            Problem::NoAttempts,
            Problem::ZeroDeadline,
            Problem::HedgeQuantileOutOfRange,
            Problem::HedgeWithoutRetry,
        ],
    );
}
