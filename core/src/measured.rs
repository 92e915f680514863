//! What a guard measures right now.

use core::time::Duration;

/// What a guard measures right now; `None` where it does not, or knows too little.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Dependency, Instant, Policy};
///
/// static LIVE: Dependency = Dependency::new(&Policy::DEFAULT);
///
/// let cold = LIVE.measured(Instant::ZERO);
/// assert_eq!((cold.attempt_ceiling, cold.successes), (None, Some(0)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// How long an attempt may take, before the attempt timeout and the deadline.
    pub attempt_ceiling: Option<Duration>,
    /// The first wait after a transient failure, before jitter.
    pub backoff_base: Option<Duration>,
    /// How long an attempt runs before another copy may race it.
    pub hedge_threshold: Option<Duration>,
    /// How long this process is late for what it has to do.
    pub queue_delay: Option<Duration>,
    /// What a success normally takes, by the breaker.
    pub normal_latency: Option<Duration>,
    /// How many recent successes ceiling and base know; `None` where none are
    /// taken down.
    pub successes: Option<u64>,
    /// How many recent attempts the hedge knows; `None` where none are taken
    /// down.
    pub attempts: Option<u64>,
}
