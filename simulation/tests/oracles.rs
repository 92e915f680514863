//! What holds in every run, whatever is published.

use std::time::Duration;

use steadfast_core::{Backoff, Budget, Policy, Ratio};
use steadfast_simulation::{Curve, Load, Model, Queueing, Report, Simulation, Target};

const SECOND: Duration = Duration::from_secs(1);
const SPAN: u32 = 300;
const USUAL: Curve = Curve::through(Duration::from_millis(20), Duration::from_millis(200));

fn run(policy: Policy, target: impl Into<Target>, load: Load, processes: u32, seed: u64) -> Report {
    let simulation = Simulation::new(policy, target, load, SECOND * SPAN);
    let simulation = simulation.with_processes(processes);
    simulation.run(seed).expect("it works")
}

// Item 8: as many calls are under way as arrive in the time that one takes.
#[test]
fn as_many_are_under_way_as_little_says() {
    let policy = Policy::NONE
        .with_attempts(3)
        .with_backoff(Backoff::constant(SECOND / 2))
        .with_attempt_timeout(SECOND);
    let line = || Queueing::new(2, Curve::exponential(SECOND / 50));
    let browned = line().browned_out(SECOND * 100, Ratio::times(2), SECOND * 60);
    let failing = Model::new(USUAL).failing(Ratio::percent(30));
    let slow = Model::new(Curve::constant(SECOND * 3));
    let load = |each: u32| Load::per_second(each).poisson();
    let runs = [
        run(Policy::NONE, line(), load(80), 1, 1),
        run(policy, browned, load(80), 1, 2),
        run(policy, failing, load(20), 10, 3),
        run(Policy::NONE, slow, load(7), 3, 4),
    ];
    for report in runs {
        let (mut under_way, mut sum) = (0_i64, 0_i64);
        let seconds = report.seconds().iter().take(SPAN as usize);
        for second in seconds {
            let ended = second.succeeded + second.failed;
            under_way += i64::from(second.started) - i64::from(ended);
            sum += under_way;
        }
        // Both sides times the span, in milliseconds of calls.
        let seen = u128::try_from(sum).expect("no call ends before it begins") * 1_000;
        let expected = report.total().as_millis();
        assert!(
            seen.abs_diff(expected) < expected / 12,
            "{seen} of {expected}\n{report}"
        );
    }
}

// Item 8: on every prefix of a run, retries <= fraction * successes + floor * t + burst.
#[test]
fn a_budget_holds_on_every_prefix() {
    for (percent, floor, burst) in [(10, 0, 5), (10, 3, 30), (50, 0, 1), (1, 10, 100)] {
        let budget = Budget::new(Ratio::percent(percent), floor).with_burst(burst);
        let policy = Policy::NONE
            .with_attempts(5)
            .with_backoff(Backoff::NONE)
            .with_budget(budget);
        for processes in [1, 20] {
            for seed in 1..=2 {
                let model = Model::new(USUAL)
                    .failing(Ratio::percent(5))
                    .down(SECOND * 60, SECOND * 30);
                let report = run(policy, model, Load::per_second(20), processes, seed);
                let (mut calls, mut reached, mut succeeded) = (0, 0, 0);
                for (second, seen) in (1_u64..).zip(report.seconds()) {
                    calls += u64::from(seen.started);
                    reached += u64::from(seen.reached);
                    succeeded += u64::from(seen.succeeded);
                    let each = u64::from(floor) * second + u64::from(burst);
                    let allowed =
                        succeeded * u64::from(percent) / 100 + each * u64::from(processes);
                    let retries = reached.saturating_sub(calls);
                    assert!(
                        retries <= allowed,
                        "second {second}: {retries} of {allowed}"
                    );
                }
            }
        }
    }
}
