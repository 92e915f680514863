//! The live side of a [`Throttle`].

use crate::criticality::Criticality;
use crate::limited::{Limit, Limited};
use crate::math::random;
use crate::math::ratio::Ratio;
use crate::math::ring::{Ring, Slice};
use crate::memory::{Memory, Shared, Word};
use crate::policy::throttle::Throttle;
use crate::time::Instant;
use crate::verdict::{Kind, Verdict};

/// Holds back what a dependency would turn away anyway.
///
/// For first attempts only: retries have their budget. A request counts before
/// it is sent, also one that is refused here, so that the more the dependency
/// turns away, the more is refused. An answer counts for the time of its request.
/// What is on its way counts against the dependency when it is unanswered for a
/// tenth to a fifth of the window: earlier it would hold back a rising load,
/// later a dependency that hangs would go unnoticed. A dropped ticket counts as
/// nothing. Where the newest two tenths alone give a lesser chance, that holds,
/// so that a recovery is not held up by the outage before it.
///
/// `Critical` work is refused with the chance that [`Throttle`] tells. The rest is
/// ordered around it: `Sheddable` is refused when either of two such draws says
/// so, `SheddablePlus` halfway between, `CriticalPlus` only when both do. No chance
/// exceeds the cap.
///
/// ```
/// use steadfast_core::{AdaptiveThrottle, Criticality, Instant, Throttle, Verdict, random};
///
/// static API: AdaptiveThrottle = AdaptiveThrottle::new(Throttle::DEFAULT);
///
/// let now = Instant::ZERO;
/// let mut refused = 0;
/// for call in 0..100 {
///     match API.admit(now, Criticality::Critical, random(1, call)) {
///         Ok(ticket) => ticket.settle(Verdict::TRANSIENT),
///         Err(_) => refused += 1,
///     }
/// }
/// assert!((60..80).contains(&refused));
/// ```
#[derive(Debug)]
pub struct AdaptiveThrottle<M: Memory = Shared> {
    throttle: Throttle,
    /// Each slice a [`Tally`].
    window: Ring<M, TENTHS>,
    observing: M::U32,
}

impl<M: Memory> AdaptiveThrottle<M> {
    /// Makes a throttle that has seen nothing.
    ///
    /// # Panics
    ///
    /// Panics when `throttle` makes no sense; in a `static` that does not
    /// compile.
    #[must_use]
    #[track_caller]
    pub const fn new(throttle: Throttle) -> Self {
        let throttle = throttle.checked();
        Self {
            window: Ring::new(throttle.window()),
            observing: M::U32::ZERO,
            throttle,
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    /// Counts a request, and lets it through or not.
    ///
    /// `draw` is a random number of the caller, from all of its range.
    ///
    /// # Errors
    ///
    /// Refuses by chance, the more the dependency turns away; without a hint, as
    /// the next request may go through.
    pub fn admit(
        &self,
        now: Instant,
        criticality: Criticality,
        draw: u32,
    ) -> Result<Ticket<'_, M>, Limited> {
        let chance = self.chance(now, criticality);
        if random::scale(draw, MILLION.into()) >= chance.as_ppm().into() {
            let slice = self.window.count(|tally| Tally(tally).sent());
            return Ok(Ticket {
                throttle: self,
                slice,
                is_observed: false,
            });
        }
        let _counted = self.window.count(|tally| Tally(tally).refused());
        if self.is_observing() {
            return Ok(Ticket {
                throttle: self,
                slice: None,
                is_observed: true,
            });
        }
        Err(Limited::new(Limit::Throttle))
    }

    /// Returns the chance that the next request of this kind is refused.
    #[must_use]
    pub fn chance(&self, now: Instant, criticality: Criticality) -> Ratio {
        let _vacated = self.window.advance(now);
        let (mut requests, mut accepts) = (0_u64, 0_u64);
        let (mut waits, mut recent) = (0_u64, None);
        for (age, tally) in self.window.payloads().map(Tally).enumerate() {
            if age == NEWEST {
                recent = self.refused_of(requests, accepts);
            }
            requests = requests.saturating_add(tally.requests());
            accepts = accepts.saturating_add(tally.accepts());
            if age < NEWEST {
                waits = waits.saturating_add(tally.open());
            }
        }
        requests = requests.saturating_sub(waits);
        let Some(whole) = self.refused_of(requests, accepts) else {
            return Ratio::ZERO;
        };
        let chance = recent.map_or(whole, |recent| recent.min(whole));
        let chance = Ratio::ppm(ordered(chance, criticality));
        chance.min(self.throttle.cap())
    }

    /// The chance after so many requests, in parts per million; none while they
    /// are too few.
    fn refused_of(&self, requests: u64, accepts: u64) -> Option<u32> {
        if requests < u64::from(self.throttle.minimum_requests()) {
            return None;
        }
        let excess = requests.saturating_sub(self.throttle.multiple().of(accepts));
        let chance = excess
            .saturating_mul(MILLION.into())
            .checked_div(requests.saturating_add(1))?;
        Some(u32::try_from(chance).unwrap_or(MILLION))
    }

    /// Tells whether it only observes, see [`AdaptiveThrottle::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.observing.load() != 0
    }

    /// Counts as ever but refuses nothing, until [`AdaptiveThrottle::reset`].
    ///
    /// What it would have refused counts as refused, whatever becomes of it, so
    /// that it decides as it would have.
    pub fn observe(&self) {
        self.observing.store(1);
    }

    /// Forgets everything, and ends manual control.
    pub fn reset(&self) {
        self.observing.store(0);
        self.window.clear();
    }
}

/// A request that may be sent; dropping it says nothing.
///
/// ```
/// use steadfast_core::{AdaptiveThrottle, Criticality, Instant, Throttle, Verdict};
///
/// static API: AdaptiveThrottle = AdaptiveThrottle::new(Throttle::DEFAULT);
///
/// let ticket = API.admit(Instant::ZERO, Criticality::Critical, 0).unwrap();
/// assert!(!ticket.is_observed());
/// ticket.settle(Verdict::OK);
/// ```
#[derive(Debug)]
#[must_use = "a ticket that is dropped counts as nothing"]
pub struct Ticket<'t, M: Memory = Shared> {
    throttle: &'t AdaptiveThrottle<M>,
    /// None when it is not counted.
    slice: Option<Slice>,
    is_observed: bool,
}

impl<M: Memory> Ticket<'_, M> {
    /// Tells whether it would have been refused by a throttle that does not only
    /// observe.
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        self.is_observed
    }

    /// Tells what became of the request.
    ///
    /// The dependency took it if it is fine or permanently wrong; it did not if it
    /// failed for now or was throttled. What this process refused by itself was no
    /// request.
    pub fn settle(self, verdict: Verdict) {
        if verdict.is_self_imposed() {
            return;
        }
        match verdict.kind() {
            Kind::Ok | Kind::Permanent => self.close(Tally::accepted),
            Kind::Transient | Kind::Throttled => self.close(Tally::turned_away),
        }
        core::mem::forget(self);
    }

    fn close(&self, close: fn(Tally) -> Option<u64>) {
        if let Some(slice) = self.slice {
            let window = &self.throttle.window;
            let _closed = window.update(slice, |tally| close(Tally(tally)));
        }
    }
}

impl<M: Memory> Drop for Ticket<'_, M> {
    fn drop(&mut self) {
        self.close(Tally::withdrawn);
    }
}

/// What became of the requests of a slice.
///
/// From the lowest bit: requests 20, accepts 20, open 20. No change lets one
/// field run over into the next.
#[derive(Clone, Copy)]
struct Tally(u64);

impl Tally {
    const REQUEST: u64 = 1;
    const ACCEPT: u64 = 1 << 20;
    const OPEN: u64 = 1 << 40;
    const FIELD: u64 = (1 << 20) - 1;

    const fn requests(self) -> u64 {
        self.0 & Self::FIELD
    }

    const fn accepts(self) -> u64 {
        self.0 >> 20 & Self::FIELD
    }

    const fn open(self) -> u64 {
        self.0 >> 40 & Self::FIELD
    }

    /// Counts a request that goes out; none when the slice is full.
    fn sent(self) -> Option<u64> {
        self.refused()?.checked_add(Self::OPEN)
    }

    /// Counts a request that does not.
    fn refused(self) -> Option<u64> {
        (self.requests() < Self::FIELD).then(|| self.0.saturating_add(Self::REQUEST))
    }

    fn accepted(self) -> Option<u64> {
        self.turned_away()?.checked_add(Self::ACCEPT)
    }

    fn turned_away(self) -> Option<u64> {
        (self.open() > 0).then(|| self.0.saturating_sub(Self::OPEN))
    }

    fn withdrawn(self) -> Option<u64> {
        self.turned_away()?.checked_sub(Self::REQUEST)
    }
}

/// Returns the chance, in parts per million, for work of this kind.
fn ordered(chance: u32, criticality: Criticality) -> u32 {
    let both = Ratio::ppm(chance).of(chance.into());
    let both = u32::try_from(both).unwrap_or(MILLION);
    // What the second of two draws adds.
    let more = chance.saturating_sub(both);
    match criticality {
        Criticality::Sheddable => chance.saturating_add(more),
        Criticality::SheddablePlus => chance.saturating_add(more / 2),
        Criticality::Critical => chance,
        Criticality::CriticalPlus => both,
    }
}

const MILLION: u32 = Ratio::ONE.as_ppm();

/// How finely the window slides.
const TENTHS: usize = 10;

/// How many slices, the current one included, are new.
///
/// An open request of theirs may yet be answered, so it does not raise the
/// chance. And alone they may lower it: what is sent grows by a tenth in the time
/// that is looked at, and over a whole window that is six minutes until all goes
/// through again. There open requests do count, or one that takes some at once
/// and lets the rest hang would look well.
const NEWEST: usize = 2;

#[cfg(test)]
mod tests;
