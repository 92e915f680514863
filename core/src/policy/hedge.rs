//! When a slow attempt is raced by another copy.

use core::time::Duration;

use crate::math::ratio::Ratio;

/// When a slow attempt is raced by another copy.
///
/// A second copy starts when the first has taken longer than most recent ones,
/// and the first accepted result wins. How many may fly at once is the guard's
/// type to say: `HedgedGuard` has two lanes unless told otherwise.
///
/// The estimate takes in how long each attempt ran, failures, cuts and those that
/// lost a race too, but not the copies. When everything becomes slower it rises,
/// and nothing is hedged: a second copy would not help.
///
/// ```
/// use steadfast_core::{Hedge, Policy, Ratio, WinRate};
///
/// const SEARCH: Policy = Policy::DEFAULT.with_hedge(
///     Hedge::DEFAULT
///         .with_quantile(Ratio::percent(90))
///         .with_win_rate(WinRate::DEFAULT),
/// );
/// assert!(SEARCH.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    pub(super) quantile: Ratio,
    pub(super) window: Duration,
    pub(super) minimum_samples: u32,
    pub(super) minimum_delay: Duration,
    pub(super) suppress_at: Ratio,
    pub(super) win_rate: Option<WinRate>,
}

impl Hedge {
    /// Hedges at the p95 of the last 30 s, from 20 samples and 10 ms on.
    ///
    /// One attempt in twenty is hedged, so the extra load is 5 %. Thirty seconds
    /// follow a change before anybody notices. Below 10 ms a second copy costs
    /// more than it saves. It stops at half the failures that open the breaker.
    pub const DEFAULT: Self = Self {
        quantile: Ratio::percent(95),
        window: Duration::from_secs(30),
        minimum_samples: 20,
        minimum_delay: Duration::from_millis(10),
        suppress_at: Ratio::percent(50),
        win_rate: None,
    };

    /// Returns the law with another quantile, from 50 % to below 100 %.
    ///
    /// What is missing to 100 % is about the extra load.
    #[must_use]
    pub const fn with_quantile(self, quantile: Ratio) -> Self {
        Self { quantile, ..self }
    }

    /// Returns the law with another window of the estimate.
    #[must_use]
    pub const fn with_window(self, window: Duration) -> Self {
        Self { window, ..self }
    }

    /// Returns the law with another number of attempts it needs.
    #[must_use]
    pub const fn with_minimum_samples(self, samples: u32) -> Self {
        Self {
            minimum_samples: samples,
            ..self
        }
    }

    /// Returns the law with another least wait before a second copy.
    #[must_use]
    pub const fn with_minimum_delay(self, delay: Duration) -> Self {
        Self {
            minimum_delay: delay,
            ..self
        }
    }

    /// Returns the law with another share of the breaker's own limit of failures
    /// at which hedging stops.
    ///
    /// A dependency that fails more than usual must not get more load.
    #[must_use]
    pub const fn with_suppression(self, share: Ratio) -> Self {
        Self {
            suppress_at: share,
            ..self
        }
    }

    /// Returns the law with hedges held back when they seldom win.
    #[must_use]
    pub const fn with_win_rate(self, law: WinRate) -> Self {
        Self {
            win_rate: Some(law),
            ..self
        }
    }

    /// Returns the quantile at which a second copy starts.
    #[must_use]
    pub const fn quantile(&self) -> Ratio {
        self.quantile
    }

    /// Returns the window of the estimate.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// Returns how many attempts the estimate needs.
    #[must_use]
    pub const fn minimum_samples(&self) -> u32 {
        self.minimum_samples
    }

    /// Returns the least wait before a second copy.
    #[must_use]
    pub const fn minimum_delay(&self) -> Duration {
        self.minimum_delay
    }

    /// Returns the share of the breaker's limit of failures at which it stops.
    #[must_use]
    pub const fn suppression(&self) -> Ratio {
        self.suppress_at
    }

    /// Returns how hedges that seldom win are held back, if they are.
    #[must_use]
    pub const fn win_rate(&self) -> Option<WinRate> {
        self.win_rate
    }
}

impl Default for Hedge {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How hedges that seldom win are held back.
///
/// At each quarter of the window it looks at the hedges of the whole window.
/// When too few won it admits half as many as before, else a quarter more.
///
/// ```
/// use steadfast_core::{Ratio, WinRate};
///
/// let strict = WinRate::DEFAULT.with_minimum(Ratio::percent(50));
/// assert_ne!(strict, WinRate::DEFAULT);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WinRate {
    pub(super) minimum: Ratio,
    pub(super) window: Duration,
    pub(super) minimum_samples: u32,
    pub(super) minimum_allowance: Ratio,
}

impl WinRate {
    /// One hedge in five has to win, judged over a minute from ten hedges on.
    ///
    /// A second copy of a healthy dependency wins most of its races; at one in
    /// five four copies were made for nothing. One in twenty is still let
    /// through, so that it notices when hedging helps again.
    pub const DEFAULT: Self = Self {
        minimum: Ratio::percent(20),
        window: Duration::from_secs(60),
        minimum_samples: 10,
        minimum_allowance: Ratio::percent(5),
    };

    /// Returns the law with another share of hedges that have to win.
    #[must_use]
    pub const fn with_minimum(self, share: Ratio) -> Self {
        Self {
            minimum: share,
            ..self
        }
    }

    /// Returns the law with another window, and how many hedges it must hold.
    #[must_use]
    pub const fn with_window(self, window: Duration, minimum_samples: u32) -> Self {
        Self {
            window,
            minimum_samples,
            ..self
        }
    }

    /// Returns the law with another least share of hedges admitted.
    ///
    /// At zero it may stop hedging for as long as the window holds losses.
    #[must_use]
    pub const fn with_minimum_allowance(self, share: Ratio) -> Self {
        Self {
            minimum_allowance: share,
            ..self
        }
    }

    /// Returns the share of hedges that have to win.
    #[must_use]
    pub const fn minimum(&self) -> Ratio {
        self.minimum
    }

    /// Returns the window; a quarter of it is one decision.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// Returns how many hedges it needs to judge.
    #[must_use]
    pub const fn minimum_samples(&self) -> u32 {
        self.minimum_samples
    }

    /// Returns the least share of hedges admitted.
    #[must_use]
    pub const fn minimum_allowance(&self) -> Ratio {
        self.minimum_allowance
    }
}

impl Default for WinRate {
    fn default() -> Self {
        Self::DEFAULT
    }
}
