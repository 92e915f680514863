//! The settings of a concurrency limit.

use crate::math::ratio::Ratio;

/// How many attempts may be in flight at once.
///
/// Either a fixed number, or one that follows what the dependency can do: when
/// attempts take a multiple of what they take unloaded, they queue there, and
/// the limit shrinks; while it is used up and they do not, it grows.
///
/// ```
/// use steadfast_core::Concurrency;
///
/// assert!(Concurrency::fixed(8).is_fixed());
///
/// const ADAPTIVE: Concurrency = Concurrency::ADAPTIVE.with_maximum(64).checked();
/// assert_eq!((ADAPTIVE.minimum(), ADAPTIVE.initial(), ADAPTIVE.maximum()), (4, 20, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    initial: u32,
    minimum: u32,
    maximum: u32,
    multiple: Ratio,
    decrease: Ratio,
    baseline: Baseline,
}

/// How an adaptive limit learns what attempts take unloaded.
///
/// Whoever learns that from the traffic it limits learns the queue it causes:
/// under lasting load the queue becomes normal, and the limit grows.
///
/// ```
/// use steadfast_core::{Baseline, Concurrency};
///
/// const GENTLE: Concurrency = Concurrency::ADAPTIVE.with_baseline(Baseline::Tracked);
/// assert_ne!(GENTLE, Concurrency::ADAPTIVE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// By probes: twice a minute at most, and only while the limit is used up,
    /// it lets no more than its minimum through until 16 attempts have told.
    ///
    /// That takes some round trips, in which it refuses more. It does not drift:
    /// ten minutes of 1.5 times the capacity keep attempts below twice their
    /// unloaded time. A service that becomes slower for good is learnt at the
    /// next probe.
    #[default]
    Probed,
    /// From the best of the last five minutes of the limited traffic itself.
    ///
    /// It never refuses for the sake of knowing, and it drifts: five minutes of
    /// load above the capacity teach it the queue, and again each five minutes,
    /// up to the maximum, which must be survivable. So does a start while the
    /// dependency already queues. A service that becomes slower for good holds it
    /// at its minimum for five minutes.
    Tracked,
}

impl Concurrency {
    /// A limit that follows the dependency: 20 at first, from 4 to 200.
    ///
    /// Twice the unloaded time means queueing, as nearly all services vary by
    /// less; a tenth less at a time keeps the limit close to what is right. Four
    /// at least keep a limit alive that everything is slow for.
    pub const ADAPTIVE: Self = Self {
        initial: 20,
        minimum: 4,
        maximum: 200,
        multiple: Ratio::times(2),
        decrease: Ratio::percent(90),
        baseline: Baseline::Probed,
    };

    /// The largest limit there can be, about 16.8 million.
    pub const MOST: u32 = (1 << 24) - 1;

    /// Lets at most `permits` in flight, from 1 to [`Concurrency::MOST`].
    #[must_use]
    pub const fn fixed(permits: u32) -> Self {
        Self {
            initial: permits,
            minimum: permits,
            maximum: permits,
            ..Self::ADAPTIVE
        }
    }

    /// Returns the settings with another limit to begin with.
    #[must_use]
    pub const fn with_initial(self, permits: u32) -> Self {
        Self {
            initial: permits,
            ..self
        }
    }

    /// Returns the settings with another floor of the limit, at least 1.
    #[must_use]
    pub const fn with_minimum(self, permits: u32) -> Self {
        Self {
            minimum: permits,
            ..self
        }
    }

    /// Returns the settings with another ceiling of the limit.
    #[must_use]
    pub const fn with_maximum(self, permits: u32) -> Self {
        Self {
            maximum: permits,
            ..self
        }
    }

    /// Returns the settings with another multiple of the unloaded time that
    /// means queueing; above 1.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the settings with what queueing leaves of the limit; between 0
    /// and 1.
    #[must_use]
    pub const fn with_decrease(self, decrease: Ratio) -> Self {
        Self { decrease, ..self }
    }

    /// Returns the settings with another way to learn the unloaded time.
    #[must_use]
    pub const fn with_baseline(self, baseline: Baseline) -> Self {
        Self { baseline, ..self }
    }

    /// Tells whether the limit never changes.
    #[must_use]
    pub const fn is_fixed(&self) -> bool {
        self.minimum == self.maximum
    }

    /// Returns the limit to begin with.
    #[must_use]
    pub const fn initial(&self) -> u32 {
        self.initial
    }

    /// Returns the floor of the limit.
    #[must_use]
    pub const fn minimum(&self) -> u32 {
        self.minimum
    }

    /// Returns the ceiling of the limit.
    #[must_use]
    pub const fn maximum(&self) -> u32 {
        self.maximum
    }

    /// Returns the multiple of the unloaded time that means queueing.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns what queueing leaves of the limit.
    #[must_use]
    pub const fn decrease(&self) -> Ratio {
        self.decrease
    }

    /// Returns how it learns the unloaded time.
    #[must_use]
    pub const fn baseline(&self) -> Baseline {
        self.baseline
    }
}
