//! Making a scope.

use core::sync::atomic::AtomicUsize;
use std::sync::OnceLock;

use steadfast_core::{
    ByError, Draining, Lanes, Memory, NoListener, NoRules, Policy, PolicyError, Profile,
};

use super::keyed::Crowd;
use super::{Alike, Scope};
use crate::guard::Guard;
use crate::plan::Plan;
use crate::timer::StaticTimer;
use crate::watch::Watch;

impl<K, T: StaticTimer, M: Memory, H: Lanes> Scope<K, T, ByError, NoRules, NoListener, M, H> {
    /// Makes a scope for so many keys, whose guards ask each error what it means.
    ///
    /// # Panics
    ///
    /// When the policy cannot work or there is no room, naming every problem; in a
    /// `static` that is a compile error. See [`Scope::try_on`].
    #[must_use]
    #[track_caller]
    pub const fn new(policy: Policy, capacity: usize) -> Self {
        let plan = Plan::of(policy, ByError, NoRules, NoListener);
        Self::planned(plan, capacity)
    }
}

impl<K, T, C, M, H> Scope<K, T, C, NoRules, NoListener, M, H>
where
    T: StaticTimer,
    C: Copy,
    M: Memory,
    H: Lanes,
{
    /// Makes a scope whose guards have a classifier of their own.
    ///
    /// # Panics
    ///
    /// As [`Scope::new`].
    #[must_use]
    #[track_caller]
    pub const fn classified(policy: Policy, classifier: C, capacity: usize) -> Self {
        Self::planned(Plan::of(policy, classifier, NoRules, NoListener), capacity)
    }
}

impl<K, T, C, R, L, M, H> Scope<K, T, C, R, L, M, H>
where
    T: StaticTimer,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Lanes,
{
    /// Makes a scope of a plan: a classifier, rules, a listener, shared parts.
    ///
    /// # Panics
    ///
    /// As [`Scope::new`].
    #[must_use]
    #[track_caller]
    pub const fn planned(plan: Plan<C, R, L, M>, capacity: usize) -> Self {
        Self::shaped(plan, capacity, Alike)
    }
}

impl<K, T, C, R, L, M, H, S> Scope<K, T, C, R, L, M, H, S>
where
    T: StaticTimer,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Lanes,
    S: Copy,
{
    /// Makes a scope in which `shape` says a key's policy when it is first seen.
    ///
    /// All else, and the policy of the shared guard, is the plan's. Looking up a key
    /// whose policy cannot work is an error.
    ///
    /// ```
    /// use steadfast_core::{ByError, NoListener, NoRules, Policy, Shared, Single};
    /// use steadfast_runtime::{Plan, Scope, StdTimer};
    ///
    /// fn shape(host: &String) -> Policy {
    ///     match host.as_str() {
    ///         "reporting" => Policy::DEFAULT.with_attempts(1),
    ///         _ => Policy::DEFAULT,
    ///     }
    /// }
    ///
    /// type Hosts<K, S> = Scope<K, StdTimer, ByError, NoRules, NoListener, Shared, Single, S>;
    ///
    /// static HOSTS: Hosts<String, fn(&String) -> Policy> =
    ///     Scope::shaped(Plan::new(Policy::DEFAULT), 64, shape);
    ///
    /// assert_eq!(HOSTS.get("reporting").unwrap().policy().attempts(), 1);
    /// assert_eq!(HOSTS.get("search").unwrap().policy().attempts(), 3);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Scope::new`].
    #[must_use]
    #[track_caller]
    pub const fn shaped(plan: Plan<C, R, L, M>, capacity: usize, shape: S) -> Self {
        let policy = plan.policy_in_force();
        let _works = policy.checked_for_keys::<M, H>(capacity);
        Self {
            timer: T::TIMER,
            plan,
            shape,
            capacity,
            draining: Draining::new(),
            crowd: Crowd {
                guard: Guard::planned(plan),
                handles: AtomicUsize::new(0),
            },
            table: OnceLock::new(),
            watch: Watch::of(&policy, M::Profile::MEASURES),
        }
    }
}

impl<K, T, C, R, L, M, H, S> Scope<K, T, C, R, L, M, H, S>
where
    T: Clone,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Lanes,
{
    /// Makes a scope on a timer that is a value, of a policy that is known at run time
    /// only; for [`Alike`] keys or with a shape.
    ///
    /// # Errors
    ///
    /// When the policy cannot work or there is no room, with every problem.
    pub fn try_on(
        timer: T,
        plan: Plan<C, R, L, M>,
        capacity: usize,
        shape: S,
    ) -> Result<Self, PolicyError> {
        let policy = plan.policy_in_force();
        policy.try_checked_for_keys::<M, H>(capacity)?;
        Ok(Self {
            crowd: Crowd {
                guard: Guard::try_on(timer.clone(), plan)?,
                handles: AtomicUsize::new(0),
            },
            timer,
            plan,
            shape,
            capacity,
            draining: Draining::new(),
            table: OnceLock::new(),
            watch: Watch::of(&policy, false),
        })
    }
}
