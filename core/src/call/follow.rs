//! What a call takes over of what it is made for.

use super::log::Journal;
use super::machine::{Machine, Surroundings};
use crate::ambient::Ambient;
use crate::criticality::Criticality;
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Takes over what the policy follows: a sooner deadline, and the criticality
    /// unless the call says one.
    // Out of the way of those who follow nothing.
    #[inline(never)]
    pub(super) fn follow<L: Listener, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        let facts = (around.ambient)();
        self.end_with(&facts);
        if self.policy().follows_criticality() && self.criticality.is_none() {
            self.criticality = facts.criticality();
        }
        if facts.is_retried() && self.attempts > 1 {
            self.tell(EventKind::NestedRetry, 1, now, around, |event| event);
        }
    }

    /// Takes over a sooner deadline once more: a stream that was healthy has its own
    /// anew, and what it is made for may have another one.
    pub(super) fn follow_deadline<L, S>(&mut self, around: &Surroundings<'_, L, S>) {
        if self.policy().follows_deadline() {
            self.end_with(&(around.ambient)());
        }
    }

    fn end_with(&mut self, facts: &Ambient) {
        if self.policy().follows_deadline()
            && let Some(at) = facts.deadline()
        {
            self.due = self.due.min(at);
        }
    }

    /// How much the call matters.
    pub(super) fn criticality(&self) -> Criticality {
        self.criticality.unwrap_or_default()
    }

    pub(super) fn is_sheddable(&self) -> bool {
        self.criticality == Some(Criticality::Sheddable)
    }
}
