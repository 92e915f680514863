//! What a caller gets when a guarded call fails.

mod text;

use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::log::Ending;
use super::report::Report;
use crate::breaker_state::BreakerState;
use crate::classify::Meaning;
use crate::limited::Limit;
use crate::reason::Reason;
use crate::time::nanos;
use crate::verdict::{Code, Kind, Verdict};

/// The word for "unknown" in a span.
const NONE: u64 = u64::MAX;

/// What a caller gets when a guarded call fails.
///
/// Says why the call ended, what was tried and when another call is worth
/// making. Holds the operation's own last error, if it failed by one, as the
/// source. At most 64 bytes more than that error.
///
/// ```
/// use steadfast_core::{CallError, Reason};
///
/// fn report(error: &CallError<std::io::Error>) -> String {
///     match (error.reason(), error.retry_after()) {
///         (Reason::DependencyUnavailable, Some(after)) => format!("closed for {after:?}"),
///         _ => error.to_string(),
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CallError<E> {
    error: Option<E>,
    reason: Reason,
    ending: Ending,
    // The verdict taken apart and plain nanoseconds keep the error small.
    verdict: Code,
    // Never both: the breaker's state, or the limit; and whether anything left.
    refused_by: RefusedBy,
    attempts: u32,
    pushback: u64,
    elapsed: u64,
    bound: u64,
    hint: u64,
    policy: Option<&'static str>,
}

/// Who refused and whether that was all, in one byte: an error has no room for
/// more.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RefusedBy(u8);

impl RefusedBy {
    const NOBODY: Self = Self(0);
    const STATES: u8 = 0x10;
    const LIMITS: u8 = 0x20;
    const UNSENT: u8 = 0x80;

    const fn breaker(state: BreakerState) -> Self {
        Self(Self::STATES | state as u8)
    }

    const fn limit(limit: Limit) -> Self {
        Self(Self::LIMITS | limit as u8)
    }

    const fn unsent(self) -> Self {
        Self(self.0 | Self::UNSENT)
    }

    const fn is_unsent(self) -> bool {
        self.0 & Self::UNSENT != 0
    }

    fn state(self) -> Option<BreakerState> {
        let mut all = BreakerState::ALL.into_iter();
        all.find(|&state| self.names(Self::breaker(state)))
    }

    fn limited_by(self) -> Option<Limit> {
        let mut all = Limit::ALL.into_iter();
        all.find(|&limit| self.names(Self::limit(limit)))
    }

    const fn names(self, other: Self) -> bool {
        self.0 & !Self::UNSENT == other.0
    }
}

impl<E> CallError<E> {
    /// Makes the error of a call that ended as `report` says.
    #[must_use]
    pub fn new(report: &Report, error: Option<E>) -> Self {
        let (pushback, verdict) = report.verdict.parts();
        let bound = match report.reason {
            Reason::DeadlineExceeded => report.deadline,
            _ => report.cut_after,
        };
        let refused_by = match (report.refused_in, report.limited_by) {
            (Some(state), _) => RefusedBy::breaker(state),
            (None, Some(limit)) => RefusedBy::limit(limit),
            (None, None) => RefusedBy::NOBODY,
        };
        Self {
            error,
            reason: report.reason,
            ending: report.ending,
            verdict,
            refused_by: if report.has_sent {
                refused_by
            } else {
                refused_by.unsent()
            },
            attempts: report.attempts,
            pushback,
            elapsed: nanos(report.elapsed),
            bound: bound.map_or(NONE, nanos),
            hint: report.hint.map_or(NONE, nanos),
            policy: report.policy,
        }
    }

    /// Gives the value of the last attempt, accepted or not, else the error.
    ///
    /// # Errors
    ///
    /// When the last attempt gave no value.
    pub fn conclude<T>(last: Option<Result<T, E>>, report: &Report) -> Result<T, Self> {
        match last {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(Self::new(report, Some(error))),
            None => Err(Self::new(report, None)),
        }
    }

    /// Returns why the call ended.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns how many attempts were made.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns how long the call took.
    ///
    /// Under a policy that bounds, funds and measures nothing the time begins when the
    /// first attempt has failed or suspended: until then nobody asks for it.
    #[must_use]
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed)
    }

    /// Returns the verdict on the last attempt; Ok when there was none.
    #[must_use]
    pub const fn last_verdict(&self) -> Verdict {
        Verdict::from_parts(self.pushback, self.verdict)
    }

    /// Returns when another call is worth making, if anybody knows.
    ///
    /// From the breaker or the budget, if one of them ended the call, else what
    /// the dependency, or the limit that refused, asked for last.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        span(self.hint)
    }

    /// Returns the deadline that was exceeded, if that ended the call.
    #[must_use]
    pub const fn deadline(&self) -> Option<Duration> {
        match self.reason {
            Reason::DeadlineExceeded => span(self.bound),
            _ => None,
        }
    }

    /// Returns what the circuit breaker was when it refused, if that ended the
    /// call.
    #[must_use]
    pub fn breaker_state(&self) -> Option<BreakerState> {
        self.refused_by.state()
    }

    /// Returns the limit of the policy that refused the last attempt, if one did
    /// and the breaker did not end the call.
    ///
    /// What the operation itself asked, a queue for instance, it says in its own
    /// error.
    #[must_use]
    pub fn limited_by(&self) -> Option<Limit> {
        self.refused_by.limited_by()
    }

    /// Tells whether any attempt was sent: neither the breaker, a limit nor a hook
    /// refused it.
    ///
    /// If none was, it is safe to make the call again, whatever it does. An
    /// operation that ran counts as sent, also if it was refused by a queue: what it
    /// did before is not known.
    #[must_use]
    pub const fn is_sent(&self) -> bool {
        !self.refused_by.is_unsent()
    }

    /// Tells whether the last attempt was cut short by a bound.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self.ending, Ending::Cut)
    }

    /// Returns the operation's last error; `None` when the last attempt was
    /// cut short, not admitted, or there was none.
    #[must_use]
    pub const fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// Returns the operation's last error, taken out.
    #[must_use]
    pub fn into_error(self) -> Option<E> {
        self.error
    }

    /// Returns the name of the policy, if it has one.
    #[must_use]
    pub const fn policy(&self) -> Option<&'static str> {
        self.policy
    }
}

const fn span(word: u64) -> Option<Duration> {
    match word {
        NONE => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}

impl<E: fmt::Debug> fmt::Debug for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("reason", &self.reason)
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed())
            .field("last_verdict", &self.last_verdict())
            .field("retry_after", &self.retry_after())
            .field("policy", &self.policy)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<E: Error + 'static> Error for CallError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error
            .as_ref()
            .map(|error| error as &(dyn Error + 'static))
    }
}

/// What a guarded call's error means to a guard around it.
///
/// A guard inside that refused before anything left is self-imposed; one that
/// ran into a refusal later, or was told to wait, is throttled; used-up attempts
/// and deadlines are transient, or what the dependency said last if it throttled.
/// One that drains is permanent, as a retry from outside would be a retry all the same.
/// Prefer one guard to two: their retries multiply.
impl<E> Meaning for CallError<E> {
    fn verdict(&self) -> Verdict {
        let meaning = match self.reason {
            Reason::Succeeded | Reason::Permanent | Reason::Setup | Reason::Draining => {
                return Verdict::PERMANENT;
            }
            _ if !self.is_sent() => Verdict::SELF_IMPOSED,
            Reason::AttemptsExhausted | Reason::DeadlineExceeded
                if self.last_verdict().kind() != Kind::Throttled =>
            {
                Verdict::TRANSIENT
            }
            _ => Verdict::THROTTLED,
        };
        match self.retry_after() {
            Some(after) => meaning.with_pushback(after),
            None => meaning,
        }
    }
}

#[cfg(test)]
mod tests;
