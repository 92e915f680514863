//! What a second copy brings, by arithmetic.

use std::time::Duration;

use steadfast_core::{Hedge, Policy, Ratio};
use steadfast_simulation::{Curve, Load, Model, Simulation, Topology};

const SECOND: Duration = Duration::from_secs(1);

/// Log-normal, of a spread that makes the p99 ten times the p50.
fn log_normal() -> Curve {
    const TIMES: u32 = 40_000;
    let times = (0..TIMES).map(|time| {
        let place = (f64::from(time) + 0.5) / f64::from(TIMES);
        Duration::from_secs_f64(0.020 * (0.989_78 * normal(place)).exp())
    });
    Curve::measured(times.collect::<Vec<_>>().leak())
}

/// The place in a normal distribution of which this share lies below, by halving.
fn normal(share: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The share of a normal distribution below `x`, by its continued fraction and series.
fn below(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x < -3.0 {
        let tail = (1..40)
            .rev()
            .fold(-x, |sum, step| -x + f64::from(step) / sum);
        return density / tail;
    }
    if x > 3.0 {
        return 1.0 - below(-x);
    }
    let (mut term, mut sum) = (x, x);
    for step in 1..60_u32 {
        term *= x * x / f64::from(2 * step + 1);
        sum += term;
    }
    0.5 + density * sum
}

/// A number of the file, in thousandths.
fn thousandths(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let [whole, part] = [whole, part].map(|digits| digits.parse::<u64>().expect("digits"));
    whole * 1_000 + part * 100
}

// Item 3: `P(T > t) = S(t)` up to the delay `d`, then `S(t) * S(t - d)`, read from the
// file. The delay is the live quantile, which is read a cell of 6 % too high at most.
#[test]
fn a_second_copy_brings_what_independence_promises() {
    let file = include_str!("data/hedging.csv");
    let curve = log_normal();
    let mut compared = 0;
    for row in file.lines().skip(1) {
        let columns: Vec<_> = row.split(',').collect();
        let [at, load, p95, p99, p999] = columns[..] else {
            panic!("five columns: {row}");
        };
        let policy = match at.parse() {
            Ok(percent) => Policy::NONE
                .with_adaptive(true)
                .with_attempts(2)
                .without_attempt_ceiling()
                .with_hedge(
                    Hedge::DEFAULT
                        .with_quantile(Ratio::percent(percent))
                        .with_minimum_delay(Duration::from_millis(1)),
                ),
            Err(_) => Policy::NONE,
        };
        let load_of = Load::per_second(1_000).poisson();
        let simulation = Simulation::new(policy, Model::new(curve), load_of, SECOND * 200);
        let report = simulation.run(11).expect("it works");
        let extra = u64::from(report.load_multiplier().as_ppm()) - 1_000_000;
        let expected = thousandths(load) * 10;
        assert!(
            extra.abs_diff(expected) <= expected / 10 + 1_000,
            "{row}\n{report}"
        );
        for (permille, expected) in [(950, p95), (990, p99), (999, p999)] {
            let found = report.latency(Ratio::permille(permille));
            let expected = Duration::from_micros(thousandths(expected));
            assert!(
                found.abs_diff(expected) < expected / 12,
                "{row}, {found:?}\n{report}"
            );
        }
        compared += 1;
    }
    assert!(compared > 4, "{compared} rows");
}

// Item 3: of `n` calls, `1 - 0.99^n` have one among them that is slower than the p99.
#[test]
fn the_more_is_asked_the_likelier_one_is_slow() {
    let curve = Curve::through(Duration::from_millis(20), Duration::from_millis(200));
    for (asked, slow) in [(100, 634_u32), (200, 866)] {
        let p99 = Duration::from_millis(200);
        let policy = Policy::NONE
            .with_attempt_timeout(p99)
            .without_attempt_ceiling();
        let mut topology = Topology::new(SECOND * 500);
        for leaf in 0..asked {
            let name = format!("shard {leaf}");
            topology = topology
                .calls("page", &name, policy)
                .leaf(name, Model::new(curve));
        }
        let topology = topology.under(Load::per_second(4), "page");
        let report = topology.run(3).expect("it works");
        let page = report.at("page").expect("it is there");
        let failed = 1_000_000 - page.availability().as_ppm();
        assert!(failed.abs_diff(slow * 1_000) < 35_000, "{asked}: {failed}");
    }
}
