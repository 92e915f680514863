//! The answers of a circuit breaker: permits, refusals, transitions.

use core::fmt;
use core::time::Duration;

use super::CircuitBreaker;
use super::control::Control;
use crate::breaker_state::BreakerState;
use crate::memory::{Memory, Shared};
use crate::time::{Instant, nanos};
use crate::verdict::Kind;

/// A change of a circuit breaker.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, CircuitBreaker, Instant, Kind, Transition};
///
/// static API: CircuitBreaker =
///     CircuitBreaker::new(Breaker::DEFAULT.with_consecutive_failures(1));
///
/// let permit = API.admit(Instant::ZERO).unwrap();
/// let change = permit.settle(Instant::ZERO, Kind::Transient, Duration::ZERO, || 0);
/// assert_eq!(change, Some(Transition::Opened));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// It refuses from now on.
    Opened,
    /// It lets probes through.
    HalfOpened,
    /// It lets everything through again; with a
    /// [`Recovery`](crate::Recovery) at first a growing share.
    Closed,
}

/// A circuit breaker's "no".
///
/// ```
/// use steadfast_core::{Breaker, BreakerState, CircuitBreaker, Instant};
///
/// static API: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
///
/// API.isolate();
/// let refusal = API.admit(Instant::ZERO).unwrap_err();
/// assert_eq!(refusal.state(), BreakerState::Isolated);
/// assert_eq!(refusal.retry_after(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    state: BreakerState,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(super) const fn new(state: BreakerState, retry_after: Option<Duration>) -> Self {
        Self { state, retry_after }
    }

    /// Returns the state it refused in; never closed.
    #[must_use]
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Returns when to ask again, if the breaker knows.
    ///
    /// At most the nominal break.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// The admission of one attempt; comes back by itself when dropped.
///
/// Dropping it says nothing about the dependency: a cancelled or panicking
/// attempt is no evidence.
///
/// ```
/// use steadfast_core::{Breaker, CircuitBreaker, Instant};
///
/// static API: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
///
/// let permit = API.admit(Instant::ZERO).unwrap();
/// assert!(!permit.is_probe());
/// drop(permit);
/// ```
#[must_use = "a permit that is dropped at once was not needed"]
pub struct Permit<'b, M: Memory = Shared> {
    breaker: &'b CircuitBreaker<M>,
    /// What the breaker was when it admitted; busy when this half-opened it.
    word: Control,
}

impl<'b, M: Memory> Permit<'b, M> {
    pub(super) const fn new(breaker: &'b CircuitBreaker<M>, word: Control) -> Self {
        Self { breaker, word }
    }

    /// Tells whether it is a probe of a half-open breaker.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.word.state() == BreakerState::HalfOpen
    }

    /// Returns the state in which it would have been refused, if the breaker
    /// did not only observe.
    ///
    /// Its outcome is not recorded.
    ///
    /// ```
    /// use steadfast_core::{Breaker, BreakerState, CircuitBreaker, Instant, Kind};
    ///
    /// static API: CircuitBreaker =
    ///     CircuitBreaker::new(Breaker::DEFAULT.with_consecutive_failures(1));
    ///
    /// API.observe();
    /// let now = Instant::ZERO;
    /// let permit = API.admit(now).unwrap();
    /// assert_eq!(permit.would_be_refused_in(), None);
    /// permit.settle(now, Kind::Transient, core::time::Duration::ZERO, || 0);
    /// let permit = API.admit(now).unwrap();
    /// assert_eq!(permit.would_be_refused_in(), Some(BreakerState::Open));
    /// ```
    #[must_use]
    pub fn would_be_refused_in(&self) -> Option<BreakerState> {
        self.word.overruled_in()
    }

    /// Returns the transition that this very admission caused.
    #[must_use]
    pub fn transition(&self) -> Option<Transition> {
        self.word.is_busy().then_some(Transition::HalfOpened)
    }

    /// Records what became of the attempt, and returns what it changed.
    ///
    /// `draw` gives the random number for the jitter of a break; it is asked
    /// only when the breaker is about to open. Throttled and permanent outcomes
    /// are evidence of nothing and only give the permit back.
    pub fn settle(
        self,
        now: Instant,
        kind: Kind,
        took: Duration,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        self.settle_nanos(now, kind, nanos(took), draw)
    }

    pub(crate) fn settle_nanos(
        self,
        now: Instant,
        kind: Kind,
        took: u64,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        let transition = self.breaker.record(self.word, now, kind, took, draw);
        // Recorded: nothing is left to give back.
        core::mem::forget(self);
        transition
    }
}

impl<M: Memory> Drop for Permit<'_, M> {
    fn drop(&mut self) {
        self.breaker.release(self.word);
    }
}

impl<M: Memory> fmt::Debug for Permit<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}
