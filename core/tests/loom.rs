//! Every interleaving of a few threads over the live state, by loom.
//!
//! A model runs its closure once for each order in which the threads may touch
//! the words. Both racing operations run in spawned threads; the main thread
//! makes and touches the state before, so that all words exist by then.

#![expect(clippy::arithmetic_side_effects, reason = "tests may panic")]

#[path = "loom/budget.rs"]
mod budget;
#[path = "loom/circuit_breaker.rs"]
mod circuit_breaker;
#[path = "loom/counts.rs"]
mod counts;
#[path = "loom/draining.rs"]
mod draining;
#[path = "loom/hedging.rs"]
mod hedging;
#[path = "loom/latencies.rs"]
mod latencies;
#[path = "loom/limits.rs"]
mod limits;
#[path = "loom/memory.rs"]
mod memory;
#[path = "loom/occupancy.rs"]
mod occupancy;
#[path = "loom/queue_delay.rs"]
mod queue_delay;
#[path = "loom/ramp.rs"]
mod ramp;
#[path = "loom/rates.rs"]
mod rates;
