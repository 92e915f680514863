//! Integer arithmetic: `now` is an argument, nothing fails, nothing panics.

pub(crate) mod bucket;
pub(crate) mod cells;
pub(crate) mod fading_count;
pub(crate) mod growth;
pub(crate) mod latency_window;
pub(crate) mod quantile;
pub(crate) mod random;
pub(crate) mod rate_window;
pub(crate) mod ratio;
pub(crate) mod ring;
pub(crate) mod rolling_counts;
pub(crate) mod significance;
pub(crate) mod slices;
pub(crate) mod spare;
