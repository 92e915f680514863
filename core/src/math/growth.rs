//! Geometric growth without floating point hardware.

use super::ratio::Ratio;

/// Returns `base * factor^steps`, rounded to the nearest, saturating.
///
/// Exact while the result and the powers of the factor fit 64 significant bits,
/// as with 2, 1.5 or 0.5; otherwise the relative error stays below
/// `steps * 2^-62`. Never shrinks from one step to the next when the factor is
/// at least 1, never grows when it is at most 1. At most 65 products.
#[must_use]
pub(crate) const fn grown(base: u64, factor: Ratio, steps: u32) -> u64 {
    let mut result = Float::new(base as u128, 0);
    let mut square = Float::from_ratio(factor);
    let mut left = steps;
    while left > 0 {
        if left & 1 == 1 {
            result = result.times(square);
        }
        square = square.times(square);
        left >>= 1;
    }
    result.rounded()
}

/// `mantissa * 2^exponent`; the mantissa is zero or has its highest bit set.
///
/// The exponent cannot overflow: 32 squarings of the largest or the smallest
/// ratio stay within 2^38 either way.
#[derive(Clone, Copy)]
struct Float {
    mantissa: u64,
    exponent: i64,
}

impl Float {
    const fn new(value: u128, exponent: i64) -> Self {
        let zeros = value.leading_zeros();
        Self {
            mantissa: (value.unbounded_shl(zeros) >> 64) as u64,
            exponent: exponent.saturating_add(64).saturating_sub(zeros as i64),
        }
    }

    /// Long division by a million with 96 bits behind the point: the smallest
    /// ratio still has 76 significant ones.
    const fn from_ratio(ratio: Ratio) -> Self {
        const MILLION: u64 = 1_000_000;
        let first = (ratio.as_ppm() as u64) << 32;
        let second = (first % MILLION) << 32;
        let third = (second % MILLION) << 32;
        let quotient = ((first / MILLION) as u128) << 64
            | ((second / MILLION) as u128) << 32
            | (third / MILLION) as u128;
        Self::new(quotient, -96)
    }

    const fn times(self, other: Self) -> Self {
        let product = (self.mantissa as u128).wrapping_mul(other.mantissa as u128);
        Self::new(product, self.exponent.saturating_add(other.exponent))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a shift of 65 or more leaves nothing, whatever it is"
    )]
    const fn rounded(self) -> u64 {
        if self.mantissa == 0 {
            return 0;
        }
        if self.exponent > 0 {
            return u64::MAX;
        }
        let shift = match self.exponent.unsigned_abs() {
            0 => return self.mantissa,
            1..=65 => self.exponent.unsigned_abs() as u32,
            _ => 66,
        };
        // One bit more than wanted, then half of it up.
        let doubled = self.mantissa.unbounded_shr(shift.saturating_sub(1));
        (doubled >> 1).saturating_add(doubled & 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(base: u64, ppm: u32, steps: u32) -> Option<u128> {
        let mut numerator = u128::from(base);
        let mut denominator = 1_u128;
        for _ in 0..steps {
            numerator = numerator.checked_mul(u128::from(ppm))?;
            denominator = denominator.checked_mul(1_000_000)?;
        }
        numerator
            .checked_add(denominator / 2)
            .and_then(|sum| sum.checked_div(denominator))
    }

    proptest! {
        #[test]
        fn it_agrees_with_wide_arithmetic(base in 0..1_u64 << 44, ppm in 0..20_000_000_u32, steps in 0..4_u32) {
            if let Some(exact) = exact(base, ppm, steps) {
                let got = u128::from(grown(base, Ratio::ppm(ppm), steps));
                let slack = (exact >> 58).max(u128::from(steps > 0));
                prop_assert!(got.abs_diff(exact) <= slack, "{got} {exact}");
            }
        }

        #[test]
        fn whole_powers_are_exact(base: u32, factor in 1..8_u32, steps in 0..10_u32) {
            let exact = u64::from(base).saturating_mul(u64::from(factor).saturating_pow(steps));
            prop_assert_eq!(grown(base.into(), Ratio::times(factor), steps), exact);
        }

        #[test]
        fn growth_never_shrinks(base: u64, ppm in 1_000_000_u32.., steps: u32) {
            let factor = Ratio::ppm(ppm);
            prop_assert!(grown(base, factor, steps) <= grown(base, factor, steps.saturating_add(1)));
            prop_assert!(base <= grown(base, factor, steps));
        }

        #[test]
        fn shrinkage_never_grows(base: u64, ppm in 0..=1_000_000_u32, steps: u32) {
            let factor = Ratio::ppm(ppm);
            prop_assert!(grown(base, factor, steps) >= grown(base, factor, steps.saturating_add(1)));
        }

        #[test]
        fn a_slow_factor_is_monotone_too(base: u64, steps: u32, shift in 0..24_u32) {
            let steps = steps >> shift;
            let (up, down) = (Ratio::ppm(1_000_001), Ratio::ppm(999_999));
            prop_assert!(grown(base, up, steps) <= grown(base, up, steps.saturating_add(1)));
            prop_assert!(grown(base, down, steps) >= grown(base, down, steps.saturating_add(1)));
        }
    }

    #[test]
    fn decimal_factors_come_out_round() {
        let tenth_more = |steps| grown(100_000_000, Ratio::percent(110), steps);
        assert_eq!(tenth_more(1), 110_000_000);
        assert_eq!(tenth_more(2), 121_000_000);
        assert_eq!(tenth_more(5), 161_051_000);
    }

    #[test]
    fn the_ends_saturate() {
        assert_eq!(grown(1, Ratio::times(2), 63), 1 << 63);
        assert_eq!(grown(1, Ratio::times(2), 64), u64::MAX);
        assert_eq!(grown(u64::MAX, Ratio::ONE, u32::MAX), u64::MAX);
        assert_eq!(grown(1, Ratio::ppm(u32::MAX), u32::MAX), u64::MAX);
        assert_eq!(grown(u64::MAX, Ratio::ppm(1), u32::MAX), 0);
        assert_eq!(grown(0, Ratio::times(2), u32::MAX), 0);
        assert_eq!(grown(7, Ratio::ZERO, 0), 7);
        assert_eq!(grown(7, Ratio::ZERO, 1), 0);
        assert_eq!(grown(1, Ratio::percent(50), 1), 1);
        assert_eq!(grown(1, Ratio::percent(50), 2), 0);
    }
}
