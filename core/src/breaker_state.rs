//! What a circuit breaker does right now.

use core::fmt;

/// What a circuit breaker does right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakerState {
    /// Lets everything through and watches.
    Closed,
    /// Refuses until the break is over.
    Open,
    /// Lets a few probes through to see whether the dependency is back.
    HalfOpen,
    /// Lets a growing share through: the dependency has just come back.
    Recovering,
    /// Refuses until it is reset: an operator said so.
    Isolated,
    /// Lets everything through and does not watch: an operator said so.
    Disabled,
}

impl BreakerState {
    /// Every state.
    pub(crate) const ALL: [Self; 6] = [
        Self::Closed,
        Self::Open,
        Self::HalfOpen,
        Self::Recovering,
        Self::Isolated,
        Self::Disabled,
    ];

    /// Returns the name, as texts use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
            Self::Recovering => "recovering",
            Self::Isolated => "isolated",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
