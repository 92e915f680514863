//! The live machines: atomics inside, `now` as an argument.

pub(crate) mod circuit_breaker;
pub(crate) mod dependency;
pub(crate) mod retry_budget;
