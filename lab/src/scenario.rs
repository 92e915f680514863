//! A scenario as a file writes it.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use steadfast_core::Policy;
use steadfast_simulation::Simulation;
use toml::Spanned;

use crate::assertion::Assertion;
use crate::dependency::{Brownout, Dependency, Outage};
use crate::fault::Fault;
use crate::load::{Load, Spike};
use crate::measure::Measure;
use crate::policy::PolicyTable;
use crate::runtime::{Runtime, Stall};
use crate::units::Span;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    duration: Span,
    seed: Option<u64>,
    seeds: Option<Spanned<Seeds>>,
    processes: Option<u32>,
    #[serde(default)]
    assertions: Vec<Spanned<String>>,
    dependency: Spanned<Dependency>,
    #[serde(default)]
    brownout: Vec<Brownout>,
    #[serde(default)]
    outage: Vec<Outage>,
    scheduler: Option<Runtime>,
    #[serde(default)]
    stall: Vec<Stall>,
    load: Spanned<Load>,
    #[serde(default)]
    spike: Vec<Spike>,
    #[serde(default)]
    policy: Vec<Spanned<PolicyTable>>,
}

/// So many, or these.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "how many seeds, or a list of them")]
enum Seeds {
    Many(u32),
    These(Vec<u64>),
}

/// What is run, and what has to hold.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) duration: Duration,
    pub(crate) processes: u32,
    pub(crate) seeds: Vec<u64>,
    pub(crate) contestants: Vec<Contestant>,
    /// Why nothing in it can turn metastable.
    pub(crate) unsearchable: Option<String>,
}

/// One of the policies that are compared.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) simulation: Simulation,
    pub(crate) assertions: Vec<Assertion>,
}

impl Scenario {
    /// Reads a file; what it names lies in `folder`.
    pub(crate) fn read(text: &str, folder: &Path) -> Result<Self, Fault> {
        let file: File = toml::from_str(text).map_err(|error| Fault::of(text, &error))?;
        let target = file.dependency.get_ref();
        let target = target.target(&file.brownout, &file.outage);
        let target = target.map_err(|wrong| Fault::at(text, &file.dependency.span(), wrong))?;
        let load = file.load.get_ref().made(&file.spike, folder);
        let load = load.map_err(|wrong| Fault::at(text, &file.load.span(), wrong))?;
        let processes = file.processes.unwrap_or(1);
        let mut simulation = Simulation::new(Policy::DEFAULT, target, load, file.duration.0)
            .with_processes(processes);
        if file.scheduler.is_some() || !file.stall.is_empty() {
            let runtime = file.scheduler.clone().unwrap_or_default();
            simulation = simulation.with_scheduler(runtime.made(&file.stall));
        }

        let mut contestants: Vec<Contestant> = Vec::new();
        let common = file.assertions(text, &file.assertions)?;
        for table in &file.policy {
            let policy = table.get_ref();
            let name = policy.name.clone().unwrap_or_else(|| "default".into());
            if contestants.iter().any(|other| other.name == name) {
                let wrong = format!("two policies are called `{name}`: give each a `name`");
                return Err(Fault::at(text, &table.span(), wrong));
            }
            let own = file.assertions(text, &policy.assertions)?;
            let simulation = simulation.clone().with_policy(policy.made());
            if let Err(error) = simulation.validate() {
                let wrong = format!("policy `{name}`: {error}");
                return Err(Fault::at(text, &table.span(), wrong));
            }
            contestants.push(Contestant {
                name,
                simulation,
                assertions: common.iter().cloned().chain(own).collect(),
            });
        }
        if contestants.is_empty() {
            simulation
                .validate()
                .map_err(|error| Fault::new(error.to_string()))?;
            contestants.push(Contestant {
                name: "default".into(),
                simulation,
                assertions: common,
            });
        }
        Ok(Self {
            seeds: file.seeds(text)?,
            unsearchable: file.untold(Measure::Metastable),
            name: file.name,
            duration: file.duration.0,
            processes,
            contestants,
        })
    }

    /// Takes so many seeds, from the first one of the file on.
    pub(crate) fn take_seeds(&mut self, count: u32) {
        let first = self.seeds.first().copied().unwrap_or(1);
        self.seeds = (0..u64::from(count))
            .map(|at| first.wrapping_add(at))
            .collect();
    }
}

impl File {
    fn seeds(&self, text: &str) -> Result<Vec<u64>, Fault> {
        let Some(seeds) = &self.seeds else {
            return Ok(vec![self.seed.unwrap_or(1)]);
        };
        let wrong = |wrong: &str| Err(Fault::at(text, &seeds.span(), wrong));
        match (seeds.get_ref(), self.seed) {
            (Seeds::Many(0), _) => wrong("no seed, no run: 1 is the least"),
            (Seeds::Many(count), first) => {
                let first = first.unwrap_or(1);
                let all = 0..u64::from(*count);
                Ok(all.map(|at| first.wrapping_add(at)).collect())
            }
            (Seeds::These(_), Some(_)) => wrong("a list of `seeds` leaves no room for a `seed`"),
            (Seeds::These(these), None) => {
                let mut distinct = these.clone();
                distinct.sort_unstable();
                distinct.dedup();
                if these.is_empty() || distinct.len() < these.len() {
                    return wrong("seeds are distinct, and at least one");
                }
                Ok(these.clone())
            }
        }
    }

    /// Reads assertions, and refuses what no run could tell.
    fn assertions(&self, text: &str, said: &[Spanned<String>]) -> Result<Vec<Assertion>, Fault> {
        let read = |line: &Spanned<String>| {
            let fault = |wrong: String| Fault::at(text, &line.span(), wrong);
            let assertion = Assertion::read(line.get_ref()).map_err(fault)?;
            match self.untold(assertion.measure) {
                Some(why) => Err(fault(format!("`{assertion}` cannot be told: {why}"))),
                None => Ok(assertion),
            }
        };
        said.iter().map(read).collect()
    }

    /// Says why a measure of this scenario says nothing.
    fn untold(&self, measure: Measure) -> Option<String> {
        if !measure.is_of_recovery() {
            return None;
        }
        let slow = self.brownout.iter().map(|one| (one.after, one.lasting));
        let down = self.outage.iter().map(|one| (one.after, one.lasting));
        let ends = slow
            .chain(down)
            .map(|(after, lasting)| after.0.saturating_add(lasting.0));
        let Some(end) = ends.max() else {
            return Some("there is no [[brownout]] and no [[outage]]".into());
        };
        let after = match measure {
            Measure::Metastable => Duration::from_secs(130),
            _ => Duration::from_secs(1),
        };
        let least = end.saturating_add(after);
        (self.duration.0 < least).then(|| {
            format!(
                "it looks at {after:?} after the last impairment, so the duration is {}s at least",
                least.as_millis().div_ceil(1000)
            )
        })
    }
}
