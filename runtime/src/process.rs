//! Whether this process is about to stop.

use core::time::Duration;
use std::time::Instant as StdInstant;

use steadfast_core::Draining;

use crate::system_clock::from_system;

/// Whether this process is about to stop.
///
/// What [`Timer::draining`](crate::Timer::draining) gives for every timer that tells
/// its instants by [`from_system`]. Programs call [`drain`].
pub static PROCESS: Draining = Draining::new();

/// Says that this process is about to stop, for good.
///
/// From now on none of its guards retries, races or resumes anything, and a call that
/// begins ends within what is left of `grace`: make it a little less than what the
/// process itself is given. [`Duration::MAX`] bounds nothing. Calls in flight go on
/// within their bounds. The first word counts.
///
/// For guards on any timer of the system's clock; embassy and virtual time have their
/// own.
pub fn drain(grace: Duration) {
    PROCESS.begin(from_system(StdInstant::now()), grace);
}

/// Tells whether this process is about to stop, for a readiness probe.
#[must_use]
pub fn is_draining() -> bool {
    PROCESS.is_draining()
}
