//! One call as a machine that is told the time and says what to do next.

use core::fmt;
use core::time::Duration;

use super::leg::{Leg, Role};
use super::log::{Ending, Journal};
use crate::ambient::Ambient;
use crate::breaker_state::BreakerState;
use crate::criticality::Criticality;
use crate::event::EventKind;
use crate::lanes::{Lanes, Single};
use crate::limited::Limit;
use crate::listener::Listener;
use crate::memory::{Memory, Shared};
use crate::policy::policy::Policy;
use crate::policy::timeline::REJECTION_PAUSE;
use crate::reason::Reason;
use crate::state::dependency::Dependency;
use crate::state::draining::Draining;
use crate::state::retry_budget::Charge;
use crate::time::Instant;
use crate::verdict::{Code, Verdict};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Run the hooks, then ask [`Machine::launch`] for the attempt.
    Start,
    /// Nothing before this instant, unless an attempt ends.
    Wait(Instant),
    /// Drop the attempt in this lane, then settle it as [`Ending::Cut`].
    Cut(usize),
    /// Drop whatever still flies: the call is over.
    Finish(Reason),
}

/// What stands around a call: who listens, where a seed comes from, and what the
/// call is made for.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a, L, S> {
    /// Hears the events.
    pub listener: &'a L,
    /// The name of the error type, for events.
    pub error: &'static str,
    /// Gives the seed of the random stream; asked once for each guard.
    pub seed: S,
    /// Whether all that makes calls here is about to stop, if anything says so.
    pub draining: Option<&'a Draining>,
    /// Says what the call is made for; asked once for each call, and only where
    /// its policy follows that.
    pub ambient: fn() -> Ambient,
}

/// One call: told facts, it answers "what now?" with one order.
///
/// It knows no future, no waker and no runtime. A driver asks
/// [`step`](Self::step), does what the order says, and tells it what came of
/// it. Dropping it at any point gives back the probe slots and the retry token
/// it holds.
///
/// A call with several lanes (`H`) may have as many attempts in flight; each is
/// told by its lane, counted from 0.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::*;
///
/// let policy = Policy::DEFAULT.with_backoff(Backoff::constant(Duration::from_secs(1)));
/// let live: Dependency = Dependency::new(&policy);
/// let around = Surroundings {
///     listener: &NoListener,
///     error: "()",
///     seed: || 7,
///     draining: None,
///     ambient: || Ambient::NONE,
/// };
/// let mut call = Machine::<Shared, ()>::new(&live);
///
/// let now = Instant::ZERO;
/// assert_eq!(call.step(now, &around), Order::Start);
/// let attempt = call.launch(now, &around).unwrap().unwrap();
/// assert_eq!((attempt.number(), attempt.timeout()), (1, Some(Duration::from_secs(10))));
///
/// let lane = call.lane();
/// call.settle(lane, now, Ending::Value, Verdict::OK, &around, |retry| retry.delay());
/// assert_eq!(call.step(now, &around), Order::Finish(Reason::Succeeded));
/// ```
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and a word of flags would hide them"
)]
pub struct Machine<'g, M: Memory = Shared, J = (), H: Lanes = Single> {
    pub(super) live: &'g Dependency<M, H>,
    pub(super) legs: H::Each<Leg<'g, M>>,
    pub(super) charge: Option<Charge<'g, M>>,
    pub(super) started: Instant,
    /// The deadline; before the start, the span it will lie ahead.
    pub(super) due: Instant,
    /// The end of whatever the phase waits for.
    pub(super) wake: Instant,
    pub(super) attempts: u32,
    /// How many attempts have ended.
    pub(super) number: u32,
    /// How many are in flight.
    pub(super) flying: u8,
    /// Of the attempt that is about to start, or started or ended last.
    pub(super) lane: u8,
    /// The verdict on the last attempt, taken apart: whole it is a word larger.
    pub(super) pushback: u64,
    pub(super) code: Code,
    pub(super) ending: Ending,
    pub(super) phase: Phase,
    /// Of what is about to start.
    pub(super) role: Role,
    /// The operation must not be repeated, so nothing is won by cutting it early.
    pub(super) is_once: bool,
    /// Whether a further copy may start in this round.
    pub(super) hold: Hold,
    /// The wait after the last attempt is over.
    pub(super) has_waited: bool,
    /// A retry went on that an observing budget would have refused.
    pub(super) is_spared: bool,
    /// An attempt that has ended was neither refused by a limit nor by a hook.
    pub(super) has_sent: bool,
    /// This process is late for what it has to do: what it measures is not the
    /// dependency.
    pub(super) is_saturated: bool,
    /// Unless said it is [`Criticality::Critical`].
    pub(super) criticality: Option<Criticality>,
    /// The limit that refused the last attempt.
    pub(super) limited_by: Option<Limit>,
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

/// Whether a further copy may start in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    No,
    Yes,
    /// No, and the dependency has said when to come back.
    Hinted,
}

impl<'g, M: Memory, J: Journal, H: Lanes> Machine<'g, M, J, H> {
    /// Makes a call that has not begun.
    #[must_use]
    pub fn new(live: &'g Dependency<M, H>) -> Self {
        let policy = live.policy();
        Self {
            live,
            legs: H::each(|_| Leg::idle()),
            charge: None,
            started: Instant::ZERO,
            due: policy.deadline_from(Instant::ZERO),
            wake: Instant::ZERO,
            attempts: policy.attempts(),
            number: 0,
            flying: 0,
            lane: 0,
            pushback: Verdict::OK.parts().0,
            code: Verdict::OK.parts().1,
            ending: Ending::Refused,
            phase: Phase::Fresh,
            role: Role::First,
            is_once: false,
            hold: Hold::No,
            has_waited: false,
            is_spared: false,
            has_sent: false,
            is_saturated: false,
            criticality: None,
            limited_by: None,
            refused_in: None,
            journal: J::default(),
        }
    }

    /// Returns the policy of the call.
    #[must_use]
    pub const fn policy(&self) -> &'g Policy {
        self.live.policy()
    }

    /// Bounds a call that has not begun, if that is less than its deadline.
    pub fn tighten(&mut self, bound: Duration) {
        if self.phase == Phase::Fresh {
            self.due = self.due.min(Instant::ZERO.saturating_add(bound));
        }
    }

    /// Allows one attempt only, which the measured ceiling does not cut.
    pub fn make_once(&mut self) {
        self.attempts = 1;
        self.is_once = true;
    }

    /// Says how much it matters that this call is answered.
    pub fn set_criticality(&mut self, criticality: Criticality) {
        self.criticality = Some(criticality);
    }

    /// Says whether this process is saturated, and by how much it is late.
    ///
    /// While it is, nothing is learnt from how long attempts take.
    pub fn set_saturated<L: Listener, S>(
        &mut self,
        delay: Option<Duration>,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.is_saturated = delay.is_some();
        // Who is not heard leaves the episode to be told by others.
        if self.is_saturated && !around.listener.is_listening() {
            return;
        }
        let is_new = self.live.is_new_episode(self.is_saturated);
        if let Some(delay) = delay
            && is_new
        {
            let number = self.number.saturating_add(1);
            self.tell(
                EventKind::SaturationDetected,
                number,
                now,
                around,
                |event| event.with_delay(delay),
            );
        }
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
                    self.due = now.after(self.due.as_nanos());
                    if self.policy().follows_any() {
                        self.follow(now, around);
                    }
                    self.end_with_the_grace(around);
                    self.ask_admission(now, around);
                }
                Phase::Admission => self.ask_admission(now, around),
                Phase::Setup => return Order::Start,
                Phase::Flying if now < self.wake => return Order::Wait(self.wake),
                Phase::Flying => {
                    if let Some(lane) = self.overdue(now) {
                        return Order::Cut(lane);
                    }
                    self.ask_hedge(now, around);
                }
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

    /// Sets the deadline of a call whose own bound is counted from now on.
    pub(super) fn bound_by(&mut self, bound: Duration, now: Instant) {
        self.due = now.saturating_add(bound);
    }

    fn ask_admission<L: Listener, S: Fn() -> u64>(
        &mut self,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        // A new round: nothing flies.
        self.lane = 0;
        if self.role == Role::Hedge {
            self.role = Role::First;
        }
        self.hold = Hold::No;
        let next = self.number.saturating_add(1);
        if let Some(breaker) = self.live.breaker() {
            let permit = match breaker.admit(now) {
                Ok(permit) => permit,
                Err(refusal) => {
                    self.refused_in = Some(refusal.state());
                    return self.refuse_by_breaker(next, now, around);
                }
            };
            if permit.would_be_refused_in().is_some() {
                self.tell_spared(Reason::DependencyUnavailable, now, around);
            }
            let turned = permit.transition();
            if let Some(leg) = self.legs.as_mut().first_mut() {
                leg.permit = Some(permit);
            }
            self.tell_transition(turned, next, now, around);
        }
        if self.is_late(now) {
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

    /// Returns the lane of the attempt that is to start, or started last.
    #[must_use]
    pub fn lane(&self) -> usize {
        self.lane.into()
    }

    pub(super) fn is_hedge(&self) -> bool {
        self.role == Role::Hedge
    }

    /// Tells whether another attempt flies beside that one.
    #[must_use]
    pub const fn is_racing(&self) -> bool {
        self.flying > 1
    }

    /// Returns the end of what the machine last said to wait for, or of the
    /// attempt it last launched.
    #[must_use]
    pub const fn wake(&self) -> Instant {
        self.wake
    }

    /// Returns the call with an empty journal of another kind.
    #[must_use]
    pub fn with_journal<K: Journal>(self) -> Machine<'g, M, K, H> {
        Machine {
            live: self.live,
            legs: self.legs,
            charge: self.charge,
            started: self.started,
            due: self.due,
            wake: self.wake,
            attempts: self.attempts,
            number: self.number,
            flying: self.flying,
            lane: self.lane,
            pushback: self.pushback,
            code: self.code,
            ending: self.ending,
            phase: self.phase,
            role: self.role,
            is_once: self.is_once,
            hold: self.hold,
            has_waited: self.has_waited,
            is_spared: self.is_spared,
            has_sent: self.has_sent,
            is_saturated: self.is_saturated,
            criticality: self.criticality,
            limited_by: self.limited_by,
            refused_in: self.refused_in,
            journal: K::default(),
        }
    }

    /// Returns the journal.
    #[must_use]
    pub const fn journal(&self) -> &J {
        &self.journal
    }

    /// Tells whether nothing is left of the deadline.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        now >= self.due && self.due < Instant::MAX
    }

    pub(super) fn left(&self, now: Instant) -> Duration {
        if self.due == Instant::MAX {
            Duration::MAX
        } else {
            self.due.saturating_since(now)
        }
    }

    /// The verdict on the last attempt; Ok before the first.
    pub(super) const fn verdict(&self) -> Verdict {
        Verdict::from_parts(self.pushback, self.code)
    }

    pub(super) const fn set_verdict(&mut self, verdict: Verdict) {
        (self.pushback, self.code) = verdict.parts();
    }

    pub(super) const fn next_number(&self) -> u32 {
        self.number
            .saturating_add(self.flying as u32)
            .saturating_add(1)
    }

    /// The first attempt in flight whose time is over.
    fn overdue(&self, now: Instant) -> Option<usize> {
        let mut legs = self.legs.as_ref().iter();
        legs.position(|leg| leg.is_flying() && leg.flight.give_up <= now)
    }
}

impl<M: Memory, J, H: Lanes> fmt::Debug for Machine<'_, M, J, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("phase", &self.phase)
            .field("attempts", &self.number)
            .field("flying", &self.flying)
            .field("last", &Verdict::from_parts(self.pushback, self.code))
            .field("wake", &self.wake)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
