//! The law of a retry budget.

use crate::math::ratio::Ratio;

/// How many retries a guard may add to the load.
///
/// A success deposits a fraction of a token, a floor adds tokens per second, a
/// retry takes a whole one. The bucket starts full.
///
/// ```
/// use steadfast_core::{Budget, Ratio};
///
/// // One retry for five successes, ten a second when quiet.
/// let budget = Budget::new(Ratio::percent(20), 10);
/// assert_eq!(budget.burst(), 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    fraction: Ratio,
    per_second: u32,
    burst: u32,
    limited: bool,
}

impl Budget {
    /// No budget: every retry is funded.
    pub const NONE: Self = Self {
        fraction: Ratio::ZERO,
        per_second: 0,
        burst: 0,
        limited: false,
    };

    /// One retry for ten successes, three a second when quiet, 30 at once.
    ///
    /// A tenth more load is what a dependency near its limit can still bear;
    /// three a second let a process with little traffic retry at all.
    pub const REFERENCE: Self = Self::new(Ratio::percent(10), 3);

    /// What [`Policy::DEFAULT`](crate::Policy::DEFAULT) uses: [`Budget::REFERENCE`].
    pub const DEFAULT: Self = Self::REFERENCE;

    /// Makes a law: what a success deposits, and tokens per second.
    ///
    /// The burst is ten seconds of the floor, at least 1.
    #[must_use]
    pub const fn new(fraction: Ratio, per_second: u32) -> Self {
        let burst = per_second.saturating_mul(10);
        Self {
            fraction,
            per_second,
            burst: if burst == 0 { 1 } else { burst },
            limited: true,
        }
    }

    /// Returns the law with another size of the bucket, in tokens.
    #[must_use]
    pub const fn with_burst(self, tokens: u32) -> Self {
        Self {
            burst: tokens,
            ..self
        }
    }

    /// Tells whether there is a budget at all.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Returns what a success deposits, in tokens.
    #[must_use]
    pub const fn fraction(&self) -> Ratio {
        self.fraction
    }

    /// Returns the floor, in tokens per second.
    #[must_use]
    pub const fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Returns the size of the bucket, in tokens.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        self.burst
    }
}
