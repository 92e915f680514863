//! A dependency that slows down, fails and fills up.

use std::time::Duration;

use steadfast_core::{Instant, Ratio};

use crate::curve::Curve;
use crate::dice::{Dice, nanos};
use crate::impairment::{Impairments, NORMAL};

/// A dependency as a rule: how long it takes, how often it fails, how much it serves
/// at once, and when it is unwell.
///
/// It has no queue: above its capacity it is slower by as much as it is above, and
/// sheds what is above three times that.
///
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Ratio;
/// use steadfast_simulation::{Curve, Model};
///
/// const MS: fn(u64) -> Duration = Duration::from_millis;
///
/// let search = Model::new(Curve::through(MS(20), MS(200)))
///     .failing(Ratio::permille(1))
///     .with_capacity(400)
///     .browned_out(MS(60_000), Ratio::times(8), MS(60_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub(crate) curve: Curve,
    pub(crate) failing: Ratio,
    pub(crate) capacity: u32,
    pub(crate) impairments: Impairments,
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) latency: Duration,
    pub(crate) fails: bool,
}

impl Fate {
    const REFUSED: Self = Self {
        latency: Duration::ZERO,
        fails: true,
    };
}

impl Model {
    /// Makes a dependency that is well, never fails, and has room for all.
    #[must_use]
    pub const fn new(curve: Curve) -> Self {
        Self {
            curve,
            failing: Ratio::ZERO,
            capacity: 0,
            impairments: Impairments::NONE,
        }
    }

    /// Returns the dependency with a share of attempts that fail while nothing is
    /// wrong otherwise.
    #[must_use]
    pub fn failing(self, share: Ratio) -> Self {
        Self {
            failing: share,
            ..self
        }
    }

    /// Returns the dependency with so many attempts served at once at full speed; 0 is
    /// any number.
    #[must_use]
    pub fn with_capacity(self, attempts: u32) -> Self {
        Self {
            capacity: attempts,
            ..self
        }
    }

    /// Returns the dependency with a time in which it takes so many times as long.
    ///
    /// Those that overlap multiply.
    #[must_use]
    pub fn browned_out(mut self, after: Duration, slower: Ratio, lasting: Duration) -> Self {
        self.impairments.slow(after, slower, lasting);
        self
    }

    /// Returns the dependency with a time in which every attempt fails at once.
    #[must_use]
    pub fn down(mut self, after: Duration, lasting: Duration) -> Self {
        self.impairments.down(after, lasting);
        self
    }

    /// Decides on an attempt with so many in flight, that one included; always two
    /// numbers.
    pub(crate) fn serve(&self, now: Instant, in_flight: u32, dice: &Dice) -> Fate {
        let latency = self.curve.draw(dice);
        let fails = dice.happens(self.failing);
        if self.impairments.is_down(now) {
            return Fate::REFUSED;
        }
        let mut slower = self.impairments.slowness(now);
        if self.capacity > 0 && in_flight > self.capacity {
            if in_flight > self.capacity.saturating_mul(3) {
                return Fate::REFUSED;
            }
            slower = slower.saturating_mul(in_flight.into()) / u64::from(self.capacity);
        }
        Fate {
            latency: times(latency, slower),
            fails,
        }
    }
}

/// A span times so many millionths.
pub(crate) fn times(span: Duration, millionths: u64) -> Duration {
    let wide = u128::from(nanos(span)) * u128::from(millionths) / u128::from(NORMAL);
    Duration::from_nanos(u64::try_from(wide).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO.saturating_add(MS(ms))
    }

    fn latency(model: &Model, ms: u64, in_flight: u32) -> Option<Duration> {
        let fate = model.serve(at(ms), in_flight, &Dice::new(1));
        (!fate.fails).then_some(fate.latency)
    }

    // test-03.6, test-03.7
    #[test]
    fn above_its_capacity_it_slows_down_and_then_sheds() {
        let model = Model::new(Curve::constant(MS(10))).with_capacity(400);
        let took = [400, 450, 800, 1_200, 1_201].map(|busy| latency(&model, 0, busy));
        let micros = |count| Some(Duration::from_micros(count));
        assert_eq!(
            took,
            [
                micros(10_000),
                micros(11_250),
                micros(20_000),
                micros(30_000),
                None
            ]
        );
    }

    // test-03.8
    #[test]
    fn brownouts_that_overlap_multiply() {
        let model = Model::new(Curve::constant(MS(10)))
            .browned_out(MS(1_000), Ratio::times(2), MS(1_000))
            .browned_out(MS(1_500), Ratio::times(3), MS(1_000));
        let took = [999, 1_000, 1_500, 1_999, 2_000, 2_500].map(|ms| latency(&model, ms, 1));
        assert_eq!(took, [10, 20, 60, 60, 30, 10].map(|ms| Some(MS(ms))));
    }

    #[test]
    fn an_outage_fails_at_once_whatever_else() {
        let model = Model::new(Curve::constant(MS(10)))
            .browned_out(MS(0), Ratio::times(8), MS(9_000))
            .down(MS(1_000), MS(1_000));
        let fate = model.serve(at(1_999), 1, &Dice::new(1));
        assert_eq!(fate, Fate::REFUSED);
        assert_eq!(latency(&model, 2_000, 1), Some(MS(80)));
    }

    // Two numbers an attempt, whatever it needs: what comes later is the same.
    #[test]
    fn an_attempt_takes_two_numbers() {
        let dice = [Dice::new(5), Dice::new(5)];
        let well = Model::new(Curve::through(MS(20), MS(200)));
        let down = Model::new(Curve::constant(MS(1))).down(MS(0), MS(9));
        well.serve(at(0), 1, &dice[0]);
        down.serve(at(0), 1, &dice[1]);
        assert_eq!(dice[0].draw(), dice[1].draw());
    }
}
