//! The live machines: atomics inside, `now` as an argument.

pub(crate) mod adaptive_throttle;
pub(crate) mod circuit_breaker;
pub(crate) mod concurrency_limit;
pub(crate) mod dependency;
pub(crate) mod draining;
pub(crate) mod estimates;
pub(crate) mod hedging;
pub(crate) mod occupancy;
pub(crate) mod part;
pub(crate) mod queue_delay;
pub(crate) mod rate_limit;
pub(crate) mod retry_budget;
pub(crate) mod scouts;
mod win_loop;
