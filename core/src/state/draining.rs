//! Whether what makes the calls is about to stop.

use core::time::Duration;

use crate::memory::{Memory, Shared, Word};
use crate::time::Instant;

/// Whether what makes the calls is about to stop: a latch.
///
/// Once it drains, no retry, copy or restart is decided on any more, and a
/// call that begins is bounded by what is left of the grace. What is in flight goes on.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Draining, Instant};
///
/// static STOP: Draining = Draining::new();
/// let second = Duration::from_secs(1);
///
/// assert!(STOP.begin(Instant::ZERO, 30 * second));
/// // The first word counts.
/// assert!(!STOP.begin(Instant::ZERO, 60 * second));
/// let later = Instant::ZERO.saturating_add(second);
/// assert_eq!(STOP.left(later), Some(29 * second));
/// ```
#[derive(Debug)]
pub struct Draining<M: Memory = Shared> {
    /// Whether it has begun; if so, the end is written.
    begun: M::U32,
    /// The instant at which the grace is over, a nanosecond later; zero before.
    end: M::U64,
}

impl<M: Memory> Draining<M> {
    /// Makes a latch that has not begun.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begun: M::U32::ZERO,
            end: M::U64::ZERO,
        }
    }

    /// Begins to drain, for good; true if it had not begun.
    ///
    /// A call that begins from now on ends within what is left of `grace`;
    /// [`Duration::MAX`] bounds nothing. A clock that steps back lengthens the grace by
    /// as much.
    pub fn begin(&self, now: Instant, grace: Duration) -> bool {
        let end = now.saturating_add(grace).as_nanos().saturating_add(1);
        let is_first = self.end.compare_exchange(0, end).is_ok();
        // Also by who came second: on return it drains, whoever was faster.
        self.begun.store(1);
        is_first
    }

    /// Tells whether it has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.begun.load() != 0
    }

    /// Returns when the grace is over; never before it begins, or if nothing bounds it.
    #[must_use]
    pub fn until(&self) -> Instant {
        if !self.is_draining() {
            return Instant::MAX;
        }
        match self.end.load() {
            // Taken back at this moment, or without end.
            0 | u64::MAX => Instant::MAX,
            end => Instant::from_nanos(end.saturating_sub(1)),
        }
    }

    /// Returns what is left of the grace, zero once it is over; `None` before it
    /// begins, or if nothing bounds it.
    #[must_use]
    pub fn left(&self, now: Instant) -> Option<Duration> {
        match self.until() {
            Instant::MAX => None,
            until => Some(until.saturating_since(now)),
        }
    }

    /// Takes it back, for the next test.
    pub fn reset(&self) {
        self.begun.store(0);
        self.end.store(0);
    }
}

impl<M: Memory> Default for Draining<M> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Instant {
        Instant::ZERO.saturating_add(SECOND * seconds)
    }

    #[test]
    fn what_has_not_begun_bounds_nothing() {
        let stop: Draining<Local> = Draining::new();
        assert!(!stop.is_draining());
        assert_eq!((stop.left(at(1)), stop.until()), (None, Instant::MAX));
    }

    // core-13.16
    #[test]
    fn the_first_grace_counts() {
        let stop: Draining<Local> = Draining::new();
        assert!(stop.begin(at(0), SECOND));
        assert!(!stop.begin(at(0), SECOND * 60));
        assert!(!stop.begin(at(0), Duration::ZERO));
        assert_eq!(stop.left(at(0)), Some(SECOND));
        assert_eq!(stop.left(at(1)), Some(Duration::ZERO));
        assert_eq!(stop.left(at(9)), Some(Duration::ZERO));
    }

    // core-13.21: what is less than nothing cannot be written.
    #[test]
    fn no_grace_is_over_at_once() {
        let stop: Draining<Local> = Draining::new();
        stop.begin(at(0), Duration::ZERO);
        assert!(stop.is_draining());
        assert_eq!(stop.left(at(0)), Some(Duration::ZERO));
    }

    #[test]
    fn a_grace_without_end_bounds_nothing() {
        let stop: Draining<Local> = Draining::new();
        stop.begin(at(5), Duration::MAX);
        assert!(stop.is_draining());
        assert_eq!(stop.left(at(9)), None);
    }

    #[test]
    fn a_clock_may_step_back() {
        let stop: Draining<Local> = Draining::new();
        stop.begin(at(5), SECOND);
        assert_eq!(stop.left(at(3)), Some(SECOND * 3));
        assert_eq!(stop.left(Instant::MAX), Some(Duration::ZERO));
    }

    #[test]
    fn a_reset_takes_it_back() {
        let stop: Draining<Local> = Draining::new();
        stop.begin(at(0), SECOND);
        stop.reset();
        assert!(!stop.is_draining());
        assert!(stop.begin(at(0), SECOND * 2));
        assert_eq!(stop.left(at(0)), Some(SECOND * 2));
    }
}
