//! The live side of a [`Concurrency`].

use core::time::Duration;

use self::gate::Gate;
use self::law::Law;
use self::slot::Slot;
use crate::limited::{Limit, Limited};
use crate::memory::{Memory, Shared, Word};
use crate::policy::concurrency::{Baseline, Concurrency};
use crate::time::Instant;

mod gate;
mod law;
mod round;
pub(crate) mod slot;

/// How many attempts may be in flight, fixed or learnt.
///
/// One word holds the limit and what is in flight, so an admission is one
/// compare-and-swap and never exceeds the limit. The learning of an adaptive one
/// runs when slots are settled, under a busy bit that nobody waits for: who finds
/// it set gives its slot back and tells nothing. A limit that shrinks takes no slot
/// away, it only delays the next. There is no hint when a place comes free. A
/// clock that jumps may start or end a probe early, no more.
///
/// ```
/// use steadfast_core::{Concurrency, ConcurrencyLimit, Instant};
///
/// static BULKHEAD: ConcurrencyLimit = ConcurrencyLimit::new(Concurrency::fixed(2));
///
/// let now = Instant::ZERO;
/// let one = BULKHEAD.acquire(now).unwrap();
/// let two = BULKHEAD.acquire(now).unwrap();
/// assert!(BULKHEAD.acquire(now).is_err());
///
/// drop(one);
/// assert!(BULKHEAD.acquire(now).is_ok());
/// # drop(two);
/// ```
#[derive(Debug)]
pub struct ConcurrencyLimit<M: Memory = Shared> {
    concurrency: Concurrency,
    /// A [`Gate`].
    gate: M::U64,
    law: Law<M>,
}

impl<M: Memory> ConcurrencyLimit<M> {
    /// Makes a limit with nothing in flight.
    ///
    /// # Panics
    ///
    /// Panics when `concurrency` makes no sense; in a `static` that does not
    /// compile.
    #[must_use]
    #[track_caller]
    pub const fn new(concurrency: Concurrency) -> Self {
        Self {
            concurrency: concurrency.checked(),
            gate: M::U64::ZERO,
            law: Law::new(),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn concurrency(&self) -> &Concurrency {
        &self.concurrency
    }

    /// Takes a place for one attempt.
    ///
    /// # Errors
    ///
    /// Refuses when as many are in flight as the limit allows.
    pub fn acquire(&self, now: Instant) -> Result<Slot<'_, M>, Limited> {
        let mut gate = self.gate();
        loop {
            if gate.in_flight() < self.allowed(gate) {
                match self.swap(gate, gate.entered()) {
                    Ok(()) => return Ok(Slot::new(self, gate.epoch())),
                    Err(other) => gate = other,
                }
            } else if self.is_probe_overdue(now) && self.end_overdue_probe(now) {
                gate = self.gate();
            } else if gate.is_observed() {
                return Ok(Slot::observed(self));
            } else {
                return Err(Limited::new(Limit::Concurrency));
            }
        }
    }

    /// Returns how many may be in flight now.
    ///
    /// In a probe, see [`Baseline::Probed`], that is the minimum.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.allowed(self.gate())
    }

    /// Returns how many are in flight, without those that are only observed.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.gate().in_flight()
    }

    /// Returns what attempts take unloaded, once that is known.
    #[must_use]
    pub fn baseline(&self) -> Option<Duration> {
        if self.concurrency.is_fixed() || self.gate().is_stale() {
            return None;
        }
        match self.concurrency.baseline() {
            Baseline::Probed => self.law.probed(),
            Baseline::Tracked => self.law.tracked(),
        }
        .map(Duration::from_nanos)
    }

    /// Tells whether it only observes, see [`ConcurrencyLimit::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.gate().is_observed()
    }

    /// Decides as ever but refuses nothing, until [`ConcurrencyLimit::reset`].
    ///
    /// What it would have refused is neither counted nor learnt from. Since more
    /// goes out than the limit says, it does not probe: it learns the unloaded
    /// time only while the limit is not used up.
    pub fn observe(&self) {
        self.change(Gate::observing);
    }

    /// Starts over with the first limit, forgets what it learnt, and ends manual
    /// control.
    ///
    /// What is in flight stays counted.
    pub fn reset(&self) {
        self.change(Gate::reset);
    }

    fn gate(&self) -> Gate {
        Gate(self.gate.load())
    }

    fn allowed(&self, gate: Gate) -> u32 {
        gate.limit().unwrap_or(self.concurrency.initial())
    }

    fn swap(&self, from: Gate, to: Gate) -> Result<(), Gate> {
        let swapped = self.gate.compare_exchange(from.0, to.0);
        swapped.map(|_| ()).map_err(Gate)
    }

    fn change(&self, to: fn(Gate) -> Gate) {
        let mut gate = self.gate();
        while let Err(other) = self.swap(gate, to(gate)) {
            gate = other;
        }
    }

    /// Gives a place back and returns what the gate was before.
    fn leave(&self) -> Gate {
        Gate(self.gate.fetch_sub(Gate::ONE))
    }
}

#[cfg(test)]
mod tests;
