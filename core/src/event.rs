//! One value for everything that happens in a call.

use core::fmt;
use core::time::Duration;

use crate::limited::Limit;
use crate::reason::Reason;
use crate::time::nanos;
use crate::verdict::{Code, Verdict};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// An attempt was judged. Duration: the attempt's.
    Attempt,
    /// A retry is about to wait. Number: the attempt to come; delay: the wait.
    Retrying,
    /// An attempt ended by itself a second or more past its own bound: it held
    /// its thread, or its executor was held up.
    Overran,
    /// The attempt ceiling has another value. Delay: the ceiling.
    AttemptCeilingAdapted,
    /// The backoff's first wait has another value. Number: the attempt to come;
    /// delay: the base.
    BackoffBaseAdapted,
    /// A slow attempt is raced by another copy. Number: that copy; delay: how
    /// long the newest in flight had run.
    HedgeStarted,
    /// A copy was held back: the dependency is unwell, or copies seldom win.
    /// Number: the copy that was not made; delay: how long the newest had run.
    HedgeSuppressed,
    /// A copy was the first accepted result. Number: of the attempt that ended.
    HedgeWon,
    /// An attempt lost its race and was dropped. Duration: how long it ran.
    HedgeDiscarded,
    /// A part that only observes would have refused; the reason says which.
    WouldReject,
    /// The adaptive concurrency limit has another value. Number: the limit.
    ConcurrencyAdapted,
    /// This process is late for what it has to do, and stops learning. Delay: by
    /// how much.
    SaturationDetected,
    /// This call may be retried, and so may the one it is made for: their retries
    /// multiply.
    NestedRetry,
    /// A stream gave no item for as long as a gap may be. Delay: that bound.
    Stalled,
    /// A stream that broke is about to be opened again at its checkpoint. Number: of
    /// the restart; delay: the wait before it.
    StreamResumed,
    /// A stream with a checkpoint broke and is not resumed; the reason says why.
    /// Number: of the restarts made.
    StreamBroken,
    /// The breaker opened.
    BreakerOpened,
    /// The breaker lets probes through.
    BreakerHalfOpened,
    /// The breaker closed.
    BreakerClosed,
    /// The call ended well.
    Succeeded,
    /// The call ended: the outcome would come again, or the dependency asked
    /// for a longer pause than the policy allows (delay: what it asked for).
    NotRetried,
    /// The call ended: every allowed attempt was made.
    Exhausted,
    /// The call ended: the breaker refused. Delay: the pause before it says so.
    RejectedByBreaker,
    /// The call ended: no token for a retry. Delay: the pause before it says so.
    RejectedByBudget,
    /// The call ended: the deadline.
    DeadlineExceeded,
    /// The call ended: it would have been retried if nothing were about to stop.
    Draining,
}

impl EventKind {
    /// Returns the name, as texts use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attempt => "Attempt",
            Self::Retrying => "Retrying",
            Self::Overran => "Overran",
            Self::AttemptCeilingAdapted => "AttemptCeilingAdapted",
            Self::BackoffBaseAdapted => "BackoffBaseAdapted",
            Self::HedgeStarted => "HedgeStarted",
            Self::HedgeSuppressed => "HedgeSuppressed",
            Self::HedgeWon => "HedgeWon",
            Self::HedgeDiscarded => "HedgeDiscarded",
            Self::WouldReject => "WouldReject",
            Self::ConcurrencyAdapted => "ConcurrencyAdapted",
            Self::SaturationDetected => "SaturationDetected",
            Self::NestedRetry => "NestedRetry",
            Self::Stalled => "Stalled",
            Self::StreamResumed => "StreamResumed",
            Self::StreamBroken => "StreamBroken",
            Self::BreakerOpened => "BreakerOpened",
            Self::BreakerHalfOpened => "BreakerHalfOpened",
            Self::BreakerClosed => "BreakerClosed",
            Self::Succeeded => "Succeeded",
            Self::NotRetried => "NotRetried",
            Self::Exhausted => "Exhausted",
            Self::RejectedByBreaker => "RejectedByBreaker",
            Self::RejectedByBudget => "RejectedByBudget",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::Draining => "Draining",
        }
    }

    /// Tells whether it ends a call.
    ///
    /// Every call has exactly one such event, unless it is dropped or the hook
    /// before an attempt fails: then it has none. A stream has one each time it is
    /// opened.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded
                | Self::NotRetried
                | Self::Exhausted
                | Self::RejectedByBreaker
                | Self::RejectedByBudget
                | Self::DeadlineExceeded
                | Self::Draining
        )
    }

    /// Tells whether a guard refused: the breaker or the budget.
    #[must_use]
    pub const fn is_rejection(self) -> bool {
        matches!(self, Self::RejectedByBreaker | Self::RejectedByBudget)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The word for "no delay".
const NONE: u64 = u64::MAX;

/// Something that happened in a call: one small value for every kind.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Event, EventKind};
///
/// let event = Event::new(EventKind::Retrying, 2)
///     .with_policy("api")
///     .with_delay(Duration::from_millis(200));
/// assert_eq!(event.to_string(), "[api] Retrying #2 Ok (0ms) +200ms");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Event {
    kind: EventKind,
    reason: Option<Reason>,
    limit: Option<Limit>,
    // The verdict taken apart and plain nanoseconds keep it in a cache line.
    verdict: Code,
    number: u32,
    pushback: u64,
    policy: Option<&'static str>,
    error: Option<&'static str>,
    duration: u64,
    delay: u64,
}

impl Event {
    /// Makes an event about attempt `number`, the first being 1.
    #[must_use]
    pub const fn new(kind: EventKind, number: u32) -> Self {
        Self {
            kind,
            reason: None,
            limit: None,
            verdict: Verdict::OK.parts().1,
            number,
            pushback: Verdict::OK.parts().0,
            policy: None,
            error: None,
            duration: 0,
            delay: NONE,
        }
    }

    /// Returns the event with the name of its policy.
    #[must_use]
    pub const fn with_policy(self, name: &'static str) -> Self {
        Self {
            policy: Some(name),
            ..self
        }
    }

    /// Returns the event with the most recent verdict.
    #[must_use]
    pub const fn with_verdict(self, verdict: Verdict) -> Self {
        let (pushback, verdict) = verdict.parts();
        Self {
            verdict,
            pushback,
            ..self
        }
    }

    /// Returns the event with the type name of the most recent error.
    #[must_use]
    pub const fn with_error(self, type_name: &'static str) -> Self {
        Self {
            error: Some(type_name),
            ..self
        }
    }

    /// Returns the event with the reason the call ended for.
    #[must_use]
    pub const fn with_reason(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// Returns the event with the limit of this process that refused, or would
    /// have.
    #[must_use]
    pub const fn with_limit(self, limit: Limit) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Returns the event with a duration.
    #[must_use]
    pub const fn with_duration(self, duration: Duration) -> Self {
        Self {
            duration: nanos(duration),
            ..self
        }
    }

    /// Returns the event with a delay; zero is not "no delay".
    #[must_use]
    pub const fn with_delay(self, delay: Duration) -> Self {
        let delay = nanos(delay);
        Self {
            delay: if delay == NONE { NONE - 1 } else { delay },
            ..self
        }
    }

    /// Returns what happened.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        self.kind
    }

    /// Returns the attempt it is about, made or to come, the first being 1.
    ///
    /// As the log counts them: in the order in which they end. Where copies raced,
    /// that is not the order in which they began. For
    /// [`EventKind::ConcurrencyAdapted`] it is the limit.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns the most recent verdict; Ok before there was any.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        Verdict::from_parts(self.pushback, self.verdict)
    }

    /// Returns the name of the policy, if it has one.
    #[must_use]
    pub const fn policy(&self) -> Option<&'static str> {
        self.policy
    }

    /// Returns the type name of the most recent error, if there was any.
    #[must_use]
    pub const fn error(&self) -> Option<&'static str> {
        self.error
    }

    /// Returns why the call ended, or would have; only terminal events,
    /// [`EventKind::WouldReject`] and [`EventKind::StreamBroken`] have it.
    #[must_use]
    pub const fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Returns the limit of this process that refused the attempt, or would have;
    /// only [`EventKind::Attempt`] and [`EventKind::WouldReject`] have it.
    #[must_use]
    pub const fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// Returns the attempt's duration, else the time since the call began.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        Duration::from_nanos(self.duration)
    }

    /// Returns the wait that follows, or the span that the event is about, if any.
    ///
    /// For what was measured it is the new value; [`EventKind`] says for each.
    #[must_use]
    pub const fn delay(&self) -> Option<Duration> {
        match self.delay {
            NONE => None,
            delay => Some(Duration::from_nanos(delay)),
        }
    }

    /// Tells whether it ends the call.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        self.kind.is_terminal()
    }

    /// Tells whether the breaker or the budget refused.
    #[must_use]
    pub const fn is_rejection(&self) -> bool {
        self.kind.is_rejection()
    }
}

/// As its text.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `[policy] Kind #number Verdict error by the limit (duration) +delay`, what is
/// absent left out; where an event does not end a call, the reason stands instead of
/// the limit.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.policy {
            write!(f, "[{name}] ")?;
        }
        write!(
            f,
            "{} #{} {}",
            self.kind,
            self.number,
            self.verdict().kind()
        )?;
        if let Some(error) = self.error {
            write!(f, " {}", short_name(error))?;
        }
        if let Some(limit) = self.limit {
            write!(f, " by the {limit}")?;
        }
        if let Some(reason) = self.reason
            && !self.is_terminal()
            && self.limit.is_none()
        {
            write!(f, " for {reason}")?;
        }
        write!(f, " ({})", Millis(self.duration))?;
        match self.delay {
            NONE => Ok(()),
            delay => write!(f, " +{}", Millis(delay)),
        }
    }
}

/// `std::io::Error<..>` is `Error` to a reader of a log.
pub(crate) fn short_name(path: &'static str) -> &'static str {
    let path = path.split('<').next().unwrap_or(path);
    let at = path.rfind("::").map_or(0, |at| at.saturating_add(2));
    path.get(at..).unwrap_or(path)
}

/// Milliseconds with up to one decimal, rounded to the nearest.
struct Millis(u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.saturating_add(50_000) / 100_000;
        match tenths % 10 {
            0 => write!(f, "{}ms", tenths / 10),
            tenth => write!(f, "{}.{tenth}ms", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests;
