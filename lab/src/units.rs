//! Spans and shares as a file writes them.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use steadfast_core::Ratio;

/// A span of time: `"250ms"`, `"10s"`, `"1.5min"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// A share or a multiple: `"10%"`, `1.5`, `8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(pub(crate) Ratio);

/// A span of time, or none at all: `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound(pub(crate) Option<Duration>);

/// What a file writes as one scalar.
pub(crate) trait Scalar: Sized {
    /// What it looks like.
    const LOOK: &'static str;

    /// Reads it; a number comes as its shortest text.
    fn read(text: &str) -> Option<Self>;
}

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl Scalar for Span {
    const LOOK: &'static str = "a time such as \"250ms\", \"10s\" or \"5min\"";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let at = text.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (number, unit) = text.split_at_checked(at)?;
        let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let nanos = u128::from(millionths(number.trim_end())?) * u128::from(nanos) / 1_000_000;
        Some(Self(Duration::from_nanos(u64::try_from(nanos).ok()?)))
    }
}

impl Scalar for Share {
    const LOOK: &'static str = "a share such as \"10%\", or a number such as 1.5";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let millionths = match text.strip_suffix('%') {
            Some(percents) => millionths(percents.trim_end())? / 100,
            None => millionths(text)?,
        };
        Some(Self(Ratio::ppm(u32::try_from(millionths).ok()?)))
    }
}

impl Scalar for Bound {
    const LOOK: &'static str = "a time such as \"250ms\", \"10s\" or \"5min\", or \"none\"";

    fn read(text: &str) -> Option<Self> {
        if text.trim() == "none" {
            return Some(Self(None));
        }
        Span::read(text).map(|Span(span)| Self(Some(span)))
    }
}

/// Reads a decimal number of at most six decimals.
fn millionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 6 || !is_plain(whole) || !is_plain(decimals) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let decimals: u64 = format!("{decimals:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(decimals)
}

/// Reads a scalar, whether the file writes it as text or as a number.
struct Reads<T>(PhantomData<T>);

impl<T: Scalar> Visitor<'_> for Reads<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::LOOK)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).ok_or_else(|| E::custom(format!("`{text}` is not {}", T::LOOK)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! scalars {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Reads(PhantomData))
            }
        }
    )*};
}

scalars!(Span, Share, Bound);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_unit() {
        let span = |text| Span::read(text).map(|Span(span)| span);
        assert_eq!(span("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(span("1.5 min"), Some(Duration::from_secs(90)));
        assert_eq!(span("2h"), Some(Duration::from_secs(7200)));
        for wrong in [
            "10",
            "s",
            "",
            "-1s",
            "1.5.5s",
            "10 parsecs",
            "99999999999999h",
        ] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_share_is_exact() {
        let share = |text| Share::read(text).map(|Share(share)| share);
        assert_eq!(share("10%"), Some(Ratio::percent(10)));
        assert_eq!(share("99.95 %"), Some(Ratio::ppm(999_500)));
        assert_eq!(share("1.2"), Some(Ratio::percent(120)));
        assert_eq!(share("8"), Some(Ratio::times(8)));
        for wrong in ["", "%", "-1", "ten", "5000", "1.0000001"] {
            assert_eq!(share(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_bound_may_be_none() {
        assert_eq!(Bound::read("none"), Some(Bound(None)));
        let ten = Some(Duration::from_secs(10));
        assert_eq!(Bound::read("10s"), Some(Bound(ten)));
    }
}
