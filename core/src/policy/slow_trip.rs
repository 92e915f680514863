//! When a success is too slow, measured by what is normal.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::time::nanos;

/// What a breaker calls slow, measured by the dependency's own latency.
///
/// Normal is the latency that a share of the successes does not exceed, the
/// quantile; from a multiple of it on a success is slow. How many slow ones open
/// is up to [`Breaker::slow_ratio`](crate::Breaker::slow_ratio).
///
/// **Two speeds.** A dependency that answers from a cache half of the time and
/// takes far longer otherwise has no normal latency in the middle. With 45 % of
/// slow successes in health it opens some times a day for nothing, with 49 % a
/// thousand times. [`SlowTrip::with_usual_share`] takes that into account; so
/// does a lower quantile where the fast half is the rarer one.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, Ratio, SlowTrip};
///
/// const CACHED: Breaker = Breaker::DEFAULT.with_relative_slow_calls(
///     SlowTrip::DEFAULT
///         .with_multiple(Ratio::times(5))
///         .with_usual_share(true),
///     Duration::from_secs(600),
/// );
/// assert!(CACHED.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowTrip {
    multiple: Ratio,
    quantile: Ratio,
    minimum: u32,
    floor: u64,
    allows_usual_share: bool,
}

impl SlowTrip {
    /// Slow from three times the median on, given 20 successes, and from a
    /// millisecond on.
    ///
    /// Half of all successes are as slow as that by chance in no dependency of
    /// one speed: with a spread as wide as a `sigma` of 1.5, where the slowest
    /// hundredth takes 33 times the median, a quarter is. The median moves only
    /// when half of the calls do, so a few hanging ones do not hide themselves.
    /// What takes microseconds takes three times as long when the processor is busy
    /// with something else; so much is the scheduler's, not the dependency's.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::times(3),
        quantile: Ratio::percent(50),
        minimum: 20,
        floor: nanos(Duration::from_millis(1)),
        allows_usual_share: false,
    };

    /// Sets from how many times the normal latency on a success is slow.
    ///
    /// Counts in steps of 1/4096.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Sets the share of the successes that the normal latency covers, at most
    /// half of them.
    #[must_use]
    pub const fn with_quantile(self, quantile: Ratio) -> Self {
        Self { quantile, ..self }
    }

    /// Sets how many successes it needs to know what is normal.
    ///
    /// A busy window counts only some of its samples, though never fewer than
    /// 20: with more than a thousand it may never know.
    #[must_use]
    pub const fn with_minimum(self, successes: u32) -> Self {
        Self {
            minimum: successes,
            ..self
        }
    }

    /// Sets what no success is called slow below.
    #[must_use]
    pub const fn with_floor(self, floor: Duration) -> Self {
        Self {
            floor: nanos(floor),
            ..self
        }
    }

    /// Sets whether a share of slow successes that is usual is allowed for.
    ///
    /// Then the ratio that opens is one of what is not usually slow: with 40 %
    /// usual and a ratio of half, 70 % open. Opening takes some seconds more.
    #[must_use]
    pub const fn with_usual_share(self, is_allowed_for: bool) -> Self {
        Self {
            allows_usual_share: is_allowed_for,
            ..self
        }
    }

    /// Returns from how many times the normal latency on a success is slow.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the share of the successes that the normal latency covers.
    #[must_use]
    pub const fn quantile(&self) -> Ratio {
        self.quantile
    }

    /// Returns how many successes it needs.
    #[must_use]
    pub const fn minimum(&self) -> u32 {
        self.minimum
    }

    /// Returns what no success is called slow below.
    #[must_use]
    pub const fn floor(&self) -> Duration {
        Duration::from_nanos(self.floor)
    }

    /// Tells whether a share of slow successes that is usual is allowed for.
    #[must_use]
    pub const fn allows_usual_share(&self) -> bool {
        self.allows_usual_share
    }
}

impl Default for SlowTrip {
    fn default() -> Self {
        Self::DEFAULT
    }
}
