//! Every bound of a call, as one value.

use core::time::Duration;

use super::backoff::Backoff;
use super::breaker::Breaker;
use super::budget::Budget;

/// Every bound of a call, as one plain value.
///
/// Derive variants with `with_*`; there is no builder and no order of layers.
/// A guard validates it: in a `static` an impossible policy does not compile.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, Policy};
///
/// const PAYMENTS: Policy = Policy::DEFAULT
///     .with_name("payments")
///     .with_deadline(Duration::from_secs(10))
///     .with_breaker(Breaker::DEFAULT);
///
/// assert_eq!(PAYMENTS.attempts(), 3);
/// assert!(PAYMENTS.validate().is_ok());
/// assert!(PAYMENTS.with_attempts(0).validate().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    name: Option<&'static str>,
    attempts: u32,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    backoff: Backoff,
    budget: Budget,
    breaker: Option<Breaker>,
}

impl Policy {
    /// One bare attempt: no bound, no retry, nothing measured.
    pub const NONE: Self = Self {
        name: None,
        attempts: 1,
        deadline: None,
        attempt_timeout: None,
        backoff: Backoff::NONE,
        budget: Budget::NONE,
        breaker: None,
    };

    /// Three attempts of at most 10 s within 30 s, backing off, on a budget.
    ///
    /// Three attempts ride out one bad replica and one unlucky moment; a fourth
    /// mostly adds load to an outage. 30 s is where interactive callers have
    /// left; 10 s lets three attempts share it. No breaker: which failures
    /// belong together is yours to say, see [`Policy::with_breaker`].
    pub const DEFAULT: Self = Self {
        name: None,
        attempts: 3,
        deadline: Some(Duration::from_secs(30)),
        attempt_timeout: Some(Duration::from_secs(10)),
        backoff: Backoff::DEFAULT,
        budget: Budget::DEFAULT,
        breaker: None,
    };

    /// Returns the policy with a name, which events, errors and `explain` show.
    #[must_use]
    pub const fn with_name(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// Returns the policy with a number of attempts, the first included.
    #[must_use]
    pub const fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Returns the policy with a bound for the whole call, waits included.
    ///
    /// [`Duration::MAX`] means no bound.
    #[must_use]
    pub const fn with_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: bound(deadline),
            ..self
        }
    }

    /// Returns the policy with no bound for the whole call.
    #[must_use]
    pub const fn without_deadline(self) -> Self {
        Self {
            deadline: None,
            ..self
        }
    }

    /// Returns the policy with a bound for each attempt.
    ///
    /// [`Duration::MAX`] means no bound.
    #[must_use]
    pub const fn with_attempt_timeout(self, timeout: Duration) -> Self {
        Self {
            attempt_timeout: bound(timeout),
            ..self
        }
    }

    /// Returns the policy with no bound for each attempt.
    #[must_use]
    pub const fn without_attempt_timeout(self) -> Self {
        Self {
            attempt_timeout: None,
            ..self
        }
    }

    /// Returns the policy with a rule for the waits between attempts.
    #[must_use]
    pub const fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Returns the policy with a retry budget.
    #[must_use]
    pub const fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Returns the policy with a circuit breaker.
    #[must_use]
    pub const fn with_breaker(self, breaker: Breaker) -> Self {
        Self {
            breaker: Some(breaker),
            ..self
        }
    }

    /// Returns the policy without a circuit breaker.
    #[must_use]
    pub const fn without_breaker(self) -> Self {
        Self {
            breaker: None,
            ..self
        }
    }

    /// Returns the name, if it has one.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Returns how many attempts a call may make, the first included.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the bound of the whole call; `None` is no bound.
    #[must_use]
    pub const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Returns the bound of each attempt; `None` is no bound.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Option<Duration> {
        self.attempt_timeout
    }

    /// Returns the rule for the waits between attempts.
    #[must_use]
    pub const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// Returns the law of the retry budget.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns the settings of the circuit breaker, if there is one.
    #[must_use]
    pub const fn breaker(&self) -> Option<&Breaker> {
        self.breaker.as_ref()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// "Never" has one spelling, so that equality means something.
const fn bound(span: Duration) -> Option<Duration> {
    if span.as_secs() == u64::MAX {
        None
    } else {
        Some(span)
    }
}
