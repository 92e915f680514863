//! What the settings of a breaker must hold to.

use super::{is_share, refuse};
use crate::math::ratio::Ratio;
use crate::policy::breaker::Breaker;
use crate::policy::problem::Problem;
use crate::policy::problems::Problems;
use crate::policy::recovery::Recovery;
use crate::time::nanos;

impl Breaker {
    /// Finds everything that makes the settings impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let (failures, slow_calls) = self.contradictions();
        let problems = Problems::NONE
            .with(
                Problem::NoConsecutiveFailures,
                self.consecutive_failures() == 0,
            )
            .with(
                Problem::FailureRatioOutOfRange,
                matches!(self.failure_ratio(), Some(ratio) if !is_share(ratio)),
            )
            .and(self.validate_relative_failures())
            .with(
                Problem::ZeroSlowThreshold,
                matches!(self.slow_call(), Some(span) if span.is_zero()),
            )
            .with(
                Problem::SlowRatioOutOfRange,
                (self.slow_call().is_some() || self.relative_slow_calls().is_some())
                    && !is_share(self.slow_ratio()),
            )
            .and(self.validate_relative_slow_calls())
            .with(Problem::NoMinimumCalls, self.minimum_calls() == 0)
            .with(Problem::ZeroWindow, self.window().is_zero())
            .with(Problem::ZeroBreak, self.first_break().is_zero())
            .with(
                Problem::LongestBreakBelowFirst,
                nanos(self.longest_break()) < nanos(self.first_break()),
            )
            .with(Problem::ProbesOutOfRange, !matches!(self.probes(), 1..=255))
            .with(
                Problem::ProbeSuccessesOutOfRange,
                !matches!(self.probe_successes(), 1..=255),
            )
            .with(Problem::RelativeFailuresNotAdaptive, failures)
            .with(Problem::RelativeSlowCallsNotAdaptive, slow_calls);
        match self.recovery() {
            Some(recovery) => problems.and(recovery.validate()).into_result(),
            None => problems.into_result(),
        }
    }

    const fn validate_relative_failures(&self) -> Result<(), Problems> {
        let (Some(law), Some(baseline)) = (self.relative_failures(), self.baseline()) else {
            return Ok(());
        };
        let multiple = law.multiple();
        let is_multiple = multiple.as_ppm() > Ratio::ONE.as_ppm();
        let twice = nanos(self.window()).saturating_mul(2);
        Problems::NONE
            .with(Problem::RelativeMultipleTooSmall, !is_multiple)
            .with(Problem::RelativeFloorOutOfRange, !is_share(law.floor()))
            .with(Problem::NoMinimumBaseline, law.minimum_baseline() == 0)
            .with(Problem::ZeroBaseline, baseline.is_zero())
            .with(
                Problem::BaselineTooShort,
                is_multiple && !baseline.is_zero() && !multiple.is_reached(nanos(baseline), twice),
            )
            .into_result()
    }

    const fn validate_relative_slow_calls(&self) -> Result<(), Problems> {
        let (Some(law), Some(baseline)) = (self.relative_slow_calls(), self.slow_baseline()) else {
            return Ok(());
        };
        let quantile = law.quantile();
        let is_quantile = quantile.as_ppm() > 0 && quantile.as_ppm() <= HALF.as_ppm();
        let is_comparable = is_quantile && is_share(self.slow_ratio()) && !baseline.is_zero();
        let slow = self.slow_ratio().of(nanos(self.window()).saturating_mul(2));
        Problems::NONE
            .with(
                Problem::SlowMultipleTooSmall,
                law.multiple().as_ppm() <= Ratio::ONE.as_ppm(),
            )
            .with(Problem::SlowQuantileOutOfRange, !is_quantile)
            .with(Problem::NoMinimumSuccesses, law.minimum() == 0)
            .with(Problem::ZeroSlowBaseline, baseline.is_zero())
            .with(
                Problem::SlowBaselineTooShort,
                is_comparable && quantile.of(nanos(baseline)) < slow,
            )
            .into_result()
    }

    /// Returns the settings, if they can work.
    ///
    /// # Panics
    ///
    /// Panics with every problem when they cannot; in a `const` or a `static`
    /// that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(problems) = self.validate() {
            refuse("this breaker cannot work", problems);
        }
        self
    }
}

impl Recovery {
    /// Finds everything that makes the ramp impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let is_initial = is_share(self.initial()) && self.initial().as_ppm() < Ratio::ONE.as_ppm();
        Problems::NONE
            .with(Problem::NoRecoveryLength, self.length().as_ppm() == 0)
            .with(Problem::ZeroRecovery, self.shortest().is_zero())
            .with(
                Problem::LongestRecoveryBelowShortest,
                nanos(self.longest()) < nanos(self.shortest()),
            )
            .with(Problem::RecoveryInitialOutOfRange, !is_initial)
            .into_result()
    }
}

const HALF: Ratio = Ratio::percent(50);

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::math::significance::RelativeTrip;
    use crate::policy::slow_trip::SlowTrip;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[track_caller]
    fn assert_problems<const N: usize>(found: Result<(), Problems>, expected: [Problem; N]) {
        let found = found.err().unwrap_or_default();
        assert!(found.iter().eq(expected), "{found:?}");
    }

    // core-07.25, R-11
    #[test]
    fn an_impossible_law_of_latency_is_refused() {
        let law = SlowTrip::DEFAULT;
        let with = |law, secs_of_baseline| {
            let breaker = Breaker::DEFAULT.with_relative_slow_calls(law, secs(secs_of_baseline));
            breaker.validate()
        };
        for one in [Ratio::ZERO, Ratio::ONE] {
            let law = law.with_multiple(one);
            assert_problems(with(law, 300), [Problem::SlowMultipleTooSmall]);
        }
        for quantile in [Ratio::ZERO, Ratio::ppm(500_001)] {
            let law = law.with_quantile(quantile);
            assert_problems(with(law, 300), [Problem::SlowQuantileOutOfRange]);
        }
        assert_problems(
            with(law.with_minimum(0), 300),
            [Problem::NoMinimumSuccesses],
        );
        assert_problems(with(law, 0), [Problem::ZeroSlowBaseline]);
        assert_problems(with(law, 59), [Problem::SlowBaselineTooShort]);
        assert_problems(with(law, 60), []);
        let lower = law.with_quantile(Ratio::percent(10));
        assert_problems(with(lower, 299), [Problem::SlowBaselineTooShort]);
        assert_problems(with(lower, 300), []);
        for window in [60, 420, 1_801] {
            let breaker = Breaker::DEFAULT.with_window(secs(window), 20);
            assert_problems(breaker.validate(), []);
        }
        // Without a threshold its ratio counts for nothing.
        let unused = Breaker::DEFAULT.with_slow_ratio(Ratio::ZERO);
        assert_problems(unused.validate(), [Problem::SlowRatioOutOfRange]);
        assert_problems(unused.with_adaptive(false).validate(), []);
    }

    #[test]
    fn a_law_that_is_off_is_refused() {
        let off = Breaker::DEFAULT.with_adaptive(false);
        assert_problems(off.validate(), []);
        let failures = off.with_relative_failures(RelativeTrip::DEFAULT, secs(300));
        let problem = Problem::RelativeFailuresNotAdaptive;
        assert_problems(failures.validate(), [problem]);
        assert_problems(failures.without_relative_failures().validate(), []);
        let both = failures.with_relative_slow_calls(SlowTrip::DEFAULT, secs(300));
        assert_problems(
            both.validate(),
            [problem, Problem::RelativeSlowCallsNotAdaptive],
        );
        let order = Breaker::DEFAULT
            .with_relative_slow_calls(SlowTrip::DEFAULT, secs(300))
            .with_adaptive(false);
        assert_problems(order.validate(), [Problem::RelativeSlowCallsNotAdaptive]);
    }

    //
    #[test]
    fn an_impossible_recovery_is_refused() {
        let good = Recovery::DEFAULT;
        let cases = [
            (good.with_length(Ratio::ZERO), Problem::NoRecoveryLength),
            (
                good.with_bounds(Duration::ZERO, secs(1)),
                Problem::ZeroRecovery,
            ),
            (
                good.with_bounds(secs(2), secs(1)),
                Problem::LongestRecoveryBelowShortest,
            ),
            (
                good.with_initial(Ratio::ZERO),
                Problem::RecoveryInitialOutOfRange,
            ),
            (
                good.with_initial(Ratio::ONE),
                Problem::RecoveryInitialOutOfRange,
            ),
        ];
        for (recovery, problem) in cases {
            assert_problems(recovery.validate(), [problem]);
            let breaker = Breaker::DEFAULT.with_recovery(recovery);
            assert_problems(breaker.validate(), [problem]);
            assert_problems(breaker.without_recovery().validate(), []);
        }
        let huge = good
            .with_length(Ratio::ppm(u32::MAX))
            .with_bounds(Duration::MAX, Duration::MAX);
        assert_problems(huge.validate(), []);
    }
}
