//! When this process itself is what makes calls slow.

use core::time::Duration;

use crate::math::ratio::Ratio;

/// When a process is saturated: its own queue delays it, not the dependency.
///
/// What then looks like a slow dependency is this process waiting for its turn,
/// so nothing is learnt from it while that lasts. Measured is how long the
/// runtime lets a task wait; saturated is a wait that reaches both the floor and
/// a multiple of what is normal here.
///
/// A process that is always saturated learns that as normal.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Ratio, Saturation};
///
/// let saturation = Saturation::DEFAULT
///     .with_multiple(Ratio::times(10))
///     .with_floor(Duration::from_millis(50));
/// assert!(saturation.validate().is_ok());
/// assert_eq!(saturation.minimum_samples(), 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    multiple: Ratio,
    floor: Duration,
    minimum_samples: u32,
}

impl Saturation {
    /// Five times what is normal, at least 20 ms, with 20 samples.
    ///
    /// A queue is normally microseconds long, where five times is a trifle: 20 ms
    /// are what begins to show in the latency of a call over a network. At four
    /// probes a second 20 samples take five seconds.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::times(5),
        floor: Duration::from_millis(20),
        minimum_samples: 20,
    };

    /// How many probes a minute surely holds.
    ///
    /// Four a second, over the three quarters of it that are always covered.
    pub(crate) const MOST_SAMPLES: u32 = 180;

    /// Returns the rule with another multiple of the normal delay, above 1.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the rule with another delay below which nothing is saturated.
    #[must_use]
    pub const fn with_floor(self, floor: Duration) -> Self {
        Self { floor, ..self }
    }

    /// Returns the rule with another number of probes that tell what is normal,
    /// from 1 to 180 a minute.
    #[must_use]
    pub const fn with_minimum_samples(self, samples: u32) -> Self {
        Self {
            minimum_samples: samples,
            ..self
        }
    }

    /// Returns the multiple of the normal delay.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the delay below which nothing is saturated.
    #[must_use]
    pub const fn floor(&self) -> Duration {
        self.floor
    }

    /// Returns how many probes tell what is normal.
    #[must_use]
    pub const fn minimum_samples(&self) -> u32 {
        self.minimum_samples
    }
}

impl Default for Saturation {
    fn default() -> Self {
        Self::DEFAULT
    }
}
