//! Ending a call, and saying how it ended.

use core::time::Duration;

use super::log::{Ending, Journal};
use super::machine::{Machine, Phase, Surroundings};
use super::report::Report;
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::limited::Limit;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::reason::Reason;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Ends the call because the hook before an attempt failed.
    ///
    /// Nothing is recorded and no event is told; what the call holds goes back.
    pub fn abort(&mut self) {
        self.ending = Ending::Error;
        self.finish(Reason::Setup);
    }

    /// Tells whether the call has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Tells whether the call has ended well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.phase == Phase::Over(Reason::Succeeded)
    }

    /// Returns how the call ended; means something once it has.
    #[must_use]
    pub fn report(&self, now: Instant) -> Report {
        let reason = match self.phase {
            Phase::Over(reason) | Phase::Refusing(reason) => reason,
            _ => Reason::Succeeded,
        };
        Report {
            reason,
            attempts: self.number,
            elapsed: now.saturating_since(self.started),
            verdict: self.verdict(),
            ending: self.ending,
            deadline: (self.due != Instant::MAX).then(|| self.due.saturating_since(self.started)),
            cut_after: match self.legs.as_ref().get(self.lane()) {
                Some(leg) if self.ending == Ending::Cut && reason == Reason::AttemptsExhausted => {
                    Some(leg.flight.bound())
                }
                _ => None,
            },
            hint: match reason {
                Reason::DependencyUnavailable => self
                    .live
                    .breaker()
                    .and_then(|breaker| breaker.retry_after(now)),
                Reason::BudgetExhausted => self.live.budget().and_then(|budget| {
                    if self.is_sheddable() {
                        budget.retry_after_sheddable(now)
                    } else {
                        budget.retry_after(now)
                    }
                }),
                Reason::Succeeded | Reason::Permanent | Reason::Setup => None,
                _ if self.has_waited => None,
                // What the dependency asked for and this call did not wait for.
                _ => self.verdict().pushback(),
            },
            refused_in: self.refused_in,
            limited_by: self.refusing_limit(),
            has_sent: self.has_sent,
            policy: self.policy().name(),
        }
    }

    /// The limit that refused the attempt which ended last.
    pub(super) fn refusing_limit(&self) -> Option<Limit> {
        self.limited_by.filter(|_| self.ending == Ending::Refused)
    }

    /// Ends the call; what it holds goes back.
    pub(super) fn finish(&mut self, reason: Reason) {
        self.has_sent |= self.flying > 0;
        for leg in self.legs.as_mut() {
            leg.clear();
        }
        self.flying = 0;
        self.charge = None;
        self.phase = Phase::Over(reason);
    }

    pub(super) fn refuse(&mut self, reason: Reason, now: Instant, pause: Duration) {
        self.finish(reason);
        self.wake = now.saturating_add(pause);
        self.phase = Phase::Refusing(reason);
    }

    pub(super) fn miss_deadline<L: Listener, S>(
        &mut self,
        number: u32,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.finish(Reason::DeadlineExceeded);
        self.tell(EventKind::DeadlineExceeded, number, now, around, |event| {
            event.with_reason(Reason::DeadlineExceeded)
        });
    }
}
