//! One call as a machine that is told the time and says what to do next.

use core::fmt;
use core::time::Duration;

use super::attempt::Attempt;
use super::log::{Ending, Journal};
use super::report::Report;
use crate::breaker_state::BreakerState;
use crate::event::EventKind;
use crate::listener::Listener;
use crate::memory::{Memory, Shared};
use crate::policy::policy::Policy;
use crate::policy::timeline::REJECTION_PAUSE;
use crate::reason::Reason;
use crate::state::circuit_breaker::permit::Permit;
use crate::state::dependency::Dependency;
use crate::state::retry_budget::Token;
use crate::time::Instant;
use crate::verdict::Verdict;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Run the hooks, then ask [`Machine::launch`] for the attempt.
    Start,
    /// Nothing before this instant, unless an attempt ends.
    Wait(Instant),
    /// Drop the attempt, then settle it as [`Ending::Cut`].
    Cut,
    /// The call is over.
    Finish(Reason),
}

/// What stands around a call: who listens, and where a seed comes from.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a, L, S> {
    /// Hears the events.
    pub listener: &'a L,
    /// The name of the error type, for events.
    pub error: &'static str,
    /// Gives the seed of the random stream; asked once for each guard.
    pub seed: S,
}

/// One call: told facts, it answers "what now?" with one order.
///
/// It knows no future, no waker and no runtime. A driver asks
/// [`step`](Self::step), does what the order says, and tells it what came of
/// it. Dropping it at any point gives back the probe slot and the retry token
/// it holds.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::*;
///
/// let policy = Policy::DEFAULT.with_backoff(Backoff::constant(Duration::from_secs(1)));
/// let live: Dependency = Dependency::new(&policy);
/// let around = Surroundings { listener: &NoListener, error: "()", seed: || 7 };
/// let mut call = Machine::<Shared, ()>::new(&policy, &live);
///
/// let now = Instant::ZERO;
/// assert_eq!(call.step(now, &around), Order::Start);
/// let attempt = call.launch(now, &around).unwrap();
/// assert_eq!((attempt.number(), attempt.timeout()), (1, Some(Duration::from_secs(10))));
///
/// call.settle(now, Ending::Value, Verdict::OK, &around, |retry| retry.delay());
/// assert_eq!(call.step(now, &around), Order::Finish(Reason::Succeeded));
/// ```
pub struct Machine<'g, M: Memory = Shared, J = ()> {
    pub(super) policy: &'g Policy,
    pub(super) live: &'g Dependency<M>,
    pub(super) permit: Option<Permit<'g, M>>,
    pub(super) token: Option<Token<'g, M>>,
    pub(super) started: Instant,
    /// The deadline; before the start, the span it will lie ahead.
    pub(super) due: Instant,
    /// The end of whatever the phase waits for.
    pub(super) wake: Instant,
    pub(super) attempt_started: Instant,
    pub(super) attempts: u32,
    pub(super) number: u32,
    pub(super) last: Verdict,
    pub(super) ending: Ending,
    pub(super) phase: Phase,
    /// The deadline, not the attempt timeout, bounds the attempt in flight.
    pub(super) is_last_chance: bool,
    /// The wait after the last attempt is over.
    pub(super) has_waited: bool,
    /// What the breaker was when it refused.
    pub(super) refused_in: Option<BreakerState>,
    pub(super) journal: J,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not polled yet: no deadline runs.
    Fresh,
    /// About to ask for admission.
    Admission,
    /// Admitted; the hooks run.
    Setup,
    /// An attempt is running.
    Flying,
    /// Waiting before a retry.
    Pausing,
    /// Waiting before a refusal is reported.
    Refusing(Reason),
    Over(Reason),
}

impl<'g, M: Memory, J: Journal> Machine<'g, M, J> {
    /// Makes a call that has not begun.
    #[must_use]
    pub fn new(policy: &'g Policy, live: &'g Dependency<M>) -> Self {
        Self {
            policy,
            live,
            permit: None,
            token: None,
            started: Instant::ZERO,
            due: match policy.deadline() {
                Some(deadline) => Instant::ZERO.saturating_add(deadline),
                None => Instant::MAX,
            },
            wake: Instant::ZERO,
            attempt_started: Instant::ZERO,
            attempts: policy.attempts(),
            number: 0,
            last: Verdict::OK,
            ending: Ending::Refused,
            phase: Phase::Fresh,
            is_last_chance: false,
            has_waited: false,
            refused_in: None,
            journal: J::default(),
        }
    }

    /// Returns the policy of the call.
    #[must_use]
    pub const fn policy(&self) -> &'g Policy {
        self.policy
    }

    /// Bounds a call that has not begun, if that is less than its deadline.
    pub fn tighten(&mut self, bound: Duration) {
        if self.phase == Phase::Fresh {
            self.due = self.due.min(Instant::ZERO.saturating_add(bound));
        }
    }

    /// Allows one attempt only.
    pub fn make_once(&mut self) {
        self.attempts = 1;
    }

    /// Answers what to do at `now`.
    pub fn step<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Order {
        loop {
            match self.phase {
                Phase::Fresh => {
                    self.started = now;
                    self.due = now.saturating_add(self.due.saturating_since(Instant::ZERO));
                    self.phase = Phase::Admission;
                }
                Phase::Admission => self.ask_admission(now, around),
                Phase::Setup => return Order::Start,
                Phase::Flying if now < self.wake => return Order::Wait(self.wake),
                Phase::Flying => return Order::Cut,
                Phase::Pausing | Phase::Refusing(_) if now < self.wake => {
                    return Order::Wait(self.wake);
                }
                Phase::Pausing => {
                    self.has_waited = true;
                    self.phase = Phase::Admission;
                }
                Phase::Refusing(reason) => self.phase = Phase::Over(reason),
                Phase::Over(reason) => return Order::Finish(reason),
            }
        }
    }

    fn ask_admission<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        let next = self.number.saturating_add(1);
        if let Some(breaker) = self.live.breaker() {
            let permit = match breaker.admit(now) {
                Ok(permit) => permit,
                Err(refusal) => {
                    self.refused_in = Some(refusal.state());
                    return self.refuse_by_breaker(next, now, around);
                }
            };
            let turned = permit.transition();
            self.permit = Some(permit);
            self.tell_transition(turned, next, now, around);
        }
        if self.left(now).is_zero() {
            self.miss_deadline(next, now, around);
        } else {
            self.phase = Phase::Setup;
        }
    }

    fn refuse_by_breaker<L: Listener, S>(
        &mut self,
        next: u32,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        let pause = REJECTION_PAUSE.min(self.left(now));
        self.refuse(Reason::DependencyUnavailable, now, pause);
        self.tell(EventKind::RejectedByBreaker, next, now, around, |event| {
            event
                .with_reason(Reason::DependencyUnavailable)
                .with_delay(pause)
        });
    }

    /// Returns what the hooks before the attempt are told.
    #[must_use]
    pub fn upcoming(&self, now: Instant) -> Attempt {
        let attempt = Attempt::new(self.number.saturating_add(1), self.last);
        if self.due == Instant::MAX {
            attempt
        } else {
            attempt.with_left(self.left(now))
        }
    }

    /// Starts the attempt's bound, and returns what the operation is told.
    ///
    /// `None` when the hooks used up the deadline: ask [`step`](Self::step).
    pub fn launch<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) -> Option<Attempt> {
        let attempt = self.upcoming(now);
        if self.left(now).is_zero() {
            self.miss_deadline(attempt.number(), now, around);
            return None;
        }
        // The retry happens: its token is spent for good.
        if let Some(token) = self.token.take() {
            token.spend();
        }
        let own = match self.policy.attempt_timeout() {
            Some(timeout) => now.saturating_add(timeout),
            None => Instant::MAX,
        };
        self.wake = own.min(self.due);
        // When both end at once, the deadline is over.
        self.is_last_chance = self.due <= own && self.due < Instant::MAX;
        self.attempt_started = now;
        self.phase = Phase::Flying;
        Some(if self.wake == Instant::MAX {
            attempt
        } else {
            attempt.with_timeout(self.wake.saturating_since(now))
        })
    }

    /// Returns the end of what the machine last said to wait for, or of the
    /// attempt it last launched.
    #[must_use]
    pub const fn wake(&self) -> Instant {
        self.wake
    }

    /// Ends the call because the hook before an attempt failed.
    ///
    /// Nothing is recorded and no event is told; what the call holds goes back.
    pub fn abort(&mut self) {
        self.ending = Ending::Error;
        self.finish(Reason::Setup);
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
            verdict: self.last,
            ending: self.ending,
            deadline: (self.due != Instant::MAX).then(|| self.due.saturating_since(self.started)),
            // Only then does `wake` still hold the end of that attempt.
            cut_after: (self.ending == Ending::Cut && reason == Reason::AttemptsExhausted)
                .then(|| self.wake.saturating_since(self.attempt_started)),
            hint: match reason {
                Reason::DependencyUnavailable => self
                    .live
                    .breaker()
                    .and_then(|breaker| breaker.retry_after(now)),
                Reason::BudgetExhausted => self
                    .live
                    .budget()
                    .and_then(|budget| budget.retry_after(now)),
                Reason::Succeeded | Reason::Permanent | Reason::Setup => None,
                _ if self.has_waited => None,
                // What the dependency asked for and this call did not wait for.
                _ => self.last.pushback(),
            },
            refused_in: self.refused_in,
            policy: self.policy.name(),
        }
    }

    /// Returns the call with an empty journal of another kind.
    #[must_use]
    pub fn with_journal<K: Journal>(self) -> Machine<'g, M, K> {
        Machine {
            policy: self.policy,
            live: self.live,
            permit: self.permit,
            token: self.token,
            started: self.started,
            due: self.due,
            wake: self.wake,
            attempt_started: self.attempt_started,
            attempts: self.attempts,
            number: self.number,
            last: self.last,
            ending: self.ending,
            phase: self.phase,
            is_last_chance: self.is_last_chance,
            has_waited: self.has_waited,
            refused_in: self.refused_in,
            journal: K::default(),
        }
    }

    /// Returns the journal.
    #[must_use]
    pub const fn journal(&self) -> &J {
        &self.journal
    }

    pub(super) fn left(&self, now: Instant) -> Duration {
        if self.due == Instant::MAX {
            Duration::MAX
        } else {
            self.due.saturating_since(now)
        }
    }

    /// Ends the call; what it holds goes back.
    pub(super) fn finish(&mut self, reason: Reason) {
        self.permit = None;
        self.token = None;
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

impl<M: Memory, J> fmt::Debug for Machine<'_, M, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("phase", &self.phase)
            .field("attempts", &self.number)
            .field("last", &self.last)
            .field("wake", &self.wake)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
