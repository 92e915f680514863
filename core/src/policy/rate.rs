//! The settings of a rate limit.

use core::time::Duration;

use crate::time::nanos;

/// How many attempts may go out in a span of time.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::Rate;
///
/// // Ten a second on average, ten at once after a pause.
/// const SMOOTH: Rate = Rate::per_second(10).checked();
/// assert_eq!(SMOOTH.burst(), 10);
///
/// // A thousand a minute, at any time of it.
/// const QUOTA: Rate = Rate::per_window(1_000, Duration::from_secs(60)).checked();
/// assert_eq!(QUOTA.window(), Some(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    permits: u32,
    burst: u32,
    /// In nanoseconds; none means a bucket that gains `permits` a second.
    window: Option<u64>,
}

impl Rate {
    /// Lets `permits` a second out on average, and as many at once.
    ///
    /// A token bucket: a second of pause saves one second's worth, no more.
    #[must_use]
    pub const fn per_second(permits: u32) -> Self {
        Self {
            permits,
            burst: permits,
            window: None,
        }
    }

    /// Lets `permits` out in a window of this length that slides by eighths.
    ///
    /// A permit comes back when its eighth leaves the window, from seven eighths
    /// of it to all of it later. Where a quota must hold in any window of a
    /// minute, make this one an eighth longer: 68.6 s. At least 8 ns.
    #[must_use]
    pub const fn per_window(permits: u32, window: Duration) -> Self {
        Self {
            permits,
            burst: permits,
            window: Some(nanos(window)),
        }
    }

    /// Returns the settings with another number that may go out at once.
    ///
    /// Only [`Rate::per_second`] heeds it: what a window allows, it allows at
    /// once.
    #[must_use]
    pub const fn with_burst(self, permits: u32) -> Self {
        Self {
            burst: permits,
            ..self
        }
    }

    /// Returns how many may go out a second, or a window.
    #[must_use]
    pub const fn permits(&self) -> u32 {
        self.permits
    }

    /// Returns how many may go out at once.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        match self.window {
            Some(_) => self.permits,
            None => self.burst,
        }
    }

    /// Returns the window; none when permits are counted by the second.
    #[must_use]
    pub const fn window(&self) -> Option<Duration> {
        match self.window {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }
}
