//! Faults on purpose: which, how often, how long.

mod burst;
mod injected;
mod injector;
mod no_chaos;
mod only;
mod problem;
mod wrap;

use std::time::Duration;

use steadfast_core::{Attempt, Ratio};
use steadfast_runtime::Timer;

use crate::fault::Fault;

pub use burst::Burst;
pub use injected::Injected;
pub use injector::{FaultInjector, Injection};
pub use no_chaos::NoChaos;
pub use only::Only;
pub use problem::{ChaosError, ChaosProblem};

/// How often an operation fails on purpose, and how often it is slow.
///
/// A plain value, off unless it says [`on`](Self::on). What it wraps is given to
/// the guard, so that faults pass classifier, breaker, budget and deadline as real
/// ones do; wrapped around the guard it would test nothing.
///
/// Rates are noise. For an exact sequence there is [`Script`](crate::Script). What
/// counts is the call of the operation, so each attempt.
///
/// ```
/// use std::io;
/// use std::time::Duration;
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Chaos, INSTANT, World};
///
/// const FLAKY: Chaos = Chaos::OFF
///     .on()
///     .with_faults(Ratio::percent(30))
///     .with_latency(Ratio::percent(10), Duration::from_millis(200))
///     .with_seed(7);
///
/// async fn fetch() -> io::Result<u32> {
///     Ok(42)
/// }
///
/// let world = World::new();
/// let guard = world.guard(INSTANT);
/// let mut flaky = FLAKY.wrap(world.timer(), |_| fetch());
/// let answered = (0..100)
///     .filter(|_| world.block_on(guard.call(&mut flaky)).is_ok())
///     .count();
/// assert_eq!(answered, 97);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chaos {
    is_on: bool,
    fault_rate: Ratio,
    fault: Fault,
    burst: Option<Burst>,
    latency_rate: Ratio,
    latency: Duration,
    seed: Option<u64>,
}

impl Chaos {
    /// Injects nothing: every rate is zero, the fault transient, and it is off.
    ///
    /// Off, so that what was written for tests harms nobody where it is shipped,
    /// unless something says on.
    pub const OFF: Self = Self {
        is_on: false,
        fault_rate: Ratio::ZERO,
        fault: Fault::Transient,
        burst: None,
        latency_rate: Ratio::ZERO,
        latency: Duration::ZERO,
        seed: None,
    };

    /// Returns the same value, switched on.
    #[must_use]
    pub const fn on(self) -> Self {
        self.switched(true)
    }

    /// Returns the same value, switched off.
    #[must_use]
    pub const fn off(self) -> Self {
        self.switched(false)
    }

    pub(crate) const fn switched(self, is_on: bool) -> Self {
        Self { is_on, ..self }
    }

    /// Lets that share of the calls fail, at most all of them.
    #[must_use]
    pub const fn with_faults(self, rate: Ratio) -> Self {
        Self {
            fault_rate: rate,
            ..self
        }
    }

    /// Chooses what a call fails with, where an error can be made of it.
    #[must_use]
    pub const fn with_fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// Lets faults come together: each takes some of what follows with it.
    #[must_use]
    pub const fn with_burst(self, burst: Burst) -> Self {
        Self {
            burst: Some(burst),
            ..self
        }
    }

    /// Lets that share of the calls, at most all of them, be slower by `latency`.
    ///
    /// The attempt is cut as always: its bound counts while it is slowed.
    #[must_use]
    pub const fn with_latency(self, rate: Ratio, latency: Duration) -> Self {
        Self {
            latency_rate: rate,
            latency,
            ..self
        }
    }

    /// Fixes the random stream.
    ///
    /// Unless fixed it is seeded by the timer, at the first number that is drawn.
    /// The seed of a guard may be used here, too: the streams differ.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// Tells whether it is switched on.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns the share of the calls that fail.
    #[must_use]
    pub const fn fault_rate(&self) -> Ratio {
        self.fault_rate
    }

    /// Returns what they fail with.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        self.fault
    }

    /// Returns how faults come together, if they do.
    #[must_use]
    pub const fn burst(&self) -> Option<Burst> {
        self.burst
    }

    /// Returns the share of the calls that are slowed.
    #[must_use]
    pub const fn latency_rate(&self) -> Ratio {
        self.latency_rate
    }

    /// Returns by how much they are slowed.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.latency
    }

    /// Returns the seed, if it is fixed.
    #[must_use]
    pub const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Finds everything that cannot be.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_core::Ratio;
    /// use steadfast_testing::{Chaos, ChaosProblem};
    ///
    /// let hopeless = Chaos::OFF
    ///     .with_faults(Ratio::percent(150))
    ///     .with_latency(Ratio::percent(50), Duration::ZERO);
    /// let error = hopeless.validate().expect_err("two problems");
    /// assert!(error.problems().eq([ChaosProblem::FaultRate, ChaosProblem::NoLatency]));
    /// ```
    pub const fn validate(&self) -> Result<(), ChaosError> {
        let is_burst_empty = match self.burst {
            Some(burst) => burst.is_empty(),
            None => false,
        };
        ChaosError::NONE
            .with(ChaosProblem::FaultRate, is_beyond(self.fault_rate))
            .with(ChaosProblem::LatencyRate, is_beyond(self.latency_rate))
            .with(
                ChaosProblem::NoLatency,
                self.latency_rate.as_ppm() > 0 && self.latency.is_zero(),
            )
            .with(ChaosProblem::EmptyBurst, is_burst_empty)
            .into_result()
    }

    /// Returns the value, if it can be.
    ///
    /// # Panics
    ///
    /// Panics with every problem; in a `const` or a `static` that is a compile
    /// error. For what is read at run time there is [`Chaos::validate`].
    ///
    /// ```compile_fail,E0080
    /// use steadfast_core::Ratio;
    /// use steadfast_testing::Chaos;
    ///
    /// const BAD: Chaos = Chaos::OFF.with_faults(Ratio::percent(101)).checked();
    /// const _: bool = BAD.is_on();
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(error) = self.validate() {
            error.refuse();
        }
        self
    }

    /// Wraps an operation whose error can be made of a [`Fault`].
    ///
    /// Each wrap has a random stream of its own, which begins anew: wrap once and
    /// lend it to each call, `guard.call(&mut wrapped)`. Callers that run side by
    /// side share a [`FaultInjector`].
    ///
    /// A call that is slowed waits before its future is first polled; one that fails
    /// does not make it. While off, a call costs one branch.
    ///
    /// # Panics
    ///
    /// As [`Chaos::checked`].
    #[track_caller]
    pub fn wrap<T, F, Fut, V, E>(
        self,
        timer: T,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, Fut, Result<V, E>>
    where
        T: Timer,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
        E: From<Fault>,
    {
        let fault = self.fault;
        self.wrap_with(timer, move || Err(E::from(fault)), operation)
    }

    /// Wraps an operation, or what opens a stream, and says what a failing call
    /// ends with.
    ///
    /// `outcome` is asked once for each call that fails. It may as well make a value
    /// that is judged a failure, a response of status 503 for instance. As
    /// [`Chaos::wrap`] otherwise.
    ///
    /// # Panics
    ///
    /// As [`Chaos::checked`].
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use steadfast_core::{Policy, Ratio, Verdict};
    /// use steadfast_runtime::{Guard, Plan};
    /// use steadfast_testing::{Chaos, INSTANT, World};
    ///
    /// fn by_status(reply: &Result<u16, Infallible>) -> Verdict {
    ///     match reply {
    ///         Ok(500..) => Verdict::TRANSIENT,
    ///         _ => Verdict::OK,
    ///     }
    /// }
    ///
    /// let world = World::new();
    /// let plan = Plan::new(INSTANT).with_classifier(by_status);
    /// let guard: Guard<_, _> = Guard::try_on(world.timer(), plan).unwrap();
    ///
    /// let chaos = Chaos::OFF.on().with_faults(Ratio::ONE);
    /// let broken = chaos.wrap_with(world.timer(), || Ok(503), async |_| Ok(200));
    /// let outcome = world.block_on(guard.call(broken).outcome());
    /// assert_eq!(outcome.log().attempts(), 3);
    /// assert_eq!(outcome.value(), Some(&503));
    /// ```
    #[track_caller]
    pub fn wrap_with<T, O, F, W, V>(
        self,
        timer: T,
        outcome: O,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, W, V>
    where
        T: Timer,
        O: FnMut() -> V,
        F: FnMut(Attempt) -> W,
    {
        let chaos = self.checked();
        let injector = chaos.is_on.then(|| FaultInjector::new(chaos));
        let decide = move |timer: &T, _| match &injector {
            Some(injector) => injector.decide(timer),
            None => Injection::NONE,
        };
        wrap::composed(decide, timer, outcome, operation)
    }
}

/// Injects nothing.
impl Default for Chaos {
    fn default() -> Self {
        Self::OFF
    }
}

const fn is_beyond(rate: Ratio) -> bool {
    rate.as_ppm() > Ratio::ONE.as_ppm()
}

#[cfg(test)]
mod tests;
