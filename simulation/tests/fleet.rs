//! Which retry budget lets a fleet recover.

use std::time::Duration;

use steadfast_core::{Backoff, Budget, Policy, Ratio};
use steadfast_simulation::{Curve, Load, Queueing, Report, Second, Simulation};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// When the dependency is at a fifth of its capacity, and until when.
const TRIGGER: (usize, usize) = (30, 40);

/// 400 a second for all, 3 s of timeout, four resends at once; the load in percent of
/// the capacity.
fn fleet(budget: Budget, processes: u32, percent: u32) -> Report {
    let policy = Policy::NONE
        .with_attempts(5)
        .with_attempt_timeout(secs(3))
        .with_backoff(Backoff::NONE)
        .with_budget(budget);
    let service = Duration::from_micros(2_500);
    let server =
        Queueing::new(1, Curve::constant(service)).browned_out(secs(30), Ratio::times(5), secs(10));
    let mean = service * processes * 100 / percent;
    let load = Load::every(mean).poisson();
    let simulation = Simulation::new(policy, server, load, secs(190));
    let fleet = simulation.with_processes(processes);
    fleet.run(1).expect("it works")
}

/// Seconds after the trigger until four fifths of what is offered ends well.
fn recovered(report: &Report) -> Option<usize> {
    let sum = |seconds: &[Second], of: fn(&Second) -> u32| seconds.iter().map(of).sum::<u32>();
    let after = report.seconds().get(TRIGGER.1..180)?;
    after.windows(5).position(|five| {
        sum(five, |second| second.succeeded) * 10 >= sum(five, |second| second.started) * 8
    })
}

/// The most attempts in a second from the trigger on, in hundredths of what is offered.
fn peak(report: &Report, percent: u32) -> u32 {
    let seconds = report.seconds().get(TRIGGER.0..).unwrap_or_default();
    let most = seconds.iter().map(|second| second.reached).max();
    most.unwrap_or(0) * 25 / percent
}

// Item 6, read from the file.
#[test]
fn a_fleet_recovers_by_the_budget_it_has() {
    let floor = Budget::new(Ratio::percent(10), 3).with_burst(30);
    let bare = Budget::new(Ratio::percent(10), 0).with_burst(5);
    for row in include_str!("data/fleet_budgets.csv").lines().skip(1) {
        let columns: Vec<_> = row.split(',').collect();
        let [budget, processes, percent, seconds, published] = columns[..] else {
            panic!("five columns: {row}");
        };
        let budget = match budget {
            "none" => Budget::NONE,
            "floor" => floor,
            "bare" => bare,
            other => panic!("a budget: {other}"),
        };
        let [processes, percent] = [processes, percent].map(|text| text.parse().expect("a number"));
        let report = fleet(budget, processes, percent);
        let found = recovered(&report);
        match seconds.parse::<usize>() {
            // To the second or two that "recovered" can mean, and a seventh.
            Ok(seconds) => assert!(
                found.is_some_and(|found| found.abs_diff(seconds) <= 3.max(seconds / 7)),
                "{row}: {found:?}"
            ),
            Err(_) => assert_eq!(found, None, "{row}"),
        }
        if let Ok(published) = published.parse::<u32>() {
            let peak = peak(&report, percent);
            assert!(peak.abs_diff(published) <= published / 4, "{row}: {peak}");
        }
    }
}

// Ours, which has no floor that a fleet could add up to.
#[test]
fn the_default_budget_lets_every_fleet_recover() {
    for (processes, most) in [(50, 165), (200, 165), (1_000, 200)] {
        for (percent, seconds) in [(50, 8), (70, 20), (85, 45)] {
            let report = fleet(Budget::FLEET, processes, percent);
            let found = recovered(&report);
            let about = format!("{processes} processes at {percent} %: {found:?}");
            assert!(found.is_some_and(|found| found <= seconds), "{about}");
            assert!(peak(&report, percent) <= most, "{about}");
        }
    }
}
