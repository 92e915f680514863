#![doc = include_str!("../README.md")]
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use steadfast_core::{
    AnyError, Attempt, AttemptLog, Backoff, Breaker, BreakerState, Budget, ByError, CallError,
    CircuitBreaker, Classify, Clock, Conclude, Ending, Event, EventKind, Explanation, Instant,
    Jitter, Journal, Kind, Lent, Listener, Local, LogEntry, Meaning, Memory, NoListener, NoRules,
    Outcome, Permit, Policy, PolicyError, Problem, Problems, ProblemsIter, Ratio, Reason, Refusal,
    RelativeTrip, Report, Retry, RetryBudget, Rules, Shared, Token, Transition, Verdict, Warning,
    Word, random,
};
pub use steadfast_runtime::{Block, Call, Guard, Plan, Prepared, StaticTimer, Timer};

/// Guards on tokio's timer.
#[cfg(feature = "tokio")]
pub mod tokio {
    pub use steadfast_tokio::{Guard, Tokio};
}

/// Guards on smol's timer.
#[cfg(feature = "smol")]
pub mod smol {
    pub use steadfast_smol::{Guard, Smol};
}

/// Guards on embassy's timer.
#[cfg(feature = "embassy")]
pub mod embassy {
    pub use steadfast_embassy::{Embassy, Guard, seed};
}

/// Guards on a timer of their own thread, under any executor.
#[cfg(feature = "std-timer")]
pub mod std_timer {
    pub use steadfast_runtime::{StdSleep, StdTimer};

    /// A guard on [`StdTimer`].
    pub type Guard<C = crate::ByError, R = crate::NoRules, L = crate::NoListener> =
        crate::Guard<StdTimer, C, R, L>;
}
