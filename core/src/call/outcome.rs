//! How a call ended, with the log of its attempts.

use core::any::type_name;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::error::CallError;
use super::log::{AttemptLog, Journal};
use super::report::Report;
use crate::reason::Reason;

/// How a call ended: value or failure, why, and the log of its attempts.
///
/// What `guard.call(..).outcome()` gives; never an error by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an outcome may hold a failure"]
pub struct Outcome<T, E> {
    last: Option<Result<T, E>>,
    report: Report,
    log: AttemptLog,
}

impl<T, E> Outcome<T, E> {
    /// Makes the outcome of a call that ended as `report` says.
    pub fn new(last: Option<Result<T, E>>, report: Report, log: AttemptLog) -> Self {
        Self { last, report, log }
    }

    /// Tells whether an outcome was accepted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.report.reason == Reason::Succeeded
    }

    /// Returns why the call ended.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.report.reason
    }

    /// Returns the value of the last attempt; on a failed call a value that was
    /// judged a failure.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        self.last.as_ref()?.as_ref().ok()
    }

    /// Returns the error of the last attempt.
    #[must_use]
    pub fn error(&self) -> Option<&E> {
        self.last.as_ref()?.as_ref().err()
    }

    /// Returns the last attempts.
    #[must_use]
    pub fn log(&self) -> &AttemptLog {
        &self.log
    }

    /// Returns how long the call took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.report.elapsed
    }

    /// Returns when another call is worth making, if anybody knows.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.report.hint
    }

    /// Returns the accepted value.
    ///
    /// ```
    /// use steadfast_core::Outcome;
    ///
    /// fn status(outcome: Outcome<u16, std::io::Error>) -> Result<u16, Box<dyn std::error::Error>> {
    ///     // A 503 that was judged a failure is an error here.
    ///     Ok(outcome.into_success()?)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Gives the outcome back when the call failed, also when it holds a value
    /// that was judged a failure.
    #[expect(
        clippy::result_large_err,
        reason = "gives back what it was given, and boxes nothing"
    )]
    pub fn into_success(self) -> Result<T, Self> {
        match (self.report.reason, self.last) {
            (Reason::Succeeded, Some(Ok(value))) => Ok(value),
            (_, last) => Err(Self { last, ..self }),
        }
    }

    /// Returns what the call without `outcome()` would have given.
    ///
    /// # Errors
    ///
    /// When the call failed and its last attempt gave no value.
    pub fn into_result(self) -> Result<T, CallError<E>> {
        CallError::conclude(self.last, &self.report)
    }
}

/// Why, then the log.
impl<T, E> fmt::Display for Outcome<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.report.reason, self.log)
    }
}

/// For [`Outcome::into_success`]; the operation's own error is the source.
impl<T: fmt::Debug, E: Error + 'static> Error for Outcome<T, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error().map(|error| error as &(dyn Error + 'static))
    }
}

/// A journal that knows how the call it belongs to is told.
///
/// Without a log a call gives a result, with one it gives an [`Outcome`].
pub trait Conclude<T, E>: Journal {
    /// What the caller gets.
    type Output;

    /// What a fallback is told of a call that failed.
    type Failure;

    /// Tells how the call ended; a plain value needs no report.
    fn conclude(&self, last: Option<Result<T, E>>, report: impl FnOnce() -> Report)
    -> Self::Output;

    /// Tells how the call failed, also if it was by a value.
    fn fail(&self, last: Option<Result<T, E>>, report: &Report) -> Self::Failure;
}

impl<T, E> Conclude<T, E> for () {
    type Output = Result<T, CallError<E>>;
    type Failure = CallError<E>;

    fn conclude(
        &self,
        last: Option<Result<T, E>>,
        report: impl FnOnce() -> Report,
    ) -> Self::Output {
        match last {
            Some(Ok(value)) => Ok(value),
            last => CallError::conclude(last, &report()),
        }
    }

    fn fail(&self, last: Option<Result<T, E>>, report: &Report) -> CallError<E> {
        CallError::new(report, last.and_then(Result::err))
    }
}

impl<T, E> Conclude<T, E> for AttemptLog {
    type Output = Outcome<T, E>;
    type Failure = Outcome<T, E>;

    fn conclude(
        &self,
        last: Option<Result<T, E>>,
        report: impl FnOnce() -> Report,
    ) -> Self::Output {
        let report = report();
        let log = self.closed(report.elapsed, report.deadline, type_name::<E>());
        Outcome::new(last, report, log)
    }

    fn fail(&self, last: Option<Result<T, E>>, report: &Report) -> Outcome<T, E> {
        self.conclude(last, || *report)
    }
}
