//! When a delay is over.

use std::time::Duration;

use steadfast_core::{Clock, Instant};

/// Returns when a delay is over; nothing to wait for when there is none.
pub(crate) fn due<C: Clock>(timer: &C, delay: Duration) -> Option<Instant> {
    (!delay.is_zero()).then(|| timer.now().saturating_add(delay))
}
