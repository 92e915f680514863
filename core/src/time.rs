//! Time as core sees it: one instant, one clock.

use core::time::Duration;

/// Nanoseconds since the epoch of the clock that read it.
///
/// Arithmetic saturates. Covers 584 years; [`Instant::MAX`] means "never".
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::Instant;
///
/// let start = Instant::ZERO;
/// let due = start.saturating_add(Duration::from_secs(2));
/// assert_eq!(due.saturating_since(start), Duration::from_secs(2));
/// assert_eq!(start.saturating_add(Duration::MAX), Instant::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The epoch of the clock.
    pub const ZERO: Self = Self(0);
    /// Never.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes the instant that lies `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the instant `span` later, at most [`Instant::MAX`].
    #[must_use]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// Returns the instant `span` earlier, at least [`Instant::ZERO`].
    #[must_use]
    pub const fn saturating_sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// Returns the instant so many nanoseconds later.
    ///
    /// The path of a call counts in nanoseconds: a `Duration` in between is a division
    /// and a multiplication.
    #[must_use]
    pub(crate) const fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Returns the nanoseconds since `earlier`, none when that lies ahead.
    #[must_use]
    pub(crate) const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time since `earlier`, zero when that lies ahead.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A source of monotonic time.
///
/// ```
/// use core::cell::Cell;
/// use steadfast_core::{Clock, Instant};
///
/// struct Ticks(Cell<u64>);
///
/// impl Clock for Ticks {
///     fn now(&self) -> Instant {
///         Instant::from_nanos(self.0.get() * 1_000)
///     }
/// }
///
/// assert_eq!(Ticks(Cell::new(3)).now().as_nanos(), 3_000);
/// ```
pub trait Clock {
    /// Reads the clock.
    fn now(&self) -> Instant;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Instant {
        (**self).now()
    }
}

/// Turns a duration into nanoseconds, saturating at 584 years.
#[must_use]
pub(crate) const fn nanos(span: Duration) -> u64 {
    span.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(span.subsec_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_instant_takes_every_duration(at: u64, secs: u64, sub in 0..1_000_000_000_u32) {
            let at = Instant::from_nanos(at);
            let span = Duration::new(secs, sub);
            let later = at.saturating_add(span);
            prop_assert!(later >= at);
            prop_assert!(at.saturating_sub(span) <= at);
            if later < Instant::MAX {
                prop_assert_eq!(later.saturating_since(at), span);
            }
        }
    }

    #[test]
    fn a_clock_that_steps_back_reads_zero() {
        let early = Instant::from_nanos(1);
        assert_eq!(early.saturating_since(Instant::MAX), Duration::ZERO);
    }
}
