//! What follows from an attempt: record it, then ask the questions in order.

use core::time::Duration;

use super::attempt::Retry;
use super::leg::{Bound, Flight, Role};
use super::log::{Ending, Journal};
use super::machine::{Hold, Machine, Phase, Surroundings};
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::policy::backoff::Backoff;
use crate::policy::timeline::REJECTION_PAUSE;
use crate::reason::Reason;
use crate::time::Instant;
use crate::verdict::{Kind, Verdict};

/// How far past its own bound an attempt is worth an event.
const OVERRUN: Duration = Duration::from_secs(1);

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Tells what the attempt in this lane ended with and what that means.
    ///
    /// While another one flies beside it, only an accepted result ends the race.
    /// An error judged Ok counts as permanent. `rule` chooses the wait before a
    /// retry; it is asked last, when everything else allows one.
    pub fn settle<L: Listener, S: Fn() -> u64>(
        &mut self,
        lane: usize,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) {
        let Some(leg) = self.legs.as_mut().get_mut(lane) else {
            return;
        };
        if self.phase != Phase::Flying || !leg.is_flying() {
            return;
        }
        let flight = leg.land();
        self.flying = self.flying.saturating_sub(1);
        // For the report: the times of what ended last stay in its place.
        self.lane = u8::try_from(lane).unwrap_or(0);
        let verdict = match ending {
            Ending::Value => verdict,
            _ => verdict.on_error(),
        };
        let earlier = self.verdict();
        self.record(flight, now, ending, verdict, around);
        if self.hold == Hold::Hinted && !verdict.is_ok() && verdict.pushback().is_none() {
            // Another copy was told when to come back; that holds for the call.
            self.set_verdict(earlier);
        }
        if flight.is_hedge() && verdict.is_ok() {
            self.live.hedging().win(now);
            self.tell(EventKind::HedgeWon, self.number, now, around, |event| event);
        }
        if self.flying != 0 {
            if !verdict.is_ok() {
                // The race goes on, and another copy may be due.
                self.heed(verdict);
                return self.arm(now, around);
            }
            self.discard_others(now, around);
        }
        self.decide(flight.cut_by, now, around, rule);
    }

    fn record<L: Listener, S: Fn() -> u64>(
        &mut self,
        flight: Flight,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        around: &Surroundings<'_, L, S>,
    ) {
        let nanos = now.nanos_since(flight.started);
        let took = Duration::from_nanos(nanos);
        self.number = self.number.saturating_add(1);
        self.set_verdict(verdict);
        self.ending = ending;
        self.has_waited = false;
        let start = flight.started.saturating_since(self.started);
        self.journal
            .record(start, took, ending, verdict, flight.is_hedge());
        self.learn(&flight, now, nanos);
        self.has_sent |= ending != Ending::Refused;
        if self.live.has_limits() && ending != Ending::Refused {
            self.settle_limits(flight.role, now, took, around);
        }

        let limited_by = self.refusing_limit();
        self.tell(EventKind::Attempt, self.number, now, around, |event| {
            let event = event.with_duration(took);
            match limited_by {
                Some(limit) => event.with_limit(limit),
                None => event,
            }
        });
        // One that was cut has let go of its thread; then the machine slept.
        let overrun = flight.give_up.saturating_add(OVERRUN);
        if ending != Ending::Cut && now >= overrun && overrun < Instant::MAX {
            self.tell(EventKind::Overran, self.number, now, around, |event| {
                event.with_duration(took)
            });
        }

        let lane = self.lane();
        let landed = self.legs.as_mut().get_mut(lane);
        if let Some(permit) = landed.and_then(|leg| leg.permit.take()) {
            let live = self.live;
            let turned =
                permit.settle_nanos(now, verdict.kind(), nanos, || live.draw(&around.seed));
            self.tell_transition(turned, self.number, now, around);
        }
    }

    /// Tells this process's own limits what came of what they let out.
    #[inline(never)]
    fn settle_limits<L: Listener, S>(
        &mut self,
        role: Role,
        now: Instant,
        took: Duration,
        around: &Surroundings<'_, L, S>,
    ) {
        let (lane, verdict) = (self.lane(), self.verdict());
        let Some(leg) = self.legs.as_mut().get_mut(lane) else {
            return;
        };
        if let Some(ticket) = leg.ticket.take() {
            ticket.settle(verdict);
        }
        let adapted = if role.is_lasting() && verdict.is_ok() {
            leg.slot.as_ref().and_then(|slot| slot.sample(now, took))
        } else {
            leg.slot.take().and_then(|slot| slot.settle(now, took))
        };
        if let Some(limit) = adapted {
            self.tell(EventKind::ConcurrencyAdapted, limit, now, around, |event| {
                event
            });
        }
    }

    /// Lets the estimates know how long it took, unless it tells nothing about the
    /// dependency.
    fn learn(&self, flight: &Flight, now: Instant, took: u64) {
        let live = self.live;
        if self.ending == Ending::Refused
            || self.verdict().is_self_imposed()
            || self.is_saturated
            || flight.role == Role::Resumed
        {
            return live.call_scout_back(flight.scout);
        }
        let is_cut = self.ending == Ending::Cut && flight.cut_by != Bound::Deadline;
        if self.verdict().is_ok() {
            live.learn_success(now, took, flight.scout);
        } else if is_cut && (flight.cut_by == Bound::Ceiling || flight.scout.is_some()) {
            live.learn_cut(now, flight.bound(), flight.scout);
        } else {
            live.call_scout_back(flight.scout);
        }
        if H::COUNT > 1 && !flight.is_hedge() {
            live.hedging().count(now, took);
        }
    }

    fn decide<L: Listener, S: Fn() -> u64>(
        &mut self,
        cut_by: Bound,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) {
        match self.verdict().kind() {
            Kind::Ok => {
                // What a law that only observes would have refused pays nothing in.
                if let Some(budget) = self.live.budget()
                    && !self.is_spared
                {
                    budget.deposit(now);
                }
                return self.succeed(now, around);
            }
            Kind::Permanent => {
                return self.stop(EventKind::NotRetried, Reason::Permanent, now, around);
            }
            Kind::Transient | Kind::Throttled => {}
        }
        // A cut by the deadline is the deadline's, whatever a clock says now
        // and however many attempts are left.
        if self.ending == Ending::Cut && cut_by == Bound::Deadline {
            return self.miss_deadline(self.number, now, around);
        }
        if self.number >= self.attempts {
            return self.stop(EventKind::Exhausted, Reason::AttemptsExhausted, now, around);
        }
        let left = self.left(now);
        if left.is_zero() {
            return self.miss_deadline(self.number, now, around);
        }
        if self.is_draining(around) {
            return self.stop(EventKind::Draining, Reason::Draining, now, around);
        }
        let next = self.number.saturating_add(1);
        let live = self.live;
        let draw = live.draw(&around.seed);
        let backoff = self.backoff(next, now, around);
        let Some(delay) = backoff.delay(next, self.verdict(), draw) else {
            return self.refuse_long_hint(now, around);
        };
        if !self.fund(now, around) {
            return self.refuse_for_budget(now, left, around);
        }
        let retry = Retry::new(next, self.verdict(), &backoff, delay);
        let delay = self.at_least_the_hint(rule(&retry));
        if self.due < Instant::MAX && delay.saturating_add(self.viable(now)) >= left {
            return self.miss_deadline(self.number, now, around);
        }
        self.wake = now.saturating_add(delay);
        self.phase = Phase::Pausing;
        self.tell(EventKind::Retrying, next, now, around, |event| {
            event.with_delay(delay)
        });
    }

    /// Takes a token for a retry; false when there is none. What this process
    /// refused itself costs nothing.
    pub(super) fn fund<L: Listener, S>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> bool {
        let live = self.live;
        let Some(budget) = live.budget() else {
            return true;
        };
        if self.verdict().is_self_imposed() {
            return true;
        }
        let token = if self.is_sheddable() {
            budget.take_sheddable(now)
        } else {
            budget.take(now)
        };
        let Some(token) = token else { return false };
        if token.is_observed() {
            self.is_spared = true;
            self.tell_spared(Reason::BudgetExhausted, now, around);
        }
        self.charge = token.into_charge();
        true
    }

    /// The rule for the wait before attempt `next`, with its base measured if
    /// that is asked for and known.
    pub(super) fn backoff<L: Listener, S>(
        &self,
        next: u32,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Backoff {
        let backoff = *self.policy().backoff();
        if backoff.measured_base().is_none() || self.verdict().kind() == Kind::Throttled {
            return backoff;
        }
        let Some(normal) = self.live.estimates().normal(now) else {
            return backoff;
        };
        let measured = backoff.measured(normal);
        let base = measured.transient_base();
        if around.listener.is_listening() && self.live.estimates().is_new_base(base) {
            self.tell(EventKind::BackoffBaseAdapted, next, now, around, |event| {
                event.with_delay(base)
            });
        }
        measured
    }

    /// What an attempt needs at least to be worth starting.
    pub(super) fn viable(&self, now: Instant) -> Duration {
        let breaker = self.live.breaker();
        breaker
            .and_then(|breaker| breaker.normal_latency(now))
            .unwrap_or(Duration::ZERO)
    }

    /// Ends a call whose attempts have all landed and hold nothing any more, but the
    /// place in flight of what goes on.
    fn succeed<L: Listener, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        debug_assert!(self.charge.is_none(), "what flew was paid for");
        let reason = Reason::Succeeded;
        self.phase = Phase::Over(reason);
        self.tell(EventKind::Succeeded, self.number, now, around, |event| {
            event.with_reason(reason)
        });
    }

    fn stop<L: Listener, S>(
        &mut self,
        kind: EventKind,
        reason: Reason,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.finish(reason);
        self.tell(kind, self.number, now, around, |event| {
            event.with_reason(reason)
        });
    }

    /// The dependency asked for a longer pause than the policy allows: waiting
    /// less would be a call it has refused beforehand.
    fn refuse_long_hint<L: Listener, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        self.finish(Reason::Throttled);
        let hint = self.verdict().pushback().unwrap_or(Duration::ZERO);
        self.tell(EventKind::NotRetried, self.number, now, around, |event| {
            event.with_reason(Reason::Throttled).with_delay(hint)
        });
    }

    fn refuse_for_budget<L: Listener, S>(
        &mut self,
        now: Instant,
        left: Duration,
        around: &Surroundings<'_, L, S>,
    ) {
        let pause = REJECTION_PAUSE.min(left);
        self.refuse(Reason::BudgetExhausted, now, pause);
        self.tell(
            EventKind::RejectedByBudget,
            self.number,
            now,
            around,
            |event| event.with_reason(Reason::BudgetExhausted).with_delay(pause),
        );
    }

    /// A rule of the user's may wait longer than the dependency asked for, not
    /// shorter; a policy without waits ignores hints altogether.
    pub(super) fn at_least_the_hint(&self, delay: Duration) -> Duration {
        match self.verdict().pushback() {
            Some(hint) if self.policy().backoff().maximum() > Duration::ZERO => delay.max(hint),
            _ => delay,
        }
    }
}
