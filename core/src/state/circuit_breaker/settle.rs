//! What outcomes do to a breaker.

use core::time::Duration;

use super::CircuitBreaker;
use super::control::Control;
use super::permit::Transition;
use crate::breaker_state::BreakerState;
use crate::memory::{Memory, Word};
use crate::policy::recovery::Recovery;
use crate::time::{Instant, nanos};
use crate::verdict::Kind;

impl<M: Memory> CircuitBreaker<M> {
    /// Records the outcome of an attempt admitted at `seen` that took so many
    /// nanoseconds.
    pub(super) fn record(
        &self,
        seen: Control,
        now: Instant,
        kind: Kind,
        took: u64,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        let failed = match kind {
            Kind::Ok => false,
            Kind::Transient => true,
            Kind::Throttled | Kind::Permanent => {
                self.release(seen);
                return None;
            }
        };
        let opens = match seen.state() {
            BreakerState::Closed => {
                self.word().is_same_generation(seen) && {
                    let slow = !failed && self.evidence.is_slow(now, took);
                    self.evidence.convicts(&self.settings, now, failed, slow)
                }
            }
            BreakerState::HalfOpen | BreakerState::Recovering if failed => true,
            BreakerState::HalfOpen | BreakerState::Recovering => {
                self.own(seen)?;
                let slow = self.evidence.is_slow(now, took);
                match (seen.state(), self.settings.recovery()) {
                    (BreakerState::HalfOpen, None) if slow => true,
                    (BreakerState::HalfOpen, _) => return self.approve(seen, now),
                    (_, recovery) => {
                        self.evidence.count_success(now);
                        if let Some(recovery) = recovery {
                            self.pace(seen, now, slow, recovery);
                        }
                        return None;
                    }
                }
            }
            BreakerState::Open | BreakerState::Isolated | BreakerState::Disabled => false,
        };
        if opens {
            self.open(seen, now, draw())
        } else {
            None
        }
    }

    /// Counts a successful probe, and closes or recovers when it is the last one
    /// needed.
    fn approve(&self, seen: Control, now: Instant) -> Option<Transition> {
        loop {
            let word = self.own(seen)?;
            let counted = word.with_slot_back(seen).with_one_more_success();
            if counted.successes() < self.settings.probe_successes() {
                if self.swap(word, counted) {
                    return None;
                }
            } else if self.end_break(word, now) {
                return Some(Transition::Closed);
            }
        }
    }

    fn end_break(&self, word: Control, now: Instant) -> bool {
        let Some(recovery) = self.settings.recovery() else {
            return self.turn(word, word.closed(), |_| self.forget());
        };
        self.turn(word, word.turned(BreakerState::Recovering), |busy| {
            self.forget();
            self.ramp.start();
            let length = recovery.length_after(Duration::from_nanos(self.span.load()));
            self.write(&self.span, busy, nanos(length));
            self.end_at(busy, now.saturating_add(length));
        })
    }

    /// Lets a success hold the ramp down, or let go of it.
    fn pace(&self, seen: Control, now: Instant, slow: bool, recovery: Recovery) {
        let row = self.settings.probe_successes();
        self.ramp.count(seen, slow, row, recovery, || {
            let (word, left) = self.snapshot(now);
            let span = Duration::from_nanos(self.span.load());
            let is_current = self.own(seen).is_some() && word.is_same_turn(seen);
            is_current.then(|| recovery.share(left, span))
        });
    }

    /// Gives the slot of a probe back, if it still has one.
    pub(super) fn release(&self, seen: Control) {
        if seen.state() != BreakerState::HalfOpen {
            return;
        }
        while let Some(word) = self.own(seen) {
            if self.swap(word, word.with_slot_back(seen)) {
                return;
            }
        }
    }

    fn open(&self, seen: Control, now: Instant, draw: u32) -> Option<Transition> {
        loop {
            let word = self.own(seen)?;
            let next = word.with_one_more_open().turned(BreakerState::Open);
            let served = self.settings.jitter().apply(self.nominal(next), draw);
            let opened = self.turn(word, next, |busy| {
                self.end_at(busy, now.saturating_add(served));
                self.write(&self.span, busy, nanos(served));
                self.forget();
            });
            if opened {
                return Some(Transition::Opened);
            }
        }
    }

    /// The current word, if it still belongs to the permit that saw `seen`.
    fn own(&self, seen: Control) -> Option<Control> {
        let word = self.word();
        (word.is_same_generation(seen) && !word.is_busy()).then_some(word)
    }
}
