//! A first attempt that nobody has to be asked about.

use super::attempt::Attempt;
use super::leg::Role;
use super::log::{Ending, Journal};
use super::machine::{Machine, Phase, Surroundings};
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::policy::reading::Opening;
use crate::reason::Reason;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Tells whether the first attempt may run before the machine is asked for it.
    ///
    /// So it is where nothing could refuse it, nobody hears of it, and nothing is learnt
    /// from it when it succeeds at once. Then run [`first`](Self::first); if it is
    /// accepted before it suspends, say so by
    /// [`succeed_at_once`](Self::succeed_at_once). In every other case go on with
    /// [`step`](Self::step) and [`launch`](Self::launch) at the time when it started:
    /// they count it as if it were about to start.
    #[must_use]
    pub fn is_direct<L: Listener, S>(&self, around: &Surroundings<'_, L, S>) -> bool {
        self.live.opening() != Opening::Asked
            && !J::IS_KEPT
            && self.role == Role::First
            && self.phase == Phase::Fresh
            && self.due > Instant::ZERO
            && !around.listener.is_listening()
            && !self.is_draining(around)
    }

    /// Tells whether anything needs to know when the call began: a bound or a budget.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.due < Instant::MAX || self.live.opening() == Opening::Timed
    }

    /// Returns the first attempt of a call that [is direct](Self::is_direct) and begins
    /// at `now`, which may be any time unless the call [is timed](Self::is_timed).
    #[must_use]
    pub fn first(&self, now: Instant) -> Attempt {
        let due = now.after(self.due.as_nanos());
        let end = self.policy().attempt_end_from(now).min(due);
        self.upcoming_by(due, now).cut(end, now)
    }

    /// Ends a call whose first attempt was accepted before it suspended.
    pub fn succeed_at_once(&mut self, now: Instant) {
        if let Some(budget) = self.live.budget() {
            budget.deposit(now);
        }
        self.started = now;
        self.number = 1;
        self.ending = Ending::Value;
        self.has_sent = true;
        self.phase = Phase::Over(Reason::Succeeded);
    }
}
