//! What an operation and the hooks are told.

use core::fmt;
use core::time::Duration;

use crate::ambient::Ambient;
use crate::criticality::Criticality;
use crate::policy::backoff::Backoff;
use crate::time::{Instant, nanos};
use crate::verdict::{Code, Verdict};

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
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    // Plain nanoseconds and the verdict taken apart: it is passed by value, and what
    // nobody asks for need not be worked out.
    left: u64,
    timeout: u64,
    until: Instant,
    pushback: u64,
    number: u32,
    previous: Code,
    criticality: Option<Criticality>,
    is_retried: bool,
    /// What it gives goes on after it.
    is_lasting: bool,
}

/// The word for "no bound".
const NEVER: u64 = u64::MAX;

impl Attempt {
    /// Makes attempt `number`, the first being 1, after the verdict `previous`.
    #[must_use]
    pub const fn new(number: u32, previous: Verdict) -> Self {
        Self::after(number, previous.parts())
    }

    pub(super) const fn after(number: u32, (pushback, previous): (u64, Code)) -> Self {
        Self {
            left: NEVER,
            timeout: NEVER,
            until: Instant::MAX,
            pushback,
            number,
            previous,
            criticality: None,
            is_retried: false,
            is_lasting: false,
        }
    }

    /// Returns the attempt with the time left on the deadline when it started.
    ///
    /// [`Duration::MAX`] means no deadline.
    #[must_use]
    pub const fn with_left(self, left: Duration) -> Self {
        Self {
            left: nanos(left),
            ..self
        }
    }

    /// Returns the attempt with its own bound: it is dropped after that long.
    ///
    /// [`Duration::MAX`] means no bound.
    #[must_use]
    pub const fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: nanos(timeout),
            ..self
        }
    }

    /// Returns the attempt with the instant at which it is dropped, on the clock
    /// of its guard.
    ///
    /// [`Instant::MAX`] means never.
    #[must_use]
    pub const fn with_until(self, at: Instant) -> Self {
        Self { until: at, ..self }
    }

    /// The attempt at `now` of a call that has to end at `due`.
    pub(super) const fn ending(self, due: Instant, now: Instant) -> Self {
        Self {
            left: span(due, now),
            ..self
        }
    }

    /// The attempt that is dropped at `at`.
    pub(super) const fn cut(self, at: Instant, now: Instant) -> Self {
        Self {
            timeout: span(at, now),
            until: at,
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

    /// The attempt of a stream.
    pub(super) const fn lasting(self) -> Self {
        Self {
            is_lasting: true,
            ..self
        }
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
        Verdict::from_parts(self.pushback, self.previous)
    }

    /// Returns the time left on the deadline when the attempt started.
    #[must_use]
    pub const fn left(&self) -> Option<Duration> {
        bound(self.left)
    }

    /// Returns how long the attempt may take: the attempt timeout or what is
    /// left of the deadline, whichever is less.
    #[must_use]
    pub const fn timeout(&self) -> Option<Duration> {
        bound(self.timeout)
    }

    /// Returns the instant at which the attempt is dropped, on the clock of its
    /// guard: when it started, and its [`timeout`](Self::timeout) later.
    #[must_use]
    pub const fn until(&self) -> Option<Instant> {
        match self.until {
            Instant::MAX => None,
            at => Some(at),
        }
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
    /// Its own end, unless it opens a stream, which goes on; the criticality of the call, and that it is made again when it
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
        if let Some(at) = self.until()
            && !self.is_lasting
        {
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

#[expect(
    clippy::missing_fields_in_debug,
    reason = "the pushback is a part of the verdict"
)]
impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("number", &self.number)
            .field("previous", &self.previous())
            .field("left", &self.left())
            .field("timeout", &self.timeout())
            .field("until", &self.until())
            .field("criticality", &self.criticality())
            .field("is_retried", &self.is_retried)
            .finish()
    }
}

/// The nanoseconds from `now` to `at`.
const fn span(at: Instant, now: Instant) -> u64 {
    match at {
        Instant::MAX => NEVER,
        at => at.as_nanos().saturating_sub(now.as_nanos()),
    }
}

const fn bound(nanos: u64) -> Option<Duration> {
    match nanos {
        NEVER => None,
        nanos => Some(Duration::from_nanos(nanos)),
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
