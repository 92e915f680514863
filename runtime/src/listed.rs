//! How the keys of a scope stand.

use steadfast_core::{BreakerState, Instant, Lanes, Memory, Ratio};

use crate::guard::Guard;

/// How one key of a scope stands: what its `list` gives.
///
/// ```
/// use steadfast_core::{Breaker, BreakerState, Policy};
/// use steadfast_runtime::{Scope, StdTimer};
///
/// static HOSTS: Scope<&str, StdTimer> =
///     Scope::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT), 64);
///
/// HOSTS.get(&"search").breaker().unwrap().isolate();
/// let list = HOSTS.list();
/// assert_eq!(list[0].key, Some("search"));
/// assert_eq!(list[0].breaker, Some(BreakerState::Isolated));
/// // The last is the guard of all keys that had no room.
/// assert_eq!((list.len(), list[1].key), (2, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed<K> {
    /// The key; `None` is all that had no room.
    pub key: Option<K>,
    /// What its circuit breaker does; `None` without one.
    pub breaker: Option<BreakerState>,
    /// The share of its retry budget that is gone; `None` without one.
    pub budget_spent: Option<Ratio>,
    /// How many handles there are, one for each call in flight as a rule.
    pub in_use: usize,
}

impl<K> Listed<K> {
    pub(crate) fn of<T, C, R, L, M: Memory, H: Lanes>(
        key: Option<K>,
        guard: &Guard<T, C, R, L, M, H>,
        in_use: usize,
        now: Instant,
    ) -> Self {
        Self {
            key,
            breaker: guard.breaker().map(|breaker| breaker.state(now)),
            budget_spent: guard.budget().map(|budget| budget.utilization(now)),
            in_use,
        }
    }
}
