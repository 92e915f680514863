//! The numbers, values and machines of Steadfast.
//!
//! Pure `no_std` arithmetic over an injected [`Clock`]: no allocation, no
//! futures, no floating point, no panic. Programs use the `steadfast` crate;
//! this one is for those who bring a runtime of their own, see
//! `steadfast-runtime`.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(
    test,
    expect(
        clippy::arithmetic_side_effects,
        reason = "a test that overflows fails, as it should"
    )
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod ambient;
mod breaker_state;
mod call;
mod classify;
mod criticality;
mod event;
mod lanes;
mod limited;
mod listener;
mod math;
mod measured;
mod memory;
mod policy;
mod reason;
mod standing;
mod state;
mod time;
mod verdict;
pub mod wire;

pub use ambient::Ambient;
pub use breaker_state::BreakerState;
pub use call::attempt::{Attempt, Retry};
pub use call::error::CallError;
pub use call::log::{AttemptLog, Ending, Journal, LogEntry};
pub use call::machine::{Machine, Order, Surroundings};
pub use call::outcome::{Conclude, Outcome};
pub use call::report::Report;
pub use call::resume::Flow;
pub use call::rules::{NoRules, Rules};
pub use call::stream_error::{Stall, StreamError};
pub use classify::{AnyError, ByError, Classify, Lent, Meaning};
pub use criticality::Criticality;
pub use event::{Event, EventKind};
pub use lanes::{Hedged, Lanes, Single};
pub use limited::{Limit, Limited};
pub use listener::{Listener, NoListener};
pub use math::bucket::TokenBucket;
pub use math::latency_window::LatencyWindow;
pub use math::quantile::{Latency, Quantile};
pub use math::random::random;
pub use math::rate_window::RateWindow;
pub use math::ratio::Ratio;
pub use math::rolling_counts::{Counts, RollingCounts};
pub use math::significance::RelativeTrip;
pub use measured::Measured;
pub use memory::profile::{Chip, Narrow, Profile, Server, Unmeasured, Wide};
pub use memory::{Local, Memory, Nowhere, Shared, Word};
pub use policy::backoff::{Backoff, Jitter};
pub use policy::breaker::Breaker;
pub use policy::budget::Budget;
pub use policy::ceiling::AttemptCeiling;
pub use policy::concurrency::{Baseline, Concurrency};
pub use policy::explain::Explanation;
pub use policy::hedge::{Hedge, WinRate};
pub use policy::measured_base::MeasuredBase;
pub use policy::policy::Policy;
pub use policy::problem::Problem;
pub use policy::problems::{PolicyError, Problems, ProblemsIter};
pub use policy::rate::Rate;
pub use policy::recovery::Recovery;
pub use policy::restarts::Restarts;
pub use policy::saturation::Saturation;
pub use policy::slow_trip::SlowTrip;
pub use policy::throttle::Throttle;
pub use policy::warning::Warning;
pub use reason::Reason;
pub use standing::{ConcurrencyStanding, RateStanding, Standing, ThrottleStanding};
pub use state::adaptive_throttle::{AdaptiveThrottle, Ticket};
pub use state::circuit_breaker::CircuitBreaker;
pub use state::circuit_breaker::permit::{Permit, Refusal, Transition};
pub use state::concurrency_limit::ConcurrencyLimit;
pub use state::concurrency_limit::slot::Slot;
pub use state::dependency::Dependency;
pub use state::draining::Draining;
pub use state::estimates::Estimates;
pub use state::hedging::Hedging;
pub use state::occupancy::Occupancy;
pub use state::part::Parts;
pub use state::queue_delay::{QueueDelay, QueueProbe, QueueReading};
pub use state::rate_limit::{RateLimit, Reservation};
pub use state::retry_budget::{RetryBudget, Token};
pub use time::{Clock, Instant};
pub use verdict::{Kind, Verdict};
