//! What a caller gets when a guarded call fails.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::log::Ending;
use super::report::Report;
use crate::breaker_state::BreakerState;
use crate::classify::Meaning;
use crate::limited::Limit;
use crate::policy::span::Compact;
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
    // Never both: the breaker's state, or the limit.
    refused_by: RefusedBy,
    attempts: u32,
    pushback: u64,
    elapsed: u64,
    bound: u64,
    hint: u64,
    policy: Option<&'static str>,
}

/// Who refused, in one byte: an error has no room for two.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RefusedBy(u8);

impl RefusedBy {
    const NOBODY: Self = Self(0);
    const STATES: u8 = 0x10;
    const LIMITS: u8 = 0x20;

    const fn breaker(state: BreakerState) -> Self {
        Self(Self::STATES | state as u8)
    }

    const fn limit(limit: Limit) -> Self {
        Self(Self::LIMITS | limit as u8)
    }

    fn state(self) -> Option<BreakerState> {
        let mut all = BreakerState::ALL.into_iter();
        all.find(|&state| self == Self::breaker(state))
    }

    fn limited_by(self) -> Option<Limit> {
        let mut all = Limit::ALL.into_iter();
        all.find(|&limit| self == Self::limit(limit))
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
        Self {
            error,
            reason: report.reason,
            ending: report.ending,
            verdict,
            refused_by: match (report.refused_in, report.limited_by) {
                (Some(state), _) => RefusedBy::breaker(state),
                (None, Some(limit)) => RefusedBy::limit(limit),
                (None, None) => RefusedBy::NOBODY,
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
    /// the dependency asked for last.
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

    /// Returns the limit of this process that refused the last attempt, if one
    /// did.
    #[must_use]
    pub fn limited_by(&self) -> Option<Limit> {
        self.refused_by.limited_by()
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

/// What happened and what to do; the operation's own error is the source.
impl<E> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.policy {
            write!(f, "{name}: ")?;
        }
        let tried = Tried(self.attempts);
        let elapsed = Compact(self.elapsed());
        match self.reason {
            Reason::Succeeded => f.write_str("succeeded")?,
            Reason::Permanent => {
                write!(f, "failed on attempt {}, not worth a retry", self.attempts)?;
            }
            Reason::AttemptsExhausted => write!(f, "failed after {tried} in {elapsed}")?,
            Reason::DeadlineExceeded => {
                let deadline = self.deadline().unwrap_or_default();
                if self.elapsed() < deadline {
                    f.write_str("no time for another attempt before the ")?;
                    write!(f, "deadline of {}, {tried} in {elapsed}", Compact(deadline))?;
                } else {
                    write!(
                        f,
                        "deadline of {} exceeded, {tried} in {elapsed}",
                        Compact(deadline)
                    )?;
                }
            }
            Reason::DependencyUnavailable => {
                if self.attempts == 0 {
                    f.write_str("not called")?;
                } else {
                    write!(f, "not retried after {tried}")?;
                }
                let state = self.refused_by.state().unwrap_or(BreakerState::Open);
                write!(f, ": the circuit breaker is {state}")?;
            }
            Reason::BudgetExhausted => {
                write!(f, "not retried after {tried}: the retry budget is empty")?;
            }
            Reason::Throttled => {
                write!(f, "not retried after {tried}: the dependency asks for a ")?;
                f.write_str("longer pause than the policy allows")?;
            }
            Reason::Setup => {
                let next = self.attempts.saturating_add(1);
                write!(f, "the hook before attempt {next} failed")?;
            }
        }
        match (self.ending, self.reason) {
            (_, Reason::Setup) => {}
            (Ending::Cut, _) => {
                f.write_str("; the last attempt timed out")?;
                if self.reason == Reason::AttemptsExhausted
                    && let Some(bound) = span(self.bound)
                {
                    write!(f, " after {}", Compact(bound))?;
                }
            }
            (Ending::Refused, _) if self.attempts > 0 => {
                f.write_str("; the last attempt was not admitted")?;
                if let Some(limit) = self.limited_by() {
                    write!(f, " by the {limit}")?;
                }
            }
            _ => {}
        }
        match self.retry_after() {
            None => Ok(()),
            Some(Duration::ZERO) => f.write_str("; try again"),
            Some(after) => write!(f, "; try again in {}", Compact(after)),
        }
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
/// and deadlines are transient, or what the dependency said last if it throttled. Prefer one guard to two: their retries multiply.
impl<E> Meaning for CallError<E> {
    fn verdict(&self) -> Verdict {
        let meaning = match (self.reason, self.attempts) {
            (Reason::Succeeded | Reason::Permanent | Reason::Setup, _) => {
                return Verdict::PERMANENT;
            }
            (Reason::DependencyUnavailable | Reason::DeadlineExceeded, 0) => Verdict::SELF_IMPOSED,
            (Reason::AttemptsExhausted | Reason::DeadlineExceeded, _)
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

/// `1 attempt`, `3 attempts`.
struct Tried(u32);

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} attempt{}",
            self.0,
            if self.0 == 1 { "" } else { "s" }
        )
    }
}

#[cfg(test)]
mod tests;
