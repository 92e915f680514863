//! Scenarios over everything, one binary.

mod allocations;
mod compile_fail;
mod handler;
mod layers;
mod sizes;
