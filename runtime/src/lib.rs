//! The one loop of Steadfast, over any timer.
//!
//! A [`Guard`] binds a policy to its live state and to a runtime; a [`Call`] is
//! the future of one guarded call. Programs use the `steadfast` crate, which
//! brings the timers of tokio, smol and embassy; this one is for those who
//! bring a [`Timer`] of their own.
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod alarm;
#[cfg(feature = "std")]
pub mod ambient;
#[cfg(feature = "std")]
mod blocking;
mod call;
mod conduct;
mod drift;
mod fallback;
#[cfg(feature = "fixed-scope")]
mod fixed_scope;
mod guard;
mod lanes;
mod lending;
#[cfg(any(feature = "scope", feature = "fixed-scope"))]
mod listed;
mod plan;
mod prepared;
#[cfg(feature = "std")]
mod process;
#[cfg(feature = "queue")]
mod queue;
#[cfg(feature = "scope")]
mod scope;
#[cfg(feature = "std-timer")]
mod std_timer;
mod stream;
mod supply;
#[cfg(feature = "std")]
mod system_clock;
#[cfg(feature = "std")]
mod system_seed;
mod timer;
mod watch;

pub use call::Call;
pub use drift::{Drift, DriftProbe};
pub use fallback::{Answer, OrElse};
#[cfg(feature = "fixed-scope")]
pub use fixed_scope::{FixedKeyed, FixedScope};
pub use guard::{Guard, HedgedGuard};
pub use lanes::{Flights, One, OneAtATime, Places, Three, Two};
#[cfg(any(feature = "scope", feature = "fixed-scope"))]
pub use listed::Listed;
pub use plan::Plan;
pub use prepared::Prepared;
#[cfg(feature = "std")]
pub use process::{PROCESS, drain, is_draining};
#[cfg(feature = "queue")]
pub use queue::{Place, Queue};
#[cfg(feature = "scope")]
pub use scope::{Alike, Keyed, Scope};
#[cfg(feature = "std-timer")]
pub use std_timer::{StdSleep, StdTimer};
pub use stream::Streaming;
pub use stream::start::Start;
pub use supply::{Anew, Resumed, Supply};
#[cfg(feature = "std")]
pub use system_clock::{from_system, to_system};
#[cfg(feature = "std")]
pub use system_seed::system_seed;
pub use timer::{Block, StaticTimer, Timer};
