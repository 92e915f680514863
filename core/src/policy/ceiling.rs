//! The attempt ceiling: a bound measured by the dependency itself.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::time::nanos;

/// How long an attempt may take by what is normal for the dependency.
///
/// A multiple of a high quantile of recent successes. It only lowers the attempt
/// timeout, and without enough samples it bounds nothing. Now and then, after some
/// were cut, an attempt gets more, so that a dependency or a part of it that became
/// slower is not cut off: see [`Estimates`](crate::Estimates).
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{AttemptCeiling, Policy, Ratio};
///
/// const SEARCH: Policy = Policy::DEFAULT.with_attempt_ceiling(
///     AttemptCeiling::DEFAULT
///         .with_multiple(Ratio::times(5))
///         .with_floor(Duration::from_millis(20)),
/// );
/// assert!(SEARCH.validate().is_ok());
/// assert_eq!(
///     AttemptCeiling::DEFAULT.bound(Duration::from_millis(100)),
///     Duration::from_millis(300),
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptCeiling {
    multiple: Ratio,
    quantile: Ratio,
    minimum_samples: u32,
    floor: Duration,
}

impl AttemptCeiling {
    /// Three times the p95, once 20 successes are known, at least 50 ms.
    ///
    /// What takes three times as long as 95 of 100 others hardly comes any more.
    /// Twenty samples are the fewest of which a p95 is not simply the largest.
    /// 50 ms are nothing to a caller, and outlast a retransmission in a data
    /// centre.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::times(3),
        quantile: Ratio::percent(95),
        minimum_samples: 20,
        floor: Duration::from_millis(50),
    };

    /// Returns the law with another multiple of the quantile, above 1.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the law with another quantile, from 50 % to 99 %.
    #[must_use]
    pub const fn with_quantile(self, quantile: Ratio) -> Self {
        Self { quantile, ..self }
    }

    /// Returns the law with another number of successes it needs.
    #[must_use]
    pub const fn with_minimum_samples(self, samples: u32) -> Self {
        Self {
            minimum_samples: samples,
            ..self
        }
    }

    /// Returns the law with another least time that it leaves an attempt.
    #[must_use]
    pub const fn with_floor(self, floor: Duration) -> Self {
        Self { floor, ..self }
    }

    /// Returns the multiple of the quantile.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the quantile of recent successes.
    #[must_use]
    pub const fn quantile(&self) -> Ratio {
        self.quantile
    }

    /// Returns how many successes it needs.
    #[must_use]
    pub const fn minimum_samples(&self) -> u32 {
        self.minimum_samples
    }

    /// Returns the least time that it leaves an attempt.
    #[must_use]
    pub const fn floor(&self) -> Duration {
        self.floor
    }

    /// Returns the bound where the quantile reads `tail`.
    #[must_use]
    pub const fn bound(&self, tail: Duration) -> Duration {
        Duration::from_nanos(self.bound_nanos(nanos(tail)))
    }

    pub(crate) const fn bound_nanos(&self, tail: u64) -> u64 {
        let bound = self.multiple.of(tail);
        let floor = nanos(self.floor);
        if bound > floor { bound } else { floor }
    }
}

impl Default for AttemptCeiling {
    fn default() -> Self {
        Self::DEFAULT
    }
}
