//! One call as a machine: facts in, one order out. It sees no future.

pub(crate) mod attempt;
mod claim;
mod decide;
mod direct;
mod drain;
pub(crate) mod error;
mod finish;
mod follow;
mod launch;
mod leg;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod outcome;
mod race;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod rules;
pub(crate) mod stream_error;
mod tell;
