//! What follows from an attempt: record it, then ask the questions in order.

use core::time::Duration;

use super::attempt::Retry;
use super::log::{Ending, Journal};
use super::machine::{Machine, Phase, Surroundings};
use crate::event::EventKind;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::policy::timeline::REJECTION_PAUSE;
use crate::reason::Reason;
use crate::time::Instant;
use crate::verdict::{Kind, Verdict};

/// How far past its own bound an attempt is worth an event.
const OVERRUN: Duration = Duration::from_secs(1);

impl<M: Memory, J: Journal> Machine<'_, M, J> {
    /// Tells what the attempt in flight ended with and what that means.
    ///
    /// An error judged Ok counts as permanent. `rule` chooses the wait before a
    /// retry; it is asked last, when everything else allows one.
    pub fn settle<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) {
        if self.phase != Phase::Flying {
            return;
        }
        let verdict = match ending {
            Ending::Value => verdict,
            Ending::Error | Ending::Cut | Ending::Refused => verdict.on_error(),
        };
        self.record(now, ending, verdict, around);
        self.decide(now, around, rule);
    }

    fn record<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        around: &Surroundings<'_, L, S>,
    ) {
        let took = now.saturating_since(self.attempt_started);
        self.number = self.number.saturating_add(1);
        self.last = verdict;
        self.ending = ending;
        self.has_waited = false;
        let start = self.attempt_started.saturating_since(self.started);
        self.journal.record(start, took, ending, verdict);

        self.tell(EventKind::Attempt, self.number, now, around, |event| {
            event.with_duration(took)
        });
        // One that was cut has let go of its thread; then the machine slept.
        let overrun = self.wake.saturating_add(OVERRUN);
        if ending != Ending::Cut && now >= overrun && overrun < Instant::MAX {
            self.tell(EventKind::Overran, self.number, now, around, |event| {
                event.with_duration(took)
            });
        }

        if let Some(permit) = self.permit.take() {
            let live = self.live;
            let turned = permit.settle(now, verdict.kind(), took, || live.draw(&around.seed));
            self.tell_transition(turned, self.number, now, around);
        }
    }

    fn decide<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) {
        match self.last.kind() {
            Kind::Ok => {
                if let Some(budget) = self.live.budget() {
                    budget.deposit(now);
                }
                return self.stop(EventKind::Succeeded, Reason::Succeeded, now, around);
            }
            Kind::Permanent => {
                return self.stop(EventKind::NotRetried, Reason::Permanent, now, around);
            }
            Kind::Transient | Kind::Throttled => {}
        }
        // A cut by the deadline is the deadline's, whatever a clock says now
        // and however many attempts are left.
        if self.ending == Ending::Cut && self.is_last_chance {
            return self.miss_deadline(self.number, now, around);
        }
        if self.number >= self.attempts {
            return self.stop(EventKind::Exhausted, Reason::AttemptsExhausted, now, around);
        }
        let left = self.left(now);
        if left.is_zero() {
            return self.miss_deadline(self.number, now, around);
        }
        let next = self.number.saturating_add(1);
        let live = self.live;
        let draw = live.draw(&around.seed);
        let Some(delay) = self.policy.backoff().delay(next, self.last, draw) else {
            return self.refuse_long_hint(now, around);
        };
        if !self.last.is_self_imposed()
            && let Some(budget) = live.budget()
        {
            match budget.take(now) {
                Some(token) => self.token = Some(token),
                None => return self.refuse_for_budget(now, left, around),
            }
        }
        let retry = Retry::new(next, self.last, self.policy.backoff(), delay);
        let delay = self.at_least_the_hint(rule(&retry));
        if self.due < Instant::MAX && delay >= left {
            return self.miss_deadline(self.number, now, around);
        }
        self.wake = now.saturating_add(delay);
        self.phase = Phase::Pausing;
        self.tell(EventKind::Retrying, next, now, around, |event| {
            event.with_delay(delay)
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
        let hint = self.last.pushback().unwrap_or(Duration::ZERO);
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
    fn at_least_the_hint(&self, delay: Duration) -> Duration {
        match self.last.pushback() {
            Some(hint) if self.policy.backoff().maximum() > Duration::ZERO => delay.max(hint),
            _ => delay,
        }
    }
}
