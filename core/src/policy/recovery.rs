//! How a breaker lets the load come back.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::time::nanos;

/// A ramp after a break: at first a small share of the attempts, then all.
///
/// The share grows with time, from the first one to all. What comes back can
/// hold it down: a slow success halves it, and each row of fast ones, as many as
/// probes that close, adds the first share again. A failure opens at once.
///
/// A ramp refuses calls that a breaker which just closes would have let
/// through; it is for dependencies that fall over again under full load, with
/// cold caches or empty pools. One that stays slow for good holds the ramp down
/// for good, though never below the first share.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, Ratio, Recovery};
///
/// const WARMING_UP: Breaker = Breaker::DEFAULT.with_recovery(
///     Recovery::DEFAULT
///         .with_length(Ratio::ONE)
///         .with_initial(Ratio::percent(10)),
/// );
/// assert!(WARMING_UP.validate().is_ok());
///
/// let after = |secs| Recovery::DEFAULT.length_after(Duration::from_secs(secs)).as_millis();
/// assert_eq!([1, 15, 300].map(after), [1_000, 3_750, 30_000]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    length: Ratio,
    shortest: Duration,
    longest: Duration,
    initial: Ratio,
}

impl Recovery {
    /// A quarter of the break that was served, from 1 s to 30 s; at first 5 %.
    ///
    /// How long a dependency was away says how cold it is. Within a second the
    /// share would jump rather than grow, and half a minute fills any pool. 5 %
    /// are a load that a dependency which has just answered some probes bears,
    /// and a service of twenty calls a second still gets one of them through.
    pub const DEFAULT: Self = Self {
        length: Ratio::percent(25),
        shortest: Duration::from_secs(1),
        longest: Duration::from_secs(30),
        initial: Ratio::percent(5),
    };

    /// Sets the length of the ramp, as a share of the break that was served.
    #[must_use]
    pub const fn with_length(self, length: Ratio) -> Self {
        Self { length, ..self }
    }

    /// Sets the shortest and the longest ramp.
    #[must_use]
    pub const fn with_bounds(self, shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest,
            longest,
            ..self
        }
    }

    /// Sets the share that is let through first, and the step it grows by.
    #[must_use]
    pub const fn with_initial(self, initial: Ratio) -> Self {
        Self { initial, ..self }
    }

    /// Returns the length of the ramp, as a share of the break that was served.
    #[must_use]
    pub const fn length(&self) -> Ratio {
        self.length
    }

    /// Returns the shortest ramp.
    #[must_use]
    pub const fn shortest(&self) -> Duration {
        self.shortest
    }

    /// Returns the longest ramp.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns the share that is let through first, and the step it grows by.
    #[must_use]
    pub const fn initial(&self) -> Ratio {
        self.initial
    }

    /// Returns how long the ramp after a break is.
    #[must_use]
    pub const fn length_after(&self, served: Duration) -> Duration {
        let length = self.length.of(nanos(served));
        if length < nanos(self.shortest) {
            self.shortest
        } else if length > nanos(self.longest) {
            self.longest
        } else {
            Duration::from_nanos(length)
        }
    }

    /// Returns the share that is let through with so much of a ramp left,
    /// unless something holds it down.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Ratio, Recovery};
    ///
    /// let ramp = Duration::from_secs(4);
    /// let left = |secs| Recovery::DEFAULT.share(Duration::from_secs(secs), ramp);
    /// assert_eq!(left(4), Ratio::percent(5));
    /// assert_eq!(left(2), Ratio::permille(525));
    /// assert_eq!(left(0), Ratio::ONE);
    /// ```
    #[must_use]
    pub const fn share(&self, left: Duration, ramp: Duration) -> Ratio {
        let (left, ramp) = (nanos(left), nanos(ramp));
        if left == 0 {
            return Ratio::ONE;
        }
        // Down to 32 bits, so that the products need no more than 64.
        let shift = 32_u32.saturating_sub(ramp.leading_zeros());
        let elapsed = ramp.saturating_sub(left) >> shift;
        let whole = (Ratio::ONE.as_ppm() as u64).saturating_sub(self.initial.as_ppm() as u64);
        let grown = match whole.saturating_mul(elapsed).checked_div(ramp >> shift) {
            Some(grown) => grown,
            None => whole,
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most the whole less the first share"
        )]
        let grown = grown as u32;
        Ratio::ppm(self.initial.as_ppm().saturating_add(grown))
    }
}

impl Default for Recovery {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_share_grows_from_the_first_to_all(
            initial in 1..1_000_000_u32,
            ramp in 1..u64::MAX,
            left: u64,
            sooner: u64,
        ) {
            let recovery = Recovery::DEFAULT.with_initial(Ratio::ppm(initial));
            let share = |left| {
                recovery.share(Duration::from_nanos(left), Duration::from_nanos(ramp))
            };
            let (left, sooner) = (left % ramp, sooner % ramp);
            prop_assert!(share(left) >= recovery.initial() && share(left) <= Ratio::ONE);
            prop_assert_eq!(share(left) <= share(sooner), left >= sooner || share(left) == share(sooner));
            let exact = u128::from(initial)
                + u128::from(1_000_000 - initial) * u128::from(ramp - left) / u128::from(ramp);
            prop_assert!(exact.abs_diff(share(left).as_ppm().into()) <= 1);
        }
    }

    // core-07.18
    #[test]
    fn a_ramp_follows_the_break() {
        let ramp = Recovery::DEFAULT.length_after(Duration::from_secs(15));
        let share = |millis| {
            let elapsed = Duration::from_millis(millis);
            Recovery::DEFAULT.share(ramp.saturating_sub(elapsed), ramp)
        };
        assert_eq!(share(0), Ratio::percent(5));
        assert_eq!(share(1_875), Ratio::permille(525));
        assert!(share(3_749) < Ratio::ONE);
        assert_eq!(share(3_750), Ratio::ONE);
    }

    #[test]
    fn extremes_saturate() {
        let forever = Recovery::DEFAULT
            .with_length(Ratio::ppm(u32::MAX))
            .with_bounds(Duration::MAX, Duration::MAX);
        let ramp = forever.length_after(Duration::MAX);
        assert_eq!(nanos(ramp), u64::MAX);
        assert_eq!(forever.share(ramp, ramp), Ratio::percent(5));
        assert_eq!(forever.share(Duration::ZERO, ramp), Ratio::ONE);
        // A clock that stepped back.
        let second = Duration::from_secs(1);
        assert_eq!(forever.share(ramp, second), Ratio::percent(5));
        assert_eq!(forever.share(second, Duration::ZERO), Ratio::ONE);
    }
}
