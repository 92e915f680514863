//! When calls begin.

use std::time::Duration;

use steadfast_core::Instant;

use crate::dice::Dice;
use crate::load::Load;

/// When the calls of a load begin, one after the other.
#[derive(Debug)]
pub(crate) struct Arrivals<'l> {
    load: &'l Load,
    processes: u32,
    /// How many of a trace have been given.
    given: usize,
    at: Instant,
    end: Instant,
}

impl<'l> Arrivals<'l> {
    /// Those of so many processes, up to an instant.
    pub(crate) const fn of(load: &'l Load, processes: u32, end: Instant) -> Self {
        Self {
            load,
            processes,
            given: 0,
            at: Instant::ZERO,
            end,
        }
    }

    /// When the next call begins; one number unless it is a trace.
    pub(crate) fn next(&mut self, dice: &Dice) -> Option<Instant> {
        let next = if let Some(trace) = &self.load.trace {
            let next = trace.get(self.given).copied()?;
            self.given += 1;
            next
        } else {
            let gap = self.load.gap(self.at, self.processes, dice);
            // A load without gaps would never end.
            self.at.saturating_add(gap.max(Duration::from_nanos(1)))
        };
        self.at = next;
        (next <= self.end).then_some(next)
    }
}
