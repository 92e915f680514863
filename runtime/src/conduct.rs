//! What the drivers share: carrying out orders, short of running the operation.

use core::any::type_name;
use core::time::Duration;

#[cfg(not(feature = "std"))]
use steadfast_core::Ambient;
use steadfast_core::{
    Attempt, AttemptLog, Classify, Conclude, Criticality, Ending, Flow, Instant, Journal, Lanes,
    Listener, Machine, Memory, Order, Reason, Rules, Single, Surroundings, Verdict,
};

#[cfg(feature = "std")]
use crate::ambient::current;
use crate::lanes::OneAtATime;
use crate::timer::Timer;

/// Without threads nobody says anything but by the call itself.
#[cfg(not(feature = "std"))]
const fn current() -> Ambient {
    Ambient::NONE
}

/// One call's machine with everything it asks.
#[derive(Debug)]
pub(crate) struct Conduct<'g, T, M: Memory, C, R, L, J, H: Lanes = Single> {
    pub(crate) timer: &'g T,
    pub(crate) machine: Machine<'g, M, J, H>,
    pub(crate) classifier: C,
    pub(crate) rules: R,
    pub(crate) listener: L,
}

/// What is left for a driver to do.
pub(crate) enum Turn {
    /// Run the operation in this lane, and ask again then at the latest.
    Run(Attempt, usize, Instant),
    /// Wait until then, or until an attempt ends.
    Wait(Instant),
    /// Drop the attempt in this lane, then say so.
    Cut(usize),
    /// Ask again: the attempt was not admitted, and others may want to run.
    Again,
    /// Drop what still flies, and give the conclusion.
    Finish(Reason),
}

/// The surroundings of a call whose error type is `E`, from a `Conduct`'s parts.
macro_rules! around {
    ($conduct:expr, $error:ty) => {
        Surroundings {
            listener: &$conduct.listener,
            error: type_name::<$error>(),
            seed: || $conduct.timer.seed(),
            draining: $conduct.timer.draining(),
            ambient: current,
        }
    };
}

impl<'g, T, M: Memory, C, R, L, J, H: Lanes> Conduct<'g, T, M, C, R, L, J, H> {
    pub(crate) fn classified<D>(self, classifier: D) -> Conduct<'g, T, M, D, R, L, J, H> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier,
            rules: self.rules,
            listener: self.listener,
        }
    }

    pub(crate) fn ruled<S>(self, rules: S) -> Conduct<'g, T, M, C, S, L, J, H> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier: self.classifier,
            rules,
            listener: self.listener,
        }
    }

    pub(crate) fn heard_by<K>(self, listener: K) -> Conduct<'g, T, M, C, R, (L, K), J, H> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier: self.classifier,
            rules: self.rules,
            listener: (self.listener, listener),
        }
    }
}

impl<'g, T, M: Memory, C, R, L, J: Journal, H: Lanes> Conduct<'g, T, M, C, R, L, J, H> {
    pub(crate) fn logged(self) -> Conduct<'g, T, M, C, R, L, AttemptLog, H> {
        Conduct {
            timer: self.timer,
            machine: self.machine.with_journal(),
            classifier: self.classifier,
            rules: self.rules,
            listener: self.listener,
        }
    }

    /// The same call, of which it is known that nothing runs beside an attempt.
    pub(crate) fn single(self) -> Conduct<'g, T, M, C, R, L, J>
    where
        H: OneAtATime,
    {
        Conduct {
            timer: self.timer,
            machine: H::single(self.machine),
            classifier: self.classifier,
            rules: self.rules,
            listener: self.listener,
        }
    }

    pub(crate) fn once(mut self) -> Self {
        self.machine.make_once();
        self
    }

    pub(crate) fn criticality(mut self, criticality: Criticality) -> Self {
        self.machine.set_criticality(criticality);
        self
    }

    pub(crate) fn within(mut self, bound: Duration) -> Self {
        self.machine.tighten(bound);
        self
    }
}

impl<T, M, C, R, L, J, H> Conduct<'_, T, M, C, R, L, J, H>
where
    T: Timer,
    M: Memory,
    L: Listener,
    J: Journal,
    H: Lanes,
{
    /// Tells whether the first attempt may run before the machine is asked for it.
    pub(crate) fn is_direct<V, E>(&self) -> bool
    where
        R: Rules<V, E>,
    {
        self.machine.is_direct(&around!(self, E)) && !self.rules.has_hooks()
    }

    /// Carries out the next order, as far as it needs no driver.
    pub(crate) fn next<V, E>(&mut self, now: &mut Instant, last: &mut Option<Result<V, E>>) -> Turn
    where
        R: Rules<V, E>,
    {
        match self.machine.step(*now, &around!(self, E)) {
            Order::Start => match self.start(now, last) {
                Some(attempt) => Turn::Run(attempt, self.machine.lane(), self.machine.wake()),
                None => Turn::Again,
            },
            Order::Wait(at) => Turn::Wait(at),
            Order::Cut(lane) => Turn::Cut(lane),
            Order::Finish(reason) => Turn::Finish(reason),
        }
    }

    /// Runs the hooks; `None` when there is no attempt to run after them.
    fn start<V, E>(&mut self, now: &mut Instant, last: &mut Option<Result<V, E>>) -> Option<Attempt>
    where
        R: Rules<V, E>,
    {
        if !self.rules.has_hooks() {
            return self.launch(now, last);
        }
        let ready = self.rules.before_attempt(&self.machine.upcoming(*now));
        *now = self.timer.now();
        if let Err(error) = ready {
            *last = Some(Err(error));
            self.machine.abort();
            return None;
        }
        let attempt = self.launch(now, last)?;
        let verdict = self.rules.admit(&attempt);
        if verdict.is_ok() {
            return Some(attempt);
        }
        *now = self.timer.now();
        let lane = self.machine.lane();
        self.settle(lane, *now, Ending::Refused, verdict, last.as_ref());
        None
    }

    /// Launches the attempt, unless a limit of this process refuses.
    fn launch<V, E>(
        &mut self,
        now: &mut Instant,
        last: &mut Option<Result<V, E>>,
    ) -> Option<Attempt>
    where
        R: Rules<V, E>,
    {
        let launched = self.machine.launch(*now, &around!(self, E))?;
        self.forget(last);
        match launched {
            Ok(attempt) => Some(attempt),
            Err(refusal) => {
                let (lane, verdict) = (self.machine.lane(), refusal.verdict());
                self.settle(lane, *now, Ending::Refused, verdict, last.as_ref());
                None
            }
        }
    }

    /// What an attempt gave is forgotten when the next one starts, but not in the
    /// middle of a race.
    fn forget<O>(&self, last: &mut Option<O>) {
        if !self.machine.is_racing() {
            *last = None;
        }
    }

    /// Judges what an attempt gave.
    pub(crate) fn judge<V, E>(
        &mut self,
        lane: usize,
        now: &mut Instant,
        outcome: Result<V, E>,
        last: &mut Option<Result<V, E>>,
    ) where
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
    {
        let weighed = self.weigh(&outcome);
        self.end(lane, now, weighed, outcome, last);
    }

    /// Tells what an attempt gave, which has been judged.
    pub(crate) fn end<V, E>(
        &mut self,
        lane: usize,
        now: &mut Instant,
        (ending, verdict): (Ending, Verdict),
        outcome: Result<V, E>,
        last: &mut Option<Result<V, E>>,
    ) where
        R: Rules<V, E>,
    {
        let outcome = last.insert(outcome);
        *now = self.timer.now();
        self.settle(lane, *now, ending, verdict, Some(&*outcome));
    }

    /// Says what an outcome is and means.
    pub(crate) fn weigh<V, E>(&self, outcome: &Result<V, E>) -> (Ending, Verdict)
    where
        C: Classify<Result<V, E>>,
    {
        let verdict = self.classifier.classify(outcome);
        match outcome {
            Ok(_) => (Ending::Value, verdict),
            Err(_) => (Ending::Error, verdict),
        }
    }

    /// Tells that the attempt was dropped at its bound.
    pub(crate) fn cut<V, E>(&mut self, lane: usize, now: Instant)
    where
        R: Rules<V, E>,
    {
        self.settle::<V, E>(lane, now, Ending::Cut, Verdict::TRANSIENT, None);
    }

    pub(crate) fn settle<V, E>(
        &mut self,
        lane: usize,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        last: Option<&Result<V, E>>,
    ) where
        R: Rules<V, E>,
    {
        if let Some(saturation) = self.machine.policy().saturation() {
            let reading = self.timer.queue_delay(now);
            let delay = reading.and_then(|reading| reading.saturated(saturation));
            self.machine.set_saturated(delay, now, &around!(self, E));
        }
        let rules = &self.rules;
        self.machine
            .settle(lane, now, ending, verdict, &around!(self, E), |retry| {
                rules.delay(retry, last)
            });
    }

    /// Tells how the call ended.
    pub(crate) fn conclude<V, E>(&self, now: Instant, last: Option<Result<V, E>>) -> J::Output
    where
        J: Conclude<V, E>,
    {
        let journal = self.machine.journal();
        journal.conclude(last, || self.machine.report(now))
    }
}

impl<T, M, C, R, L, J, H> Conduct<'_, T, M, C, R, L, J, H>
where
    T: Timer,
    M: Memory,
    J: Journal,
    H: Lanes,
{
    /// Gives the accepted value, or tells how the call failed.
    pub(crate) fn accept<V, E>(
        &self,
        now: Instant,
        last: Option<Result<V, E>>,
    ) -> Result<V, J::Failure>
    where
        J: Conclude<V, E>,
    {
        match last {
            Some(Ok(value)) if self.machine.is_success() => Ok(value),
            last => Err(self.machine.journal().fail(last, &self.machine.report(now))),
        }
    }
}

impl<T, M, C, R, L, J> Conduct<'_, T, M, C, R, L, J>
where
    T: Timer,
    M: Memory,
    L: Listener,
    J: Journal,
{
    /// Tells that a stream gave nothing for as long as a gap may be.
    pub(crate) fn stall<E>(&mut self, gap: Duration, now: Instant) {
        self.machine.stall(gap, now, &around!(self, E));
    }

    /// Asks whether a stream that broke is opened again.
    pub(crate) fn resume<V, E>(
        &mut self,
        flow: &mut Flow,
        ending: Ending,
        verdict: Verdict,
        now: Instant,
        last: Option<&Result<V, E>>,
    ) -> bool
    where
        R: Rules<V, E>,
    {
        let rules = &self.rules;
        self.machine
            .resume(flow, ending, verdict, now, &around!(self, E), |retry| {
                rules.delay(retry, last)
            })
    }
}
