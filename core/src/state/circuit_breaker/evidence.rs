//! What a circuit breaker has seen, and when that is enough.

use core::time::Duration;

use super::speed::Speed;
use crate::math::rate_window::RateWindow;
use crate::math::ratio::Ratio;
use crate::math::rolling_counts::Counts;
use crate::math::significance::RelativeTrip;
use crate::memory::{Memory, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;

/// Failures in a row, the outcomes of the window, and what is normal.
///
/// Its words stand apart from the breaker's own: outcomes write here all the
/// time, while admission only reads there.
pub(super) struct Evidence<M: Memory> {
    consecutive: M::U32,
    /// What failed of late, and what is normal.
    window: RateWindow<M>,
    speed: Speed<M>,
    /// Worked out once: it takes divisions, and every success asks for it.
    law: Option<RelativeTrip>,
    has_window: bool,
}

impl<M: Memory> Evidence<M> {
    pub(super) const fn new(settings: &Breaker) -> Self {
        let law = settings.relative_failures();
        let speed = Speed::new(settings);
        let baseline = match (settings.baseline(), settings.slow_baseline()) {
            (Some(baseline), _) | (None, Some(baseline)) => baseline,
            (None, None) => settings.window(),
        };
        Self {
            consecutive: M::U32::ZERO,
            window: RateWindow::new(settings.window(), baseline),
            has_window: law.is_some()
                || settings.failure_ratio().is_some()
                || speed.has_threshold(),
            speed,
            law,
        }
    }

    /// Counts a success in what is normal, and tells whether it is slow.
    pub(super) fn is_slow(&self, now: Instant, took: u64) -> bool {
        self.speed.is_slow(now, took)
    }

    /// Counts a success that nobody judges by.
    pub(super) fn count_success(&self, now: Instant) {
        if self.has_window {
            self.window.record(now, false, false);
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
        if self.has_window {
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
        (failed || slow) && self.has_window && self.is_window_bad(settings, now)
    }

    #[cold]
    fn is_window_bad(&self, settings: &Breaker, now: Instant) -> bool {
        let counts = self.window.trip(now);
        let total = counts.total();
        if total < u64::from(settings.minimum_calls()) {
            return false;
        }
        let failing = settings
            .failure_ratio()
            .is_some_and(|ratio| ratio.is_reached(counts.failures(), total));
        let is_abnormal = || {
            self.law
                .is_some_and(|law| law.is_met(counts, self.window.baseline(now)))
        };
        failing || self.is_slow_share_bad(settings, now, counts) || is_abnormal()
    }

    fn is_slow_share_bad(&self, settings: &Breaker, now: Instant, counts: Counts) -> bool {
        let ratio = settings.slow_ratio();
        // First the cheap question: what is usual only asks for more.
        if !self.speed.has_threshold() || !ratio.is_reached(counts.slow(), counts.total()) {
            return false;
        }
        match settings.relative_slow_calls() {
            Some(law) if law.allows_usual_share() => {
                let usual = self.window.baseline(now);
                usual.total() < law.minimum().into() || exceeds_usual(ratio, counts, usual)
            }
            _ => true,
        }
    }

    /// Tells whether failures are at least this share of what opens.
    pub(super) fn is_elevated(&self, settings: &Breaker, now: Instant, share: Ratio) -> bool {
        if !self.has_window {
            return false;
        }
        let counts = self.window.trip(now);
        if counts.total() < settings.minimum_calls().into() || counts.failures() < 2 {
            return false;
        }
        let relative = self
            .law
            .filter(|law| counts.total() >= law.minimum_calls().into())
            .and_then(|law| {
                let normal = u64::from(self.normal_failure_rate(now)?.as_ppm());
                let trip = law.multiple().of(normal).min(Ratio::ONE.as_ppm().into());
                let trip = Ratio::ppm(u32::try_from(trip).unwrap_or(u32::MAX));
                Some(trip.max(law.floor()))
            });
        let trip = match (settings.failure_ratio(), relative) {
            (Some(constant), Some(relative)) => constant.min(relative),
            (Some(trip), None) | (None, Some(trip)) => trip,
            (None, None) => return false,
        };
        let elevated = share.of(trip.as_ppm().into());
        let elevated = Ratio::ppm(u32::try_from(elevated).unwrap_or(u32::MAX));
        elevated.is_reached(counts.failures(), counts.total())
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

    /// Returns the normal latency, once that is known.
    pub(super) fn normal_latency(&self, now: Instant) -> Option<Duration> {
        self.speed.normal(now)
    }

    /// Forgets everything but what is normal.
    ///
    /// An outcome that is being counted just now may survive.
    pub(super) fn forget(&self) {
        self.consecutive.store(0);
        if self.has_window {
            self.window.forget_trip();
        }
    }

    /// Forgets what is normal, too.
    pub(super) fn forget_all(&self) {
        self.consecutive.store(0);
        self.window.forget();
        self.speed.forget();
    }
}

/// Tells whether at least this share of what is not usually slow is slow: with a
/// usual share `b`, whether `slow >= (b + (1 - b) * ratio) * total`.
fn exceeds_usual(ratio: Ratio, recent: Counts, usual: Counts) -> bool {
    let million = u128::from(Ratio::ONE.as_ppm());
    let (total, slow) = (u128::from(usual.total()), u128::from(usual.slow()));
    let rest = total
        .saturating_sub(slow)
        .saturating_mul(ratio.as_ppm().into());
    // No overflow: counts are below 2^35, a million below 2^20.
    let allowed = slow.saturating_mul(million).saturating_add(rest);
    u128::from(recent.slow())
        .saturating_mul(total)
        .saturating_mul(million)
        >= allowed.saturating_mul(recent.total().into())
}
