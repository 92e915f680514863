//! What an operation and the hooks are told.

use core::time::Duration;

use crate::ambient::Ambient;
use crate::criticality::Criticality;
use crate::policy::backoff::Backoff;
use crate::time::Instant;
use crate::verdict::Verdict;

/// What an operation is told about the attempt it makes.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Attempt, Verdict};
///
/// let first = Attempt::new(1, Verdict::OK).with_left(Duration::from_secs(3));
/// assert!(first.is_first());
/// assert_eq!(first.left(), Some(Duration::from_secs(3)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    previous: Verdict,
    left: Option<Duration>,
    timeout: Option<Duration>,
    until: Option<Instant>,
    criticality: Option<Criticality>,
    is_retried: bool,
}

impl Attempt {
    /// Makes attempt `number`, the first being 1, after the verdict `previous`.
    #[must_use]
    pub const fn new(number: u32, previous: Verdict) -> Self {
        Self {
            number,
            previous,
            left: None,
            timeout: None,
            until: None,
            criticality: None,
            is_retried: false,
        }
    }

    /// Returns the attempt with the time left on the deadline when it started.
    #[must_use]
    pub const fn with_left(self, left: Duration) -> Self {
        Self {
            left: Some(left),
            ..self
        }
    }

    /// Returns the attempt with its own bound: it is dropped after that long.
    #[must_use]
    pub const fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    /// Returns the attempt with the instant at which it is dropped, on the clock
    /// of its guard.
    #[must_use]
    pub const fn with_until(self, at: Instant) -> Self {
        Self {
            until: Some(at),
            ..self
        }
    }

    /// Returns the attempt with how much its call matters.
    #[must_use]
    pub const fn with_criticality(self, criticality: Criticality) -> Self {
        Self {
            criticality: Some(criticality),
            ..self
        }
    }

    /// Returns the attempt with whether its call may be retried.
    #[must_use]
    pub const fn with_retried(self, is_retried: bool) -> Self {
        Self { is_retried, ..self }
    }

    pub(super) const fn of_call(self, criticality: Option<Criticality>, is_retried: bool) -> Self {
        Self {
            criticality,
            is_retried,
            ..self
        }
    }

    /// Returns the number of the attempt, the first being 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Tells whether it is the first attempt of the call.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.number == 1
    }

    /// Returns the verdict on the previous attempt; Ok before the first.
    #[must_use]
    pub const fn previous(&self) -> Verdict {
        self.previous
    }

    /// Returns the time left on the deadline when the attempt started.
    #[must_use]
    pub const fn left(&self) -> Option<Duration> {
        self.left
    }

    /// Returns how long the attempt may take: the attempt timeout or what is
    /// left of the deadline, whichever is less.
    #[must_use]
    pub const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the instant at which the attempt is dropped, on the clock of its
    /// guard: when it started, and its [`timeout`](Self::timeout) later.
    #[must_use]
    pub const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns how much the call matters.
    ///
    /// What the call says, else what it is made for if its policy follows that, else
    /// [`Criticality::Critical`]. A hook may refuse by it.
    #[must_use]
    pub const fn criticality(&self) -> Criticality {
        match self.criticality {
            Some(criticality) => criticality,
            None => Criticality::Critical,
        }
    }

    /// Returns what to tell those who do a part of the attempt.
    ///
    /// Its own end, the criticality of the call, and that it is made again when it
    /// fails, if the call may be retried. What the call does not know is not said, so
    /// that what it is made for still holds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Attempt, Instant, Verdict};
    ///
    /// let end = Instant::ZERO.saturating_add(Duration::from_secs(2));
    /// let attempt = Attempt::new(1, Verdict::OK).with_until(end);
    /// let facts = attempt.with_retried(true).ambient();
    /// assert_eq!(facts.left(Instant::ZERO), Some(Duration::from_secs(2)));
    /// assert!(facts.is_retried());
    /// ```
    #[must_use]
    pub const fn ambient(&self) -> Ambient {
        let mut facts = Ambient::NONE;
        if let Some(at) = self.until {
            facts = facts.with_deadline(at);
        }
        if let Some(criticality) = self.criticality {
            facts = facts.with_criticality(criticality);
        }
        if self.is_retried {
            facts = facts.with_retried(true);
        }
        facts
    }
}

/// A retry that is about to wait: what a delay rule decides on.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Backoff, Jitter, Retry, Verdict};
///
/// let backoff = Backoff::DEFAULT.with_jitter(Jitter::None);
/// let retry = Retry::new(3, Verdict::TRANSIENT, &backoff, Duration::from_millis(200));
/// // A rule that starts from the policy's own curve:
/// assert_eq!(retry.delay() / 2, Duration::from_millis(100));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Retry<'a> {
    number: u32,
    verdict: Verdict,
    backoff: &'a Backoff,
    delay: Duration,
}

impl<'a> Retry<'a> {
    /// Makes the retry that would be attempt `number` after `verdict`, with the
    /// wait the policy would choose.
    #[must_use]
    pub const fn new(number: u32, verdict: Verdict, backoff: &'a Backoff, delay: Duration) -> Self {
        Self {
            number,
            verdict,
            backoff,
            delay,
        }
    }

    /// Returns the number of the attempt to come, 2 or more.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns the verdict on the attempt that failed.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns the policy's rule, whose curve is public.
    #[must_use]
    pub const fn backoff(&self) -> &'a Backoff {
        self.backoff
    }

    /// Returns the wait the policy would choose: pushback, curve and jitter.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }
}
