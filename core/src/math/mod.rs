//! Integer arithmetic: `now` is an argument, nothing fails, nothing panics.

pub(crate) mod bucket;
pub(crate) mod growth;
pub(crate) mod random;
pub(crate) mod ratio;
pub(crate) mod rolling_counts;
