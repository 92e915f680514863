//! A policy with everything a program adds to it.

use steadfast_core::{
    AdaptiveThrottle, ByError, CircuitBreaker, ConcurrencyLimit, Memory, NoListener, NoRules,
    Parts, Policy, RateLimit, RetryBudget, Shared,
};

/// A policy with everything a program adds to it: what [`Guard::planned`] takes.
///
/// Plain guards need none; see [`Guard::new`] and [`Guard::classified`].
///
/// ```
/// use steadfast_runtime::Plan;
/// use steadfast_core::{AnyError, Budget, Policy, RetryBudget};
///
/// static BUDGET: RetryBudget = RetryBudget::new(Budget::REFERENCE);
///
/// const SEARCH: Plan<AnyError> = Plan::new(Policy::DEFAULT)
///     .with_classifier(AnyError)
///     .with_budget(&BUDGET);
/// ```
///
/// [`Guard::planned`]: crate::Guard::planned
/// [`Guard::new`]: crate::Guard::new
/// [`Guard::classified`]: crate::Guard::classified
#[derive(Debug)]
pub struct Plan<C = ByError, R = NoRules, L = NoListener, M: Memory = Shared> {
    pub(crate) policy: Policy,
    pub(crate) classifier: C,
    pub(crate) rules: R,
    pub(crate) listener: L,
    pub(crate) parts: Parts<M>,
}

impl Plan {
    /// Makes a plan of a policy alone.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self::of(policy, ByError, NoRules, NoListener)
    }
}

impl<C, R, L, M: Memory> Plan<C, R, L, M> {
    /// Makes a plan of a policy, a classifier, rules and a listener.
    #[must_use]
    pub const fn of(policy: Policy, classifier: C, rules: R, listener: L) -> Self {
        Self {
            policy,
            classifier,
            rules,
            listener,
            parts: Parts::NONE,
        }
    }

    /// The policy with the settings of the parts that replace its own.
    pub(crate) const fn policy_in_force(&self) -> Policy {
        self.parts.in_force(self.policy)
    }
}

impl<C: Clone, R: Clone, L: Clone, M: Memory> Clone for Plan<C, R, L, M> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy,
            classifier: self.classifier.clone(),
            rules: self.rules.clone(),
            listener: self.listener.clone(),
            parts: self.parts,
        }
    }
}

impl<C: Copy, R: Copy, L: Copy, M: Memory> Copy for Plan<C, R, L, M> {}

impl<C: Copy, R: Copy, L: Copy, M: Memory> Plan<C, R, L, M> {
    /// Returns the plan with another policy.
    #[must_use]
    pub const fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Returns the plan with who says what an outcome means.
    #[must_use]
    pub const fn with_classifier<D>(self, classifier: D) -> Plan<D, R, L, M> {
        Plan {
            policy: self.policy,
            classifier,
            rules: self.rules,
            listener: self.listener,
            parts: self.parts,
        }
    }

    /// Returns the plan with hooks and a delay rule.
    #[must_use]
    pub const fn with_rules<S>(self, rules: S) -> Plan<C, S, L, M> {
        Plan {
            policy: self.policy,
            classifier: self.classifier,
            rules,
            listener: self.listener,
            parts: self.parts,
        }
    }

    /// Returns the plan with who hears the events.
    #[must_use]
    pub const fn with_listener<K>(self, listener: K) -> Plan<C, R, K, M> {
        Plan {
            policy: self.policy,
            classifier: self.classifier,
            rules: self.rules,
            listener,
            parts: self.parts,
        }
    }

    /// Returns the plan with a breaker that other guards use, too.
    ///
    /// It replaces the one the policy asks for. All guards that use it must have
    /// the same clock; those on tokio, smol and the standard timer do.
    #[must_use]
    pub const fn with_breaker(self, breaker: &'static CircuitBreaker<M>) -> Self {
        let parts = Parts {
            breaker: Some(breaker),
            ..self.parts
        };
        Self { parts, ..self }
    }

    /// Returns the plan with a budget that other guards use, too.
    ///
    /// It replaces the one the policy asks for, and asks for one clock as a
    /// shared breaker does.
    #[must_use]
    pub const fn with_budget(self, budget: &'static RetryBudget<M>) -> Self {
        let parts = Parts {
            budget: Some(budget),
            ..self.parts
        };
        Self { parts, ..self }
    }

    /// Returns the plan with a limit on the attempts in flight at once that other
    /// guards use, too.
    #[must_use]
    pub const fn with_concurrency(self, limit: &'static ConcurrencyLimit<M>) -> Self {
        let parts = Parts {
            concurrency: Some(limit),
            ..self.parts
        };
        Self { parts, ..self }
    }

    /// Returns the plan with a limit on the attempts in a span of time that other
    /// guards use, too.
    #[must_use]
    pub const fn with_rate(self, limit: &'static RateLimit<M>) -> Self {
        let parts = Parts {
            rate: Some(limit),
            ..self.parts
        };
        Self { parts, ..self }
    }

    /// Returns the plan with a throttle of calls that other guards use, too.
    #[must_use]
    pub const fn with_throttle(self, throttle: &'static AdaptiveThrottle<M>) -> Self {
        let parts = Parts {
            throttle: Some(throttle),
            ..self.parts
        };
        Self { parts, ..self }
    }

    /// Returns the plan with a seed: jitter is the same in every run.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        let parts = Parts {
            seed: Some(seed),
            ..self.parts
        };
        Self { parts, ..self }
    }
}

impl From<Policy> for Plan {
    fn from(policy: Policy) -> Self {
        Self::new(policy)
    }
}
