//! All live parts of one guard.

use core::time::Duration;

use super::adaptive_throttle::AdaptiveThrottle;
use super::circuit_breaker::CircuitBreaker;
use super::concurrency_limit::ConcurrencyLimit;
use super::draining::Draining;
use super::estimates::Estimates;
use super::hedging::Hedging;
use super::part::{Part, Parts};
use super::rate_limit::RateLimit;
use super::retry_budget::RetryBudget;
use super::scouts::Scout;
use crate::criticality::Criticality;
use crate::lanes::{Lanes, Single};
use crate::math::random::random;
use crate::measured::Measured;
use crate::memory::profile::Profile;
use crate::memory::{Memory, Shared, Word};
use crate::policy::hedge::Hedge;
use crate::policy::policy::Policy;
use crate::policy::reading::Opening;
use crate::standing::{ConcurrencyStanding, RateStanding, Standing, ThrottleStanding};
use crate::time::{Instant, nanos};
#[cfg(feature = "alloc")]
use alloc::sync::Arc;

/// What a guard knows of its dependency: estimates, breaker, budget, random
/// stream.
///
/// Each live part is its own, borrowed for ever, or (feature `alloc`) held by
/// `Arc` together with other guards.
///
/// ```
/// use steadfast_core::{Breaker, BreakerState, Dependency, Instant, Policy};
///
/// static SEARCH: Dependency = Dependency::new(&Policy::DEFAULT.with_breaker(Breaker::DEFAULT));
///
/// let breaker = SEARCH.breaker().unwrap();
/// assert_eq!(breaker.state(Instant::ZERO), BreakerState::Closed);
/// ```
#[derive(Debug)]
pub struct Dependency<M: Memory = Shared, H: Lanes = Single> {
    policy: Policy,
    estimates: Estimates<M>,
    hedging: Hedging<H::Memory<M>>,
    breaker: Part<CircuitBreaker<M>>,
    budget: Part<RetryBudget<M>>,
    concurrency: Part<ConcurrencyLimit<M>>,
    rate: Part<RateLimit<M>>,
    throttle: Part<AdaptiveThrottle<M>>,
    /// Whether concurrency, rate or throttle are limited at all.
    has_limits: bool,
    /// Whether anything is learnt from the latencies of successes.
    is_learning: bool,
    opening: Opening,
    /// Whether this guard is about to stop.
    draining: Draining<M>,
    /// Whether the process was saturated when last asked.
    saturated: M::U32,
    fixed_seed: Option<u64>,
    seed: M::U64,
    draws: M::U64,
}

/// When an attempt is raced and when it is cut, by what was measured, in nanoseconds
/// after its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) hedge: Option<u64>,
    pub(crate) cut: Option<u64>,
}

impl<M: Memory, H: Lanes> Dependency<M, H> {
    /// Makes the live parts that `policy` asks for, each its own.
    ///
    /// # Panics
    ///
    /// When a part of the policy cannot work; in a `static` that is a
    /// compile error.
    #[must_use]
    #[track_caller]
    pub const fn new(policy: &Policy) -> Self {
        Self::with_parts(policy, &Parts::NONE)
    }

    /// Makes the live parts, with those borrowed that are given.
    ///
    /// A borrowed part is used whatever the policy says of its own.
    ///
    /// # Panics
    ///
    /// As [`Dependency::new`].
    #[must_use]
    #[track_caller]
    pub const fn with_parts(policy: &Policy, parts: &Parts<M>) -> Self {
        let policy = parts.in_force(*policy);
        let hedge = match policy.hedge() {
            Some(law) => *law,
            None => Hedge::DEFAULT,
        };
        Self {
            estimates: Estimates::new(&policy),
            hedging: Hedging::new(&hedge),
            breaker: match (parts.breaker, policy.breaker()) {
                (Some(breaker), _) => Part::borrowed(breaker),
                (None, Some(settings)) => Part::own(CircuitBreaker::new(*settings)),
                (None, None) => Part::ABSENT,
            },
            budget: match parts.budget {
                Some(budget) => Part::borrowed(budget),
                // Who never retries nor resumes has nothing to fund.
                None if policy.budget().is_limited() && policy.is_repeating() => {
                    Part::own(RetryBudget::new(*policy.budget()))
                }
                None => Part::ABSENT,
            },
            concurrency: match (parts.concurrency, policy.concurrency()) {
                (Some(limit), _) => Part::borrowed(limit),
                (None, Some(limit)) => Part::own(ConcurrencyLimit::new(*limit)),
                (None, None) => Part::ABSENT,
            },
            rate: match (parts.rate, policy.rate()) {
                (Some(limit), _) => Part::borrowed(limit),
                (None, Some(rate)) => Part::own(RateLimit::new(*rate)),
                (None, None) => Part::ABSENT,
            },
            throttle: match (parts.throttle, policy.throttle()) {
                (Some(throttle), _) => Part::borrowed(throttle),
                (None, Some(throttle)) => Part::own(AdaptiveThrottle::new(*throttle)),
                (None, None) => Part::ABSENT,
            },
            is_learning: policy.is_learning(),
            opening: policy.opening(),
            has_limits: policy.concurrency().is_some()
                || policy.rate().is_some()
                || policy.throttle().is_some(),
            policy,
            draining: Draining::new(),
            saturated: M::U32::ZERO,
            fixed_seed: parts.seed,
            seed: M::U64::ZERO,
            draws: M::U64::ZERO,
        }
    }

    /// Puts a breaker held together with other guards in its place.
    #[cfg(feature = "alloc")]
    pub fn hold_breaker(&mut self, breaker: Arc<CircuitBreaker<M>>) {
        self.policy = self.policy.with_breaker(*breaker.settings());
        self.opening = self.policy.opening();
        self.breaker = Part::held(breaker);
    }

    /// Puts a budget held together with other guards in its place.
    #[cfg(feature = "alloc")]
    pub fn hold_budget(&mut self, budget: Arc<RetryBudget<M>>) {
        self.policy = self.policy.with_budget(*budget.law());
        self.opening = self.policy.opening();
        self.budget = Part::held(budget);
    }

    /// Returns what the first attempt of a call needs.
    pub(crate) const fn opening(&self) -> Opening {
        self.opening
    }

    /// Returns the policy, with the settings of shared parts in it.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns what was learnt from the latencies of successes.
    #[must_use]
    pub const fn estimates(&self) -> &Estimates<M> {
        &self.estimates
    }

    /// Returns what was learnt about racing slow attempts.
    #[must_use]
    pub const fn hedging(&self) -> &Hedging<H::Memory<M>> {
        &self.hedging
    }

    /// Returns how long an attempt may take by what was learnt; `None` while too
    /// little is known, or the policy does not ask.
    ///
    /// Before the attempt timeout, which may be less.
    #[must_use]
    pub fn attempt_ceiling(&self, now: Instant) -> Option<Duration> {
        self.bounds(now).cut.map(Duration::from_nanos)
    }

    /// Returns when an attempt that starts now is raced, and when it is cut.
    pub(crate) fn bounds(&self, now: Instant) -> Bounds {
        let cut = self.estimates.ceiling_nanos(now, None);
        let hedge = self.hedge_before(cut, now);
        Bounds {
            hedge,
            cut: match (cut, hedge) {
                (Some(cut), Some(hedge)) => Some(cut.max(self.estimates.beyond(hedge))),
                _ => cut,
            },
        }
    }

    /// After how long another copy may race an attempt that would be cut after `cut`.
    fn hedge_before(&self, cut: Option<u64>, now: Instant) -> Option<u64> {
        if H::COUNT < 2 {
            return None;
        }
        let least = nanos(self.policy.hedge()?.minimum_delay());
        let slow = self.hedging.threshold_nanos(now)?;
        Some(match cut {
            Some(cut) => slow.min(cut.max(least)),
            None => slow,
        })
    }

    /// Counts a success of so many nanoseconds, if that is of use.
    pub(crate) fn learn_success(&self, now: Instant, took: u64, scout: Option<Scout>) {
        if self.is_learning {
            self.estimates.count_success(now, took);
        }
        if let Some(scout) = scout {
            self.estimates.learn_scout(now, took, scout);
        }
    }

    /// Counts an attempt that was cut by the ceiling, which was at `bound` when
    /// the attempt began, or by the bound of a scout.
    pub(crate) fn learn_cut(&self, now: Instant, bound: Duration, scout: Option<Scout>) {
        match scout {
            Some(_) => self.estimates.lose_scout(),
            None => self
                .estimates
                .learn_cut(now, bound, self.hedge_threshold(now)),
        }
    }

    /// Tells that a scout has seen nothing.
    pub(crate) fn call_scout_back(&self, scout: Option<Scout>) {
        if let Some(scout) = scout {
            self.estimates.call_scout_back(scout);
        }
    }

    /// Returns after how long another copy may race an attempt; `None` while too
    /// little is known, or the policy does not ask.
    ///
    /// No later than the attempt would be cut if there were no hedge. For when
    /// more than a few attempts hang, the wait that their quantile speaks of has
    /// no end.
    #[must_use]
    pub fn hedge_threshold(&self, now: Instant) -> Option<Duration> {
        self.bounds(now).hedge.map(Duration::from_nanos)
    }

    /// Returns what is measured right now.
    #[must_use]
    pub fn measured(&self, now: Instant) -> Measured {
        let backoff = self.policy.backoff();
        Measured {
            attempt_ceiling: self.attempt_ceiling(now),
            backoff_base: backoff.measured_base().and_then(|_| {
                let normal = self.estimates.normal(now)?;
                Some(backoff.measured(normal).transient_base())
            }),
            hedge_threshold: self.hedge_threshold(now),
            successes: (M::Profile::MEASURES && self.policy.is_learning())
                .then(|| self.estimates.samples(now)),
            attempts: (M::Profile::MEASURES && H::COUNT > 1 && self.policy.hedge().is_some())
                .then(|| self.hedging.samples(now)),
            normal_latency: self
                .breaker()
                .and_then(|breaker| breaker.normal_latency(now)),
            ..Measured::default()
        }
    }

    /// Returns the circuit breaker, if there is one.
    #[must_use]
    pub fn breaker(&self) -> Option<&CircuitBreaker<M>> {
        self.breaker.get()
    }

    /// Returns the retry budget, if there is one.
    #[must_use]
    pub fn budget(&self) -> Option<&RetryBudget<M>> {
        self.budget.get()
    }

    /// Tells whether concurrency, rate or throttle are limited at all.
    #[must_use]
    pub const fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// Returns the limit on the attempts in flight at once, if there is one.
    #[must_use]
    pub fn concurrency(&self) -> Option<&ConcurrencyLimit<M>> {
        self.concurrency.get()
    }

    /// Returns the limit on the attempts in a span of time, if there is one.
    #[must_use]
    pub fn rate(&self) -> Option<&RateLimit<M>> {
        self.rate.get()
    }

    /// Returns the throttle of calls, if there is one.
    #[must_use]
    pub fn throttle(&self) -> Option<&AdaptiveThrottle<M>> {
        self.throttle.get()
    }

    /// Returns how the limits stand right now.
    #[must_use]
    pub fn standing(&self, now: Instant) -> Standing {
        Standing {
            concurrency: self.concurrency().map(|limit| ConcurrencyStanding {
                allowed: limit.limit(),
                in_flight: limit.in_flight(),
                unloaded: limit.baseline(),
                is_observing: limit.is_observing(),
                is_shared: self.concurrency.is_shared(),
            }),
            rate: self.rate().map(|limit| RateStanding {
                free: limit.free(now),
                is_observing: limit.is_observing(),
                is_shared: self.rate.is_shared(),
            }),
            throttle: self.throttle().map(|throttle| ThrottleStanding {
                chance: throttle.chance(now, Criticality::Critical),
                is_observing: throttle.is_observing(),
                is_shared: self.throttle.is_shared(),
            }),
        }
    }

    /// Returns whether this guard is about to stop.
    #[must_use]
    pub const fn draining(&self) -> &Draining<M> {
        &self.draining
    }

    /// Notes whether the process is saturated; true when that has just begun.
    pub(crate) fn is_new_episode(&self, is_saturated: bool) -> bool {
        if is_saturated {
            self.saturated.load() == 0 && self.saturated.swap(1) == 0
        } else {
            if self.saturated.load() != 0 {
                self.saturated.store(0);
            }
            false
        }
    }

    /// Tells whether other guards may use the breaker, too.
    #[must_use]
    pub fn is_breaker_shared(&self) -> bool {
        self.breaker.is_shared()
    }

    /// Tells whether other guards may use the budget, too.
    #[must_use]
    pub fn is_budget_shared(&self) -> bool {
        self.budget.is_shared()
    }

    /// Draws the next number of the random stream.
    ///
    /// `seed` is asked once, at the first draw. Numbers never repeat between
    /// calls, because every draw has its own place in the stream.
    pub fn draw(&self, seed: impl FnOnce() -> u64) -> u32 {
        let mut own = self.seed.load();
        if own == 0 {
            // Zero means "not seeded".
            let fresh = match self.fixed_seed.unwrap_or_else(seed) {
                0 => u64::MAX,
                given => given,
            };
            own = match self.seed.compare_exchange(0, fresh) {
                Ok(_) => fresh,
                Err(first) => first,
            };
        }
        random(own, self.draws.fetch_add(1))
    }

    /// Starts the guard's own parts afresh; shared ones stay as they are.
    pub fn reset(&self) {
        self.estimates.reset();
        self.hedging.reset();
        if let Some(breaker) = self.breaker.as_own() {
            breaker.start_afresh();
        }
        if let Some(budget) = self.budget.as_own() {
            budget.reset();
        }
        if let Some(limit) = self.concurrency.as_own() {
            limit.reset();
        }
        if let Some(rate) = self.rate.as_own() {
            rate.reset();
        }
        if let Some(throttle) = self.throttle.as_own() {
            throttle.reset();
        }
        self.draining.reset();
        self.saturated.store(0);
        self.seed.store(0);
        self.draws.store(0);
    }

    /// Returns the seed the stream was given, if it was.
    #[must_use]
    pub const fn fixed_seed(&self) -> Option<u64> {
        self.fixed_seed
    }
}

#[cfg(test)]
mod tests;
