//! What is asked, as a file writes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use steadfast_core::Criticality;

use crate::units::{Scalar, Share, Span};

/// The table `[load]`, of each process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    per_second: Option<u32>,
    every: Option<Span>,
    replay: Option<PathBuf>,
    arrival: Option<Arrival>,
    ramp: Option<Ramp>,
    mix: Option<Mix>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Arrival {
    Even,
    Poisson,
    Steady,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ramp {
    to: Share,
    over: Span,
}

/// The share of each level; what is left is critical.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mix {
    sheddable: Option<Share>,
    sheddable_plus: Option<Share>,
    critical_plus: Option<Share>,
}

/// A table `[[spike]]`: so many times as much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spike {
    after: Span,
    times: Share,
    lasting: Span,
}

impl Load {
    /// Returns what is asked, or what is missing; a recording lies in `folder`.
    pub(crate) fn made(
        &self,
        spikes: &[Spike],
        folder: &Path,
    ) -> Result<steadfast_simulation::Load, String> {
        let load = match (self.per_second, self.every, &self.replay) {
            (Some(calls), None, None) => steadfast_simulation::Load::per_second(calls),
            (None, Some(Span(mean)), None) => steadfast_simulation::Load::every(mean),
            (None, None, Some(file)) => {
                if self.arrival.is_some() || self.ramp.is_some() || !spikes.is_empty() {
                    return Err("a recording has its own times: drop `replay`, \
                         or `arrival`, `ramp` and every [[spike]]"
                        .into());
                }
                steadfast_simulation::Load::replaying(recorded(&folder.join(file))?)
            }
            _ => return Err("say how much in one way: `per_second`, `every` or `replay`".into()),
        };
        let load = match self.arrival {
            None | Some(Arrival::Even) => load,
            Some(Arrival::Poisson) => load.poisson(),
            Some(Arrival::Steady) => load.steady(),
        };
        let load = match &self.ramp {
            Some(ramp) => load.ramping(ramp.to.0, ramp.over.0),
            None => load,
        };
        let levels = self.mix.iter().flat_map(Mix::levels);
        let load = levels.fold(load, |load, (level, share)| load.with_mix(level, share.0));
        Ok(spikes.iter().fold(load, |load, spike| {
            load.spiking(spike.after.0, spike.times.0, spike.lasting.0)
        }))
    }
}

/// Reads when each call came: a time a line, since the beginning.
fn recorded(file: &Path) -> Result<Vec<Duration>, String> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| match Span::read(line) {
            Some(Span(time)) => Ok(time),
            None => Err(format!("{name}:{number}: `{line}` is not {}", Span::LOOK)),
        })
        .collect()
}

impl Mix {
    fn levels(&self) -> impl Iterator<Item = (Criticality, Share)> {
        let levels = [
            (Criticality::Sheddable, self.sheddable),
            (Criticality::SheddablePlus, self.sheddable_plus),
            (Criticality::CriticalPlus, self.critical_plus),
        ];
        let said = |(level, share): (_, Option<Share>)| share.map(|share| (level, share));
        levels.into_iter().filter_map(said)
    }
}
