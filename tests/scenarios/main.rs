//! Scenarios over everything, one binary.

mod allocations;
mod compile_fail;
mod handler;
mod layers;
mod sizes;

mod hostile;
mod stage;

mod ambient;
mod breaker;
mod budget;
mod cancel;
mod cases;
mod ceiling;
mod chaos;
mod criticality;
mod crowd;
mod deadline;
mod direct;
mod draining;
mod drivers;
mod events;
mod fallback;
mod fixed_scope;
mod fleet;
mod hedging;
mod hooks;
mod invariants;
mod limits;
mod measured_base;
mod order;
mod overload;
mod panics;
mod prepared;
mod queue;
mod races;
mod runtimes;
mod saturation;
mod scope;
mod short_lived;
mod slower;
mod streams;
mod tail;
mod values;
mod worst_case;
