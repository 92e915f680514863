//! Why a call ended.

use core::fmt;

/// Why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// An outcome was accepted.
    Succeeded,
    /// The outcome would come again, so it was not retried.
    Permanent,
    /// Every allowed attempt was made.
    AttemptsExhausted,
    /// The deadline was reached, or the next attempt could not start before it.
    DeadlineExceeded,
    /// The retry budget had no token left.
    BudgetExhausted,
    /// The circuit breaker refused.
    DependencyUnavailable,
    /// The dependency asked for a longer pause than the policy allows.
    Throttled,
    /// The hook before an attempt failed; the attempt was not made.
    Setup,
    /// This process, or its guard, is about to stop, so the failure was not retried.
    Draining,
}

impl Reason {
    /// Returns the name, as texts use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Permanent => "Permanent",
            Self::AttemptsExhausted => "AttemptsExhausted",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::BudgetExhausted => "BudgetExhausted",
            Self::DependencyUnavailable => "DependencyUnavailable",
            Self::Throttled => "Throttled",
            Self::Setup => "Setup",
            Self::Draining => "Draining",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
