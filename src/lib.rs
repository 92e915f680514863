#![doc = include_str!("../README.md")]
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use steadfast_core::{
    AdaptiveThrottle, Ambient, AnyError, Attempt, AttemptCeiling, AttemptLog, Backoff, Baseline,
    Breaker, BreakerState, Budget, ByError, CallError, Chip, CircuitBreaker, Classify, Clock,
    Conclude, Concurrency, ConcurrencyLimit, ConcurrencyStanding, Criticality, Draining, Ending,
    Event, EventKind, Explanation, Flow, Hedge, Hedged, Instant, Jitter, Journal, Kind, Lanes,
    Lent, Limit, Limited, Listener, Local, LogEntry, Meaning, Measured, MeasuredBase, Memory,
    NoListener, NoRules, Nowhere, Occupancy, Outcome, Parts, Permit, Policy, PolicyError, Problem,
    Problems, ProblemsIter, Profile, QueueReading, Rate, RateLimit, RateStanding, Ratio, Reason,
    Recovery, Refusal, RelativeTrip, Report, Reservation, Restarts, Retry, RetryBudget, Rules,
    Saturation, Server, Shared, Single, Slot, SlowTrip, Stall, Standing, StreamError, Throttle,
    ThrottleStanding, Ticket, Token, Transition, Unmeasured, Verdict, Warning, WinRate, Word,
    random, wire,
};
pub use steadfast_runtime::{
    Anew, Answer, Block, Call, Flights, Guard, HedgedGuard, OneAtATime, OrElse, Places, Plan,
    Prepared, Resumed, Start, StaticTimer, Streaming, Supply, Timer,
};

#[cfg(feature = "std")]
pub use steadfast_runtime::ambient;
#[cfg(feature = "queue")]
pub use steadfast_runtime::{Place, Queue};

#[cfg(feature = "scope")]
pub use steadfast_runtime::{Alike, Keyed, Scope};

#[cfg(feature = "fixed-scope")]
pub use steadfast_runtime::{FixedKeyed, FixedScope};

#[cfg(any(feature = "scope", feature = "fixed-scope"))]
pub use steadfast_runtime::Listed;

/// Guards on tokio's timer.
#[cfg(feature = "tokio")]
pub mod tokio {
    pub use steadfast_tokio::{Guard, HedgedGuard, Tokio, drain, is_draining};

    /// A guard a key on tokio's timer.
    #[cfg(feature = "scope")]
    pub type Scope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        H = crate::Single,
        S = crate::Alike,
    > = crate::Scope<K, Tokio, C, R, L, crate::Shared, H, S>;

    /// A guard a key on tokio's timer with room for two attempts of a call at once, or `N`: two
    /// or three.
    #[cfg(feature = "scope")]
    pub type HedgedScope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        const N: usize = 2,
    > = Scope<K, C, R, L, crate::Hedged<N>>;
}

/// Guards on smol's timer.
#[cfg(feature = "smol")]
pub mod smol {
    pub use steadfast_smol::{Guard, HedgedGuard, Smol, drain, is_draining};

    /// A guard a key on smol's timer.
    #[cfg(feature = "scope")]
    pub type Scope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        H = crate::Single,
        S = crate::Alike,
    > = crate::Scope<K, Smol, C, R, L, crate::Shared, H, S>;

    /// A guard a key on smol's timer with room for two attempts of a call at once, or `N`: two
    /// or three.
    #[cfg(feature = "scope")]
    pub type HedgedScope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        const N: usize = 2,
    > = Scope<K, C, R, L, crate::Hedged<N>>;
}

/// Guards on embassy's timer.
#[cfg(feature = "embassy")]
pub mod embassy {
    pub use steadfast_embassy::{Embassy, Guard, HedgedGuard, drain, is_draining, seed};

    /// A guard a key on embassy's timer, for `N` keys, with a chip's windows.
    #[cfg(feature = "fixed-scope")]
    pub type FixedScope<
        K,
        const N: usize,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        M = crate::Shared<crate::Chip>,
        H = crate::Single,
    > = crate::FixedScope<K, Embassy, N, C, R, L, M, H>;
}

/// Guards on a timer of their own thread, under any executor.
#[cfg(feature = "std-timer")]
pub mod std_timer {
    pub use steadfast_runtime::{StdSleep, StdTimer, drain, is_draining};

    /// A guard on [`StdTimer`].
    pub type Guard<C = crate::ByError, R = crate::NoRules, L = crate::NoListener> =
        crate::Guard<StdTimer, C, R, L>;

    /// A guard on [`StdTimer`] with room for two attempts of a call at once, or
    /// `N`: two or three.
    pub type HedgedGuard<
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        const N: usize = 2,
    > = crate::HedgedGuard<StdTimer, C, R, L, crate::Shared, N>;
    /// A guard a key on the standard timer.
    #[cfg(feature = "scope")]
    pub type Scope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        H = crate::Single,
        S = crate::Alike,
    > = crate::Scope<K, StdTimer, C, R, L, crate::Shared, H, S>;

    /// A guard a key on the standard timer with room for two attempts of a call at once, or `N`: two
    /// or three.
    #[cfg(feature = "scope")]
    pub type HedgedScope<
        K,
        C = crate::ByError,
        R = crate::NoRules,
        L = crate::NoListener,
        const N: usize = 2,
    > = Scope<K, C, R, L, crate::Hedged<N>>;
}
