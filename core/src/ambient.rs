//! What a piece of work is told by the one it is made for.

use core::time::Duration;

use crate::criticality::Criticality;
use crate::time::{Clock, Instant};

/// What a piece of work is told by the one it is made for.
///
/// A deadline, how much it matters, and whether it is made again when it fails:
/// each said or not. A server reads them from the request it answers, and the calls
/// it makes for that answer may follow them, see
/// [`Policy::with_ambient_deadline`](crate::Policy::with_ambient_deadline) and
/// [`Policy::with_ambient_criticality`](crate::Policy::with_ambient_criticality).
/// An attempt says what to hand on: [`Attempt::ambient`](crate::Attempt::ambient).
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Ambient, Criticality, Instant};
///
/// let now = Instant::ZERO;
/// let request = Ambient::NONE
///     .with_deadline(now.saturating_add(Duration::from_millis(200)))
///     .with_criticality(Criticality::Sheddable);
/// assert_eq!(request.left(now), Some(Duration::from_millis(200)));
///
/// // A part of it that must go on for longer, and matters as little.
/// let inner = Ambient::NONE.without_deadline().over(request);
/// assert_eq!(inner.left(now), None);
/// assert_eq!(inner.criticality(), Some(Criticality::Sheddable));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ambient {
    /// `MAX` is said to be none.
    deadline: Option<Instant>,
    criticality: Option<Criticality>,
    retried: Option<bool>,
}

impl Ambient {
    /// Nothing said.
    pub const NONE: Self = Self {
        deadline: None,
        criticality: None,
        retried: None,
    };

    /// Returns the facts with the end of the work, on the clock of the guards that
    /// follow it; [`Instant::MAX`] says that there is none.
    #[must_use]
    pub const fn with_deadline(self, at: Instant) -> Self {
        Self {
            deadline: Some(at),
            ..self
        }
    }

    /// Returns the facts with the end of the work, so long from now on.
    ///
    /// `clock` is that of the guards that follow it: the timers of tokio, smol and
    /// the standard library agree. Nothing left is no time at all;
    /// [`Duration::MAX`] says that there is no end.
    #[must_use]
    pub fn within(self, left: Duration, clock: &impl Clock) -> Self {
        self.with_deadline(clock.now().saturating_add(left))
    }

    /// Returns the facts with no end of the work, whatever the outer ones say.
    #[must_use]
    pub const fn without_deadline(self) -> Self {
        self.with_deadline(Instant::MAX)
    }

    /// Returns the facts with how much it matters.
    #[must_use]
    pub const fn with_criticality(self, criticality: Criticality) -> Self {
        Self {
            criticality: Some(criticality),
            ..self
        }
    }

    /// Returns the facts with whether the work is made again when it fails.
    #[must_use]
    pub const fn with_retried(self, retried: bool) -> Self {
        Self {
            retried: Some(retried),
            ..self
        }
    }

    /// Returns the facts with what they do not say taken from the outer ones.
    ///
    /// What they say holds, be it more than the outer ones allow.
    #[must_use]
    pub const fn over(self, outer: Self) -> Self {
        Self {
            deadline: match self.deadline {
                None => outer.deadline,
                said => said,
            },
            criticality: match self.criticality {
                None => outer.criticality,
                said => said,
            },
            retried: match self.retried {
                None => outer.retried,
                said => said,
            },
        }
    }

    /// Returns what holds for a part of a piece of work: as [`Ambient::over`], but no
    /// later an end than the outer one.
    ///
    /// What an attempt tells another process: its own end, or that of the request it is
    /// made for, whichever is sooner.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Ambient, Criticality, Instant};
    ///
    /// let end = |secs| Instant::ZERO.saturating_add(Duration::from_secs(secs));
    /// let request = Ambient::NONE
    ///     .with_deadline(end(1))
    ///     .with_criticality(Criticality::Sheddable);
    /// let attempt = Ambient::NONE.with_deadline(end(10)).with_retried(true);
    /// let told = attempt.and(request);
    /// assert_eq!(told.deadline(), Some(end(1)));
    /// assert_eq!(told.criticality(), Some(Criticality::Sheddable));
    /// ```
    #[must_use]
    pub fn and(self, outer: Self) -> Self {
        let deadline = match (self.deadline, outer.deadline) {
            (Some(own), Some(outer)) => Some(own.min(outer)),
            (either, None) | (None, either) => either,
        };
        Self {
            deadline,
            ..self.over(outer)
        }
    }

    /// Returns the end of the work; [`Instant::MAX`] if it is said that there is
    /// none.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the time left to the end of the work, zero once it is over; `None`
    /// when nothing bounds it.
    #[must_use]
    pub const fn left(&self, now: Instant) -> Option<Duration> {
        match self.deadline {
            Some(at) if at.as_nanos() < Instant::MAX.as_nanos() => Some(at.saturating_since(now)),
            _ => None,
        }
    }

    /// Returns how much it matters, if that is said.
    #[must_use]
    pub const fn criticality(&self) -> Option<Criticality> {
        self.criticality
    }

    /// Returns whether the work is made again when it fails, if that is said.
    #[must_use]
    pub const fn retried(&self) -> Option<bool> {
        self.retried
    }

    /// Tells whether the work is said to be made again when it fails, so that
    /// retries inside of it multiply.
    #[must_use]
    pub const fn is_retried(&self) -> bool {
        matches!(self.retried, Some(true))
    }

    /// Tells whether nothing is said.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.deadline.is_none() && self.criticality.is_none() && self.retried.is_none()
    }
}

#[cfg(test)]
mod tests;
