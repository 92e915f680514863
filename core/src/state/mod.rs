//! The live machines: atomics inside, `now` as an argument.

pub(crate) mod circuit_breaker;
mod control;
pub(crate) mod dependency;
mod evidence;
pub(crate) mod retry_budget;
