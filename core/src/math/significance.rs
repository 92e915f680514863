//! When failures are more than chance above what is normal.

use crate::math::ratio::Ratio;
use crate::math::rolling_counts::Counts;

/// When recent failures are too many, measured by the time before.
///
/// All of this has to hold: enough calls in both windows; two failures; at
/// least [`RelativeTrip::floor`] of the calls failed, and at least
/// [`RelativeTrip::multiple`] of the normal share, or all of them where that is
/// more than all; and the failures exceed the expected number `mu` by so many
/// times the deviation that chance gives both, the window and the baseline.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, RateWindow, RelativeTrip};
///
/// let window = <RateWindow>::new(Duration::from_secs(30), Duration::from_secs(300));
/// let law = RelativeTrip::DEFAULT;
///
/// let start = Instant::ZERO;
/// (0..1_000).for_each(|call| window.record(start, call % 100 == 0, false));
/// let now = start.saturating_add(Duration::from_secs(30));
/// (0..20).for_each(|call| window.record(now, call < 7, false));
/// assert!(law.is_met(window.trip(now), window.baseline(now)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelativeTrip {
    multiple: Ratio,
    floor: Ratio,
    minimum_calls: u32,
    minimum_baseline: u32,
    deviations: u8,
}

impl RelativeTrip {
    /// Five times the normal share, at least 5 %, and five deviations.
    ///
    /// Judges 20 calls or more by at least 100. Two failures in 20 calls are
    /// chance: at one call a second of which 1 % fail they come together a
    /// hundred times a day, while five deviations never did.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::times(5),
        floor: Ratio::percent(5),
        minimum_calls: 20,
        minimum_baseline: 100,
        deviations: 5,
    };

    /// Sets how many times the normal share is too much.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Sets the share of failures below which nothing is too much.
    #[must_use]
    pub const fn with_floor(self, floor: Ratio) -> Self {
        Self { floor, ..self }
    }

    /// Sets how many recent calls, and how many before, it needs.
    #[must_use]
    pub const fn with_minimum(self, calls: u32, baseline: u32) -> Self {
        Self {
            minimum_calls: calls,
            minimum_baseline: baseline,
            ..self
        }
    }

    /// Sets how many deviations above the expected number count; 0 asks none.
    #[must_use]
    pub const fn with_deviations(self, deviations: u8) -> Self {
        Self { deviations, ..self }
    }

    /// Returns how many times the normal share is too much.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the share of failures below which nothing is too much.
    #[must_use]
    pub const fn floor(&self) -> Ratio {
        self.floor
    }

    /// Returns how many recent calls it needs.
    #[must_use]
    pub const fn minimum_calls(&self) -> u32 {
        self.minimum_calls
    }

    /// Returns how many earlier calls it needs.
    #[must_use]
    pub const fn minimum_baseline(&self) -> u32 {
        self.minimum_baseline
    }

    /// Returns how many deviations it asks, 0 for none.
    #[must_use]
    pub const fn deviations(&self) -> u8 {
        self.deviations
    }

    /// Tells whether the recent failures are too many.
    #[must_use]
    pub const fn is_met(&self, recent: Counts, normal: Counts) -> bool {
        if recent.failures() < 2
            || recent.total() < self.minimum_calls as u64
            || normal.total() == 0
            || normal.total() < self.minimum_baseline as u64
        {
            return false;
        }
        let recent = Share::of(recent, RECENT_BITS);
        let normal = Share::of(normal, NORMAL_BITS);
        self.floor.is_reached(recent.part, recent.whole)
            && recent.is_multiple_of(self.multiple, normal)
            && recent.is_significant(self.deviations, normal)
    }
}

impl Default for RelativeTrip {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Failures of calls; products of two shares fit 64 bits, their squares 128.
#[derive(Clone, Copy)]
struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    /// Scales both down until the whole has so many bits.
    const fn of(counts: Counts, bits: u32) -> Self {
        let used = 64_u32.saturating_sub(counts.total().leading_zeros());
        let shift = used.saturating_sub(bits);
        Self {
            part: counts.failures() >> shift,
            whole: counts.total() >> shift,
        }
    }

    /// Tells whether this is at least so many times `normal`, or everything.
    ///
    /// More than everything cannot fail.
    const fn is_multiple_of(self, multiple: Ratio, normal: Self) -> bool {
        self.part >= self.whole
            || multiple.is_reached(
                self.part.saturating_mul(normal.whole),
                normal.part.saturating_mul(self.whole),
            )
    }

    /// Tells whether `part >= mu + deviations * sqrt(mu + 1 + v)`, where `mu` is
    /// `whole * normal.part / normal.whole` and `v` what chance in the normal
    /// share adds: `whole^2 * (normal.part + 1) / normal.whole^2`.
    ///
    /// Squared and multiplied out, so there is neither root nor division. The
    /// ones keep a normal share of zero, which may be luck, from convicting at
    /// once. Without `v` a young process convicts by the luck of its first calls.
    const fn is_significant(self, deviations: u8, normal: Self) -> bool {
        if deviations == 0 {
            return true;
        }
        let seen = self.part.saturating_mul(normal.whole);
        let expected = self.whole.saturating_mul(normal.part);
        let Some(excess) = seen.checked_sub(expected) else {
            return false;
        };
        let of_recent =
            (expected.saturating_add(normal.whole) as u128).saturating_mul(normal.whole as u128);
        let whole = self.whole as u128;
        let of_normal = whole
            .saturating_mul(whole)
            .saturating_mul(normal.part.saturating_add(1) as u128);
        let variance = of_recent.saturating_add(of_normal);
        let squares = (deviations as u128).saturating_mul(deviations as u128);
        (excess as u128).saturating_mul(excess as u128) >= variance.saturating_mul(squares)
    }
}

/// Ten slices of 2^31 calls, all that a window can hold.
const RECENT_BITS: u32 = 35;
/// A normal share to eight digits.
const NORMAL_BITS: u32 = 28;

#[cfg(test)]
mod tests;
