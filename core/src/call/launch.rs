//! Starting an attempt: what it is told, what it needs, and what cuts it.

use core::time::Duration;

use super::attempt::Attempt;
use super::leg::{Bound, Flight, Role};
use super::log::Journal;
use super::machine::{Machine, Phase, Surroundings};
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::limited::Limited;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::state::scouts::Scout;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Returns what the hooks before the attempt are told.
    #[must_use]
    pub fn upcoming(&self, now: Instant) -> Attempt {
        self.upcoming_by(self.due, now)
    }

    pub(super) fn upcoming_by(&self, due: Instant, now: Instant) -> Attempt {
        let attempt = Attempt::after(self.next_number(), (self.pushback, self.code))
            .of_call(self.criticality, self.attempts > 1)
            .ending(due, now);
        if self.role.is_lasting() {
            attempt.lasting()
        } else {
            attempt
        }
    }

    /// Starts the attempt's bound, and returns what the operation is told.
    ///
    /// `None` when the hooks used up the deadline: ask [`step`](Self::step).
    ///
    /// # Errors
    ///
    /// When a limit of this process refuses: settle the attempt, which is in its
    /// lane, as [`Ending::Refused`](crate::Ending::Refused) with the verdict of the refusal.
    pub fn launch<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Option<Result<Attempt, Limited>> {
        let mut attempt = self.upcoming(now);
        if self.is_draining(around) {
            // Nothing is made again any more.
            attempt = attempt.with_retried(false);
        }
        if self.is_late(now) {
            if self.is_hedge() {
                self.hold_back(now, around);
            } else {
                self.miss_deadline(attempt.number(), now, around);
            }
            return None;
        }
        let claimed = if self.is_hedge() {
            Ok(())
        } else {
            self.claim(self.lane(), now, around)
        };
        // The retry happens: its token is spent for good. Where a limit refuses,
        // it is kept for the next attempt, which is not charged anew.
        if claimed.is_ok()
            && let Some(charge) = self.charge.take()
        {
            charge.spend();
        }
        self.limited_by = claimed.err().map(|refusal| refusal.limit());
        if self.is_hedge() {
            self.count_hedge(now, around);
        }
        // A copy is no scout: it is there because something is slow.
        let may_scout = claimed.is_ok() && !self.is_hedge();
        let bounds = self.live.bounds(now);
        let (own, bound, scout) = self.own_bound(bounds.cut, may_scout, now, around);
        let give_up = own.min(self.due);
        let lane = self.lane();
        if let Some(leg) = self.legs.as_mut().get_mut(lane) {
            leg.flight = Flight {
                number: attempt.number(),
                started: now,
                give_up,
                role: self.role,
                scout,
                // When both end at once, the deadline is over.
                cut_by: if self.due <= own && self.due < Instant::MAX {
                    Bound::Deadline
                } else {
                    bound
                },
            };
        }
        self.flying = self.flying.saturating_add(1);
        self.phase = Phase::Flying;
        self.arm_after(bounds.hedge, now, around);
        Some(claimed.map(|()| attempt.cut(give_up, now)))
    }

    /// The attempt's own end: the attempt timeout, or the measured ceiling where
    /// that is sooner. A scout sees what comes after the ceiling.
    fn own_bound<L: Listener, S>(
        &self,
        ceiling: Option<u64>,
        may_scout: bool,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> (Instant, Bound, Option<Scout>) {
        let constant = self.policy().attempt_end_from(now);
        if self.is_once || self.role == Role::Resumed {
            return (constant, Bound::Timeout, None);
        }
        let Some(nanos) = ceiling else {
            return (constant, Bound::Timeout, None);
        };
        if now.after(nanos) >= constant {
            return (constant, Bound::Timeout, None);
        }
        let ceiling = Duration::from_nanos(nanos);
        if around.listener.is_listening() && self.live.estimates().is_new_ceiling(ceiling) {
            let kind = EventKind::AttemptCeilingAdapted;
            self.tell(kind, self.next_number(), now, around, |event| {
                event.with_delay(ceiling)
            });
        }
        let scout = if may_scout {
            self.live.estimates().send_scout()
        } else {
            None
        };
        let measured = match scout {
            Some(scout) => now.saturating_add(scout.bound(ceiling)),
            None => now.after(nanos),
        };
        if measured >= constant {
            (constant, Bound::Timeout, scout)
        } else {
            (measured, Bound::Ceiling, scout)
        }
    }
}
