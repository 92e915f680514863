//! What a call takes over of what it is made for.

use super::log::Journal;
use super::machine::{Machine, Surroundings};
use crate::ambient::Ambient;
use crate::criticality::Criticality;
use crate::event::EventKind;
use crate::lanes::Lanes;
use crate::listener::Listener;
use crate::memory::Memory;
use crate::time::Instant;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Takes over what the policy follows: a sooner deadline, and the criticality
    /// unless the call says one.
    // Out of the way of those who follow nothing.
    #[inline(never)]
    pub(super) fn follow<L: Listener, S>(&mut self, now: Instant, around: &Surroundings<'_, L, S>) {
        let facts = (around.ambient)();
        self.end_with(&facts);
        if self.policy().follows_criticality() && self.criticality.is_none() {
            self.criticality = facts.criticality();
        }
        if facts.is_retried() && self.attempts > 1 {
            self.tell(EventKind::NestedRetry, 1, now, around, |event| event);
        }
    }

    /// Takes over a sooner deadline once more: a stream that was healthy has its own
    /// anew, and what it is made for may have another one.
    pub(super) fn follow_deadline<L, S>(&mut self, around: &Surroundings<'_, L, S>) {
        if self.policy().follows_deadline() {
            self.end_with(&(around.ambient)());
        }
    }

    fn end_with(&mut self, facts: &Ambient) {
        if self.policy().follows_deadline()
            && let Some(at) = facts.deadline()
        {
            self.due = self.due.min(at);
        }
    }

    /// How much the call matters.
    pub(super) fn criticality(&self) -> Criticality {
        self.criticality.unwrap_or_default()
    }

    pub(super) fn is_sheddable(&self) -> bool {
        self.criticality == Some(Criticality::Sheddable)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::ambient::Ambient;
    use crate::call::machine::Order;
    use crate::listener::NoListener;
    use crate::memory::Local;
    use crate::policy::policy::Policy;
    use crate::state::dependency::Dependency;

    std::thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    fn ask() -> Ambient {
        ASKED.set(ASKED.get() + 1);
        Ambient::NONE
            .with_deadline(Instant::from_nanos(5))
            .with_criticality(Criticality::Sheddable)
            .with_retried(true)
    }

    const AROUND: Surroundings<'_, NoListener, fn() -> u64> = Surroundings {
        listener: &NoListener,
        error: "Lost",
        seed: || 7,
        draining: None,
        ambient: ask,
    };

    // core-13.1
    #[test]
    fn who_follows_nothing_asks_nobody() {
        for (policy, asked, deadline, is_shed) in [
            (Policy::DEFAULT, 0, 30_000_000_000, false),
            (Policy::DEFAULT.with_ambient_deadline(true), 1, 5, false),
            (
                Policy::DEFAULT.with_ambient_criticality(true),
                1,
                30_000_000_000,
                true,
            ),
        ] {
            ASKED.set(0);
            let live = Dependency::<Local>::new(&policy);
            let mut call = Machine::<Local>::new(&live);
            for _ in 0..3 {
                assert_eq!(call.step(Instant::ZERO, &AROUND), Order::Start);
            }
            let attempt = call.launch(Instant::ZERO, &AROUND).expect("in time");
            let attempt = attempt.expect("no limit refuses");
            assert_eq!(call.left(Instant::ZERO).as_nanos(), deadline);
            assert_eq!(attempt.criticality().is_sheddable(), is_shed);
            assert_eq!(ASKED.get(), asked);
        }
    }
}
