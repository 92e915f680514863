//! Instruments for tests that do not sleep.
//!
//! Three of them: a [`World`] whose time moves only when nothing else can, a
//! [`Script`], [`StreamScript`] or [`StreamLog`] for what the dependency does, a
//! [`Recorder`] for what the policy decided. Script and guard share the world's timer; with two clocks the
//! scripted delays would pass in real time. [`Fault`] is an error of every
//! meaning, [`INSTANT`] a policy that never waits. [`Chaos`] makes any operation
//! fail at random, also a real one; a [`FaultInjector`] can be switched while the
//! program runs.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_testing::{Fault, Script, World};
//!
//! let world = World::new();
//! let script: Script<u32> = Script::on(world.timer())
//!     .fails(Fault::Transient)
//!     .delays(Duration::from_secs(3600))
//!     .returns(42);
//!
//! // An hour passes, but not on your clock.
//! assert!(world.block_on(script.next()).is_err());
//! assert_eq!(world.block_on(script.next()), Ok(42));
//! assert_eq!(world.elapsed(), Duration::from_secs(3600));
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod alarms;
mod alive;
mod chaos;
mod due;
mod fault;
mod instant;
#[cfg(test)]
mod no_time;
mod recorder;
mod script;
mod scripted;
mod state;
mod stream_log;
mod stream_script;
mod stuck;
mod task;
mod tasks;
mod timer;
mod world;

pub use chaos::{
    Burst, Chaos, ChaosError, ChaosProblem, FaultInjector, Injected, Injection, NoChaos, Only,
};
pub use fault::Fault;
pub use instant::INSTANT;
pub use recorder::Recorder;
pub use script::{Script, Step};
pub use scripted::Scripted;
pub use stream_log::{LogSource, StreamLog};
pub use stream_script::{Beat, Source, StreamScript};
pub use stuck::{Stuck, Waiting};
pub use task::Task;
pub use timer::{Sleep, VirtualTimer};
pub use world::World;
