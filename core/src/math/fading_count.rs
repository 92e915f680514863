//! A count that fades by half: how much happened of late, in one word.
//!
//! The word holds the count, and the tick at which it was that high. Reading
//! fades it, adding writes it anew. A count that is [`FULL`] is only read, so a
//! busy program writes no more often than the count fades: what counting costs
//! does not grow with the traffic.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::time::{Instant, nanos};

/// How much of a full measure was added of late; nothing at first.
///
/// While a clock has stepped back, nothing fades; one that comes back by more
/// than an hour finds nothing left.
#[derive(Debug)]
pub(crate) struct FadingCount<M: Memory = Shared> {
    /// Half-lives a tick, in 2^-40.
    halvings: u64,
    word: M::U64,
}

impl<M: Memory> FadingCount<M> {
    /// Makes an empty count that fades by half in `half_life`, at least a tick.
    pub(crate) const fn new(half_life: Duration) -> Self {
        let ticks = nanos(half_life) / TICK;
        Self {
            halvings: match (1_u64 << 40).checked_div(ticks) {
                Some(halvings) => halvings,
                None => 1 << 40,
            },
            word: M::U64::ZERO,
        }
    }

    /// Returns what to add for `part` of one, `whole` ones being full.
    ///
    /// Too small a part is rounded up, so that it counts at all.
    pub(crate) const fn step(part: Ratio, whole: u32) -> u32 {
        let part = (part.as_ppm() as u64).saturating_mul(FULL);
        let whole = (whole as u64).saturating_mul(1_000_000);
        let whole = if whole == 0 { 1 } else { whole };
        let step = part.div_ceil(whole);
        #[expect(clippy::cast_possible_truncation, reason = "at most `FULL`")]
        let step = if step > FULL { FULL } else { step } as u32;
        step
    }

    /// Adds `step`, unless the count is full.
    ///
    /// Tries once: who loses is not counted. It takes thousands of calls a
    /// second for that, and then the count is nearly always full.
    pub(crate) fn add(&self, now: Instant, step: u32) {
        let word = self.word.load();
        let (count, tick) = self.faded(word, now);
        if count < FULL {
            let count = count.saturating_add(step.into()).min(BRIM);
            let _ = self
                .word
                .compare_exchange(word, (tick << COUNT_BITS) | count);
        }
    }

    /// Returns the share of `whole` that the count is of a full one.
    pub(crate) fn share_of(&self, whole: u64, now: Instant) -> u64 {
        let (count, _) = self.faded(self.word.load(), now);
        let count = count.min(FULL);
        // Split so that no 128-bit product is needed.
        let (high, low) = (whole >> FULL_BITS, whole & (FULL - 1));
        high.saturating_mul(count)
            .saturating_add(low.saturating_mul(count) >> FULL_BITS)
    }

    /// Tells whether nothing was ever added.
    pub(crate) fn is_untouched(&self) -> bool {
        self.word.load() == 0
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.word.store(0);
    }

    /// Returns the count at `now`, and the tick that goes with it.
    fn faded(&self, word: u64, now: Instant) -> (u64, u64) {
        let (count, tick) = (word & COUNT_MASK, word >> COUNT_BITS);
        let now = (now.as_nanos() / TICK) & TICK_MASK;
        let age = now.wrapping_sub(tick) & TICK_MASK;
        if age == 0 || age > TICK_MASK - BEHIND {
            return (count, tick);
        }
        (self.fade(count, age), now)
    }

    /// Halves once for each half-life, and between them by a parabola that is
    /// off by 0.4 % at most.
    fn fade(&self, count: u64, age: u64) -> u64 {
        let elapsed = age.saturating_mul(self.halvings) >> 16;
        let part = elapsed & (ONE - 1);
        let bend = BEND.saturating_mul(part) >> ONE_BITS;
        let lost = part.saturating_mul(SLOPE.saturating_sub(bend)) >> ONE_BITS;
        let kept = count.saturating_mul(ONE.saturating_sub(lost)) >> ONE_BITS;
        let halvings = u32::try_from(elapsed >> ONE_BITS).unwrap_or(u32::MAX);
        kept.checked_shr(halvings).unwrap_or(0)
    }
}

/// Nanoseconds a tick: 2^20, a millisecond.
const TICK: u64 = 1 << 20;

/// Ticks count modulo 2^35, which is 417 days.
///
/// A count that nobody touched for that long less an hour reads as if it were
/// not old, once.
const TICK_MASK: u64 = (1 << (64 - COUNT_BITS)) - 1;

/// Ticks that a clock may lag before it is believed: an hour.
const BEHIND: u64 = 3_600_000_000_000 / TICK;

const FULL_BITS: u32 = 28;
const FULL: u64 = 1 << FULL_BITS;
/// As high as it gets: a full count is not written for a while.
const BRIM: u64 = FULL + FULL / 16;
const COUNT_BITS: u32 = FULL_BITS + 1;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

const ONE_BITS: u32 = 24;
const ONE: u64 = 1 << ONE_BITS;
/// The natural logarithm of 2: how fast a half-life begins.
const SLOPE: u64 = 11_629_080;
/// What lets the parabola end at a half.
const BEND: u64 = SLOPE - ONE / 2;

#[cfg(test)]
#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "what the parabola is held against"
)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use proptest::prelude::*;

    type Count = FadingCount<Local>;

    const SECOND: u64 = 1_000_000_000;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn filled(half_life: u64, now: u64) -> Count {
        let count = Count::new(Duration::from_nanos(half_life));
        count.add(at(now), Count::step(Ratio::ONE, 1));
        count
    }

    #[test]
    fn it_halves_in_a_half_life() {
        let count = filled(3 * SECOND, 7 * SECOND);
        let left = |seconds| count.share_of(1_000_000, at(seconds * SECOND));
        assert_eq!(left(7), 1_000_000);
        assert!(left(10).abs_diff(500_000) < 500, "{}", left(10));
        assert!(left(13).abs_diff(250_000) < 500, "{}", left(13));
        assert_eq!(left(1_000), 0);
    }

    // What comes steadily adds up to the rate times half-life / ln 2.
    #[test]
    fn a_steady_rate_is_measured() {
        for gap in [SECOND / 1_000, SECOND / 30, SECOND / 2] {
            let count = Count::new(Duration::from_secs(3));
            let step = Count::step(Ratio::ONE, 10_000);
            let calls = 60 * SECOND / gap;
            for call in 0..calls {
                count.add(at(call * gap), step);
            }
            let held = count.share_of(10_000_000, at(calls * gap));
            let exact = 4_328 * SECOND / gap;
            assert!(
                held.abs_diff(exact) * 100 < exact * 10,
                "{held} for {exact}"
            );
        }
    }

    #[test]
    fn a_full_count_is_not_written() {
        let count = Count::new(Duration::from_secs(1));
        for _ in 0..3 {
            count.add(at(0), 3 << 26);
        }
        let word = count.word.get();
        for ms in 0..80 {
            count.add(at(ms * 1_000_000), 1 << 27);
            assert_eq!(count.word.get(), word);
        }
        count.add(at(SECOND), 1 << 27);
        assert_ne!(count.word.get(), word);
    }

    #[test]
    fn small_steps_still_count() {
        assert_eq!(Count::step(Ratio::ppm(1), u32::MAX), 1);
        assert_eq!(Count::step(Ratio::times(9), 1), 1 << 28);
        assert_eq!(Count::step(Ratio::ONE, 0), 1 << 28);
    }

    #[test]
    fn a_clock_behind_fades_nothing() {
        let now = 7_200 * SECOND;
        let count = filled(3 * SECOND, now);
        let left = |nanos| count.share_of(1_000, at(nanos));
        assert_eq!(left(now - 1_800 * SECOND), 1_000);
        // It is added to, and the time stays.
        count.add(at(now + 3 * SECOND), 1);
        count.add(at(now), 1 << 26);
        assert!((745..=755).contains(&left(now + 3 * SECOND)));
        assert_eq!(left(now - 3_700 * SECOND), 0);
    }

    proptest! {
        #[test]
        fn a_fade_is_close_to_the_exact(
            half_life in 1_000_000..100_000 * SECOND,
            age in 0..1_000_000 * SECOND,
        ) {
            let count = filled(half_life, 0);
            let whole = 1 << 40;
            let left = count.share_of(whole, at(age));
            let ticks = |nanos: u64| (nanos / TICK).max(1) as f64;
            let age = (age / TICK) as f64;
            let exact = (-(age / ticks(half_life))).exp2() * whole as f64;
            prop_assert!((left as f64 - exact).abs() <= exact * 0.01 + 8192.0, "{} {}", left, exact);
        }

        #[test]
        fn time_only_takes(half_life: u64, start: u64, ages in proptest::collection::vec(0..u64::MAX >> 9, 0..20)) {
            let count = filled(half_life, start);
            let mut ages = ages;
            ages.sort_unstable();
            let mut before = u64::MAX;
            for age in ages {
                let left = count.share_of(u64::MAX, at(start.wrapping_add(age)));
                prop_assert!(left <= before);
                before = left;
            }
        }

        #[test]
        fn nothing_panics(half_life: u64, ops in proptest::collection::vec((any::<u64>(), any::<u32>()), 0..50)) {
            let count = Count::new(Duration::from_nanos(half_life));
            for (now, step) in ops {
                count.add(at(now), step);
                prop_assert!(count.share_of(1 << 40, at(now)) <= 1 << 40);
            }
        }
    }
}
