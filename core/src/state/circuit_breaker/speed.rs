//! Which successes are slow.

use core::time::Duration;

use crate::math::latency_window::LatencyWindow;
use crate::math::quantile::{Latency, Quantile};
use crate::math::ratio::Ratio;
use crate::memory::Memory;
use crate::memory::profile::Profile;
use crate::policy::breaker::Breaker;
use crate::time::{Instant, nanos};

/// What successes took of late, and from when on one is slow.
///
/// What is normal outlives every transition of the breaker. A dependency that
/// stays slow for longer than the baseline becomes normal: successes are not
/// refused for ever for being slower than they once were.
pub(super) struct Speed<M: Memory> {
    latencies: LatencyWindow<M, M::Profile>,
    normal: Quantile<M>,
    /// In units of 1/4096, so that no success takes a division; 0 if nothing is
    /// measured.
    multiple: u64,
    /// In nanoseconds: what is not slow by what is normal.
    floor: u64,
    /// In nanoseconds; the largest number without a threshold.
    constant: u64,
}

impl<M: Memory> Speed<M> {
    pub(super) const fn new(settings: &Breaker) -> Self {
        let constant = match settings.slow_call() {
            Some(threshold) => nanos(threshold),
            None => u64::MAX,
        };
        match (settings.relative_slow_calls(), settings.slow_baseline()) {
            (Some(law), Some(baseline)) if M::Profile::MEASURES => Self {
                latencies: LatencyWindow::new(baseline),
                normal: Quantile::new(law.quantile(), law.minimum()),
                multiple: law.multiple().of(UNIT),
                floor: nanos(law.floor()),
                constant,
            },
            _ => Self {
                latencies: LatencyWindow::new(Duration::ZERO),
                normal: Quantile::new(Ratio::ZERO, u32::MAX),
                multiple: 0,
                floor: 0,
                constant,
            },
        }
    }

    /// Tells whether any success can be slow.
    pub(super) const fn has_threshold(&self) -> bool {
        self.multiple > 0 || self.constant < u64::MAX
    }

    /// Counts a success, and tells whether it is slow.
    ///
    /// It is one of those that say what is normal: no single one moves that.
    pub(super) fn is_slow(&self, now: Instant, took: u64) -> bool {
        if self.multiple > 0 {
            self.latencies.record_nanos(now, took);
            if took < self.floor {
                return took >= self.constant;
            }
            self.is_abnormal(now, took)
        } else {
            self.constant < u64::MAX && took >= self.constant
        }
    }

    fn is_abnormal(&self, now: Instant, took: u64) -> bool {
        let Some(normal) = self.latency(now) else {
            return took >= self.constant;
        };
        let threshold = normal.middle_nanos().saturating_mul(self.multiple) / UNIT;
        // The last cell holds what is too long for the window: its middle says
        // nothing.
        let is_abnormal = took >= threshold && !LatencyWindow::<M, M::Profile>::is_last(normal);
        is_abnormal || took >= self.constant
    }

    /// Returns the normal latency, once that is known.
    pub(super) fn normal(&self, now: Instant) -> Option<Duration> {
        self.latency(now).map(Latency::middle)
    }

    fn latency(&self, now: Instant) -> Option<Latency> {
        if self.multiple == 0 {
            return None;
        }
        self.latencies.quantile(now, &self.normal)
    }

    /// Forgets what is normal.
    pub(super) fn forget(&self) {
        self.latencies.reset();
        self.normal.forget();
    }
}

const UNIT: u64 = 4_096;
