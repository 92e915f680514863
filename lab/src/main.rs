//! Runs the scenarios of a file against the policies in it.
//!
//! `steadfast-lab run scenario.toml` prints what came of it, and exits with status 1
//! when something the file asserts does not hold: a gate for anybody's CI.
#![forbid(unsafe_code)]

mod arguments;
mod assertion;
mod choice;
mod course;
mod dependency;
mod fault;
mod law;
mod load;
mod measure;
mod page;
mod policy;
mod runtime;
mod scenario;
mod search;
mod table;
mod units;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fmt, fs};

use steadfast_core::Ratio;
use steadfast_simulation::Report;

use crate::arguments::{HELP, Order};
use crate::scenario::Scenario;

/// An assertion does not hold.
const FAILED: u8 = 1;
/// The file or the arguments are wrong.
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let done = match Order::read(env::args().skip(1)) {
        Ok(Order::Help) => print(HELP).map(|()| ExitCode::SUCCESS),
        Ok(Order::Version) => {
            let version = concat!("steadfast-lab ", env!("CARGO_PKG_VERSION"), "\n");
            print(version).map(|()| ExitCode::SUCCESS)
        }
        Ok(Order::Run {
            scenario,
            seeds,
            html,
        }) => run(&scenario, seeds, html.as_deref()),
        Ok(Order::Search {
            scenario,
            seeds,
            most,
        }) => search(&scenario, seeds, most),
        Err(wrong) => Err(format!("{wrong}\n\n{HELP}")),
    };
    done.unwrap_or_else(|wrong| {
        eprintln!("steadfast-lab: {}", wrong.trim_end());
        ExitCode::from(MISUSED)
    })
}

/// Runs a file, prints what came of it, and judges.
fn run(file: &Path, seeds: Option<u32>, html: Option<&Path>) -> Result<ExitCode, String> {
    let scenario = read(file, seeds)?;
    let runs = course::run(&scenario).map_err(|error| told(file, error))?;
    print(&shown(&scenario, &runs))?;
    if let Some(path) = html {
        let names = scenario.contestants.iter().map(|one| one.name.as_str());
        let firsts = runs.iter().filter_map(|reports| reports.first());
        let reports: Vec<_> = names.zip(firsts).collect();
        let page = page::page(&scenario.name, &reports);
        fs::write(path, page).map_err(|error| told(path, error))?;
    }
    let failures = failures(&scenario, &runs);
    if failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    for failure in failures {
        eprintln!("{failure}");
    }
    Ok(ExitCode::from(FAILED))
}

/// Looks for the least load at which each policy of a file turns metastable.
fn search(file: &Path, seeds: Option<u32>, most: Option<Ratio>) -> Result<ExitCode, String> {
    let scenario = read(file, seeds)?;
    let found = search::run(&scenario, most).map_err(|error| told(file, error))?;
    print(&found).map(|()| ExitCode::SUCCESS)
}

fn read(file: &Path, seeds: Option<u32>) -> Result<Scenario, String> {
    let text = fs::read_to_string(file).map_err(|error| told(file, error))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut scenario = Scenario::read(&text, folder)
        .map_err(|fault| fault.in_file(&file.display().to_string()))?;
    if let Some(count) = seeds {
        scenario.take_seeds(count);
    }
    Ok(scenario)
}

/// Says what is wrong with a file.
fn told(file: &Path, wrong: impl fmt::Display) -> String {
    format!("{}: {wrong}", file.display())
}

/// The head of a scenario, and its policies side by side.
fn shown(scenario: &Scenario, runs: &[Vec<Report>]) -> String {
    let names: Vec<_> = scenario
        .contestants
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let processes = match scenario.processes {
        1 => String::new(),
        count => format!(", {count} processes"),
    };
    let (seeds, table) = match scenario.seeds.as_slice() {
        [seed] => {
            let reports: Vec<_> = runs.iter().flatten().collect();
            (format!("seed {seed}"), table::of_reports(&names, &reports))
        }
        seeds => {
            let head = format!("{} seeds, median (least to most)", seeds.len());
            (head, table::of_bands(&names, runs))
        }
    };
    let Scenario { name, duration, .. } = scenario;
    format!("{name}: {duration:?}{processes}, {seeds}\n\n{table}")
}

/// What does not hold, one line each.
fn failures(scenario: &Scenario, runs: &[Vec<Report>]) -> Vec<String> {
    let mut failures = Vec::new();
    for (contestant, reports) in scenario.contestants.iter().zip(runs) {
        for assertion in &contestant.assertions {
            let found = reports.iter().filter_map(|report| {
                let found = assertion.failure(report)?;
                Some((report.seed(), found))
            });
            let found: Vec<_> = found.collect();
            let Some((seed, value)) = found.first() else {
                continue;
            };
            let often = match reports.len() {
                1 => String::new(),
                runs => format!(", and fails in {} of {runs} runs", found.len()),
            };
            failures.push(format!(
                "assertion failed: `{assertion}` of policy `{}`: \
                 it is {value} with seed {seed}{often}",
                contestant.name
            ));
        }
    }
    failures
}

/// Prints; a reader who has left, as `head` does, is no error.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}
