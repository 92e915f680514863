//! Ratios without floating point.

use core::fmt;

const MILLION: u64 = 1_000_000;

/// A ratio in parts per million, from 0 to about 4294.
///
/// ```
/// use steadfast_core::Ratio;
///
/// assert_eq!(Ratio::percent(50), Ratio::ppm(500_000));
/// assert_eq!(Ratio::times(2).of(21), 42);
/// assert_eq!(Ratio::permille(125).to_string(), "12.5%");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u32);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// Makes a ratio from parts per million.
    #[must_use]
    pub const fn ppm(parts: u32) -> Self {
        Self(parts)
    }

    /// Makes a ratio from parts per thousand, saturating.
    #[must_use]
    pub const fn permille(parts: u32) -> Self {
        Self(parts.saturating_mul(1_000))
    }

    /// Makes a ratio from parts per hundred, saturating.
    #[must_use]
    pub const fn percent(parts: u32) -> Self {
        Self(parts.saturating_mul(10_000))
    }

    /// Makes a whole multiple, saturating.
    #[must_use]
    pub const fn times(multiple: u32) -> Self {
        Self(multiple.saturating_mul(1_000_000))
    }

    /// Returns the parts per million.
    #[must_use]
    pub const fn as_ppm(self) -> u32 {
        self.0
    }

    /// Returns this share of `whole`, rounded down, saturating.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        // Split so that no 128-bit product is needed: whole = a * million + b.
        let ppm = self.0 as u64;
        let (a, b) = (whole / MILLION, whole % MILLION);
        a.saturating_mul(ppm)
            .saturating_add(b.saturating_mul(ppm) / MILLION)
    }

    /// Tells whether `part` is at least this share of `whole`.
    #[must_use]
    pub const fn is_reached(self, part: u64, whole: u64) -> bool {
        (part as u128).saturating_mul(MILLION as u128)
            >= (whole as u128).saturating_mul(self.0 as u128)
    }
}

/// As a percentage, up to four decimals, no trailing zeros.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", Percents(*self))
    }
}

/// The number of a percentage, without its sign.
pub(crate) struct Percents(pub(crate) Ratio);

impl fmt::Display for Percents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ppm = self.0.as_ppm();
        let (whole, mut rest) = (ppm / 10_000, ppm % 10_000);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let mut digits = 4_usize;
        while rest % 10 == 0 {
            rest /= 10;
            digits = digits.saturating_sub(1);
        }
        write!(f, "{whole}.{rest:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    proptest! {
        #[test]
        fn shares_agree_with_wide_arithmetic(ppm: u32, whole: u64) {
            let exact = u128::from(whole) * u128::from(ppm) / 1_000_000;
            let exact = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(Ratio::ppm(ppm).of(whole), exact);
        }
    }

    #[test]
    fn reaching_counts_equality() {
        assert!(Ratio::percent(50).is_reached(10, 20));
        assert!(!Ratio::percent(50).is_reached(10, 21));
        assert!(Ratio::percent(50).is_reached(u64::MAX, u64::MAX));
    }

    #[test]
    fn text_is_short() {
        assert_eq!(Ratio::ONE.to_string(), "100%");
        assert_eq!(Ratio::ppm(1).to_string(), "0.0001%");
        assert_eq!(Ratio::ppm(62_500).to_string(), "6.25%");
    }
}
