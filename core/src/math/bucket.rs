//! A token bucket that refills without writing.
//!
//! The word `spent` holds a "spent clock": the tokens that the refill rate had
//! made since the clock's epoch when the bucket was last empty, plus the
//! capacity. How full the bucket is follows from the time, so refilling writes
//! nothing, and an untouched bucket is the word zero.
//!
//! The word `latest` holds the greatest time that changed something. A clock
//! that reads less is taken to read this: it sees the same tokens and makes no
//! new ones. Two words need no lock, because `spent` alone never makes a token:
//! who reads an older `latest` than he could have sees fewer tokens, not more.
//!
//! Only differences of `spent` count, so it may wrap. A difference of more than
//! [`BEHIND`] to the past is read as a wrap, and the bucket as full.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::time::Instant;

mod ahead;

/// A bucket of tokens: refilled by time, filled by deposits, full at first.
///
/// A clock that stalls or steps back makes no tokens and loses none: the bucket
/// keeps its level, and time gives again when the clock has caught up. A clock
/// that comes back by more than an hour is believed instead, with the level kept
/// and time giving from there on; only if it then leaps ahead again can time be
/// counted twice, for at most one capacity each leap.
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
    /// In nanoseconds.
    latest: M::U64,
}

impl<M: Memory> TokenBucket<M> {
    /// Makes a full bucket of `capacity` tokens that gains some each second.
    #[must_use]
    pub const fn new(capacity: u32, per_second: u32) -> Self {
        Self {
            capacity: (capacity as u64).saturating_mul(TOKEN),
            rate: per_second as u64,
            spent: M::U64::ZERO,
            latest: M::U64::ZERO,
        }
    }

    /// Adds `amount` of a token.
    ///
    /// Never waits for another thread; a bucket known to be full is only read.
    pub fn deposit(&self, now: Instant, amount: Ratio) {
        self.deposit_unless_full(now, amount);
    }

    /// As [`TokenBucket::deposit`]; false if it is full and was only read.
    pub(crate) fn deposit_unless_full(&self, now: Instant, amount: Ratio) -> bool {
        let seen = self.look(now);
        let capacity = self.capacity.cast_signed();
        if self.level(seen.latest, seen.spent) >= capacity {
            return false;
        }
        // Going over the capacity is harmless: what is above it is cut off at
        // each look, and time and deposits only raise the level until a take
        // cuts it off for good.
        if self.level(seen.at, seen.spent) < capacity {
            let units = u64::from(amount.as_ppm()).saturating_mul(UNITS_PER_PPM);
            self.spent.fetch_sub(units);
        }
        self.remember(seen);
        true
    }

    /// Takes one whole token if `reserve` of the capacity stays behind.
    #[must_use]
    pub fn take(&self, now: Instant, reserve: Ratio) -> bool {
        self.take_within(self.capacity, now, reserve)
    }

    /// As [`TokenBucket::take`] from a bucket that holds at most `most` units.
    ///
    /// Cutting here is enough: what the bucket holds above `most` until then
    /// can only be taken here.
    pub(crate) fn take_within(&self, most: u64, now: Instant, reserve: Ratio) -> bool {
        let need = need(most, reserve);
        loop {
            let seen = self.look(now);
            let level = self.level(seen.at, seen.spent).min(most.cast_signed());
            if level < need {
                self.remember(seen);
                return false;
            }
            let after = self
                .refilled(seen.at)
                .wrapping_sub(level.cast_unsigned())
                .wrapping_add(TOKEN)
                .wrapping_add(self.capacity);
            if self.spent.compare_exchange(seen.spent, after).is_ok() {
                self.remember(seen);
                return true;
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
        self.wait_within(self.capacity, now, reserve)
    }

    /// As [`TokenBucket::wait`] for [`TokenBucket::take_within`].
    pub(crate) fn wait_within(&self, most: u64, now: Instant, reserve: Ratio) -> Option<Duration> {
        let need = need(most, reserve);
        let seen = self.look(now);
        let level = self.level(seen.at, seen.spent).min(most.cast_signed());
        let short = need.saturating_sub(level);
        if short > 0 && need > most.cast_signed() {
            return None;
        }
        self.time_for(short, seen, now)
    }

    /// Returns the share of the capacity that is gone, rounded down.
    #[must_use]
    pub fn used(&self, now: Instant) -> Ratio {
        self.used_within(self.capacity, now)
    }

    /// As [`TokenBucket::used`] of a bucket that holds at most `most` units.
    pub(crate) fn used_within(&self, most: u64, now: Instant) -> Ratio {
        let seen = self.look(now);
        let level = self.level(seen.at, seen.spent).max(0);
        let gone = most.saturating_sub(level.cast_unsigned());
        let ppm = match gone.checked_mul(1_000_000) {
            Some(millions) => millions.checked_div(most),
            None => gone.checked_div(most / 1_000_000),
        };
        let ppm = ppm.and_then(|ppm| u32::try_from(ppm).ok());
        ppm.map_or(Ratio::ONE, Ratio::ppm)
    }

    /// Returns how many units it can hold.
    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Reads both words, and follows a clock that came far back.
    ///
    /// When time makes no tokens, nobody needs to be told the time.
    fn look(&self, now: Instant) -> Seen {
        let mut spent = self.spent.load();
        if self.rate == 0 {
            return Seen {
                spent,
                latest: now,
                at: now,
            };
        }
        let mut latest = Instant::from_nanos(self.latest.load());
        if latest.saturating_since(now) > FAR {
            self.follow_back(latest, now);
            (spent, latest) = (self.spent.load(), now);
        }
        Seen {
            spent,
            latest,
            at: now.max(latest),
        }
    }

    /// Makes `latest` the time `now`, at which the level is the same.
    ///
    /// Who wins the first word moves the second, so it moves once; until then
    /// the others see a bucket that holds less.
    fn follow_back(&self, latest: Instant, now: Instant) {
        let (from, to) = (latest.as_nanos(), now.as_nanos());
        if self.latest.compare_exchange(from, to).is_ok() && self.spent.load() != 0 {
            let gap = self.refilled(latest).wrapping_sub(self.refilled(now));
            self.spent.fetch_sub(gap);
        }
    }

    /// Keeps the time of `seen` for clocks that read less.
    ///
    /// Tries once: who loses leaves it to the winner's time, which was read in
    /// the same moment. It costs no token, at most some are seen later.
    fn remember(&self, seen: Seen) {
        if seen.at > seen.latest {
            let (from, to) = (seen.latest.as_nanos(), seen.at.as_nanos());
            let _ = self.latest.compare_exchange(from, to);
        }
    }

    /// Returns the units that the rate made since the epoch, wrapping.
    fn refilled(&self, at: Instant) -> u64 {
        (at.as_nanos() / TICK).wrapping_mul(self.rate)
    }

    /// Returns the units in the bucket, less than none for a stale time.
    fn level(&self, at: Instant, spent: u64) -> i64 {
        let capacity = self.capacity.cast_signed();
        let level = self
            .refilled(at)
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

/// Returns the level that lets a token go and leaves `reserve` of `most` behind.
fn need(most: u64, reserve: Ratio) -> i64 {
    let units = reserve.of(most).saturating_add(TOKEN);
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// Both words, and the time that counts.
#[derive(Clone, Copy)]
struct Seen {
    spent: u64,
    latest: Instant,
    /// The later of the caller's time and `latest`.
    at: Instant,
}

/// How far a clock may lag before it is believed.
///
/// Longer than any thread is likely to sleep between reading the clock and
/// using it; short enough that a clock that wrapped or was set wrong once does
/// not stop the refill for good.
const FAR: Duration = Duration::from_secs(3_600);

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
pub(crate) const TOKEN: u64 = 125_000_000;
const UNITS_PER_PPM: u64 = TOKEN / 1_000_000;

#[cfg(test)]
mod tests;
