//! The one random stream of a run.

use std::cell::Cell;
use std::time::Duration;

use steadfast_core::{Ratio, random};

/// The one random stream of a run: arrivals, levels and the dependency draw from it
/// in turn.
///
/// Integers only, so that a seed gives the same run on every machine.
#[derive(Debug)]
pub(crate) struct Dice {
    seed: u64,
    drawn: Cell<u64>,
}

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            drawn: Cell::new(0),
        }
    }

    /// Draws from 0 to 2^32 - 1.
    pub(crate) fn draw(&self) -> u32 {
        let at = self.drawn.get();
        self.drawn.set(at.wrapping_add(1));
        random(self.seed, at)
    }

    /// Draws a whole number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        scaled(end, u64::from(self.draw()))
    }

    /// Tells whether a thing of that chance happens.
    pub(crate) fn happens(&self, chance: Ratio) -> bool {
        self.below(MILLION) < u64::from(chance.as_ppm())
    }

    /// Draws a wait that has no memory, of that mean.
    pub(crate) fn exponential(&self, mean: Duration) -> Duration {
        exponential_of(mean, self.draw())
    }

    /// Draws a wait from nothing to twice the mean, all alike.
    pub(crate) fn even(&self, mean: Duration) -> Duration {
        Duration::from_nanos(self.below(nanos(mean).saturating_mul(2)))
    }
}

const MILLION: u64 = 1_000_000;

/// The part `draw` of 2^32 of a number.
fn scaled(number: u64, draw: u64) -> u64 {
    let (high, low) = (number >> 32, number & u64::from(u32::MAX));
    high.saturating_mul(draw)
        .saturating_add(low.saturating_mul(draw) >> 32)
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// `-ln(u)` times the mean, `u` being `draw + 1` of 2^32.
pub(crate) fn exponential_of(mean: Duration, draw: u32) -> Duration {
    // In the logarithm to the base 2, of 2^-16.
    let bits = (32 << 16) - log2(u64::from(draw) + 1);
    // The natural logarithm of 2, of 2^-32.
    let nats = (bits.saturating_mul(2_977_044_472)) >> 16;
    Duration::from_nanos(mul_q32(nanos(mean), nats))
}

/// A number times one in 2^-32.
pub(crate) fn mul_q32(number: u64, times: u64) -> u64 {
    let wide = (u128::from(number) * u128::from(times)) >> 32;
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// The logarithm to the base 2, of 2^-16; of 0 it is 0.
fn log2(number: u64) -> u64 {
    if number == 0 {
        return 0;
    }
    let whole = u64::from(number.ilog2());
    // From 1 to 2, of 2^-31; each squaring gives one more digit.
    let mut rest = if whole >= 31 {
        number >> (whole - 31)
    } else {
        number << (31 - whole)
    };
    let mut digits = 0;
    for _ in 0..16 {
        rest = (rest * rest) >> 31;
        digits <<= 1;
        if rest >= 1 << 32 {
            rest >>= 1;
            digits |= 1;
        }
    }
    (whole << 16) | digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_book() {
        for number in [1, 2, 3, 5, 7, 1_000, 123_456_789, u64::from(u32::MAX)] {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the book counts in floating point"
            )]
            let expected = ((number as f64).log2() * 65_536.0) as u64;
            assert!(log2(number).abs_diff(expected) <= 1, "{number}");
        }
    }

    #[test]
    fn waits_have_their_mean() {
        let dice = Dice::new(7);
        let mean = Duration::from_millis(10);
        let count = 100_000;
        let [without_memory, even] = [Dice::exponential, Dice::even].map(|wait| {
            let all: Duration = (0..count).map(|_| wait(&dice, mean)).sum();
            all / count
        });
        for sample in [without_memory, even] {
            assert!(sample.abs_diff(mean) < mean / 100, "{sample:?}");
        }
        // A median of ln 2, and one in a hundred above ln 100.
        let mut waits: Vec<_> = (0..count).map(|_| dice.exponential(mean)).collect();
        waits.sort_unstable();
        let at = |index: u32| waits[index as usize].as_micros();
        assert!((6_800..7_060).contains(&at(count / 2)), "{}", at(count / 2));
        assert!((45_000..47_200).contains(&at(count / 100 * 99)));
    }

    #[test]
    fn a_wait_is_never_endless() {
        let mean = Duration::from_secs(1);
        assert_eq!(exponential_of(mean, u32::MAX), Duration::ZERO);
        let longest = exponential_of(mean, 0);
        assert!((22..23).contains(&longest.as_secs()), "{longest:?}");
        assert!(exponential_of(Duration::MAX, 0) > Duration::from_secs(1 << 30));
    }

    #[test]
    fn chances_are_what_they_say() {
        let dice = Dice::new(3);
        let hits = (0..100_000)
            .filter(|_| dice.happens(Ratio::percent(10)))
            .count();
        assert!((9_700..10_300).contains(&hits), "{hits}");
        assert!(!(0..1_000).any(|_| dice.happens(Ratio::ZERO)));
        assert!((0..1_000).all(|_| dice.happens(Ratio::ONE)));
    }

    // test-03.4, test-03.10: the numbers of our own stream.
    #[test]
    fn the_stream_is_pinned() {
        let dice = Dice::new(42);
        let drawn = [(); 4].map(|()| dice.draw());
        assert_eq!(
            drawn,
            [1_612_446_537, 4_198_257_628, 3_196_746_644, 2_158_111_271]
        );
    }
}
