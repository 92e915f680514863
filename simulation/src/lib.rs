//! What a policy does to a dependency and its callers, in seconds.
//!
//! The guards of Steadfast as they ship, on virtual time, against a model: see
//! [`Simulation`]. Four things are not real: the clock, chance, the callers and the
//! dependency, which is a [`Model`] or a [`Queueing`] server; for services that call
//! services see [`Topology`]. Everything is counted in integers, so that a seed gives the
//! same [`Report`] on every machine.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_core::{Breaker, Policy, Ratio};
//! use steadfast_simulation::{Curve, Load, Model, Simulation};
//!
//! let secs = Duration::from_secs;
//! let curve = Curve::through(Duration::from_millis(20), Duration::from_millis(200));
//! let outage = Model::new(curve).down(secs(20), secs(10));
//! let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
//! let report = Simulation::new(policy, outage, Load::per_second(100), secs(60)).run(1).unwrap();
//!
//! // What the outage cost the dependency, and how soon its callers were well.
//! assert!(report.amplification() < Ratio::times(2));
//! assert!(report.time_to_recover() < Some(secs(30)));
//! println!("{report}");
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arrivals;
mod band;
mod crew;
mod curve;
mod dice;
mod impairment;
mod load;
mod mistake;
mod model;
mod queueing;
mod report;
mod scheduler;
mod search;
mod server;
mod simulation;
mod tally;
mod target;
mod topology;

pub use band::{Band, Runs};
pub use curve::Curve;
pub use load::Load;
pub use mistake::{Mistake, SimulationError};
pub use model::Model;
pub use queueing::Queueing;
pub use report::Report;
pub use scheduler::Scheduler;
pub use simulation::Simulation;
pub use tally::Second;
pub use target::Target;
pub use topology::{Topology, TopologyError, TopologyProblem, TopologyReport, TopologyRuns};
