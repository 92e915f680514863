//! All live parts of one guard.

use super::circuit_breaker::CircuitBreaker;
use super::retry_budget::RetryBudget;
use crate::math::random::random;
use crate::memory::{Memory, Shared, Word};
use crate::policy::policy::Policy;
#[cfg(feature = "alloc")]
use alloc::sync::Arc;

/// What a guard knows of its dependency: breaker, budget, random stream.
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
pub struct Dependency<M: Memory = Shared> {
    breaker: Part<CircuitBreaker<M>>,
    budget: Part<RetryBudget<M>>,
    fixed_seed: Option<u64>,
    seed: M::U64,
    draws: M::U64,
}

#[derive(Debug)]
enum Part<P: 'static> {
    Absent,
    Own(P),
    Borrowed(&'static P),
    #[cfg(feature = "alloc")]
    Held(Arc<P>),
}

impl<P> Part<P> {
    fn get(&self) -> Option<&P> {
        match self {
            Self::Absent => None,
            Self::Own(part) => Some(part),
            Self::Borrowed(part) => Some(part),
            #[cfg(feature = "alloc")]
            Self::Held(part) => Some(part),
        }
    }

    fn is_shared(&self) -> bool {
        !matches!(self, Self::Absent | Self::Own(_))
    }

    fn own(&self) -> Option<&P> {
        match self {
            Self::Own(part) => Some(part),
            _ => None,
        }
    }
}

impl<M: Memory> Dependency<M> {
    /// Makes the live parts that `policy` asks for, each its own.
    ///
    /// # Panics
    ///
    /// When the breaker or the budget cannot work; in a `static` that is a
    /// compile error.
    #[must_use]
    #[track_caller]
    pub const fn new(policy: &Policy) -> Self {
        Self::with_parts(policy, None, None, None)
    }

    /// Makes the live parts, with those borrowed that are given.
    ///
    /// A borrowed part is used whatever the policy says of its own. With a seed
    /// the random stream is the same in every run.
    ///
    /// # Panics
    ///
    /// As [`Dependency::new`].
    #[must_use]
    #[track_caller]
    pub const fn with_parts(
        policy: &Policy,
        breaker: Option<&'static CircuitBreaker<M>>,
        budget: Option<&'static RetryBudget<M>>,
        seed: Option<u64>,
    ) -> Self {
        Self {
            breaker: match (breaker, policy.breaker()) {
                (Some(breaker), _) => Part::Borrowed(breaker),
                (None, Some(settings)) => Part::Own(CircuitBreaker::new(*settings)),
                (None, None) => Part::Absent,
            },
            budget: match budget {
                Some(budget) => Part::Borrowed(budget),
                // Who never retries has nothing to fund.
                None if policy.budget().is_limited() && policy.attempts() > 1 => {
                    Part::Own(RetryBudget::new(*policy.budget()))
                }
                None => Part::Absent,
            },
            fixed_seed: seed,
            seed: M::U64::ZERO,
            draws: M::U64::ZERO,
        }
    }

    /// Puts a breaker held together with other guards in its place.
    #[cfg(feature = "alloc")]
    pub fn hold_breaker(&mut self, breaker: Arc<CircuitBreaker<M>>) {
        self.breaker = Part::Held(breaker);
    }

    /// Puts a budget held together with other guards in its place.
    #[cfg(feature = "alloc")]
    pub fn hold_budget(&mut self, budget: Arc<RetryBudget<M>>) {
        self.budget = Part::Held(budget);
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
            // Zero means "not seeded", and the lowest bit is a small price.
            let fresh = self.fixed_seed.unwrap_or_else(seed) | 1;
            own = match self.seed.compare_exchange(0, fresh) {
                Ok(_) => fresh,
                Err(first) => first,
            };
        }
        random(own, self.draws.fetch_add(1))
    }

    /// Starts the guard's own parts afresh; shared ones stay as they are.
    pub fn reset(&self) {
        if let Some(breaker) = self.breaker.own() {
            breaker.reset();
        }
        if let Some(budget) = self.budget.own() {
            budget.reset();
        }
        self.seed.store(0);
        self.draws.store(0);
    }

    /// Returns the seed the stream was given, if it was.
    #[must_use]
    pub const fn fixed_seed(&self) -> Option<u64> {
        self.fixed_seed
    }
}
