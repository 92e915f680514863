//! A token bucket in one word, without a timestamp.
//!
//! The word holds a "spent clock": the tokens that the refill rate had made
//! since the clock's epoch when the bucket was last empty, plus the capacity.
//! How full the bucket is follows from `now`, so refilling writes nothing, a
//! stale `now` rewinds nothing, and a full bucket is the word zero.
//!
//! Only differences count, so the word may wrap. A difference of more than
//! [`BEHIND`] to the past is read as a wrap, and the bucket as full: at three
//! tokens a second that is a clock that stepped back by six years.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::time::Instant;

/// A bucket of tokens: refilled by time, filled by deposits, full at first.
///
/// A clock that stalls or steps back makes no tokens.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, Ratio, TokenBucket};
///
/// static BUCKET: TokenBucket = TokenBucket::new(1, 3);
///
/// let now = Instant::ZERO;
/// assert!(BUCKET.take(now, Ratio::ZERO));
/// assert!(!BUCKET.take(now, Ratio::ZERO));
/// assert!(BUCKET.take(now.saturating_add(Duration::from_millis(334)), Ratio::ZERO));
/// ```
#[derive(Debug)]
pub struct TokenBucket<M: Memory = Shared> {
    /// In units.
    capacity: u64,
    /// In tokens a second, which is units a tick.
    rate: u64,
    spent: M::U64,
}

impl<M: Memory> TokenBucket<M> {
    /// Makes a full bucket of `capacity` tokens that gains some each second.
    #[must_use]
    pub const fn new(capacity: u32, per_second: u32) -> Self {
        Self {
            capacity: (capacity as u64).saturating_mul(TOKEN),
            rate: per_second as u64,
            spent: M::U64::ZERO,
        }
    }

    /// Adds `amount` of a token.
    ///
    /// Never waits for another thread; a full bucket is only read.
    pub fn deposit(&self, now: Instant, amount: Ratio) {
        // Going over the capacity is harmless: what is above it is cut off at
        // each look, and time and deposits only raise the level until a take
        // cuts it off for good.
        if self.level(self.refilled(now), self.spent.load()) < self.capacity.cast_signed() {
            let units = u64::from(amount.as_ppm()).saturating_mul(UNITS_PER_PPM);
            self.spent.fetch_sub(units);
        }
    }

    /// Takes one whole token if `reserve` of the capacity stays behind.
    #[must_use]
    pub fn take(&self, now: Instant, reserve: Ratio) -> bool {
        let refilled = self.refilled(now);
        let need = self.need(reserve);
        let mut spent = self.spent.load();
        loop {
            let level = self.level(refilled, spent);
            if level < need {
                return false;
            }
            let after = refilled
                .wrapping_sub(level.cast_unsigned())
                .wrapping_add(TOKEN)
                .wrapping_add(self.capacity);
            match self.spent.compare_exchange(spent, after) {
                Ok(_) => return true,
                Err(other) => spent = other,
            }
        }
    }

    /// Puts back one whole token that was taken.
    pub fn give_back(&self) {
        self.spent.fetch_sub(TOKEN);
    }

    /// Fills the bucket.
    pub fn fill(&self) {
        self.spent.store(0);
    }

    /// Returns how long time alone needs to let [`TokenBucket::take`] succeed.
    ///
    /// Zero when it would succeed now; `None` when time alone never will.
    #[must_use]
    pub fn wait(&self, now: Instant, reserve: Ratio) -> Option<Duration> {
        let need = self.need(reserve);
        if self.rate == 0 || need > self.capacity.cast_signed() {
            return None;
        }
        let level = self.level(self.refilled(now), self.spent.load());
        let short = need.saturating_sub(level);
        if short <= 0 {
            return Some(Duration::ZERO);
        }
        let ticks = short.cast_unsigned().div_ceil(self.rate);
        let into_tick = now.as_nanos() % TICK;
        let nanos = ticks.saturating_mul(TICK).saturating_sub(into_tick);
        Some(Duration::from_nanos(nanos))
    }

    /// Returns the share of the capacity that is gone, rounded down.
    #[must_use]
    pub fn used(&self, now: Instant) -> Ratio {
        let level = self.level(self.refilled(now), self.spent.load()).max(0);
        let gone = self.capacity.saturating_sub(level.cast_unsigned());
        let one_ppm = self.capacity / 1_000_000;
        let ppm = gone
            .checked_div(one_ppm)
            .and_then(|ppm| u32::try_from(ppm).ok());
        ppm.map_or(Ratio::ONE, Ratio::ppm)
    }

    /// Returns the level that lets a token go and leaves `reserve` behind.
    fn need(&self, reserve: Ratio) -> i64 {
        let units = reserve.of(self.capacity).saturating_add(TOKEN);
        i64::try_from(units).unwrap_or(i64::MAX)
    }

    /// Returns the units that the rate made since the epoch, wrapping.
    fn refilled(&self, now: Instant) -> u64 {
        (now.as_nanos() / TICK).wrapping_mul(self.rate)
    }

    /// Returns the units in the bucket, less than none for a stale `refilled`.
    fn level(&self, refilled: u64, spent: u64) -> i64 {
        let capacity = self.capacity.cast_signed();
        let level = refilled
            .wrapping_add(self.capacity)
            .wrapping_sub(spent)
            .cast_signed();
        // An untouched bucket is full whatever the clock's epoch.
        if spent == 0 || level > capacity || level < BEHIND {
            capacity
        } else {
            level
        }
    }
}

/// How far behind a reader may be, in units.
///
/// 577 million tokens: six years at 3 a second, a week at 1 000. The price is
/// that a bucket left alone for just under `2^64` units (1 560 years at 3 a
/// second, 4.7 at 1 000) has one chance in 256 to read low, once.
const BEHIND: i64 = -(1 << 56);

/// Nanoseconds a tick: a power of two, so that no division is needed.
const TICK: u64 = 8;

/// Units a token: 8 billionths each.
///
/// A millionth of a token is whole in it, and a rate of one token a second is
/// one unit a tick.
const TOKEN: u64 = 125_000_000;
const UNITS_PER_PPM: u64 = TOKEN / 1_000_000;

#[cfg(test)]
mod tests;
