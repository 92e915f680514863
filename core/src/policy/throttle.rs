//! The settings of an adaptive throttle.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::time::nanos;

/// How much may be sent to a dependency that turns much of it away.
///
/// Over a window it counts requests, also those it refuses itself, and accepts.
/// When requests exceed a multiple of the accepts, each further one is refused
/// with the probability `(requests - multiple * accepts) / (requests + 1)`, so
/// that what is sent stays near the multiple of what the dependency can take.
/// Where the newest fifth of the window alone gives less, that holds: so it does
/// not take windows to recover.
///
/// ```
/// use steadfast_core::{Ratio, Throttle};
///
/// const LENIENT: Throttle = Throttle::DEFAULT.with_multiple(Ratio::times(2)).checked();
/// assert_eq!(LENIENT.multiple(), Ratio::percent(200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    multiple: Ratio,
    /// In nanoseconds.
    window: u64,
    cap: Ratio,
    minimum_requests: u32,
}

impl Throttle {
    /// Sends a tenth more than is accepted, over half a minute.
    ///
    /// A multiple of 1.1 leaves a tenth of the dependency's work to be wasted on
    /// rejections. Twice, as is often advised, fits rejections that cost next to
    /// nothing; where one is a timeout it keeps an overload alive. Half a minute
    /// notices an outage in three seconds, and lets nine tenths through again a
    /// minute after its end; two minutes would take four times as long. A tenth
    /// always goes through, so that a recovery is noticed at all. Fewer than 20
    /// requests prove nothing.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::permille(1_100),
        window: 30_000_000_000,
        cap: Ratio::percent(90),
        minimum_requests: 20,
    };

    /// Returns the settings with another multiple of the accepts; above 1.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the settings with another window.
    ///
    /// It should be ten times as long as the slowest answer: what is unanswered
    /// for a tenth to a fifth of it counts as not accepted.
    #[must_use]
    pub const fn with_window(self, window: Duration) -> Self {
        Self {
            window: nanos(window),
            ..self
        }
    }

    /// Returns the settings with another greatest share to be refused.
    #[must_use]
    pub const fn with_cap(self, cap: Ratio) -> Self {
        Self { cap, ..self }
    }

    /// Returns the settings with another number of requests below which nothing
    /// is refused.
    #[must_use]
    pub const fn with_minimum_requests(self, requests: u32) -> Self {
        Self {
            minimum_requests: requests,
            ..self
        }
    }

    /// Returns the multiple of the accepts that may be sent.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the window.
    #[must_use]
    pub const fn window(&self) -> Duration {
        Duration::from_nanos(self.window)
    }

    /// Returns the greatest share to be refused.
    #[must_use]
    pub const fn cap(&self) -> Ratio {
        self.cap
    }

    /// Returns how many requests it takes to refuse one.
    #[must_use]
    pub const fn minimum_requests(&self) -> u32 {
        self.minimum_requests
    }
}
