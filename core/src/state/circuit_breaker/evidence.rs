//! What a closed circuit breaker has seen, and when that is enough.

use core::time::Duration;

use crate::math::rolling_counts::RollingCounts;
use crate::memory::{Memory, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;

/// Failures in a row, and the outcomes of the window.
///
/// Its words stand apart from the breaker's own: outcomes write here all the
/// time, while admission only reads there.
pub(super) struct Evidence<M: Memory> {
    consecutive: M::U32,
    window: RollingCounts<M>,
}

impl<M: Memory> Evidence<M> {
    pub(super) const fn new(settings: &Breaker) -> Self {
        Self {
            consecutive: M::U32::ZERO,
            window: RollingCounts::new(settings.window()),
        }
    }

    /// Counts an outcome, and tells whether the breaker has seen enough.
    ///
    /// A success can complete a window but never raises a share of failures, so
    /// only bad outcomes are worth a look. The failures in a row are those since
    /// the last success that somebody saw: threads may see it late.
    pub(super) fn convicts(
        &self,
        settings: &Breaker,
        now: Instant,
        failed: bool,
        slow: bool,
    ) -> bool {
        let has_window = has_window(settings);
        if has_window {
            self.window.record(now, failed, slow);
        }
        if failed {
            let in_a_row = self.consecutive.fetch_add(1).saturating_add(1);
            if in_a_row >= settings.consecutive_failures() {
                return true;
            }
        } else if self.consecutive.load() != 0 {
            // In health nothing is written here.
            self.consecutive.store(0);
        }
        (failed || slow) && has_window && self.is_window_bad(settings, now)
    }

    fn is_window_bad(&self, settings: &Breaker, now: Instant) -> bool {
        let counts = self.window.totals(now);
        let total = counts.total();
        if total < u64::from(settings.minimum_calls()) {
            return false;
        }
        let failing = settings
            .failure_ratio()
            .is_some_and(|ratio| ratio.is_reached(counts.failures(), total));
        let slow = settings.slow_call().is_some()
            && settings.slow_ratio().is_reached(counts.slow(), total);
        failing || slow
    }

    /// Forgets everything.
    ///
    /// An outcome that is being counted just now may survive.
    pub(super) fn forget(&self, settings: &Breaker) {
        self.consecutive.store(0);
        if has_window(settings) {
            self.window.clear();
        }
    }
}

/// Tells whether a success that took so long is slow.
pub(super) fn is_slow(settings: &Breaker, took: Duration) -> bool {
    settings
        .slow_call()
        .is_some_and(|threshold| took >= threshold)
}

const fn has_window(settings: &Breaker) -> bool {
    settings.failure_ratio().is_some() || settings.slow_call().is_some()
}
