//! How soon a dependency that slows down opens, and how often one in health does
//! by chance.

use super::*;
use crate::math::growth::grown;
use crate::math::random::random;
use crate::policy::slow_trip::SlowTrip;
use Kind::Ok as Fine;
use std::vec::Vec;

/// Latencies spread log-normally about a median of 20 ms.
///
/// A normal variable is the sum of twelve uniform ones less six; latencies go in
/// steps of a 64th of an octave.
struct Spread {
    /// The deviation of the natural logarithm, in thousandths.
    sigma: u64,
    seed: u64,
}

impl Spread {
    fn latency(&self, call: u64) -> u64 {
        let sum: u64 = (0..6)
            .map(|at| u64::from(random(self.seed, call * 6 + at)))
            .map(|draw| (draw & 0xFFFF) + (draw >> 16))
            .sum();
        // In 2^-16 deviations; a deviation of one is 64 / ln 2 steps.
        let deviations = sum.abs_diff(6 << 16);
        let steps = deviations * self.sigma * 92_332 / 1_000_000_000;
        let steps = u32::try_from(steps >> 16).expect("a few hundred");
        let step = if sum < 6 << 16 { 989_228 } else { 1_010_889 };
        grown(20_000_000, Ratio::ppm(step), steps)
    }
}

/// Makes successful attempts, so many a second, and returns the milliseconds
/// until it opens.
fn run(
    breaker: &Alone,
    a_second: u64,
    from: u64,
    to: u64,
    latency: impl Fn(u64) -> u64,
) -> Option<u64> {
    (from * a_second..to * a_second).find_map(|call| {
        let at = call * 1_000 / a_second;
        let took = Duration::from_nanos(latency(call));
        let permit = breaker.admit(ms(at)).expect("it is closed");
        let change = permit.settle(ms(at), Fine, took, || 0);
        change.map(|_| at - from * 1_000)
    })
}

/// How long an eightfold slow-down at 50 a second takes to open, in the middle of
/// some runs.
fn opens_in(settings: Breaker, sigma: u64) -> u64 {
    let mut opened: Vec<u64> = (0..5)
        .map(|seed| {
            let spread = Spread { sigma, seed };
            let breaker = Alone::new(settings);
            let normal = |call| spread.latency(call);
            assert_eq!(run(&breaker, 50, 0, 300, normal), None);
            run(&breaker, 50, 300, 360, |call| 8 * spread.latency(call)).expect("it opens")
        })
        .collect();
    opened.sort_unstable();
    opened[2]
}

#[test]
fn a_brownout_opens_in_half_a_window() {
    for sigma in [400, 800] {
        let middle = opens_in(PATIENT, sigma);
        assert!((13_000..17_000).contains(&middle), "{sigma}: {middle} ms");
    }
}

/// How often it opens in a day of health, at five attempts a second: the fewer,
/// the more there is of chance.
fn false_trips(settings: Breaker, latency: impl Fn(u64) -> u64) -> u64 {
    let breaker = Alone::new(settings);
    let (mut now, mut trips) = (0, 0);
    while let Some(after) = run(&breaker, 5, now, 86_400, &latency) {
        trips += 1;
        // On after a short break.
        now += after / 1_000 + 15;
        breaker.reset();
    }
    trips
}

#[test]
fn a_wide_spread_opens_nothing() {
    let spread = Spread {
        sigma: 1_500,
        seed: 1,
    };
    assert_eq!(false_trips(PATIENT, |call| spread.latency(call)), 0);
}

/// As with a cache that holds half.
#[test]
fn two_speeds_take_their_usual_share() {
    let two_speeds = |call| {
        let is_slow = u64::from(random(3, call)) < Ratio::percent(45).of(1 << 32);
        if is_slow { 200_000_000 } else { 10_000_000 }
    };
    let law = SlowTrip::DEFAULT.with_usual_share(true);
    let allowing = PATIENT.with_relative_slow_calls(law, span(300));
    assert!(false_trips(PATIENT, two_speeds) > 100);
    assert_eq!(false_trips(allowing, two_speeds), 0);
    // For that, opening waits longer the wider the spread.
    let middle = opens_in(allowing, 1_500);
    assert!((13_000..25_000).contains(&middle), "{middle} ms");
}
