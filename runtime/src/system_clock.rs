//! The system's clock, with one epoch for the whole process.

use core::time::Duration;
use std::sync::LazyLock;
use std::time::Instant as StdInstant;

use steadfast_core::Instant;

/// A day before the clock was first asked, so that a paused clock that stands a
/// little earlier can still be told.
static EPOCH: LazyLock<StdInstant> = LazyLock::new(|| {
    let now = StdInstant::now();
    now.checked_sub(Duration::from_secs(86_400)).unwrap_or(now)
});

/// Tells `at` as an instant of the process.
///
/// For adapters on std: those that share the epoch can share a breaker.
///
/// ```
/// use std::time::Instant;
/// use steadfast_runtime::{from_system, to_system};
///
/// let now = Instant::now();
/// assert_eq!(to_system(from_system(now)), Some(now));
/// ```
#[must_use]
pub fn from_system(at: StdInstant) -> Instant {
    Instant::ZERO.saturating_add(at.saturating_duration_since(*EPOCH))
}

/// Tells an instant of the process as the system does.
///
/// `None` for what lies beyond the system's clock: as good as never.
#[must_use]
pub fn to_system(at: Instant) -> Option<StdInstant> {
    EPOCH.checked_add(Duration::from_nanos(at.as_nanos()))
}
