//! A call whose result flows: what follows when that breaks.

use core::time::Duration;

use super::attempt::Retry;
use super::leg::Role;
use super::log::{Ending, Journal};
use super::machine::{Machine, Phase, Surroundings};
use crate::event::EventKind;
use crate::listener::Listener;
use crate::math::ratio::Ratio;
use crate::memory::Memory;
use crate::policy::timeline::REJECTION_PAUSE;
use crate::reason::Reason;
use crate::time::Instant;
use crate::verdict::{Kind, Verdict};

/// What a stream has behind it: since when it flows, and how often it broke before.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Dependency, Flow, Instant, Machine, Policy, Shared};
///
/// let live: Dependency = Dependency::new(&Policy::DEFAULT);
/// let mut flow = Flow::of(&Machine::<Shared, ()>::new(&live));
/// flow.begin(Instant::ZERO);
/// // A pull waits; nothing else counts against the gap.
/// let ten = Duration::from_secs(10);
/// flow.wait(Instant::ZERO.saturating_add(Duration::from_secs(2)));
/// assert_eq!(flow.due(ten), Instant::ZERO.saturating_add(Duration::from_secs(12)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Of the first item since the stream was opened.
    since: Instant,
    /// When an item was last known to have come: a pull began to wait then.
    alive: Instant,
    is_waiting: bool,
    /// From when on its gap counts, if it was forgiven once.
    forgiven: Option<Instant>,
    restarts: u32,
    /// After the first since the stream was opened.
    items: u32,
    /// The call's own deadline, before it began.
    bound: Duration,
}

/// More attempts than that pay for themselves.
const MOST: u32 = 10;

impl Flow {
    /// Makes the flow of a call that has not begun.
    #[must_use]
    pub fn of<M: Memory, J>(machine: &Machine<'_, M, J>) -> Self {
        Self {
            since: Instant::ZERO,
            alive: Instant::ZERO,
            is_waiting: false,
            forgiven: None,
            restarts: 0,
            items: 0,
            bound: machine.due.saturating_since(Instant::ZERO),
        }
    }

    /// Notes that the stream has given its first item since it was opened.
    pub const fn begin(&mut self, now: Instant) {
        self.since = now;
        self.alive = now;
        self.go_on();
        self.items = 0;
    }

    /// Notes that an item is waited for, if none is yet.
    pub const fn wait(&mut self, now: Instant) {
        if !self.is_waiting {
            self.is_waiting = true;
            self.alive = now;
        }
    }

    /// Notes that the wait is over, without an item.
    pub const fn go_on(&mut self) {
        self.is_waiting = false;
        self.forgiven = None;
    }

    /// Counts the gap anew from now on; false if that was done before in this wait.
    ///
    /// For a wait that nobody kept: whoever began it went away for a while. A busy
    /// executor looks the same, so it holds once.
    pub const fn forgive(&mut self, now: Instant) -> bool {
        if self.forgiven.is_some() {
            return false;
        }
        self.forgiven = Some(now);
        true
    }

    /// Notes that a further item has come.
    pub const fn deliver(&mut self) {
        self.go_on();
        self.items = self.items.saturating_add(1);
    }

    /// Tells whether an item is waited for.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Returns when a wait has lasted for a gap; never if nothing waits.
    #[must_use]
    pub const fn due(&self, gap: Duration) -> Instant {
        match self.forgiven {
            Some(since) => since.saturating_add(gap),
            None if self.is_waiting => self.alive.saturating_add(gap),
            None => Instant::MAX,
        }
    }

    /// Returns how often it was resumed in a row, as of the last break.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.restarts
    }

    /// How long it is known to have given items: neither silence nor what a consumer
    /// does between two of them is health.
    fn ran(&self) -> Duration {
        self.alive.saturating_since(self.since)
    }
}

impl<M: Memory, J: Journal> Machine<'_, M, J> {
    /// Says that what is accepted goes on after the call has succeeded, and keeps
    /// its place in flight until [`Machine::release`].
    pub fn make_lasting(&mut self) {
        self.role = Role::Stream;
    }

    /// Gives back what a call that has ended still holds.
    pub fn release(&mut self) {
        for leg in self.legs.as_mut() {
            leg.clear();
        }
    }

    /// Tells that a stream gave no item for as long as a gap may be.
    pub fn stall<L: Listener, S>(
        &mut self,
        gap: Duration,
        now: Instant,
        around: &Surroundings<'_, L, S>,
    ) {
        self.set_verdict(Verdict::TRANSIENT);
        self.ending = Ending::Cut;
        self.tell(EventKind::Stalled, 1, now, around, |event| {
            event.with_delay(gap).with_duration(Duration::ZERO)
        });
    }

    /// Tells that a stream broke which had begun to flow; false when that is the end.
    /// Otherwise ask [`Machine::step`]: it is opened again, or refused after a pause for
    /// want of a token.
    ///
    /// The same questions as before a retry, in the same order, with the restarts
    /// in the place of the attempts. Once the stream was healthy, restarts, waits
    /// and deadline begin anew.
    ///
    /// Its items pay for it as calls that succeed do, up to what it may take with all
    /// its attempts: a stream that has carried something needs nobody else's tokens.
    pub fn resume<L: Listener, S: Fn() -> u64>(
        &mut self,
        flow: &mut Flow,
        ending: Ending,
        verdict: Verdict,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) -> bool {
        if self.phase != Phase::Over(Reason::Succeeded) {
            return false;
        }
        self.ending = ending;
        self.set_verdict(verdict.on_error());
        if self.is_healthy(flow) {
            flow.restarts = 0;
            self.started = now;
            self.bound_by(flow.bound, now);
            self.follow_deadline(around);
        }
        match self.wait_before_resuming(flow, now, around, rule) {
            Ok(delay) => {
                flow.restarts = flow.restarts.saturating_add(1);
                self.role = Role::Resumed;
                self.journal = J::default();
                self.number = 0;
                self.limited_by = None;
                self.refused_in = None;
                self.has_waited = false;
                self.wake = now.saturating_add(delay);
                self.phase = Phase::Pausing;
                self.tell(
                    EventKind::StreamResumed,
                    flow.restarts,
                    now,
                    around,
                    |event| event.with_delay(delay),
                );
                true
            }
            Err(reason) => {
                self.charge = None;
                self.release();
                let kind = EventKind::StreamBroken;
                self.tell(kind, flow.restarts, now, around, |event| {
                    event.with_reason(reason)
                });
                let is_refused = reason == Reason::BudgetExhausted;
                if is_refused {
                    // As a call that has no token: who asks in a loop is held up.
                    let pause = REJECTION_PAUSE.min(self.left(now));
                    self.refuse(reason, now, pause);
                }
                is_refused
            }
        }
    }

    /// Tells whether a stream has flowed long enough to begin anew: no longer than the
    /// deadline, or there would be a time in which nothing is resumed.
    fn is_healthy(&self, flow: &Flow) -> bool {
        let restarts = self.policy().restarts();
        let ran = flow.ran();
        restarts.is_healthy(ran) || (restarts.renews() && ran >= flow.bound)
    }

    /// Deposits what items earn, at most a whole token for each attempt.
    fn pay(&self, items: u32, now: Instant) {
        let Some(budget) = self.live.budget() else {
            return;
        };
        let fraction = budget.law().fraction().as_ppm();
        let whole = Ratio::ONE.as_ppm().div_ceil(fraction.max(1));
        let most = whole.saturating_mul(self.policy().attempts().min(MOST));
        for _ in 0..items.min(most) {
            budget.deposit(now);
        }
    }

    /// How long to wait before the stream is opened again, or why it is not.
    fn wait_before_resuming<L: Listener, S: Fn() -> u64>(
        &mut self,
        flow: &Flow,
        now: Instant,
        around: &Surroundings<'_, L, S>,
        rule: impl FnOnce(&Retry<'_>) -> Duration,
    ) -> Result<Duration, Reason> {
        let restarts = flow.restarts;
        if !matches!(self.verdict().kind(), Kind::Transient | Kind::Throttled) {
            return Err(Reason::Permanent);
        }
        if self.is_once || restarts >= self.policy().restarts().limit() {
            return Err(Reason::AttemptsExhausted);
        }
        let left = self.left(now);
        if left.is_zero() {
            return Err(Reason::DeadlineExceeded);
        }
        if self.is_draining(around) {
            return Err(Reason::Draining);
        }
        // The first restart waits as the first retry does.
        let next = restarts.saturating_add(2);
        let draw = self.live.draw(&around.seed);
        let backoff = self.backoff(next, now, around);
        let delay = backoff.delay(next, self.verdict(), draw);
        let delay = delay.ok_or(Reason::Throttled)?;
        self.pay(flow.items, now);
        if !self.fund(now, around) {
            return Err(Reason::BudgetExhausted);
        }
        let retry = Retry::new(next, self.verdict(), &backoff, delay);
        let delay = self.at_least_the_hint(rule(&retry));
        if self.due < Instant::MAX && delay.saturating_add(self.viable(now)) >= left {
            return Err(Reason::DeadlineExceeded);
        }
        Ok(delay)
    }
}

#[cfg(test)]
mod tests;
