//! A policy bound to its live state and to a runtime.

#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::time::Duration;

use steadfast_core::{
    AdaptiveThrottle, Attempt, BreakerState, ByError, CircuitBreaker, Classify, ConcurrencyLimit,
    Dependency, Draining, Explanation, Hedged, Instant, Lanes, Lent, Listener, Machine, Measured,
    Memory, NoListener, NoRules, Policy, PolicyError, Profile, RateLimit, RetryBudget, Shared,
    Single, Standing,
};

use crate::call::Call;
use crate::conduct::Conduct;
use crate::lanes::Flights;
use crate::plan::Plan;
use crate::prepared::Prepared;
use crate::timer::{StaticTimer, Timer};
use crate::watch::Watch;

/// A policy bound to its live state and to a runtime.
///
/// Hold it for the life of the program, best in a `static`: it needs no lazy
/// cell, and an impossible policy does not compile. The adapters give it its
/// timer, `steadfast::tokio::Guard` for instance.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, Policy};
/// use steadfast_runtime::{Guard, StdTimer};
///
/// static PAYMENTS: Guard<StdTimer> = Guard::new(
///     Policy::DEFAULT
///         .with_name("payments")
///         .with_deadline(Duration::from_secs(10))
///         .with_breaker(Breaker::DEFAULT),
/// );
///
/// async fn charge() -> std::io::Result<u32> {
///     Ok(42)
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let receipt = PAYMENTS.call(|_| charge()).await?;
/// # Ok(())
/// # }
/// ```
pub struct Guard<T, C = ByError, R = NoRules, L = NoListener, M: Memory = Shared, H: Lanes = Single>
{
    timer: T,
    classifier: C,
    rules: R,
    listener: L,
    live: Dependency<M, H>,
    watch: Watch,
}

/// A guard with room for two attempts of a call at once, or `N`: two or three.
///
/// Its policy says [when a slow attempt is raced](steadfast_core::Hedge). It can
/// neither lend, block nor stream, where one attempt runs at a time.
///
/// ```
/// use steadfast_core::{Hedge, Policy};
/// use steadfast_runtime::{HedgedGuard, StdTimer};
///
/// static SEARCH: HedgedGuard<StdTimer> =
///     HedgedGuard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));
/// ```
pub type HedgedGuard<T, C = ByError, R = NoRules, L = NoListener, M = Shared, const N: usize = 2> =
    Guard<T, C, R, L, M, Hedged<N>>;

impl<T: StaticTimer, M: Memory, H: Lanes> Guard<T, ByError, NoRules, NoListener, M, H> {
    /// Makes a guard that asks each error what it means.
    ///
    /// # Panics
    ///
    /// When the policy cannot work, naming every problem; in a `static` that is
    /// a compile error. See [`Guard::try_new`].
    #[must_use]
    #[track_caller]
    pub const fn new(policy: Policy) -> Self {
        Self::classified(policy, ByError)
    }

    /// Makes a guard of a policy that is known at run time only.
    ///
    /// # Errors
    ///
    /// When the policy cannot work, with every problem and the worst case.
    pub fn try_new(policy: Policy) -> Result<Self, PolicyError> {
        Self::try_classified(policy, ByError)
    }
}

impl<T: StaticTimer, C, M: Memory, H: Lanes> Guard<T, C, NoRules, NoListener, M, H> {
    /// Makes a guard with a classifier of its own.
    ///
    /// A function needs its pointer type spelled out in a `static`:
    ///
    /// ```
    /// use steadfast_core::{Policy, Verdict};
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// fn by_status(reply: &Result<u16, ()>) -> Verdict {
    ///     match reply {
    ///         Ok(500..) | Err(()) => Verdict::TRANSIENT,
    ///         Ok(_) => Verdict::OK,
    ///     }
    /// }
    ///
    /// static SEARCH: Guard<StdTimer, fn(&Result<u16, ()>) -> Verdict> =
    ///     Guard::classified(Policy::DEFAULT, by_status);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Guard::new`].
    #[must_use]
    #[track_caller]
    pub const fn classified(policy: Policy, classifier: C) -> Self {
        Self {
            timer: T::TIMER,
            classifier,
            rules: NoRules,
            listener: NoListener,
            live: Dependency::new(&policy.checked_for::<M, H>()),
            watch: Watch::of(&policy, M::Profile::MEASURES),
        }
    }
}

impl<T: StaticTimer, C, M: Memory, H: Lanes> Guard<T, C, NoRules, NoListener, M, H> {
    /// Makes a guard with a classifier of its own, of a policy that is known at
    /// run time only.
    ///
    /// # Errors
    ///
    /// When the policy cannot work, with every problem and the worst case.
    pub fn try_classified(policy: Policy, classifier: C) -> Result<Self, PolicyError> {
        let plan = Plan::of(policy, classifier, NoRules, NoListener);
        Ok(Self {
            watch: Watch::of(&policy, M::Profile::MEASURES),
            ..Self::try_on(T::TIMER, plan)?
        })
    }
}

impl<T: StaticTimer, C: Copy, R: Copy, L: Copy, M: Memory, H: Lanes> Guard<T, C, R, L, M, H> {
    /// Makes a guard of a plan: rules, a listener, shared parts.
    ///
    /// # Panics
    ///
    /// As [`Guard::new`].
    #[must_use]
    #[track_caller]
    pub const fn planned(plan: Plan<C, R, L, M>) -> Self {
        let policy = plan.policy_in_force().checked_for::<M, H>();
        Self {
            timer: T::TIMER,
            classifier: plan.classifier,
            rules: plan.rules,
            listener: plan.listener,
            live: Dependency::with_parts(&policy, &plan.parts),
            watch: Watch::of(&policy, M::Profile::MEASURES),
        }
    }
}

impl<T, C, R, L, M: Memory, H: Lanes> Guard<T, C, R, L, M, H> {
    /// Makes a guard on a timer that is a value, virtual time for instance.
    ///
    /// # Errors
    ///
    /// When the policy cannot work, with every problem and the worst case.
    pub fn try_on(timer: T, plan: Plan<C, R, L, M>) -> Result<Self, PolicyError> {
        let policy = plan.policy_in_force().try_checked_for::<M, H>()?;
        Ok(Self {
            live: Dependency::with_parts(&policy, &plan.parts),
            timer,
            classifier: plan.classifier,
            rules: plan.rules,
            listener: plan.listener,
            // Virtual time is for tests, which make a guard each.
            watch: Watch::of(&policy, false),
        })
    }

    /// Returns the guard with a breaker held together with other guards.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn holding_breaker(mut self, breaker: Arc<CircuitBreaker<M>>) -> Self {
        self.live.hold_breaker(breaker);
        self
    }

    /// Returns the guard with a budget held together with other guards.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn holding_budget(mut self, budget: Arc<RetryBudget<M>>) -> Self {
        self.live.hold_budget(budget);
        self
    }

    /// Returns the policy, with the settings of shared parts in it.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        self.live.policy()
    }

    /// Returns the timer.
    #[must_use]
    pub const fn timer(&self) -> &T {
        &self.timer
    }

    /// Returns the circuit breaker, to read or to control it.
    #[must_use]
    pub fn breaker(&self) -> Option<&CircuitBreaker<M>> {
        self.live.breaker()
    }

    /// Returns the retry budget.
    #[must_use]
    pub fn budget(&self) -> Option<&RetryBudget<M>> {
        self.live.budget()
    }

    /// Returns the limit on the attempts in flight at once.
    #[must_use]
    pub fn concurrency(&self) -> Option<&ConcurrencyLimit<M>> {
        self.live.concurrency()
    }

    /// Returns the limit on the attempts in a span of time.
    #[must_use]
    pub fn rate(&self) -> Option<&RateLimit<M>> {
        self.live.rate()
    }

    /// Returns the throttle of calls.
    #[must_use]
    pub fn throttle(&self) -> Option<&AdaptiveThrottle<M>> {
        self.live.throttle()
    }

    /// Starts all live parts afresh, where they are the guard's own, and the
    /// jitter; a guard that drains no longer does.
    ///
    /// For tests: a `static` outlives the paused clocks of two of them.
    pub fn reset(&self) {
        self.live.reset();
    }
}

#[cfg(any(feature = "scope", feature = "fixed-scope"))]
impl<T, C, R, L, M: Memory, H: Lanes> Guard<T, C, R, L, M, H> {
    /// Tells whether its own breaker or budget refuses now, and time will change that.
    ///
    /// What only a success could change is not waited for: nobody may ever call. What
    /// is shared with other guards stays when this one goes.
    pub(crate) fn is_refusing(&self, now: Instant) -> bool {
        let breaker = self.breaker().filter(|_| !self.live.is_breaker_shared());
        let budget = self.budget().filter(|_| !self.live.is_budget_shared());
        let is_closed = breaker.is_some_and(|breaker| {
            let state = breaker.state(now);
            matches!(state, BreakerState::Open | BreakerState::Isolated) && !breaker.is_observing()
        });
        let wait = budget
            .filter(|budget| !budget.is_observing())
            .and_then(|budget| budget.retry_after(now));
        is_closed || wait.is_some_and(|wait| !wait.is_zero())
    }
}

impl<T: Timer, C, R, L, M: Memory, H: Flights> Guard<T, C, R, L, M, H> {
    /// Calls an operation within the policy's bounds.
    ///
    /// `operation` makes a fresh future for every attempt and may borrow from
    /// its surroundings. What only one attempt at a time can have (`&mut`: a
    /// bus, a connection), [`Guard::call_with`] lends to each in turn.
    ///
    /// Gives the value, or an error that says why the call ended. **A value
    /// that was judged a failure is still a value:** when the last attempt
    /// returned a 503, the call returns that 503, as `Ok`, so that it can be
    /// read. To tell the two apart, ask for the [`outcome`](Call::outcome).
    pub fn call<F, Fut, V, E>(
        &self,
        operation: F,
    ) -> Call<'_, T, F, Fut, Lent<'_, C>, &R, &L, M, (), H>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
        C: Classify<Result<V, E>>,
    {
        Call::new(self.conduct(Lent(&self.classifier)), operation)
    }

    /// Calls an operation whose outcomes `classifier` judges, not the guard's.
    pub fn call_classified<D, F, Fut, V, E>(
        &self,
        classifier: D,
        operation: F,
    ) -> Call<'_, T, F, Fut, D, &R, &L, M, (), H>
    where
        D: Classify<Result<V, E>>,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
    {
        Call::new(self.conduct(classifier), operation)
    }

    /// Prepares one call: what belongs to it, before its operation.
    ///
    /// A [`Call`] takes the same settings; this is for the lending and the
    /// blocking form, and for streams.
    pub fn prepare(&self) -> Prepared<'_, T, Lent<'_, C>, &R, &L, M, (), H> {
        Prepared::new(self.conduct(Lent(&self.classifier)))
    }

    fn conduct<D>(&self, classifier: D) -> Conduct<'_, T, M, D, &R, &L, (), H> {
        self.watch.count_call();
        Conduct {
            timer: &self.timer,
            machine: Machine::new(&self.live),
            classifier,
            rules: &self.rules,
            listener: &self.listener,
        }
    }

    /// Returns what the circuit breaker does right now; `None` without one.
    #[must_use]
    pub fn breaker_state(&self) -> Option<BreakerState> {
        let breaker = self.live.breaker()?;
        Some(breaker.state(self.timer.now()))
    }

    /// Returns what the guard measures right now.
    #[must_use]
    pub fn measured(&self) -> Measured {
        self.measured_at(self.timer.now())
    }

    fn measured_at(&self, now: Instant) -> Measured {
        let mut measured = self.live.measured(now);
        if let Some(rule) = self.policy().saturation() {
            let reading = self.timer.queue_delay(now);
            let known = reading.filter(|reading| reading.normal(rule).is_some());
            measured.queue_delay = known.map(|reading| reading.delay());
        }
        measured
    }

    /// Says that this guard is about to stop, for good.
    ///
    /// From now on it retries, races and resumes nothing, and a call that begins ends
    /// within what is left of `grace`; [`Duration::MAX`] bounds nothing. Calls in
    /// flight go on within their bounds. The first word counts.
    pub fn drain(&self, grace: Duration) {
        self.live.draining().begin(self.timer.now(), grace);
    }

    /// Tells whether this guard, or all that makes calls on its timer, is about to
    /// stop.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.live.draining().is_draining()
            || self.timer.draining().is_some_and(Draining::is_draining)
    }

    /// Returns how the limits stand right now.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.live.standing(self.timer.now())
    }

    /// Explains the policy and what holds right now, as a text.
    #[must_use]
    pub fn explain(&self) -> Explanation<'_> {
        let now = self.timer.now();
        let measured = self.measured_at(now);
        let mut text = self
            .policy()
            .explain()
            .with_measured(measured)
            .with_standing(self.live.standing(now));
        if let Some(breaker) = self.live.breaker() {
            text = text.with_breaker(breaker.state(now), breaker.retry_after(now));
            if breaker.is_observing() {
                text = text.observing();
            }
        }
        if self.live.is_breaker_shared() {
            text = text.with_shared_breaker();
        }
        if self.live.is_budget_shared() {
            text = text.with_shared_budget();
        }
        if let Some(budget) = self.live.budget() {
            text = text.with_budget_spent(budget.utilization(now));
            if budget.is_observing() {
                text = text.with_observing_budget();
            }
        }
        if self.live.fixed_seed().is_none() && !self.timer.is_seeded() {
            text = text.unseeded();
        }
        if self.is_draining() {
            let own = self.live.draining().left(now);
            let all = self.timer.draining().and_then(|all| all.left(now));
            let left = own.into_iter().chain(all).min();
            text = text.draining(left.unwrap_or(Duration::MAX));
        }
        text
    }
}

impl<T, C, R, L: Listener, M: Memory, H: Lanes> fmt::Debug for Guard<T, C, R, L, M, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("policy", self.policy())
            .field("live", &self.live)
            .field("is_listening", &self.listener.is_listening())
            .finish_non_exhaustive()
    }
}
