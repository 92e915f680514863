//! Racing a slow attempt with another copy.

use core::time::Duration;

use super::leg::Role;
use super::log::{Ending, Journal};
use super::machine::{Hold, Machine, Phase, Surroundings};
use crate::breaker_state::BreakerState;
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::reason::Reason;
use crate::time::Instant;
use crate::verdict::{Kind, Verdict};

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Sets what an attempt in flight is waited for: its end, and when to race it.
    pub(super) fn arm<L, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        self.arm_after(self.live.bounds(now).hedge, now, around);
    }

    /// The same, where it is known after how long another copy may start.
    pub(super) fn arm_after<L, S>(
        &mut self,
        hedge: Option<u64>,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.wake = Instant::MAX;
        if H::COUNT > 1
            && let Some(threshold) = hedge
            && self.may_hedge(now, around)
        {
            let at = now.after(threshold);
            if at < self.due {
                self.wake = at;
            }
        }
        for leg in self.legs.as_ref() {
            if leg.is_flying() {
                self.wake = self.wake.min(leg.flight.give_up);
            }
        }
    }

    /// Tells whether another copy may start at all.
    fn may_hedge<L, S>(&self, now: Instant, around: &Surroundings<'_, L, S>) -> bool {
        self.hold == Hold::No
            && !self.is_sheddable()
            && usize::from(self.flying) < H::COUNT
            && self.next_number() <= self.attempts
            && !self.is_draining(around)
            && self.is_breaker_closed(now)
    }

    /// A probe must not be raced, and a dependency that recovers not loaded.
    fn is_breaker_closed(&self, now: Instant) -> bool {
        self.live.breaker().is_none_or(|breaker| {
            let state = breaker.state(now);
            // One that only observes, or was switched off, holds nothing back.
            breaker.is_observing() || matches!(state, BreakerState::Closed | BreakerState::Disabled)
        })
    }

    /// The attempt in flight has become slow: starts another copy, if it may.
    pub(super) fn ask_hedge<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        if self.is_draining(around) {
            return self.hold_back(now, around);
        }
        if !self.is_welcome(now) {
            self.hold_back(now, around);
            let (kind, after) = (EventKind::HedgeSuppressed, self.newest_ran(now));
            return self.tell(kind, self.next_number(), now, around, |event| {
                event.with_verdict(Verdict::OK).with_delay(after)
            });
        }
        let live = self.live;
        if let Some(budget) = live.budget() {
            let Some(token) = budget.take_for_hedge(now) else {
                return self.hold_back(now, around);
            };
            if token.is_observed() {
                self.is_spared = true;
                self.tell_spared(Reason::BudgetExhausted, now, around);
            }
            self.charge = token.into_charge();
        }
        let permit = match live.breaker() {
            Some(_) if !self.is_breaker_closed(now) => return self.hold_back(now, around),
            Some(breaker) => match breaker.admit(now) {
                Ok(permit) if !permit.is_probe() => Some(permit),
                _ => return self.hold_back(now, around),
            },
            None => None,
        };
        let mut places = self.legs.as_mut().iter_mut().zip(0..);
        let Some((leg, lane)) = places.find(|(leg, _)| !leg.is_flying()) else {
            return self.hold_back(now, around);
        };
        leg.permit = permit;
        self.lane = lane;
        if self.claim(self.lane(), now, around).is_err() {
            return self.hold_back(now, around);
        }
        self.role = Role::Hedge;
        self.phase = Phase::Setup;
    }

    /// Tells whether the dependency can do with more load, and copies win.
    fn is_welcome(&self, now: Instant) -> bool {
        let is_unwell = match (self.live.breaker(), self.policy().hedge()) {
            (Some(breaker), Some(hedge)) => breaker.is_elevated(now, hedge.suppression()),
            _ => false,
        };
        !is_unwell && self.live.hedging().is_worth_it(now)
    }

    /// The hooks let the copy start.
    pub(super) fn count_hedge<L: Listener, S>(
        &self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.live.hedging().start(now);
        let (kind, after) = (EventKind::HedgeStarted, self.newest_ran(now));
        self.tell(kind, self.next_number(), now, around, |event| {
            event.with_verdict(Verdict::OK).with_delay(after)
        });
    }

    /// How long the newest attempt in flight has run.
    fn newest_ran(&self, now: Instant) -> Duration {
        let legs = self.legs.as_ref().iter();
        let started = legs
            .filter(|leg| leg.is_flying())
            .map(|leg| leg.flight.started);
        now.saturating_since(started.max().unwrap_or(now))
    }

    /// Starts no further copy in this round, and gives back what one would need.
    pub(super) fn hold_back<L, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        self.charge = None;
        if self.hold == Hold::No {
            self.hold = Hold::Yes;
        }
        self.phase = Phase::Flying;
        for leg in self.legs.as_mut() {
            if !leg.is_flying() {
                leg.clear();
            }
        }
        self.arm(now, around);
    }

    /// A copy has failed while another flies: what it said binds the others, too.
    pub(super) fn heed(&mut self, verdict: Verdict) {
        if verdict.pushback().is_some() {
            self.hold = Hold::Hinted;
        } else if verdict.kind() == Kind::Permanent && self.hold == Hold::No {
            self.hold = Hold::Yes;
        }
    }

    /// An attempt was accepted: whatever still flies has lost.
    pub(super) fn discard_others<L: Listener, S>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        let mut number = self.number;
        for lane in 0..H::COUNT {
            let Some(leg) = self.legs.as_mut().get_mut(lane) else {
                return;
            };
            if !leg.is_flying() {
                continue;
            }
            let lost = leg.land();
            if let Some(ticket) = leg.ticket.take() {
                // The dependency did not turn the call away: it answered a copy.
                ticket.settle(Verdict::OK);
            }
            // A permit given back says nothing about the dependency.
            leg.clear();
            self.flying = self.flying.saturating_sub(1);
            self.live.call_scout_back(lost.scout);
            let ran = now.saturating_since(lost.started);
            if !lost.is_hedge() && !self.is_saturated {
                self.live.hedging().record(now, ran);
            }
            let start = lost.started.saturating_since(self.started);
            let (discarded, verdict) = (Ending::Discarded, Verdict::OK);
            self.journal
                .record(start, ran, discarded, verdict, lost.is_hedge());
            let kind = EventKind::HedgeDiscarded;
            // As the log counts: in the order in which attempts end.
            number = number.saturating_add(1);
            self.tell(kind, number, now, around, |event| {
                event.with_verdict(verdict).with_duration(ran)
            });
        }
    }
}
