//! What a breaker measures by what is normal for the dependency.

use core::time::Duration;

use super::Breaker;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;
use crate::policy::slow_trip::SlowTrip;
use crate::time::nanos;

impl Breaker {
    /// Returns the settings with a law of failures measured by what is normal.
    ///
    /// Normal is what the attempts of the `baseline` before the window showed.
    /// It has to be at least twice as long as the window times the multiple, or
    /// a slow rise would become normal before it opens. Where the law and
    /// [`Breaker::with_window`] ask for different minima of recent attempts, the
    /// larger one counts.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Breaker, Ratio, RelativeTrip};
    ///
    /// const CAUTIOUS: Breaker = Breaker::DEFAULT.with_relative_failures(
    ///     RelativeTrip::DEFAULT.with_multiple(Ratio::times(10)),
    ///     Duration::from_secs(600),
    /// );
    /// assert!(CAUTIOUS.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn with_relative_failures(self, law: RelativeTrip, baseline: Duration) -> Self {
        Self {
            relative_failures: Some(law),
            baseline: Some(baseline),
            ..self
        }
    }

    /// Returns the settings with failures not measured by what is normal.
    #[must_use]
    pub const fn without_relative_failures(self) -> Self {
        Self {
            relative_failures: None,
            baseline: None,
            ..self
        }
    }

    /// Returns the settings with slow successes measured by what is normal.
    ///
    /// Normal is what the successes of the last `baseline` took, those in the
    /// window included. Its share of the quantile has to be at least twice the
    /// share of slow ones that opens of the window, or a dependency that slows
    /// down would be normal before it opens. With a constant threshold as well,
    /// the shorter one counts.
    ///
    /// Memory that measures nothing, [`Unmeasured`](crate::Unmeasured), never
    /// finds anything slow by this law.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Breaker, Ratio, SlowTrip};
    ///
    /// const TOLERANT: Breaker = Breaker::DEFAULT.with_relative_slow_calls(
    ///     SlowTrip::DEFAULT.with_multiple(Ratio::times(10)),
    ///     Duration::from_secs(300),
    /// );
    /// assert!(TOLERANT.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn with_relative_slow_calls(self, law: SlowTrip, baseline: Duration) -> Self {
        Self {
            relative_slow_calls: Some(law),
            slow_baseline: Some(baseline),
            ..self
        }
    }

    /// Returns the settings with slow successes not measured by what is normal.
    #[must_use]
    pub const fn without_relative_slow_calls(self) -> Self {
        Self {
            relative_slow_calls: None,
            slow_baseline: None,
            ..self
        }
    }

    /// Returns the settings with what is normal measured, or not.
    ///
    /// Without it the breaker holds to constants: both laws that are on by
    /// default are off. One that was asked for, with
    /// [`Breaker::with_relative_failures`] or
    /// [`Breaker::with_relative_slow_calls`], contradicts that in either order and
    /// makes the settings impossible.
    ///
    /// ```
    /// use steadfast_core::Breaker;
    ///
    /// const CONSTANT: Breaker = Breaker::DEFAULT.with_adaptive(false);
    /// assert_eq!(CONSTANT.relative_failures(), None);
    /// assert_eq!(CONSTANT.relative_slow_calls(), None);
    /// ```
    #[must_use]
    pub const fn with_adaptive(self, adaptive: bool) -> Self {
        Self { adaptive, ..self }
    }

    /// Tells whether what is normal may be measured.
    #[must_use]
    pub const fn is_adaptive(&self) -> bool {
        self.adaptive
    }

    /// Returns when failures are too many by what is normal, if that counts.
    ///
    /// Its minimum of recent attempts is at least
    /// [`Breaker::minimum_calls`].
    #[must_use]
    pub const fn relative_failures(&self) -> Option<RelativeTrip> {
        match (self.relative_failures, self.baseline()) {
            (Some(law), Some(_)) => {
                let (own, least) = (law.minimum_calls(), self.minimum_calls);
                let calls = if own > least { own } else { least };
                Some(law.with_minimum(calls, law.minimum_baseline()))
            }
            _ => None,
        }
    }

    /// Returns how long the baseline is before the window, if there is one.
    ///
    /// Unless chosen, 5 min, or as long as a longer window asks for: twice the
    /// window times the multiple, and a second. Where that is above an hour,
    /// nothing is measured by what is normal.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::Breaker;
    ///
    /// let baseline = |window| {
    ///     let breaker = Breaker::DEFAULT.with_window(Duration::from_secs(window), 20);
    ///     breaker.baseline().map(|span| span.as_secs())
    /// };
    /// assert_eq!([30, 60, 420].map(baseline), [Some(300), Some(601), None]);
    /// ```
    #[must_use]
    pub const fn baseline(&self) -> Option<Duration> {
        match (self.relative_failures, self.baseline) {
            (Some(_), Some(chosen)) => Some(chosen),
            (Some(law), None) if self.adaptive => {
                usual(law.multiple().of(nanos(self.window).saturating_mul(2)) as u128)
            }
            _ => None,
        }
    }

    /// Returns which successes are slow by what is normal, if that counts.
    #[must_use]
    pub const fn relative_slow_calls(&self) -> Option<SlowTrip> {
        match self.slow_baseline() {
            Some(_) => self.relative_slow_calls,
            None => None,
        }
    }

    /// Returns over how long the normal latency is measured, if it is.
    ///
    /// Unless chosen, 5 min, or as long as a longer window asks for: twice the
    /// slow ratio's share of it by the quantile, and a second. Where that is
    /// above an hour, nothing is measured by what is normal.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::Breaker;
    ///
    /// let baseline = |window| {
    ///     let breaker = Breaker::DEFAULT.with_window(Duration::from_secs(window), 20);
    ///     breaker.slow_baseline().map(|span| span.as_secs())
    /// };
    /// assert_eq!([60, 420, 1_801].map(baseline), [Some(300), Some(841), None]);
    /// ```
    #[must_use]
    pub const fn slow_baseline(&self) -> Option<Duration> {
        match (self.relative_slow_calls, self.slow_baseline) {
            (Some(_), Some(chosen)) => Some(chosen),
            (Some(law), None) if self.adaptive => {
                let slow = self.slow_ratio.of(nanos(self.window).saturating_mul(2));
                let millionths = (slow as u128).saturating_mul(Ratio::ONE.as_ppm() as u128);
                // Nobody chose another quantile than the half, so nothing is lost.
                match millionths.checked_div(law.quantile().as_ppm() as u128) {
                    Some(needed) => usual(needed),
                    None => None,
                }
            }
            _ => None,
        }
    }

    /// Tells for failures and for slow calls whether a law was asked for where
    /// nothing is measured.
    pub(in crate::policy) const fn contradictions(&self) -> (bool, bool) {
        let is_off = !self.adaptive;
        (
            is_off && self.baseline.is_some(),
            is_off && self.slow_baseline.is_some(),
        )
    }

    /// Tells for failures and for slow calls whether the window is too long for
    /// the usual law.
    pub(in crate::policy) const fn outgrown(&self) -> (bool, bool) {
        let is_on = self.adaptive;
        (
            is_on && self.relative_failures.is_some() && self.baseline().is_none(),
            is_on && self.relative_slow_calls.is_some() && self.slow_baseline().is_none(),
        )
    }
}

/// Returns the baseline that nobody chose, if one as long as needed makes sense.
const fn usual(needed: u128) -> Option<Duration> {
    if needed <= USUAL_BASELINE.as_nanos() {
        Some(USUAL_BASELINE)
    } else if needed <= LONGEST_BASELINE.as_nanos() {
        #[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
        let needed = Duration::from_nanos(needed as u64);
        Some(needed.saturating_add(Duration::from_secs(1)))
    } else {
        None
    }
}

/// Long enough to know a share of 1 % from one call a second, short enough to
/// follow the hours of a day.
pub(super) const USUAL_BASELINE: Duration = Duration::from_secs(300);
/// What is longer ago says nothing about now.
const LONGEST_BASELINE: Duration = Duration::from_secs(3_600);
