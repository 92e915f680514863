//! A place in flight.

use core::fmt;
use core::time::Duration;

use super::ConcurrencyLimit;
use super::round::Sample;
use crate::memory::{Memory, Shared};
use crate::time::Instant;

/// The place of one attempt in flight; comes back when dropped.
///
/// Dropping it says nothing about the dependency: a cancelled or panicking
/// attempt is no sample.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Concurrency, ConcurrencyLimit, Instant};
///
/// static API: ConcurrencyLimit = ConcurrencyLimit::new(Concurrency::ADAPTIVE);
///
/// let slot = API.acquire(Instant::ZERO).unwrap();
/// let took = Duration::from_millis(10);
/// assert_eq!(slot.settle(Instant::ZERO.saturating_add(took), took), None);
/// assert_eq!(API.in_flight(), 0);
/// ```
#[must_use = "a slot that is dropped is given back"]
pub struct Slot<'l, M: Memory = Shared> {
    limit: &'l ConcurrencyLimit<M>,
    /// None when it would have been refused.
    epoch: Option<u32>,
}

impl<'l, M: Memory> Slot<'l, M> {
    pub(super) const fn new(limit: &'l ConcurrencyLimit<M>, epoch: u32) -> Self {
        Self {
            limit,
            epoch: Some(epoch),
        }
    }

    pub(super) const fn observed(limit: &'l ConcurrencyLimit<M>) -> Self {
        Self { limit, epoch: None }
    }

    /// Tells whether it would have been refused by a limit that does not only
    /// observe.
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        self.epoch.is_none()
    }

    /// Gives the place back, tells how long the attempt took, and returns the
    /// limit if that changed it.
    ///
    /// Every attempt that has come to an end is a sample, whatever its outcome,
    /// also one that was cut: a limit must not overlook that the dependency is too
    /// slow to answer.
    #[expect(clippy::must_use_candidate, reason = "most care for the slot only")]
    pub fn settle(self, now: Instant, took: Duration) -> Option<u32> {
        let (limit, epoch) = (self.limit, self.epoch);
        core::mem::forget(self);
        let epoch = epoch?;
        let gate = limit.leave();
        limit.learn(&Sample {
            now,
            took,
            epoch,
            in_flight: gate.in_flight(),
        })
    }

    /// Tells how long an attempt took that goes on to use its place, as
    /// [`Slot::settle`] does, which gives it back.
    pub(crate) fn sample(&self, now: Instant, took: Duration) -> Option<u32> {
        let sample = Sample {
            now,
            took,
            epoch: self.epoch?,
            in_flight: self.limit.in_flight(),
        };
        self.limit.learn(&sample)
    }
}

impl<M: Memory> Drop for Slot<'_, M> {
    fn drop(&mut self) {
        if self.epoch.is_some() {
            self.limit.leave();
        }
    }
}

impl<M: Memory> fmt::Debug for Slot<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("is_observed", &self.is_observed())
            .finish_non_exhaustive()
    }
}
