//! What a closed circuit breaker has seen, and when that is enough.

use core::time::Duration;

use crate::math::rate_window::RateWindow;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;
use crate::memory::{Memory, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;

/// Failures in a row, and the outcomes of the window.
///
/// Its words stand apart from the breaker's own: outcomes write here all the
/// time, while admission only reads there.
pub(super) struct Evidence<M: Memory> {
    consecutive: M::U32,
    /// What failed of late, and what is normal.
    window: RateWindow<M>,
    /// Worked out once: it takes divisions, and every success asks for it.
    law: Option<RelativeTrip>,
}

impl<M: Memory> Evidence<M> {
    pub(super) const fn new(settings: &Breaker) -> Self {
        Self {
            consecutive: M::U32::ZERO,
            window: RateWindow::new(
                settings.window(),
                match settings.baseline() {
                    Some(baseline) => baseline,
                    None => settings.window(),
                },
            ),
            law: settings.relative_failures(),
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
        let has_window = self.has_window(settings);
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
        let counts = self.window.trip(now);
        let total = counts.total();
        if total < u64::from(settings.minimum_calls()) {
            return false;
        }
        let failing = settings
            .failure_ratio()
            .is_some_and(|ratio| ratio.is_reached(counts.failures(), total));
        let slow = settings.slow_call().is_some()
            && settings.slow_ratio().is_reached(counts.slow(), total);
        let is_abnormal = || {
            self.law
                .is_some_and(|law| law.is_met(counts, self.window.baseline(now)))
        };
        failing || slow || is_abnormal()
    }

    /// Returns the share of failures that is normal, once that is known.
    pub(super) fn normal_failure_rate(&self, now: Instant) -> Option<Ratio> {
        let law = self.law?;
        let normal = self.window.baseline(now);
        if normal.total() < law.minimum_baseline().into() {
            return None;
        }
        normal.failure_ratio()
    }

    /// Forgets everything but what is normal.
    ///
    /// An outcome that is being counted just now may survive.
    pub(super) fn forget(&self, settings: &Breaker) {
        self.consecutive.store(0);
        if self.has_window(settings) {
            self.window.forget_trip();
        }
    }

    /// Forgets what is normal, too.
    pub(super) fn forget_all(&self) {
        self.consecutive.store(0);
        self.window.forget();
    }

    const fn has_window(&self, settings: &Breaker) -> bool {
        self.law.is_some() || settings.failure_ratio().is_some() || settings.slow_call().is_some()
    }
}

/// Tells whether a success that took so long is slow.
pub(super) fn is_slow(settings: &Breaker, took: Duration) -> bool {
    settings
        .slow_call()
        .is_some_and(|threshold| took >= threshold)
}
