//! Published results, reproduced.

use std::time::Duration;

use steadfast_core::{Backoff, Budget, Policy, Ratio};
use steadfast_simulation::{Curve, Load, Model, Queueing, Report, Simulation};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Mean time in the system, in millionths of the mean service.
fn mean(report: &Report, service: Duration) -> u128 {
    let seconds = report.seconds().iter();
    let calls: u128 = seconds.map(|second| u128::from(second.succeeded)).sum();
    report.total().as_nanos() * 1_000_000 / calls / service.as_nanos()
}

// Item 8: M/M/1 has a mean of 1 / (mu - lambda), and its quantiles are those of an
// exponential.
#[test]
fn a_line_of_one_server_waits_as_the_book_says() {
    let service = Duration::from_millis(10);
    let server = Queueing::new(1, Curve::exponential(service));
    for (load, expected) in [(30, 1_428_571), (50, 2_000_000), (80, 5_000_000)] {
        let load = Load::per_second(load).poisson();
        let simulation = Simulation::new(Policy::NONE, server.clone(), load, secs(20_000));
        let report = simulation.run(5).expect("it works");
        let mean = mean(&report, service);
        assert!(
            mean.abs_diff(expected) < expected / 25,
            "{mean} of {expected}"
        );
        // -ln(1/2), -ln(1/100) of the mean.
        let mean =
            Duration::from_nanos(u64::try_from(expected * 10_000_000 / 1_000_000).expect("short"));
        for (quantile, of_mean) in [(50, 693), (99, 4_605)] {
            let expected = mean * of_mean / 1_000;
            let found = report.latency(Ratio::percent(quantile));
            assert!(
                found.abs_diff(expected) < expected / 12,
                "{found:?}, {expected:?}"
            );
        }
    }
}

/// The retry experiment: 3 s of timeout, four resends at once, and work for callers who
/// gave up is done.
fn experiment(remaining: Ratio) -> Simulation {
    const RESENDING: Policy = Policy::NONE
        .with_attempts(5)
        .with_attempt_timeout(Duration::from_secs(3))
        .with_backoff(Backoff::NONE);
    let slower = Ratio::ppm(
        u32::try_from(1_000_000_000_000 / u64::from(remaining.as_ppm())).expect("a share"),
    );
    let server = Queueing::new(1, Curve::constant(Duration::from_millis(2))).browned_out(
        secs(60),
        slower,
        secs(10),
    );
    let load = Load::every(Duration::from_nanos(2_000_000 * 100 / 38)).poisson();
    Simulation::new(RESENDING, server, load, secs(60 + 10 + 140))
}

// Item 5: metastable failure, by the depth of the trigger.
#[test]
fn a_trigger_a_little_deeper_never_ends() {
    let (light, heavy) = (Ratio::permille(225), Ratio::permille(200));
    for seed in 1..=3 {
        let recovers = experiment(light).run(seed).expect("it works");
        assert_eq!(recovers.metastable(), Some(false), "{recovers}");
        let stays = experiment(heavy).run(seed).expect("it works");
        assert_eq!(stays.metastable(), Some(true), "{stays}");
        assert!(stays.to_string().contains("metastable"));
    }
}

// Item 5, fluid check: after the lighter trigger the load above which it stays down.
#[test]
fn the_load_that_turns_metastable_is_found() {
    let light = experiment(Ratio::permille(225));
    let is_metastable = |report: &Report| report.metastable() == Some(true);
    let (least, most) = (Ratio::percent(50), Ratio::percent(150));
    let found = light.least_load(least, most, 1, is_metastable);
    let found = found.expect("it works").expect("it turns");
    // It recovers at a rho of 0.38, and does not much above.
    assert!(
        found > Ratio::ONE && found < Ratio::percent(120),
        "{found:?}"
    );
}

// And the default policy's budget gets out of the deeper one.
#[test]
fn a_budget_ends_what_resends_keep_up() {
    let guarded = Policy::DEFAULT
        .with_attempts(5)
        .with_attempt_timeout(Duration::from_secs(3));
    let simulation = experiment(Ratio::permille(200)).with_policy(guarded);
    let report = simulation.run(1).expect("it works");
    assert_eq!(report.metastable(), Some(false), "{report}");
}

/// A share of a file: `0.032500` are 32500 millionths.
fn millionths(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').expect("a decimal");
    let part = format!("{part:0<6}");
    let [whole, part] = [whole, &part[..6]].map(|digits| digits.parse::<u64>().expect("digits"));
    whole * 1_000_000 + part
}

/// Compares the rows of a published file with a fleet of so many clients, each making
/// that many calls in ten seconds; tells how many rows there were.
///
/// Their token bucket is paid by calls, ours by successes: alike while few fail, so its
/// rows count up to 10 %. Their breaker stops retries, not calls, which no part of ours
/// does; its rows are left out.
fn compare(file: &str, scene: impl Fn(&str) -> Option<(Policy, u32, u32)>) -> u32 {
    let mut compared = 0;
    for row in file.lines().skip(1) {
        let columns: Vec<_> = row.split(',').collect();
        let (&name, numbers) = columns.split_last().expect("columns");
        let numbers: Vec<_> = numbers.iter().map(|text| millionths(text)).collect();
        let [rate, succeeded, attempts, calls] = *numbers else {
            unreachable!("five columns: {row}");
        };
        let Some((policy, clients, each)) = scene(name) else {
            continue;
        };
        if policy.budget().is_limited() && rate > 100_000 {
            continue;
        }
        let failing = Ratio::ppm(u32::try_from(rate).expect("a share"));
        let server = Model::new(Curve::constant(Duration::from_millis(1))).failing(failing);
        let load = Load::every(secs(10) / each).poisson();
        let runs = Simulation::new(policy, server, load, secs(10))
            .with_processes(clients)
            .run_all(1..=3)
            .expect("it works");
        // Either side is some thousand calls.
        let close = |found: Ratio, part: u64| {
            let published = part * 1_000_000 / calls;
            u64::from(found.as_ppm()).abs_diff(published) <= 15_000.max(published / 50)
        };
        let found = runs.band(Report::availability).expect("three");
        assert!(close(found.median, succeeded), "{row}: {found:?}");
        let found = runs.band(Report::load_multiplier).expect("three");
        assert!(close(found.median, attempts), "{row}: {found:?}");
        compared += 1;
    }
    compared
}

const AT_ONCE: Policy = Policy::NONE.with_backoff(Backoff::NONE);

const FUNDED: Policy = AT_ONCE
    .with_attempts(4)
    .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(5));

// Item 2: success and load against a server that fails independently, read from the file.
#[test]
fn retries_cost_what_the_published_simulation_says() {
    let file = include_str!("data/brooker_retry_by_failure_rate.csv");
    let compared = compare(file, |name| {
        let policy = match name {
            "no_retries" => AT_ONCE,
            "three_retries" => AT_ONCE.with_attempts(4),
            "adaptive_10pct" => FUNDED,
            _ => return None,
        };
        Some((policy, 100, 100))
    });
    assert!(compared > 20, "{compared} rows");
}

// Item 2: the more clients share the calls, the more each bucket's first tokens weigh.
#[test]
fn small_buckets_add_up_as_published() {
    let file = include_str!("data/brooker_retry_by_client_count.csv");
    let compared = compare(file, |name| {
        let clients = name
            .strip_prefix("adaptive_10pct_")?
            .strip_suffix("clients")?;
        let clients: u32 = clients.parse().expect("digits");
        Some((FUNDED, clients, 6_000 / clients))
    });
    assert!(compared > 20, "{compared} rows");
}

// Item 2, closed forms: N retries succeed with 1 - p^(N+1).
#[test]
fn retries_follow_their_closed_form() {
    for (percent, retries) in [(10, 1), (30, 2), (50, 3), (70, 3)] {
        let policy = Policy::NONE
            .with_attempts(retries + 1)
            .with_backoff(Backoff::NONE);
        let server =
            Model::new(Curve::constant(Duration::from_millis(1))).failing(Ratio::percent(percent));
        let simulation = Simulation::new(policy, server, Load::per_second(1_000), secs(100));
        let report = simulation.run(9).expect("it works");
        let million = 1_000_000_u64;
        let failed = (0..=retries).fold(million, |rest, _| rest * u64::from(percent) / 100);
        let sent = (million - failed) * 100 / u64::from(100 - percent);
        let close = |found: Ratio, expected: u64| u64::from(found.as_ppm()).abs_diff(expected);
        assert!(
            close(report.availability(), million - failed) < 6_000,
            "{report}"
        );
        assert!(close(report.load_multiplier(), sent) < 12_000, "{report}");
    }
}
