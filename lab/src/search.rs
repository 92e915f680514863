//! The least load at which a scenario turns metastable.

use std::fmt::Write;

use steadfast_core::Ratio;
use steadfast_simulation::Report;

use crate::scenario::Scenario;

/// Where the search begins.
pub(crate) const LEAST: Ratio = Ratio::permille(100);

/// Where it ends unless said otherwise.
const MOST: Ratio = Ratio::times(4);

/// Looks for it with each policy, over all seeds of the scenario, and tells it as a text.
///
/// # Errors
///
/// When nothing impairs the dependency for long enough before the end, or a run is
/// impossible.
pub(crate) fn run(scenario: &Scenario, most: Option<Ratio>) -> Result<String, String> {
    if let Some(why) = &scenario.unsearchable {
        return Err(format!("nothing can turn metastable: {why}"));
    }
    let most = most.unwrap_or(MOST);
    let Scenario { name, seeds, .. } = scenario;
    let mut text = format!(
        "{name}: the least load that turns metastable, of {} ",
        seeds.len()
    );
    text.push_str(if seeds.len() == 1 {
        "seed\n\n"
    } else {
        "seeds\n\n"
    });
    let width = scenario.contestants.iter().map(|one| one.name.len()).max();
    let width = width.unwrap_or(0);
    for contestant in &scenario.contestants {
        let mut worst = None;
        for seed in &scenario.seeds {
            // Nobody needs to look above what is known.
            let most = worst.unwrap_or(most);
            let is_bad = |report: &Report| report.metastable() == Some(true);
            let found = contestant.simulation.least_load(LEAST, most, *seed, is_bad);
            worst = found.map_err(|error| error.to_string())?.or(worst);
        }
        let _ = match worst {
            Some(load) if load == LEAST => {
                writeln!(
                    text,
                    "{:width$}  at a tenth of the load already",
                    contestant.name
                )
            }
            Some(load) => writeln!(
                text,
                "{:width$}  {} times the load",
                contestant.name,
                shown(load)
            ),
            None => writeln!(
                text,
                "{:width$}  not at {} times the load",
                contestant.name,
                shown(most)
            ),
        };
    }
    Ok(text)
}

/// A multiple in hundredths.
fn shown(load: Ratio) -> String {
    let hundredths = load.as_ppm() / 10_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
