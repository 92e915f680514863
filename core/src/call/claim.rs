//! What an attempt needs of this process's own limits.

use super::leg::Role;
use super::log::Journal;
use super::machine::{Machine, Surroundings};
use crate::event::{Event, EventKind};
use crate::lanes::Lanes;
use crate::limited::{Limit, Limited};
use crate::listener::Listener;
use crate::memory::Memory;
use crate::reason::Reason;
use crate::state::adaptive_throttle::Ticket;
use crate::state::concurrency_limit::slot::Slot;
use crate::state::rate_limit::Reservation;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Takes what the limits give for the attempt in this lane, or nothing.
    pub(super) fn claim<L: Listener, S: Fn() -> u64>(
        &mut self,
        lane: usize,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Result<(), Limited> {
        if self.live.has_limits() {
            self.claim_each(lane, now, around)
        } else {
            Ok(())
        }
    }

    /// Tells whether none of this call was sent or flies, nor of a stream since it was
    /// opened again.
    fn is_first_to_be_sent(&self) -> bool {
        let is_opened_again = self.role == Role::Resumed && self.number == 0;
        self.flying == 0 && (!self.has_sent || is_opened_again)
    }

    /// The throttle comes last: it counts what would have been sent.
    #[inline(never)]
    fn claim_each<L: Listener, S: Fn() -> u64>(
        &mut self,
        lane: usize,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Result<(), Limited> {
        let live = self.live;
        let kept = self.legs.as_mut().get_mut(lane);
        let slot = match (kept.and_then(|leg| leg.slot.take()), live.concurrency()) {
            // A stream that is opened again still has its place.
            (Some(slot), _) => Some(slot),
            (None, Some(limit)) => Some(limit.acquire(now)?),
            (None, None) => None,
        };
        let reservation = match live.rate() {
            Some(rate) => Some(rate.acquire(now)?),
            None => None,
        };
        let ticket = match live.throttle() {
            // Not when one of this call was sent or flies, be it to race that.
            Some(throttle) if self.is_first_to_be_sent() => {
                Some(throttle.admit(now, self.criticality(), live.draw(&around.seed))?)
            }
            _ => None,
        };
        let spared = [
            (
                Limit::Concurrency,
                slot.as_ref().is_some_and(Slot::is_observed),
            ),
            (
                Limit::Rate,
                reservation.as_ref().is_some_and(Reservation::is_observed),
            ),
            (
                Limit::Throttle,
                ticket.as_ref().is_some_and(Ticket::is_observed),
            ),
        ];
        if let Some(reservation) = reservation {
            reservation.spend();
        }
        if let Some(leg) = self.legs.as_mut().get_mut(lane) {
            leg.ticket = ticket;
            leg.slot = slot;
        }
        for (limit, is_observed) in spared {
            if is_observed {
                self.tell_would_reject(now, around, |event| {
                    event.with_reason(Reason::Throttled).with_limit(limit)
                });
            }
        }
        Ok(())
    }

    /// Tells that a part which only observes would have refused.
    pub(super) fn tell_spared<L: Listener, S>(
        &self,
        reason: Reason,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.tell_would_reject(now, around, |event| event.with_reason(reason));
    }

    fn tell_would_reject<L: Listener, S>(
        &self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        detail: impl FnOnce(Event) -> Event,
    ) {
        let kind = EventKind::WouldReject;
        self.tell(kind, self.next_number(), now, around, detail);
    }
}
