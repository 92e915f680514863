//! What a stream gives when something fails.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::error::CallError;
use crate::classify::Meaning;
use crate::policy::span::Compact;
use crate::verdict::Verdict;

/// What a guarded stream gives when something fails.
///
/// ```
/// use steadfast_core::StreamError;
///
/// fn report(error: &StreamError<std::io::Error>) -> String {
///     match error {
///         StreamError::Start(error) => format!("cannot be opened: {error}"),
///         StreamError::Source(error) => format!("broke: {error}"),
///         StreamError::Stalled(stall) => format!("silent after {} items", stall.delivered()),
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError<E> {
    /// It could not be opened, or not opened again after it broke.
    Start(CallError<E>),
    /// Its source failed after an item.
    Source(E),
    /// Its source gave nothing for too long after an item.
    Stalled(Stall),
}

/// A stream whose source gave nothing for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    bound: Duration,
    delivered: u64,
}

impl Stall {
    /// Makes the stall of a stream that gave `delivered` items and then none for
    /// `bound`.
    #[must_use]
    pub const fn new(bound: Duration, delivered: u64) -> Self {
        Self { bound, delivered }
    }

    /// Returns for how long nothing came.
    #[must_use]
    pub const fn bound(&self) -> Duration {
        self.bound
    }

    /// Returns how many items came before, since the call began.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bound, count) = (Compact(self.bound), self.delivered);
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "no item for {bound} after {count} item{plural}")
    }
}

impl<E> StreamError<E> {
    /// Returns the source's own last error, if it failed by one.
    #[must_use]
    pub const fn error(&self) -> Option<&E> {
        match self {
            Self::Start(error) => error.error(),
            Self::Source(error) => Some(error),
            Self::Stalled(_) => None,
        }
    }
}

/// What happened; the source's own error is the source, as with a [`CallError`].
impl<E> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the stream could not be opened: {error}"),
            Self::Source(_) => f.write_str("the stream broke"),
            Self::Stalled(stall) => write!(f, "the stream stalled: {stall}"),
        }
    }
}

impl<E: Error + 'static> Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Start(error) => error.source(),
            Self::Source(error) => Some(error),
            Self::Stalled(_) => None,
        }
    }
}

/// What a stream's error means to a guard around it: a stall is transient.
impl<E: Meaning> Meaning for StreamError<E> {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Start(error) => error.verdict(),
            Self::Source(error) => error.verdict(),
            Self::Stalled(_) => Verdict::TRANSIENT,
        }
    }
}
