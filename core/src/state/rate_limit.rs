//! The live side of a [`Rate`].

use core::time::Duration;

use crate::limited::{Limit, Limited};
use crate::math::bucket::TokenBucket;
use crate::math::ring::{Ring, Slice};
use crate::memory::{Memory, Shared, Word};
use crate::policy::rate::Rate;
use crate::time::Instant;

/// How many attempts may still go out.
///
/// By the second it is a token bucket: two words, a refill writes nothing. By
/// the window it counts in eighths of it and never holds more, whatever races.
/// Nobody waits in it; a refusal knows when to come back. A clock that steps back
/// makes no permits: a window holds those it has until the clock has caught up, for
/// one more window at most, and for the rest see
/// [`TokenBucket`](crate::TokenBucket).
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, Rate, RateLimit};
///
/// static QUOTA: RateLimit = RateLimit::new(Rate::per_second(2));
///
/// let now = Instant::ZERO;
/// QUOTA.acquire(now).unwrap().spend();
/// QUOTA.acquire(now).unwrap().spend();
/// let refusal = QUOTA.acquire(now).unwrap_err();
/// assert_eq!(refusal.retry_after(), Some(Duration::from_millis(500)));
/// ```
#[derive(Debug)]
pub struct RateLimit<M: Memory = Shared> {
    rate: Rate,
    bucket: TokenBucket<M>,
    window: Ring<M, EIGHTHS>,
    /// What the window holds or is about to hold.
    taken: M::U32,
    observing: M::U32,
}

impl<M: Memory> RateLimit<M> {
    /// Makes a limit from which nothing was taken.
    ///
    /// # Panics
    ///
    /// Panics when `rate` makes no sense; in a `static` that does not compile.
    #[must_use]
    #[track_caller]
    pub const fn new(rate: Rate) -> Self {
        let rate = rate.checked();
        let window = match rate.window() {
            Some(window) => window,
            None => Duration::ZERO,
        };
        Self {
            bucket: TokenBucket::new(rate.burst(), rate.permits()),
            window: Ring::new(window),
            taken: M::U32::ZERO,
            observing: M::U32::ZERO,
            rate,
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn rate(&self) -> &Rate {
        &self.rate
    }

    /// Takes a permit that is there now.
    ///
    /// # Errors
    ///
    /// Refuses when there is none, with the time until there is one.
    pub fn acquire(&self, now: Instant) -> Result<Reservation<'_, M>, Limited> {
        self.reserve(now, Duration::ZERO)
    }

    /// Takes a permit that is there now, or will be when `patience` is over.
    ///
    /// Permits by the second can be had ahead, one after the other; those of a
    /// window only when there are some, as what leaves it is not known before.
    ///
    /// # Errors
    ///
    /// Refuses when there will be none, with the time until it would not.
    pub fn reserve(&self, now: Instant, patience: Duration) -> Result<Reservation<'_, M>, Limited> {
        let taken = if self.rate.window().is_some() {
            self.take_from_window(now)
                .map(|slice| (now, Held::Window(slice)))
        } else {
            match self.bucket.take_ahead(now, patience) {
                Ok(wait) => Ok((now.saturating_add(wait), Held::Bucket)),
                Err(wait) => Err(wait.map(|wait| wait.saturating_sub(patience))),
            }
        };
        match taken {
            Ok((at, held)) => Ok(Reservation {
                limit: self,
                at,
                held,
            }),
            Err(_) if self.is_observing() => Ok(Reservation {
                limit: self,
                at: now,
                held: Held::Observed,
            }),
            Err(Some(hint)) => Err(Limited::new(Limit::Rate).with_retry_after(hint)),
            Err(None) => Err(Limited::new(Limit::Rate)),
        }
    }

    /// Returns how many permits are there.
    #[must_use]
    pub fn free(&self, now: Instant) -> u32 {
        if self.rate.window().is_some() {
            self.advance(now);
            self.rate.permits().saturating_sub(self.taken.load())
        } else {
            self.bucket.tokens(now)
        }
    }

    /// Tells whether it only observes, see [`RateLimit::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.observing.load() != 0
    }

    /// Counts as ever but refuses nothing, until [`RateLimit::reset`].
    ///
    /// What it would have refused is not counted, so that it decides as it would
    /// have.
    pub fn observe(&self) {
        self.observing.store(1);
    }

    /// Forgets what was taken, and ends manual control.
    pub fn reset(&self) {
        self.observing.store(0);
        self.bucket.fill();
        self.window.clear();
    }

    fn advance(&self, now: Instant) {
        let vacated = u32::try_from(self.window.advance(now)).unwrap_or(u32::MAX);
        if vacated > 0 {
            self.taken.fetch_sub(vacated);
        }
    }

    /// Takes a permit from the window, or tells when the next one comes back.
    fn take_from_window(&self, now: Instant) -> Result<Slice, Option<Duration>> {
        self.advance(now);
        let mut taken = self.taken.load();
        while taken < self.rate.permits() {
            match self.taken.compare_exchange(taken, taken.saturating_add(1)) {
                // Only now: a slice never holds what `taken` does not.
                Ok(_) => return self.window.count(|sum| sum.checked_add(1)).ok_or(None),
                Err(other) => taken = other,
            }
        }
        let ages = self.window.payloads().enumerate();
        let oldest = ages.filter(|&(_, sum)| sum > 0).map(|(age, _)| age).last();
        let back = self.window.vacated_at(oldest.unwrap_or(0));
        Err(Some(back.saturating_since(now)))
    }

    fn give_back(&self, held: Held) {
        match held {
            Held::Observed => {}
            Held::Bucket => self.bucket.give_back(),
            Held::Window(slice) => {
                if self.window.update(slice, |sum| sum.checked_sub(1)) {
                    self.taken.fetch_sub(1);
                }
            }
        }
    }
}

/// A permit to go at an instant; dropping it gives the permit back.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, Rate, RateLimit};
///
/// let limit = RateLimit::<steadfast_core::Local>::new(Rate::per_second(1));
/// let now = Instant::ZERO;
/// limit.acquire(now).unwrap().spend();
///
/// let next = limit.reserve(now, Duration::from_secs(1)).unwrap();
/// assert_eq!(next.at(), now.saturating_add(Duration::from_secs(1)));
/// assert!(limit.reserve(now, Duration::from_secs(1)).is_err());
///
/// drop(next);
/// assert!(limit.reserve(now, Duration::from_secs(1)).is_ok());
/// ```
#[derive(Debug)]
#[must_use = "a reservation that is dropped is given back"]
pub struct Reservation<'l, M: Memory = Shared> {
    limit: &'l RateLimit<M>,
    at: Instant,
    held: Held,
}

/// What a reservation has taken.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// Nothing: it would have been refused.
    Observed,
    Bucket,
    Window(Slice),
}

impl<M: Memory> Reservation<'_, M> {
    /// Returns when to go, never before it was made.
    #[must_use]
    pub const fn at(&self) -> Instant {
        self.at
    }

    /// Tells whether it would have been refused by a limit that does not only
    /// observe.
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        matches!(self.held, Held::Observed)
    }

    /// Keeps the permit spent: the attempt goes out.
    pub fn spend(self) {
        core::mem::forget(self);
    }
}

impl<M: Memory> Drop for Reservation<'_, M> {
    fn drop(&mut self) {
        self.limit.give_back(self.held);
    }
}

/// How finely a window slides.
const EIGHTHS: usize = 8;

#[cfg(test)]
mod tests;
