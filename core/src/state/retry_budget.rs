//! The live side of a [`Budget`].

use core::time::Duration;

use crate::math::bucket::{TOKEN, TokenBucket};
use crate::math::fading_count::FadingCount;
use crate::math::ratio::Ratio;
use crate::math::spare::Spare;
use crate::memory::{Memory, Shared, Word};
use crate::policy::budget::Budget;
use crate::time::Instant;

/// How many retries may still be added to the load.
///
/// Full at first. A few words, no lock. While it is full a success writes
/// nothing, but for what a law with a half-life counts; that is no more than 70
/// writes a second under [`Budget::FLEET`], however many calls succeed.
///
/// **Clocks.** A clock that stands still or steps back by less than an hour
/// neither makes nor takes tokens, see [`TokenBucket`]. Each further step can make
/// a spare retry come once too early, or late by at most its wait.
///
/// ```
/// use steadfast_core::{Budget, Instant, RetryBudget};
///
/// static RETRIES: RetryBudget = RetryBudget::new(Budget::REFERENCE);
///
/// let now = Instant::ZERO;
/// for _ in 0..30 {
///     RETRIES.take(now).expect("a full budget holds 30 tokens").spend();
/// }
/// assert!(RETRIES.take(now).is_none());
///
/// for _ in 0..10 {
///     RETRIES.deposit(now);
/// }
/// assert!(RETRIES.take(now).is_some());
/// ```
#[derive(Debug)]
pub struct RetryBudget<M: Memory = Shared> {
    law: Budget,
    bucket: TokenBucket<M>,
    /// What successes paid of late; full at the burst.
    recent: FadingCount<M>,
    /// What one success adds to that.
    step: u32,
    spare: Spare<M>,
    /// One while it only observes.
    observing: M::U8,
}

impl<M: Memory> RetryBudget<M> {
    /// Makes a full budget under `law`.
    ///
    /// # Panics
    ///
    /// Panics when `law` makes no sense; in a `static` that does not compile.
    #[must_use]
    #[track_caller]
    pub const fn new(law: Budget) -> Self {
        let law = law.checked();
        Self {
            bucket: TokenBucket::new(law.burst(), law.per_second()),
            recent: FadingCount::new(match law.half_life() {
                Some(half_life) => half_life,
                None => Duration::MAX,
            }),
            step: FadingCount::<M>::step(law.fraction(), law.burst()),
            spare: Spare::new(match law.spare() {
                Some(after) => after,
                None => Duration::MAX,
            }),
            observing: M::U8::ZERO,
            law,
        }
    }

    /// Returns the law.
    #[must_use]
    pub const fn law(&self) -> &Budget {
        &self.law
    }

    /// Deposits what one success earns.
    pub fn deposit(&self, now: Instant) {
        if !self.law.is_limited() {
            return;
        }
        if self.law.half_life().is_some() {
            self.recent.add(now, self.step);
        }
        let was_full = !self.bucket.deposit_unless_full(now, self.law.fraction());
        // The spare is used from an empty bucket only.
        if !was_full && self.law.spare().is_some() {
            self.spare.shorten();
        }
    }

    /// Takes a whole token, or nothing.
    #[must_use]
    pub fn take(&self, now: Instant) -> Option<Token<'_, M>> {
        self.take_above(Ratio::ZERO, true, now)
    }

    /// Takes a whole token for a hedge, never the spare one.
    ///
    /// A hedge is of use, a retry of need.
    #[must_use]
    pub fn take_for_hedge(&self, now: Instant) -> Option<Token<'_, M>> {
        self.take_above(Ratio::ZERO, false, now)
    }

    /// Takes a whole token if half of what the bucket can hold stays behind.
    ///
    /// So a bucket that holds one token, as in a quiet program under
    /// [`Budget::FLEET`], gives none.
    #[must_use]
    pub fn take_sheddable(&self, now: Instant) -> Option<Token<'_, M>> {
        self.take_above(RESERVE, false, now)
    }

    /// Returns the time until [`RetryBudget::take`] succeeds without a success.
    ///
    /// `None` when time alone never brings a token.
    #[must_use]
    pub fn retry_after(&self, now: Instant) -> Option<Duration> {
        let bucket = self.wait_above(Ratio::ZERO, now);
        let spare = self.law.spare().map(|_| self.spare.wait(now));
        match (bucket, spare) {
            (Some(bucket), Some(spare)) => Some(bucket.min(spare)),
            (either, None) | (None, either) => either,
        }
    }

    /// Returns the time until [`RetryBudget::take_sheddable`] succeeds.
    ///
    /// `None` when time alone never brings a token, or the bucket holds too
    /// little for that ever.
    #[must_use]
    pub fn retry_after_sheddable(&self, now: Instant) -> Option<Duration> {
        self.wait_above(RESERVE, now)
    }

    /// Returns the share of what the bucket can hold that is gone, from 0 to 1.
    #[must_use]
    pub fn utilization(&self, now: Instant) -> Ratio {
        if self.law.is_limited() {
            self.bucket.used_within(self.most(now), now)
        } else {
            Ratio::ZERO
        }
    }

    /// Tells whether it only observes, see [`RetryBudget::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.observing.load() != 0
    }

    /// Decides and counts as ever but refuses nothing, until
    /// [`RetryBudget::reset`].
    ///
    /// For trying a law on real traffic. What it would have refused gets a token
    /// that costs nothing, see [`Token::is_observed`].
    pub fn observe(&self) {
        self.observing.store(1);
    }

    /// Fills the bucket, forgets what succeeded, and refuses again.
    pub fn reset(&self) {
        self.observing.store(0);
        self.recent.clear();
        self.spare.clear();
        self.bucket.fill();
    }

    /// Returns how many units the bucket may hold now.
    fn most(&self, now: Instant) -> u64 {
        let capacity = self.bucket.capacity();
        match self.law.half_life() {
            // Before the first success there is no traffic to go by.
            Some(_) if self.recent.is_untouched() => capacity.min(COLD),
            Some(_) => self.recent.share_of(capacity, now).max(TOKEN),
            None => capacity,
        }
    }

    fn take_above(&self, reserve: Ratio, spares: bool, now: Instant) -> Option<Token<'_, M>> {
        let is_funded = !self.law.is_limited() || self.fund(reserve, spares, now);
        // Lazily: a token made and dropped would fill the bucket.
        (is_funded || self.is_observing()).then(|| Token {
            charge: is_funded.then(|| Charge(self)),
        })
    }

    fn fund(&self, reserve: Ratio, spares: bool, now: Instant) -> bool {
        let has_spare = self.law.spare().is_some();
        if self.bucket.take_within(self.most(now), now, reserve) {
            if has_spare {
                self.spare.restart(now);
            }
            return true;
        }
        has_spare && spares && self.spare.take(now)
    }

    fn wait_above(&self, reserve: Ratio, now: Instant) -> Option<Duration> {
        if self.law.is_limited() {
            self.bucket.wait_within(self.most(now), now, reserve)
        } else {
            Some(Duration::ZERO)
        }
    }
}

/// One retry, funded; dropping it gives the token back.
///
/// ```
/// use steadfast_core::{Budget, Instant, Ratio, RetryBudget};
///
/// let budget = RetryBudget::<steadfast_core::Local>::new(Budget::new(Ratio::percent(10), 0));
/// let token = budget.take(Instant::ZERO);
/// assert!(budget.take(Instant::ZERO).is_none());
///
/// drop(token);
/// assert!(budget.take(Instant::ZERO).is_some());
/// ```
#[derive(Debug)]
#[must_use = "a token that is dropped is given back"]
pub struct Token<'b, M: Memory = Shared> {
    /// None when it was refused, had the budget not only observed.
    charge: Option<Charge<'b, M>>,
}

impl<'b, M: Memory> Token<'b, M> {
    /// Tells whether it was refused, had the budget not only observed.
    ///
    /// Such a token costs nothing, and nothing is given back.
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        self.charge.is_none()
    }

    /// Keeps the token spent: the retry happens.
    pub fn spend(self) {
        if let Some(charge) = self.charge {
            charge.spend();
        }
    }

    /// Returns what it costs, if it does.
    pub(crate) fn into_charge(self) -> Option<Charge<'b, M>> {
        self.charge
    }
}

/// What a token costs; dropping it gives that back. One word, so that a call can
/// hold it.
#[derive(Debug)]
pub(crate) struct Charge<'b, M: Memory>(&'b RetryBudget<M>);

impl<M: Memory> Charge<'_, M> {
    pub(crate) fn spend(self) {
        core::mem::forget(self);
    }
}

impl<M: Memory> Drop for Charge<'_, M> {
    fn drop(&mut self) {
        if self.0.law.is_limited() {
            self.0.bucket.give_back();
        }
    }
}

/// What a program that has just started may fund: the retries of one call of
/// three attempts, so that the first call is no worse than the others.
const COLD: u64 = 2 * TOKEN;

/// What sheddable work must leave to the rest.
const RESERVE: Ratio = Ratio::percent(50);

#[cfg(test)]
mod tests;
