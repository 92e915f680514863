//! What the drivers share: carrying out orders, short of running the operation.

use core::any::type_name;
use core::time::Duration;

use steadfast_core::{
    Attempt, AttemptLog, Classify, Conclude, Ending, Instant, Journal, Listener, Machine, Memory,
    Order, Rules, Surroundings, Verdict,
};

use crate::timer::Timer;

/// One call's machine with everything it asks.
#[derive(Debug)]
pub(crate) struct Conduct<'g, T, M: Memory, C, R, L, J> {
    pub(crate) timer: &'g T,
    pub(crate) machine: Machine<'g, M, J>,
    pub(crate) classifier: C,
    pub(crate) rules: R,
    pub(crate) listener: L,
}

/// What is left for a driver to do.
pub(crate) enum Turn {
    /// Run the operation, until then at the longest.
    Run(Attempt, Instant),
    /// Wait until then, or until the attempt ends.
    Wait(Instant),
    /// Drop the attempt, then say so.
    Cut,
    /// Ask again: the attempt was not admitted, and others may want to run.
    Again,
    /// Give the conclusion.
    Finish,
}

/// The surroundings of a call whose error type is `E`, from a `Conduct`'s parts.
macro_rules! around {
    ($conduct:expr, $error:ty) => {
        Surroundings {
            listener: &$conduct.listener,
            error: type_name::<$error>(),
            seed: || $conduct.timer.seed(),
        }
    };
}

impl<'g, T, M: Memory, C, R, L, J> Conduct<'g, T, M, C, R, L, J> {
    pub(crate) fn classified<D>(self, classifier: D) -> Conduct<'g, T, M, D, R, L, J> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier,
            rules: self.rules,
            listener: self.listener,
        }
    }

    pub(crate) fn ruled<S>(self, rules: S) -> Conduct<'g, T, M, C, S, L, J> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier: self.classifier,
            rules,
            listener: self.listener,
        }
    }

    pub(crate) fn heard_by<K>(self, listener: K) -> Conduct<'g, T, M, C, R, (L, K), J> {
        Conduct {
            timer: self.timer,
            machine: self.machine,
            classifier: self.classifier,
            rules: self.rules,
            listener: (self.listener, listener),
        }
    }
}

impl<'g, T, M: Memory, C, R, L, J: Journal> Conduct<'g, T, M, C, R, L, J> {
    pub(crate) fn logged(self) -> Conduct<'g, T, M, C, R, L, AttemptLog> {
        Conduct {
            timer: self.timer,
            machine: self.machine.with_journal(),
            classifier: self.classifier,
            rules: self.rules,
            listener: self.listener,
        }
    }

    pub(crate) fn once(mut self) -> Self {
        self.machine.make_once();
        self
    }

    pub(crate) fn within(mut self, bound: Duration) -> Self {
        self.machine.tighten(bound);
        self
    }
}

impl<T, M, C, R, L, J> Conduct<'_, T, M, C, R, L, J>
where
    T: Timer,
    M: Memory,
    L: Listener,
    J: Journal,
{
    /// Carries out the next order, as far as it needs no driver.
    pub(crate) fn next<V, E>(&mut self, now: &mut Instant, last: &mut Option<Result<V, E>>) -> Turn
    where
        R: Rules<V, E>,
    {
        match self.machine.step(*now, &around!(self, E)) {
            Order::Start => match self.start(now, last) {
                Some(attempt) => Turn::Run(attempt, self.machine.wake()),
                None => Turn::Again,
            },
            Order::Wait(at) => Turn::Wait(at),
            Order::Cut => Turn::Cut,
            Order::Finish(_) => Turn::Finish,
        }
    }

    /// Runs the hooks; `None` when there is no attempt to run after them.
    fn start<V, E>(&mut self, now: &mut Instant, last: &mut Option<Result<V, E>>) -> Option<Attempt>
    where
        R: Rules<V, E>,
    {
        if !self.rules.has_hooks() {
            let attempt = self.machine.launch(*now, &around!(self, E))?;
            *last = None;
            return Some(attempt);
        }
        let ready = self.rules.before_attempt(&self.machine.upcoming(*now));
        *now = self.timer.now();
        if let Err(error) = ready {
            *last = Some(Err(error));
            self.machine.abort();
            return None;
        }
        let attempt = self.machine.launch(*now, &around!(self, E))?;
        *last = None;
        let verdict = self.rules.admit(&attempt);
        if verdict.is_ok() {
            return Some(attempt);
        }
        *now = self.timer.now();
        self.settle(*now, Ending::Refused, verdict, last.as_ref());
        None
    }

    /// Judges what an attempt gave.
    pub(crate) fn judge<V, E>(
        &mut self,
        now: &mut Instant,
        outcome: Result<V, E>,
        last: &mut Option<Result<V, E>>,
    ) where
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
    {
        let outcome = last.insert(outcome);
        let verdict = self.classifier.classify(outcome);
        let ending = match outcome {
            Ok(_) => Ending::Value,
            Err(_) => Ending::Error,
        };
        *now = self.timer.now();
        self.settle(*now, ending, verdict, Some(&*outcome));
    }

    /// Tells that the attempt was dropped at its bound.
    pub(crate) fn cut<V, E>(&mut self, now: Instant)
    where
        R: Rules<V, E>,
    {
        self.settle::<V, E>(now, Ending::Cut, Verdict::TRANSIENT, None);
    }

    fn settle<V, E>(
        &mut self,
        now: Instant,
        ending: Ending,
        verdict: Verdict,
        last: Option<&Result<V, E>>,
    ) where
        R: Rules<V, E>,
    {
        let rules = &self.rules;
        self.machine
            .settle(now, ending, verdict, &around!(self, E), |retry| {
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
