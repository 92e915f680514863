//! Counts the instructions of a guarded call; see the README beside it.

mod cases;
mod clocks;
mod parts;
mod simulated;

use std::env;
use std::error::Error;
use std::process::Command;

use cases::{CASES, Case};
use parts::PARTS;
use simulated::SIMULATED;

/// Long enough that a single stray instruction a call is seen.
const CALLS: u64 = 10_000;

/// What fills caches, tables and lazy cells first; its cost cancels out.
const WARM_UP: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            table("call", &CASES)?;
            println!();
            table("part", &PARTS)?;
            println!();
            table("simulated call", &SIMULATED)
        }
        [name, calls] => {
            let case = CASES
                .iter()
                .chain(&PARTS)
                .chain(&SIMULATED)
                .find(|case| case.name == name);
            let case = case.ok_or_else(|| format!("no case is called `{name}`"))?;
            (case.run)(calls.parse()?);
            Ok(())
        }
        _ => Err("give nothing, or a case and how many calls to make".into()),
    }
}

/// Counts the cases; the first is what is taken off all of them.
fn table(what: &str, cases: &[Case]) -> Result<(), Box<dyn Error>> {
    let bare = per_call(&cases[0])?;
    println!(
        "{what:<36} {:>12} {:>12} {:>8} {:>6}",
        "instructions", "clock reads", "sum", "goal"
    );
    for case in cases {
        let instructions = per_call(case)?.saturating_sub(bare);
        let reads = (case.reads)(CALLS).div_ceil(CALLS);
        let sum = instructions + reads * clocks::READ;
        let goal = case.goal.map_or_else(String::new, |goal| goal.to_string());
        println!(
            "{:<36} {instructions:>12} {reads:>12} {sum:>8} {goal:>6}",
            case.name
        );
    }
    Ok(())
}

/// The difference of two runs, so that start and end cost nothing.
fn per_call(case: &Case) -> Result<u64, Box<dyn Error>> {
    let short = instructions(case, WARM_UP)?;
    let long = instructions(case, WARM_UP + CALLS)?;
    Ok(long.saturating_sub(short) / CALLS)
}

fn instructions(case: &Case, calls: u64) -> Result<u64, Box<dyn Error>> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args([case.name, &calls.to_string()])
        .output()
        .map_err(|error| format!("valgrind does not start: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr);
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .ok_or_else(|| format!("valgrind counted nothing: {text}"))?;
    Ok(count.1.trim().parse()?)
}
