//! allocations
