//! All runs of a scenario.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use steadfast_simulation::{Report, SimulationError};

use crate::scenario::Scenario;

/// Runs each policy with each seed, on all cores; the reports come by policy, in the
/// order of the seeds.
pub(crate) fn run(scenario: &Scenario) -> Result<Vec<Vec<Report>>, SimulationError> {
    let seeds = scenario.seeds.as_slice();
    let contestants = scenario.contestants.iter();
    let jobs: Vec<_> = contestants
        .flat_map(|contestant| seeds.iter().map(|seed| (&contestant.simulation, *seed)))
        .collect();
    let bar = bar(jobs.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((simulation, seed)) = jobs.get(at) else {
                return done;
            };
            done.push((at, simulation.run(*seed)));
            bar.inc(1);
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (1..cores.min(jobs.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut done = work();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    bar.finish_and_clear();
    done.sort_unstable_by_key(|(at, _)| *at);
    let mut reports = done.into_iter().map(|(_, report)| report);
    scenario
        .contestants
        .iter()
        .map(|_| reports.by_ref().take(seeds.len()).collect())
        .collect()
}

/// A bar on the terminal, and nothing where there is none.
fn bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {elapsed}") {
        bar.set_style(style);
    }
    // What is over by then shows nothing.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
