//! A call that is made shortly before a stop.

use super::log::Journal;
use super::machine::{Machine, Surroundings};
use crate::lanes::Lanes;
use crate::memory::Memory;
use crate::state::draining::Draining;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Tells whether the guard or what it runs in is about to stop.
    pub(super) fn is_draining<L, S>(&self, around: &Surroundings<'_, L, S>) -> bool {
        self.live.draining().is_draining() || around.draining.is_some_and(Draining::is_draining)
    }

    /// Ends a call that begins no later than the grace.
    pub(super) fn end_with_the_grace<L, S>(&mut self, around: &Surroundings<'_, L, S>) {
        self.due = self.due.min(self.live.draining().until());
        if let Some(draining) = around.draining {
            self.due = self.due.min(draining.until());
        }
    }
}
