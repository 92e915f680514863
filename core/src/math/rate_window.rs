//! Outcomes of late, and what is normal.
//!
//! Two rings. What leaves the recent one by the swap of a rotation enters the
//! baseline, so a call is in one of them, never in both: a baseline that holds
//! the very failures it is compared with would hide them, in a young process
//! for good.

use core::time::Duration;

use crate::math::rolling_counts::{Counts, RollingCounts};
use crate::memory::{Memory, Shared};
use crate::time::Instant;

/// Counts of a recent window and of the longer time before it.
///
/// The recent window covers between nine tenths of its length and all of it.
/// The baseline holds no call that is younger than that.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, RateWindow};
///
/// const TRIP: Duration = Duration::from_secs(30);
/// static WINDOW: RateWindow = RateWindow::new(TRIP, Duration::from_secs(300));
///
/// let now = Instant::ZERO;
/// WINDOW.record(now, true, false);
/// assert_eq!((WINDOW.trip(now).total(), WINDOW.baseline(now).total()), (1, 0));
///
/// let later = now.saturating_add(TRIP);
/// assert_eq!((WINDOW.trip(later).total(), WINDOW.baseline(later).total()), (0, 1));
/// ```
#[derive(Debug)]
pub struct RateWindow<M: Memory = Shared, const S: usize = 10> {
    trip: RollingCounts<M, S>,
    baseline: RollingCounts<M, S>,
}

impl<M: Memory, const S: usize> RateWindow<M, S> {
    /// Makes an empty window of two lengths.
    #[must_use]
    pub const fn new(trip: Duration, baseline: Duration) -> Self {
        Self {
            trip: RollingCounts::new(trip),
            baseline: RollingCounts::new(baseline),
        }
    }

    /// Counts one call.
    pub fn record(&self, now: Instant, failed: bool, slow: bool) {
        if self.trip.is_over(now) {
            let _expired = self.advance(now);
        }
        self.trip.add(failed, slow);
    }

    /// Returns the counts of the recent window.
    #[must_use]
    pub fn trip(&self, now: Instant) -> Counts {
        let _expired = self.advance(now);
        self.trip.sum()
    }

    /// Returns the counts of the time before the recent window.
    #[must_use]
    pub fn baseline(&self, now: Instant) -> Counts {
        let _expired = self.advance(now);
        self.baseline.totals(now)
    }

    /// Forgets the recent window; none of it becomes normal.
    ///
    /// For a trip: an outage is not normal.
    pub fn forget_trip(&self) {
        self.trip.clear();
    }

    /// Forgets everything.
    pub fn forget(&self) {
        self.trip.clear();
        self.baseline.clear();
    }

    /// Moves the recent window to `now` and returns what fell out of the
    /// baseline by that.
    fn advance(&self, now: Instant) -> Counts {
        // What leaves was recorded before this end. After a pause it is as old
        // as that, not as young as now.
        let end = self.trip.end();
        let left = self.trip.advance(now);
        if left.total() == 0 {
            return Counts::default();
        }
        self.baseline.merge(end.min(now), left)
    }
}

#[cfg(test)]
mod tests;
