//! A live part of a guard: its own, or shared with others.

#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;

use super::adaptive_throttle::AdaptiveThrottle;
use super::circuit_breaker::CircuitBreaker;
use super::concurrency_limit::ConcurrencyLimit;
use super::rate_limit::RateLimit;
use super::retry_budget::RetryBudget;
use crate::memory::{Memory, Shared};
use crate::policy::policy::Policy;

/// A live part of a guard: its own, or shared with others, or absent.
///
/// Not one enum: its tag would lie in a niche of `P`, and every call would work it out.
#[derive(Debug)]
pub(super) struct Part<P: 'static> {
    own: Option<P>,
    shared: Option<Elsewhere<P>>,
}

#[derive(Debug)]
enum Elsewhere<P: 'static> {
    Borrowed(&'static P),
    #[cfg(feature = "alloc")]
    Held(Arc<P>),
}

impl<P> Part<P> {
    pub(super) const ABSENT: Self = Self {
        own: None,
        shared: None,
    };

    pub(super) const fn own(part: P) -> Self {
        Self {
            own: Some(part),
            shared: None,
        }
    }

    pub(super) const fn borrowed(part: &'static P) -> Self {
        Self {
            own: None,
            shared: Some(Elsewhere::Borrowed(part)),
        }
    }

    #[cfg(feature = "alloc")]
    pub(super) fn held(part: Arc<P>) -> Self {
        Self {
            own: None,
            shared: Some(Elsewhere::Held(part)),
        }
    }

    pub(super) fn get(&self) -> Option<&P> {
        if let Some(own) = &self.own {
            return Some(own);
        }
        Some(match self.shared.as_ref()? {
            Elsewhere::Borrowed(part) => part,
            #[cfg(feature = "alloc")]
            Elsewhere::Held(part) => part,
        })
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    pub(super) fn as_own(&self) -> Option<&P> {
        self.own.as_ref()
    }
}

/// The live parts that a guard shares with others, and its seed.
///
/// What is absent here the guard makes for itself, if its policy asks for it.
///
/// ```
/// use steadfast_core::{Breaker, CircuitBreaker, Dependency, Parts, Policy};
///
/// static BREAKER: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
/// static SEARCH: Dependency = Dependency::with_parts(
///     &Policy::DEFAULT,
///     &Parts {
///         breaker: Some(&BREAKER),
///         ..Parts::NONE
///     },
/// );
/// assert!(SEARCH.is_breaker_shared());
/// ```
pub struct Parts<M: Memory = Shared> {
    /// The circuit breaker.
    pub breaker: Option<&'static CircuitBreaker<M>>,
    /// The retry budget.
    pub budget: Option<&'static RetryBudget<M>>,
    /// The limit on the attempts in flight at once.
    pub concurrency: Option<&'static ConcurrencyLimit<M>>,
    /// The limit on the attempts in a span of time.
    pub rate: Option<&'static RateLimit<M>>,
    /// The throttle of calls.
    pub throttle: Option<&'static AdaptiveThrottle<M>>,
    /// With a seed the random stream is the same in every run.
    pub seed: Option<u64>,
}

impl<M: Memory> Parts<M> {
    /// Nothing shared, no seed.
    pub const NONE: Self = Self {
        breaker: None,
        budget: None,
        concurrency: None,
        rate: None,
        throttle: None,
        seed: None,
    };

    /// Returns the policy with the settings of the parts that replace its own.
    #[must_use]
    pub const fn in_force(&self, policy: Policy) -> Policy {
        let mut policy = policy;
        if let Some(breaker) = self.breaker {
            policy = policy.with_breaker(*breaker.settings());
        }
        if let Some(budget) = self.budget {
            policy = policy.with_budget(*budget.law());
        }
        if let Some(limit) = self.concurrency {
            policy = policy.with_concurrency(*limit.concurrency());
        }
        if let Some(limit) = self.rate {
            policy = policy.with_rate(*limit.rate());
        }
        if let Some(throttle) = self.throttle {
            policy = policy.with_throttle(*throttle.throttle());
        }
        policy
    }
}

impl<M: Memory> Clone for Parts<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Memory> Copy for Parts<M> {}

impl<M: Memory> Default for Parts<M> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<M: Memory> fmt::Debug for Parts<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("breaker", &self.breaker.is_some())
            .field("budget", &self.budget.is_some())
            .field("concurrency", &self.concurrency.is_some())
            .field("rate", &self.rate.is_some())
            .field("throttle", &self.throttle.is_some())
            .field("seed", &self.seed)
            .finish()
    }
}
