//! What the limits on what leaves the process must hold to.

use super::{is_share, refuse};
use crate::math::ratio::Ratio;
use crate::policy::concurrency::Concurrency;
use crate::policy::problem::Problem;
use crate::policy::problems::Problems;
use crate::policy::rate::Rate;
use crate::policy::throttle::Throttle;
use crate::time::nanos;

impl Concurrency {
    /// Finds everything that makes the settings impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let (minimum, maximum) = (self.minimum(), self.maximum());
        Problems::NONE
            .with(
                Problem::ConcurrencyOutOfRange,
                minimum == 0 || minimum > Self::MOST || maximum > Self::MOST,
            )
            .with(
                Problem::InitialConcurrencyOutOfRange,
                self.initial() < minimum || self.initial() > maximum,
            )
            .with(
                Problem::ConcurrencyMultipleTooSmall,
                self.multiple().as_ppm() <= Ratio::ONE.as_ppm(),
            )
            .with(
                Problem::ConcurrencyDecreaseOutOfRange,
                !is_share(self.decrease()) || self.decrease().as_ppm() == Ratio::ONE.as_ppm(),
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
            refuse("this concurrency limit cannot work", problems);
        }
        self
    }
}

impl Rate {
    /// Finds everything that makes the settings impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        Problems::NONE
            .with(Problem::NoRate, self.permits() == 0)
            .with(
                Problem::NoRateBurst,
                self.burst() == 0 && self.permits() > 0,
            )
            .with(
                Problem::RateWindowTooShort,
                matches!(self.window(), Some(window) if nanos(window) < 8),
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
            refuse("this rate limit cannot work", problems);
        }
        self
    }
}

impl Throttle {
    /// Finds everything that makes the settings impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        Problems::NONE
            .with(
                Problem::ThrottleMultipleTooSmall,
                self.multiple().as_ppm() <= Ratio::ONE.as_ppm(),
            )
            .with(Problem::ZeroThrottleWindow, self.window().is_zero())
            .with(Problem::ThrottleCapOutOfRange, !is_share(self.cap()))
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
            refuse("this throttle cannot work", problems);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[track_caller]
    fn assert_problems<const N: usize>(found: Result<(), Problems>, expected: [Problem; N]) {
        let found = found.err().unwrap_or_default();
        assert!(found.iter().eq(expected), "{found:?}");
    }

    // core-09.18
    #[test]
    fn an_impossible_concurrency_is_refused() {
        let adaptive = Concurrency::ADAPTIVE;
        let start = [Problem::InitialConcurrencyOutOfRange];
        assert_problems(adaptive.with_minimum(5).with_initial(4).validate(), start);
        assert_problems(adaptive.with_maximum(19).validate(), start);
        assert_problems(adaptive.with_maximum(3).validate(), start);
        assert_problems(
            adaptive.with_multiple(Ratio::ONE).validate(),
            [Problem::ConcurrencyMultipleTooSmall],
        );
        for decrease in [Ratio::ZERO, Ratio::ONE, Ratio::percent(101)] {
            assert_problems(
                adaptive.with_decrease(decrease).validate(),
                [Problem::ConcurrencyDecreaseOutOfRange],
            );
        }
        assert_problems(adaptive.validate(), []);
    }

    //
    #[test]
    fn a_limit_of_nothing_is_refused() {
        let range = [Problem::ConcurrencyOutOfRange];
        assert_problems(Concurrency::fixed(0).validate(), range);
        assert_problems(Concurrency::fixed(Concurrency::MOST + 1).validate(), range);
        assert_problems(Concurrency::fixed(Concurrency::MOST).validate(), []);
        assert_problems(Concurrency::ADAPTIVE.with_minimum(0).validate(), range);
        assert_problems(Rate::per_second(0).validate(), [Problem::NoRate]);
        assert_problems(
            Rate::per_second(3).with_burst(0).validate(),
            [Problem::NoRateBurst],
        );
    }

    // core-09.18
    #[test]
    fn an_impossible_window_is_refused() {
        let nothing = Rate::per_window(0, Duration::from_nanos(7));
        assert_problems(
            nothing.validate(),
            [Problem::NoRate, Problem::RateWindowTooShort],
        );
        assert_problems(Rate::per_window(1, Duration::MAX).validate(), []);
    }

    #[test]
    fn an_impossible_throttle_is_refused() {
        let throttle = Throttle::DEFAULT
            .with_multiple(Ratio::ONE)
            .with_window(Duration::ZERO);
        assert_problems(
            throttle.validate(),
            [
                Problem::ThrottleMultipleTooSmall,
                Problem::ZeroThrottleWindow,
            ],
        );
        for cap in [Ratio::ZERO, Ratio::percent(101)] {
            assert_problems(
                Throttle::DEFAULT.with_cap(cap).validate(),
                [Problem::ThrottleCapOutOfRange],
            );
        }
        let bare = Throttle::DEFAULT
            .with_cap(Ratio::ONE)
            .with_minimum_requests(0);
        assert_problems(bare.validate(), []);
    }
}
