//! How long a healthy dependency takes.

use std::time::Duration;

use crate::dice::{Dice, nanos};

/// How long a healthy dependency takes.
///
/// ```
/// use std::time::Duration;
/// use steadfast_simulation::Curve;
///
/// // Half of the calls within 20 ms, one in a hundred above 200 ms.
/// const SEARCH: Curve =
///     Curve::through(Duration::from_millis(20), Duration::from_millis(200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curve(Shape);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Through { p50: Duration, p99: Duration },
    Constant(Duration),
    Exponential(Duration),
    Measured(&'static [Duration]),
}

impl Curve {
    /// Makes a curve through two quantiles: the median, and what one in a hundred
    /// exceeds.
    ///
    /// Symmetric in the logarithm: as many take a tenth as take ten times as long.
    /// The tail ends where one in ten thousand begins.
    #[must_use]
    pub const fn through(p50: Duration, p99: Duration) -> Self {
        Self(Shape::Through { p50, p99 })
    }

    /// Makes a dependency that always takes the same time.
    #[must_use]
    pub const fn constant(span: Duration) -> Self {
        Self(Shape::Constant(span))
    }

    /// Makes a dependency whose answers have no memory, of that mean.
    #[must_use]
    pub const fn exponential(mean: Duration) -> Self {
        Self(Shape::Exponential(mean))
    }

    /// Makes a dependency that takes one of these times, each as likely as the others:
    /// what was measured, in any order.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_simulation::Curve;
    ///
    /// static MEASURED: [Duration; 4] = [
    ///     Duration::from_millis(11),
    ///     Duration::from_millis(12),
    ///     Duration::from_millis(12),
    ///     Duration::from_millis(90),
    /// ];
    /// const SEARCH: Curve = Curve::measured(&MEASURED);
    /// ```
    #[must_use]
    pub const fn measured(times: &'static [Duration]) -> Self {
        Self(Shape::Measured(times))
    }

    pub(crate) fn is_possible(self) -> bool {
        match self.0 {
            Shape::Through { p50, p99 } => !p50.is_zero() && p99 >= p50,
            Shape::Constant(span) | Shape::Exponential(span) => !span.is_zero(),
            Shape::Measured(times) => !times.is_empty() && !times.iter().any(Duration::is_zero),
        }
    }

    /// Draws one; always one number.
    pub(crate) fn draw(self, dice: &Dice) -> Duration {
        let draw = dice.draw();
        match self.0 {
            Shape::Through { p50, p99 } => spread(p50, p99, draw),
            Shape::Constant(span) => span,
            Shape::Exponential(mean) => {
                // The same draw, so that every curve takes one.
                crate::dice::exponential_of(mean, draw)
            }
            Shape::Measured(times) => {
                let len = u128::try_from(times.len()).unwrap_or(u128::MAX);
                let place = (u128::from(draw) * len) >> 32;
                let time = times.get(usize::try_from(place).unwrap_or(0));
                time.copied().unwrap_or(Duration::ZERO)
            }
        }
    }
}

/// One, in fixed point.
const ONE: u128 = 1 << 32;

/// The latency at a place in the distribution, `draw` being of 2^32.
///
/// With `o` the root of the odds and `k` such that the p99 is met: `1 + (o - 1) k`
/// medians above the middle, and the reciprocal of that below.
fn spread(p50: Duration, p99: Duration, draw: u32) -> Duration {
    let median = nanos(p50);
    if p99 <= p50 {
        return p50;
    }
    let place = u64::from(draw).min(TAIL);
    let (below, odds) = if place < 1 << 31 {
        (true, odds_root((1 << 32) - place, place.max(1)))
    } else {
        (false, odds_root(place, (1 << 32) - place))
    };
    let excess = u128::from(nanos(p99) - median) * ONE / u128::from(median);
    let stretched = ONE + (odds - ONE) * excess / (ROOT_99 - ONE);
    let nanos = if below {
        u128::from(median) * ONE / stretched
    } else {
        u128::from(median) * stretched / ONE
    };
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The root of a quotient of at least one, in fixed point.
fn odds_root(over: u64, under: u64) -> u128 {
    ((u128::from(over) * ONE * ONE) / u128::from(under)).isqrt()
}

/// Where the tail ends: 0.9999 of 2^32.
const TAIL: u64 = 4_294_537_799;

/// The root of 99, in fixed point.
const ROOT_99: u128 = 42_734_385_023;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(part: u32, of: u32) -> u128 {
        let draw = (u64::from(part) << 32) / u64::from(of);
        spread(MS(20), MS(200), u32::try_from(draw).expect("a part")).as_micros()
    }

    // test-03.1, test-03.2: in nanoseconds, rounded down.
    #[test]
    fn the_curve_goes_through_its_quantiles() {
        assert_eq!(ROOT_99, (99 * ONE * ONE).isqrt());
        let places = [
            (1, 100),
            (1, 10),
            (1, 4),
            (1, 2),
            (3, 4),
            (9, 10),
            (99, 100),
            (999, 1_000),
        ];
        let micros = places.map(|(part, of)| at(part, of));
        assert_eq!(
            micros,
            [
                1_999, 6_641, 11_519, 20_000, 34_723, 60_224, 199_999, 635_567
            ]
        );
        assert_eq!(at(9_999, 10_000), 2_010_988);
        assert_eq!(at(99_999, 100_000), at(9_999, 10_000));
    }

    // test-03.3
    #[test]
    fn without_a_tail_all_take_the_median() {
        for draw in [0, 1, 1 << 31, u32::MAX] {
            assert_eq!(spread(MS(10), MS(10), draw), MS(10));
        }
    }

    #[test]
    fn the_first_place_is_not_endless() {
        assert!(spread(MS(20), MS(200), 0) < MS(1));
        assert!(spread(Duration::MAX, Duration::MAX, 7) == Duration::MAX);
        assert!(spread(MS(1), Duration::MAX, u32::MAX) > MS(1));
    }
}
