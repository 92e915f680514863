//! What a policy says.

use core::time::Duration;

use super::backoff::Backoff;
use super::breaker::Breaker;
use super::budget::Budget;
use super::ceiling::AttemptCeiling;
use super::concurrency::Concurrency;
use super::hedge::Hedge;
use super::policy::{Ceiling, Gap, NEVER, Policy};
use super::rate::Rate;
use super::restarts::Restarts;
use super::saturation::Saturation;
use super::throttle::Throttle;
use crate::time::{Instant, nanos};

impl Policy {
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
        bound(self.deadline)
    }

    /// Returns the bound of each attempt; `None` is no bound.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Option<Duration> {
        bound(self.attempt_timeout)
    }

    /// The bound of the whole call from an instant on.
    pub(crate) const fn deadline_from(&self, start: Instant) -> Instant {
        Instant::from_nanos(start.as_nanos().saturating_add(self.deadline))
    }

    /// The end of an attempt's own bound that starts at an instant.
    pub(crate) const fn attempt_end_from(&self, start: Instant) -> Instant {
        Instant::from_nanos(start.as_nanos().saturating_add(self.attempt_timeout))
    }

    /// Returns the measured bound of each attempt, if it has one.
    ///
    /// Unless chosen it is [`AttemptCeiling::DEFAULT`], if measuring is allowed
    /// and the attempt timeout is above its floor.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::Policy;
    ///
    /// let policy = |ms| Policy::DEFAULT.with_attempt_timeout(Duration::from_millis(ms));
    /// assert!(policy(51).attempt_ceiling().is_some());
    /// assert!(policy(50).attempt_ceiling().is_none());
    /// assert!(policy(51).with_adaptive(false).attempt_ceiling().is_none());
    /// ```
    #[must_use]
    pub const fn attempt_ceiling(&self) -> Option<AttemptCeiling> {
        match self.ceiling {
            Ceiling::Off => None,
            Ceiling::Chosen(law) => Some(law),
            Ceiling::Usual => match self.attempt_timeout() {
                Some(timeout)
                    if self.adaptive && nanos(timeout) > nanos(AttemptCeiling::DEFAULT.floor()) =>
                {
                    Some(AttemptCeiling::DEFAULT)
                }
                _ => None,
            },
        }
    }

    /// Tells whether the attempt ceiling was asked for.
    pub(super) const fn has_chosen_ceiling(&self) -> bool {
        matches!(self.ceiling, Ceiling::Chosen(_))
    }

    /// Returns when a slow attempt is raced by another copy, if at all.
    #[must_use]
    pub const fn hedge(&self) -> Option<&Hedge> {
        self.hedge.as_ref()
    }

    /// Returns the stretch of time that counts as recent.
    #[must_use]
    pub const fn history(&self) -> Duration {
        Duration::from_nanos(self.history)
    }

    /// Returns the limit on the attempts in flight at once, if there is one.
    #[must_use]
    pub const fn concurrency(&self) -> Option<&Concurrency> {
        self.concurrency.as_ref()
    }

    /// Returns the limit on the attempts in a span of time, if there is one.
    #[must_use]
    pub const fn rate(&self) -> Option<&Rate> {
        self.rate.as_ref()
    }

    /// Returns when calls are refused before they are sent, if they are.
    #[must_use]
    pub const fn throttle(&self) -> Option<&Throttle> {
        self.throttle.as_ref()
    }

    /// Returns when this process counts as saturated, if that is asked.
    #[must_use]
    pub const fn saturation(&self) -> Option<&Saturation> {
        self.saturation.as_ref()
    }

    /// Tells whether bounds may be measured.
    #[must_use]
    pub const fn is_adaptive(&self) -> bool {
        self.adaptive
    }

    /// Tells whether it learns from the latencies of successes.
    #[must_use]
    pub const fn is_learning(&self) -> bool {
        self.attempt_ceiling().is_some() || self.backoff.measured_base().is_some()
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

    /// Returns how often a stream is resumed.
    #[must_use]
    pub const fn restarts(&self) -> Restarts {
        self.restarts
    }

    /// Tells whether a call may be retried, or a stream resumed.
    pub(crate) const fn is_repeating(&self) -> bool {
        self.attempts > 1 || self.restarts.limit() > 0
    }

    /// Returns the bound of the gap between two items of a stream: the attempt timeout
    /// unless said otherwise; `None` is no bound.
    #[must_use]
    pub const fn gap(&self) -> Option<Duration> {
        match self.gap {
            Gap::Usual => self.attempt_timeout(),
            Gap::Chosen(gap) => bound(gap),
        }
    }

    /// Tells whether a call is bounded by the deadline of what it is made for.
    #[must_use]
    pub const fn follows_deadline(&self) -> bool {
        self.ambient_deadline
    }

    /// Tells whether a call is as critical as what it is made for.
    #[must_use]
    pub const fn follows_criticality(&self) -> bool {
        self.ambient_criticality
    }

    /// Tells whether a call follows anything of what it is made for.
    pub(crate) const fn follows_any(&self) -> bool {
        self.ambient_deadline | self.ambient_criticality
    }

    /// Returns what the first attempt of a call needs.
    pub(crate) const fn opening(&self) -> Opening {
        let is_asked = self.breaker.is_some()
            || self.is_learning()
            || self.hedge.is_some()
            || self.concurrency.is_some()
            || self.rate.is_some()
            || self.throttle.is_some()
            || self.saturation.is_some()
            || self.follows_any();
        if is_asked {
            Opening::Asked
        } else if self.attempt_timeout < NEVER || self.budget.is_limited() {
            Opening::Timed
        } else {
            Opening::Free
        }
    }
}

/// What the first attempt of a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Something is asked before it, or learnt from it though it succeeds at once.
    Asked,
    /// The time: for a bound or a budget.
    Timed,
    /// Nothing, but for a bound of the call.
    Free,
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            name,
            attempts,
            deadline,
            attempt_timeout,
            backoff,
            budget,
            breaker,
            ceiling: _,
            hedge,
            history,
            concurrency,
            rate,
            throttle,
            saturation,
            adaptive,
            restarts,
            gap: _,
            ambient_deadline,
            ambient_criticality,
        } = *self;
        name == other.name
            && attempts == other.attempts
            && deadline == other.deadline
            && attempt_timeout == other.attempt_timeout
            && backoff == other.backoff
            && budget == other.budget
            && breaker == other.breaker
            && self.attempt_ceiling() == other.attempt_ceiling()
            && hedge == other.hedge
            && history == other.history
            && concurrency == other.concurrency
            && rate == other.rate
            && throttle == other.throttle
            && saturation == other.saturation
            && adaptive == other.adaptive
            && restarts == other.restarts
            && self.gap() == other.gap()
            && ambient_deadline == other.ambient_deadline
            && ambient_criticality == other.ambient_criticality
    }
}

impl Eq for Policy {}

const fn bound(nanos: u64) -> Option<Duration> {
    match nanos {
        NEVER => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}
