//! Every bound of a call, as one value.

use core::time::Duration;

use super::backoff::Backoff;
use super::breaker::Breaker;
use super::budget::Budget;
use super::ceiling::AttemptCeiling;
use super::concurrency::Concurrency;
use super::hedge::Hedge;
use super::rate::Rate;
use super::restarts::Restarts;
use super::saturation::Saturation;
use super::throttle::Throttle;
use crate::time::nanos;

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
///
/// Two are equal when they do the same, whether a bound was chosen or is the
/// usual one.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub(super) name: Option<&'static str>,
    pub(super) attempts: u32,
    // In nanoseconds, as a call counts them; `NEVER` is no bound.
    pub(super) deadline: u64,
    pub(super) attempt_timeout: u64,
    pub(super) backoff: Backoff,
    pub(super) budget: Budget,
    pub(super) breaker: Option<Breaker>,
    pub(super) ceiling: Ceiling,
    pub(super) hedge: Option<Hedge>,
    pub(super) history: u64,
    pub(super) concurrency: Option<Concurrency>,
    pub(super) rate: Option<Rate>,
    pub(super) throttle: Option<Throttle>,
    pub(super) saturation: Option<Saturation>,
    pub(super) adaptive: bool,
    pub(super) restarts: Restarts,
    pub(super) gap: Gap,
    pub(super) ambient_deadline: bool,
    pub(super) ambient_criticality: bool,
}

impl Policy {
    /// One bare attempt: no bound, no retry, nothing measured.
    pub const NONE: Self = Self {
        name: None,
        attempts: 1,
        deadline: NEVER,
        attempt_timeout: NEVER,
        backoff: Backoff::NONE,
        budget: Budget::NONE,
        breaker: None,
        ceiling: Ceiling::Usual,
        hedge: None,
        history: USUAL_HISTORY,
        concurrency: None,
        rate: None,
        throttle: None,
        saturation: None,
        adaptive: false,
        restarts: Restarts::NONE,
        gap: Gap::Usual,
        ambient_deadline: false,
        ambient_criticality: false,
    };

    /// Three attempts of at most 10 s within 30 s, backing off, on a budget; an
    /// attempt that takes three times as long as it should is cut sooner.
    ///
    /// Three attempts ride out one bad replica and one unlucky moment; a fourth
    /// mostly adds load to an outage. 30 s is where interactive callers have
    /// left; 10 s lets three attempts share it. No breaker: which failures
    /// belong together is yours to say, see [`Policy::with_breaker`].
    pub const DEFAULT: Self = Self {
        name: None,
        attempts: 3,
        deadline: nanos(Duration::from_secs(30)),
        attempt_timeout: nanos(Duration::from_secs(10)),
        backoff: Backoff::DEFAULT,
        budget: Budget::DEFAULT,
        breaker: None,
        ceiling: Ceiling::Usual,
        hedge: None,
        history: USUAL_HISTORY,
        concurrency: None,
        rate: None,
        throttle: None,
        saturation: None,
        adaptive: true,
        restarts: Restarts::DEFAULT,
        gap: Gap::Usual,
        ambient_deadline: false,
        ambient_criticality: false,
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
            deadline: nanos(deadline),
            ..self
        }
    }

    /// Returns the policy with no bound for the whole call.
    #[must_use]
    pub const fn without_deadline(self) -> Self {
        Self {
            deadline: NEVER,
            ..self
        }
    }

    /// Returns the policy with a bound for each attempt.
    ///
    /// [`Duration::MAX`] means no bound.
    #[must_use]
    pub const fn with_attempt_timeout(self, timeout: Duration) -> Self {
        Self {
            attempt_timeout: nanos(timeout),
            ..self
        }
    }

    /// Returns the policy with no bound for each attempt.
    #[must_use]
    pub const fn without_attempt_timeout(self) -> Self {
        Self {
            attempt_timeout: NEVER,
            ..self
        }
    }

    /// Returns the policy with a measured bound for each attempt.
    ///
    /// It only lowers the attempt timeout; without one it bounds alone.
    /// [`Policy::DEFAULT`] has [`AttemptCeiling::DEFAULT`], for as long as its
    /// attempt timeout is above that one's floor.
    #[must_use]
    pub const fn with_attempt_ceiling(self, law: AttemptCeiling) -> Self {
        Self {
            ceiling: Ceiling::Chosen(law),
            ..self
        }
    }

    /// Returns the policy with each attempt bounded by constants only.
    #[must_use]
    pub const fn without_attempt_ceiling(self) -> Self {
        Self {
            ceiling: Ceiling::Off,
            ..self
        }
    }

    /// Returns the policy with slow attempts raced by another copy.
    ///
    /// Takes a guard with room for both: `HedgedGuard`. The operation runs more
    /// than once at a time; one that must not is called `once()`.
    #[must_use]
    pub const fn with_hedge(self, hedge: Hedge) -> Self {
        Self {
            hedge: Some(hedge),
            ..self
        }
    }

    /// Returns the policy without hedging.
    #[must_use]
    pub const fn without_hedge(self) -> Self {
        Self {
            hedge: None,
            ..self
        }
    }

    /// Returns the policy with another stretch of time that counts as recent.
    ///
    /// For the attempt ceiling and the measured base of the backoff, which learn
    /// from the successes of that long; 5 min unless chosen. Breaker and hedge
    /// have windows of their own.
    #[must_use]
    pub const fn with_history(self, span: Duration) -> Self {
        Self {
            history: nanos(span),
            ..self
        }
    }

    /// Returns the policy with a limit on the attempts in flight at once.
    ///
    /// What is above it is refused at once, as if throttled; a retry is free and
    /// waits its turn. To let some wait for a place instead, see `Queue`.
    ///
    /// ```
    /// use steadfast_core::{Concurrency, Policy};
    ///
    /// const SEARCH: Policy = Policy::DEFAULT.with_concurrency(Concurrency::ADAPTIVE);
    /// assert!(SEARCH.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn with_concurrency(self, limit: Concurrency) -> Self {
        Self {
            concurrency: Some(limit),
            ..self
        }
    }

    /// Returns the policy with a limit on the attempts in a span of time.
    ///
    /// Every attempt counts, retries and hedges, too.
    #[must_use]
    pub const fn with_rate(self, limit: Rate) -> Self {
        Self {
            rate: Some(limit),
            ..self
        }
    }

    /// Returns the policy with calls refused before they are sent, to a
    /// dependency that turns much of them away.
    ///
    /// It asks for each attempt until one was sent: retries after that are the
    /// budget's.
    #[must_use]
    pub const fn with_throttle(self, throttle: Throttle) -> Self {
        Self {
            throttle: Some(throttle),
            ..self
        }
    }

    /// Returns the policy with nothing learnt while this process is saturated.
    #[must_use]
    pub const fn with_saturation(self, saturation: Saturation) -> Self {
        Self {
            saturation: Some(saturation),
            ..self
        }
    }

    /// Returns the policy without a limit on the attempts in flight.
    #[must_use]
    pub const fn without_concurrency(self) -> Self {
        Self {
            concurrency: None,
            ..self
        }
    }

    /// Returns the policy without a limit on the attempts in a span of time.
    #[must_use]
    pub const fn without_rate(self) -> Self {
        Self { rate: None, ..self }
    }

    /// Returns the policy without a throttle of calls.
    #[must_use]
    pub const fn without_throttle(self) -> Self {
        Self {
            throttle: None,
            ..self
        }
    }

    /// Returns the policy without asking whether this process is saturated.
    #[must_use]
    pub const fn without_saturation(self) -> Self {
        Self {
            saturation: None,
            ..self
        }
    }

    /// Returns the policy with measuring allowed or not.
    ///
    /// Without it no bound is measured by default, and asking for one is a
    /// problem. The breaker has a switch of its own, as guards may share one.
    #[must_use]
    pub const fn with_adaptive(self, adaptive: bool) -> Self {
        Self { adaptive, ..self }
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

    /// Returns the policy with a rule for how often a stream is resumed.
    ///
    /// Only for streams with a checkpoint; without one nothing is resumed.
    #[must_use]
    pub const fn with_restarts(self, restarts: Restarts) -> Self {
        Self { restarts, ..self }
    }

    /// Returns the policy with another bound for the gap between two items of a stream.
    ///
    /// The attempt timeout unless said otherwise, which also bounds the first item.
    /// Only waiting for an item counts. [`Duration::MAX`] means no bound.
    #[must_use]
    pub const fn with_gap(self, gap: Duration) -> Self {
        Self {
            gap: Gap::Chosen(nanos(gap)),
            ..self
        }
    }

    /// Returns the policy with no bound for the gap between two items of a stream.
    #[must_use]
    pub const fn without_gap(self) -> Self {
        Self {
            gap: Gap::Chosen(NEVER),
            ..self
        }
    }

    /// Returns the policy with calls bounded by the deadline of what they are made
    /// for, if that is known.
    ///
    /// The sooner of the two holds. It is asked for once, when a call begins, and
    /// known where a program says so: by `ambient::follow`, with the feature `std`.
    /// Such a call also tells when its retries multiply with those around it,
    /// [`EventKind::NestedRetry`](crate::EventKind::NestedRetry). See
    /// [`Ambient`](crate::Ambient).
    ///
    /// ```
    /// use steadfast_core::Policy;
    ///
    /// const STOCK: Policy = Policy::DEFAULT
    ///     .with_ambient_deadline(true)
    ///     .with_ambient_criticality(true);
    /// assert!(STOCK.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn with_ambient_deadline(self, followed: bool) -> Self {
        Self {
            ambient_deadline: followed,
            ..self
        }
    }

    /// Returns the policy with calls as critical as what they are made for, if that
    /// is known.
    ///
    /// What a call says itself comes first, and without either it is critical.
    /// Takes something that depends on it: a retry budget, a hedge or a throttle.
    #[must_use]
    pub const fn with_ambient_criticality(self, followed: bool) -> Self {
        Self {
            ambient_criticality: followed,
            ..self
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The measured bound of an attempt, as it was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ceiling {
    /// Where it can work.
    Usual,
    Off,
    Chosen(AttemptCeiling),
}

/// The bound of the gap between two items of a stream, as it was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gap {
    /// The attempt timeout.
    Usual,
    Chosen(u64),
}

/// Long enough for a p95 from one call in fifteen seconds, short enough to follow
/// the hours of a day.
const USUAL_HISTORY: u64 = nanos(Duration::from_secs(300));

/// No bound; nobody waits 584 years.
pub(super) const NEVER: u64 = u64::MAX;
