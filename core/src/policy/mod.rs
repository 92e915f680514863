//! The values: plain, `Copy`, comparable, printable.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod ceiling;
pub(crate) mod concurrency;
pub(crate) mod explain;
pub(crate) mod hedge;
pub(crate) mod measured_base;
#[expect(
    clippy::module_inception,
    reason = "the folder is about the type of that name"
)]
pub(crate) mod policy;
pub(crate) mod problem;
pub(crate) mod problems;
pub(crate) mod rate;
pub(crate) mod reading;
pub(crate) mod recovery;
pub(crate) mod restarts;
pub(crate) mod saturation;
pub(crate) mod slow_trip;
pub(crate) mod span;
pub(crate) mod throttle;
pub(crate) mod timeline;
mod validate;
pub(crate) mod warning;
