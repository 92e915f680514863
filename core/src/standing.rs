//! How the limits of a guard stand.

use core::time::Duration;

use crate::math::ratio::Ratio;

/// How the limits of a guard stand right now; `None` where it has none.
///
/// ```
/// use steadfast_core::{Concurrency, Dependency, Instant, Policy};
///
/// static LIVE: Dependency =
///     Dependency::new(&Policy::DEFAULT.with_concurrency(Concurrency::fixed(8)));
///
/// let limit = LIVE.standing(Instant::ZERO).concurrency.unwrap();
/// assert_eq!((limit.in_flight, limit.allowed), (0, 8));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// The limit on the attempts in flight at once.
    pub concurrency: Option<ConcurrencyStanding>,
    /// The limit on the attempts in a span of time.
    pub rate: Option<RateStanding>,
    /// The throttle of calls.
    pub throttle: Option<ThrottleStanding>,
}

/// How a concurrency limit stands right now; part of [`Standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConcurrencyStanding {
    /// How many attempts may be in flight.
    pub allowed: u32,
    /// How many are.
    pub in_flight: u32,
    /// What one takes unloaded, once an adaptive limit knows.
    pub unloaded: Option<Duration>,
    /// It refuses nothing.
    pub is_observing: bool,
    /// Other guards use it, too.
    pub is_shared: bool,
}

/// How a rate limit stands right now; part of [`Standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateStanding {
    /// How many attempts may still go out at once.
    pub free: u32,
    /// It refuses nothing.
    pub is_observing: bool,
    /// Other guards use it, too.
    pub is_shared: bool,
}

/// How a throttle stands right now; part of [`Standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThrottleStanding {
    /// The chance that a critical call is refused.
    pub chance: Ratio,
    /// It refuses nothing.
    pub is_observing: bool,
    /// Other guards use it, too.
    pub is_shared: bool,
}
