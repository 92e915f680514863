//! Telling what happens, if anybody listens.

use super::log::{Ending, Journal};
use super::machine::{Machine, Surroundings};
use crate::event::{Event, EventKind};
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::state::circuit_breaker::permit::Transition;
use crate::time::Instant;
use crate::verdict::Verdict;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    pub(super) fn tell_transition<L: Listener, S>(
        &self,
        transition: Option<Transition>,
        number: u32,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        let Some(transition) = transition else { return };
        let kind = match transition {
            Transition::Opened => EventKind::BreakerOpened,
            Transition::HalfOpened => EventKind::BreakerHalfOpened,
            Transition::Closed => EventKind::BreakerClosed,
        };
        // Not about an outcome: the verdict is the placeholder.
        self.tell(kind, number, now, around, |event| {
            event.with_verdict(Verdict::OK)
        });
    }

    /// Tells an event whose duration is the call's, if anybody listens.
    pub(super) fn tell<L: Listener, S>(
        &self,
        kind: EventKind,
        number: u32,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        detail: impl FnOnce(Event) -> Event,
    ) {
        if !around.listener.is_listening() {
            return;
        }
        let mut event = Event::new(kind, number)
            .with_verdict(self.verdict())
            .with_duration(now.saturating_since(self.started));
        if let Some(name) = self.policy().name() {
            event = event.with_policy(name);
        }
        match self.ending {
            Ending::Error => event = event.with_error(around.error),
            Ending::Cut => event = event.with_error("AttemptTimeout"),
            Ending::Value | Ending::Refused | Ending::Discarded => {}
        }
        around.listener.on_event(&detail(event));
    }
}
