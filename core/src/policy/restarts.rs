//! How often a stream is resumed.

use core::time::Duration;

use crate::time::nanos;

/// How often a stream with a checkpoint is resumed after it broke.
///
/// Each time counts until the stream has been healthy for a while; then the count,
/// the waits and the call's deadline begin anew. So a feed that breaks once an hour
/// is read for ever, and one that breaks at once is given up. Where the deadline is
/// shorter than that while, a stream that flowed for the deadline is healthy. Neither
/// silence nor what the consumer does between two items counts.
///
/// Each takes a token of the retry budget, which ten items pay for. A feed that carries
/// less than that has what the budget gives a quiet program: by default one in 30 s.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Policy, Restarts};
///
/// const FEED: Policy = Policy::DEFAULT
///     .with_restarts(Restarts::at_most(5).with_healthy_after(Duration::from_secs(60)));
/// assert!(FEED.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    limit: u32,
    healthy_after: u64,
}

impl Restarts {
    /// Three in a row; a stream that flowed for 10 s is healthy.
    ///
    /// As many as the attempts of a call, and as long as the attempt timeout of
    /// [`Policy::DEFAULT`](crate::Policy::DEFAULT), so that one item and a gap do
    /// not count as health.
    pub const DEFAULT: Self = Self::at_most(3);

    /// None: a stream that breaks has ended.
    pub const NONE: Self = Self::at_most(0);

    /// Three in all, however long the stream is healthy between them.
    pub const REFERENCE: Self = Self::at_most(3).with_healthy_after(Duration::MAX);

    /// Makes a rule of a number in a row; 0 is none.
    #[must_use]
    pub const fn at_most(limit: u32) -> Self {
        Self {
            limit,
            healthy_after: nanos(Duration::from_secs(10)),
        }
    }

    /// Returns the rule with another time from the first item on after which a
    /// stream is healthy.
    ///
    /// [`Duration::MAX`] is never.
    #[must_use]
    pub const fn with_healthy_after(self, span: Duration) -> Self {
        Self {
            healthy_after: nanos(span),
            ..self
        }
    }

    /// Returns how many restarts may follow one another.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns for how long a stream flows until it is healthy.
    #[must_use]
    pub const fn healthy_after(&self) -> Duration {
        Duration::from_nanos(self.healthy_after)
    }

    /// Tells whether anything begins anew at all.
    pub(crate) const fn renews(&self) -> bool {
        self.healthy_after < u64::MAX
    }

    /// Tells whether a stream that has flowed for that long is healthy.
    #[must_use]
    pub const fn is_healthy(&self, span: Duration) -> bool {
        self.healthy_after < u64::MAX && nanos(span) >= self.healthy_after
    }
}

impl Default for Restarts {
    fn default() -> Self {
        Self::DEFAULT
    }
}
