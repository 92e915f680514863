//! A call that is made shortly before a stop.

use super::log::Journal;
use super::machine::{Machine, Surroundings};
use crate::lanes::Lanes;
use crate::memory::Memory;
use crate::state::draining::Draining;

impl<M: Memory, J: Journal, H: Lanes> Machine<'_, M, J, H> {
    /// Tells whether the guard or what it runs in is about to stop.
    pub(super) fn is_draining<L, S>(&self, around: &Surroundings<'_, L, S>) -> bool {
        self.live.draining().is_draining() || around.draining.is_some_and(Draining::is_draining)
    }

    /// Ends a call that begins no later than the grace.
    pub(super) fn end_with_the_grace<L, S>(&mut self, around: &Surroundings<'_, L, S>) {
        self.due = self.due.min(self.live.draining().until());
        if let Some(draining) = around.draining {
            self.due = self.due.min(draining.until());
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::ambient::Ambient;
    use crate::call::attempt::Retry;
    use crate::call::log::Ending;
    use crate::call::machine::Order;
    use crate::listener::NoListener;
    use crate::memory::Shared;
    use crate::policy::policy::Policy;
    use crate::reason::Reason;
    use crate::state::dependency::Dependency;
    use crate::time::Instant;
    use crate::verdict::Verdict;

    const SECOND: Duration = Duration::from_secs(1);

    /// One call that fails at once, on the clock of the latch.
    fn fail(own: &Draining, all: &Draining) -> Order {
        let live: Dependency = Dependency::new(&Policy::DEFAULT);
        if own.is_draining() {
            live.draining().begin(Instant::ZERO, Duration::MAX);
        }
        let around = Surroundings {
            listener: &NoListener,
            error: "()",
            seed: || 7,
            draining: Some(all),
            ambient: || Ambient::NONE,
        };
        let mut call = Machine::<Shared, ()>::new(&live);
        assert_eq!(call.step(Instant::ZERO, &around), Order::Start);
        let launched = call.launch(Instant::ZERO, &around).expect("in time");
        assert!(launched.is_ok(), "no limit refuses");
        let (lane, now) = (call.lane(), Instant::ZERO);
        let (ending, verdict) = (Ending::Error, Verdict::TRANSIENT);
        let rule = |retry: &Retry<'_>| retry.delay();
        call.settle(lane, now, ending, verdict, &around, rule);
        call.step(now, &around)
    }

    #[test]
    fn either_latch_ends_a_call_that_fails() {
        let (no, yes) = (Draining::new(), Draining::new());
        yes.begin(Instant::ZERO, Duration::MAX);
        let stopped = Order::Finish(Reason::Draining);
        assert!(matches!(fail(&no, &no), Order::Wait(_)));
        assert_eq!(fail(&yes, &no), stopped);
        assert_eq!(fail(&no, &yes), stopped);
        assert_eq!(fail(&yes, &yes), stopped);
    }

    // core-13.15
    #[test]
    fn the_sooner_end_bounds_a_call_that_begins() {
        let (own, all) = (SECOND * 2, SECOND * 3);
        for (own, all) in [(own, all), (all, own), (own, Duration::MAX)] {
            let live: Dependency = Dependency::new(&Policy::DEFAULT);
            live.draining().begin(Instant::ZERO, own);
            let process = Draining::new();
            process.begin(Instant::ZERO, all);
            let around = Surroundings {
                listener: &NoListener,
                error: "()",
                seed: || 7,
                draining: Some(&process),
                ambient: || Ambient::NONE,
            };
            let mut call = Machine::<Shared, ()>::new(&live);
            let now = Instant::ZERO.saturating_add(SECOND);
            assert_eq!(call.step(now, &around), Order::Start);
            assert_eq!(call.report(now).deadline, Some(SECOND));
        }
    }
}
