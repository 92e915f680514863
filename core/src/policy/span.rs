//! How texts show spans of time.

use core::fmt;
use core::time::Duration;

use super::backoff::Jitter;
use crate::time::nanos;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A span in its own unit with up to two decimals: `40.96ms`, `1.5h`.
pub(crate) struct Compact(pub(crate) Duration);

impl fmt::Display for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths, unit) = match nanos(self.0) {
            0 => return f.write_str("0s"),
            n if n < MICROSECOND => return write!(f, "{n}ns"),
            n if n < MILLISECOND => in_units(n, MICROSECOND, "us"),
            n if n < SECOND => in_units(n, MILLISECOND, "ms"),
            n if n < MINUTE => in_units(n, SECOND, "s"),
            n if n < HOUR => in_units(n, MINUTE, "m"),
            n => in_units(n, HOUR, "h"),
        };
        match hundredths {
            0 => write!(f, "{whole}{unit}"),
            h if h % 10 == 0 => write!(f, "{whole}.{}{unit}", h / 10),
            h => write!(f, "{whole}.{h:02}{unit}"),
        }
    }
}

/// A wait that jitter may shorten: `50ms to 100ms`.
pub(super) struct Drawn(pub(super) Duration, pub(super) Jitter);

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shortest = self.1.shortest(self.0);
        if shortest < self.0 {
            write!(f, "{} to ", Compact(shortest))?;
        }
        Compact(self.0).fmt(f)
    }
}

/// A moment on a timeline: `9.70s`, below 100 ms `4.00ms`, from ten minutes on
/// `12.50m`.
pub(super) struct Moment(pub(super) Duration);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths, unit) = match nanos(self.0) {
            0 => (0, 0, "s"),
            n if n < 100 * MILLISECOND => in_units(n, MILLISECOND, "ms"),
            n if n < 10 * MINUTE => in_units(n, SECOND, "s"),
            n => in_units(n, MINUTE, "m"),
        };
        // The decimals take three characters, and then there is the unit.
        let width = f.width().unwrap_or(0);
        let width = width.saturating_sub(unit.len().saturating_add(3));
        write!(f, "{whole:>width$}.{hundredths:02}{unit}")
    }
}

/// Rounds to hundredths of a unit.
const fn in_units(nanos: u64, unit: u64, name: &str) -> (u64, u64, &str) {
    let hundredth = unit / 100;
    let hundredths = match nanos.saturating_add(hundredth / 2).checked_div(hundredth) {
        Some(hundredths) => hundredths,
        None => 0,
    };
    (hundredths / 100, hundredths % 100, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn a_span_takes_the_unit_that_fits() {
        let cases = [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5us"),
            (40_960_000, "40.96ms"),
            (122_880_000, "122.88ms"),
            (999_999_999, "1000ms"),
            (10_000_000_000, "10s"),
            (9_700_000_000, "9.7s"),
            (90_000_000_000, "1.5m"),
            (5_400_000_000_000, "1.5h"),
            (u64::MAX, "5124095.57h"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Compact(Duration::from_nanos(nanos)).to_string(), text);
        }
    }

    #[test]
    fn moments_line_up() {
        let secs = |secs| Moment(Duration::from_secs(secs));
        assert_eq!(std::format!("{:>9}|", secs(5)), "    5.00s|");
        assert_eq!(std::format!("{:>9}|", secs(750)), "   12.50m|");
        assert_eq!(secs(599).to_string(), "599.00s");
        let short = Moment(Duration::from_micros(4_050));
        assert_eq!(std::format!("{short:>9}|"), "   4.05ms|");
        assert_eq!(Moment(Duration::from_millis(100)).to_string(), "0.10s");
    }
}
