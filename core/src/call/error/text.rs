//! An error in words.

use core::fmt;
use core::time::Duration;

use super::{CallError, span};
use crate::breaker_state::BreakerState;
use crate::call::log::Ending;
use crate::policy::span::Compact;
use crate::reason::Reason;

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
            Reason::AttemptsExhausted if !self.is_sent() => {
                f.write_str("not called: ")?;
                match self.attempts {
                    1 => f.write_str("refused")?,
                    attempts => write!(f, "all {attempts} attempts in {elapsed} refused")?,
                }
            }
            Reason::AttemptsExhausted => write!(f, "failed after {tried} in {elapsed}")?,
            Reason::DeadlineExceeded if self.deadline() == Some(Duration::ZERO) => {
                f.write_str("not called: no time was left when it began")?;
            }
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
                if self.is_sent() {
                    write!(f, "not retried after {tried}: ")?;
                } else {
                    f.write_str("not called: ")?;
                }
                match (self.limited_by(), self.ending) {
                    (Some(limit), _) => write!(f, "the {limit} of this process")?,
                    (None, Ending::Refused) => f.write_str("the `admit` hook")?,
                    (None, _) => f.write_str("the dependency")?,
                }
                f.write_str(" asks for a longer pause than the policy allows")?;
            }
            Reason::Setup => {
                let next = self.attempts.saturating_add(1);
                write!(f, "the hook before attempt {next} failed")?;
            }
            Reason::Draining => {
                write!(f, "not retried after {tried}: draining before a stop")?;
            }
        }
        match (self.ending, self.reason) {
            // Said already.
            (_, Reason::Setup) | (Ending::Refused, Reason::Throttled) => {}
            (Ending::Cut, _) => {
                f.write_str("; the last attempt timed out")?;
                if self.reason == Reason::AttemptsExhausted
                    && let Some(bound) = span(self.bound)
                {
                    write!(f, " after {}", Compact(bound))?;
                }
            }
            (Ending::Refused, _) if self.attempts > 0 => self.last_refusal(f)?,
            _ => {}
        }
        match self.retry_after() {
            None => Ok(()),
            Some(Duration::ZERO) => f.write_str("; try again"),
            Some(after) => write!(f, "; try again in {}", Compact(after)),
        }
    }
}

impl<E> CallError<E> {
    /// Says who refused the last attempt, after what happened.
    fn last_refusal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reason, self.attempts, self.is_sent()) {
            (Reason::AttemptsExhausted, 1, false) => f.write_str(" by ")?,
            (Reason::AttemptsExhausted, _, false) => f.write_str(", the last by ")?,
            _ => f.write_str("; the last attempt was refused by ")?,
        }
        match self.limited_by() {
            Some(limit) => write!(f, "the {limit} of this process"),
            None => f.write_str("the `admit` hook"),
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
