//! The runtime of the process itself, as a file writes it.

use std::time::Duration;

use serde::Deserialize;
use steadfast_simulation::Scheduler;

use crate::units::Span;

/// The table `[scheduler]`: how long a task waits as a rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runtime {
    usual: Option<Span>,
}

/// A table `[[stall]]`: a time in which tasks wait that long.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stall {
    after: Span,
    delay: Span,
    lasting: Span,
}

/// A tenth of a millisecond, as on a machine with some work.
const USUAL: Duration = Duration::from_micros(100);

impl Runtime {
    pub(crate) fn made(&self, stalls: &[Stall]) -> Scheduler {
        let usual = Scheduler::new(self.usual.map_or(USUAL, |Span(usual)| usual));
        stalls.iter().fold(usual, |scheduler, stall| {
            scheduler.stalled(stall.after.0, stall.delay.0, stall.lasting.0)
        })
    }
}
