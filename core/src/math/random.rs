//! The deterministic random stream: stateless, 32-bit products only.
//!
//! `ctr32` mixes a seed with a counter through the finaliser "lowbias32" found
//! by Chris Wellons (<https://nullprogram.com/blog/2018/07/31/>). The same seed
//! and counter give the same number on every target. Not for keys.

use core::time::Duration;

use crate::time::nanos;

/// Draws number `counter` of the stream that `seed` names.
///
/// ```
/// use steadfast_core::random;
///
/// assert_eq!(random(7, 0), random(7, 0));
/// assert_ne!(random(7, 0), random(7, 1));
/// assert_ne!(random(7, 0), random(8, 0));
/// ```
#[must_use]
pub const fn random(seed: u64, counter: u64) -> u32 {
    let (seed_low, seed_high) = halves(seed);
    let (low, high) = halves(counter);
    let inner = mix(seed_low ^ low.wrapping_mul(0x9E37_79B9));
    mix(inner ^ seed_high.wrapping_add(high) ^ low)
}

/// Scales a draw to `0..n`; zero for `n == 0`.
#[must_use]
pub(crate) const fn scale(draw: u32, n: u64) -> u64 {
    let (low, high) = halves(n);
    let draw = draw as u64;
    ((low as u64).wrapping_mul(draw) >> 32).wrapping_add((high as u64).wrapping_mul(draw))
}

/// Scales a draw to a span below `whole`.
#[must_use]
pub(crate) const fn scale_span(draw: u32, whole: Duration) -> Duration {
    Duration::from_nanos(scale(draw, nanos(whole)))
}

const fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[expect(clippy::cast_possible_truncation, reason = "takes the word apart")]
const fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scaled_draws_stay_below(draw: u32, n: u64) {
            prop_assert!(scale(draw, n) < n.max(1));
        }

        #[test]
        fn scaling_is_monotone(a: u32, b: u32, n: u64) {
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(scale(a, n) <= scale(b, n));
        }
    }

    #[test]
    fn the_stream_is_pinned() {
        let drawn: [u32; 4] = core::array::from_fn(|n| random(42, n as u64));
        assert_eq!(drawn, PINNED);
    }

    #[test]
    fn the_mean_is_a_half() {
        let sum: u64 = (0..100_000).map(|n| scale(random(1, n), 1_000)).sum();
        assert!((49_700_000..50_300_000).contains(&sum), "{sum}");
    }

    const PINNED: [u32; 4] = [1_612_446_537, 4_198_257_628, 3_196_746_644, 2_158_111_271];
}
