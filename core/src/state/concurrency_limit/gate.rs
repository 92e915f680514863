//! The word that admissions look at.

use crate::policy::concurrency::Concurrency;

/// What is in flight, how much may be, and since when.
///
/// From the lowest bit: in flight 24, limit 24 (zero: the first one), epoch 14,
/// observed 1, stale 1. Every start and end of a probe and every reset begins
/// another epoch, so that a sample of a time before can be told. It comes around
/// after 16384, which takes days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gate(pub(super) u64);

impl Gate {
    /// One in flight.
    pub(super) const ONE: u64 = 1;

    pub(super) fn in_flight(self) -> u32 {
        self.field(0, COUNT)
    }

    /// Returns the limit; none for the first one.
    pub(super) fn limit(self) -> Option<u32> {
        match self.field(LIMIT_AT, COUNT) {
            0 => None,
            limit => Some(limit),
        }
    }

    pub(super) fn epoch(self) -> u32 {
        self.field(EPOCH_AT, EPOCH)
    }

    pub(super) const fn is_observed(self) -> bool {
        self.0 & OBSERVED != 0
    }

    /// Tells whether a reset waits for what was learnt to be forgotten.
    pub(super) const fn is_stale(self) -> bool {
        self.0 & STALE != 0
    }

    /// One more in flight; the caller has seen that there is room.
    pub(super) const fn entered(self) -> Self {
        Self(self.0.wrapping_add(Self::ONE))
    }

    pub(super) fn limited(self, limit: u32) -> Self {
        self.with(LIMIT_AT, COUNT, limit)
    }

    pub(super) fn next_epoch(self) -> Self {
        self.with(EPOCH_AT, EPOCH, self.epoch().wrapping_add(1))
    }

    pub(super) const fn observing(self) -> Self {
        Self(self.0 | OBSERVED)
    }

    pub(super) fn reset(self) -> Self {
        Self(self.0 & !OBSERVED | STALE).limited(0).next_epoch()
    }

    pub(super) const fn forgotten(self) -> Self {
        Self(self.0 & !STALE)
    }

    fn field(self, at: u32, mask: u64) -> u32 {
        u32::try_from(self.0.unbounded_shr(at) & mask).unwrap_or(0)
    }

    fn with(self, at: u32, mask: u64, value: u32) -> Self {
        let value = u64::from(value) & mask;
        Self(self.0 & !mask.unbounded_shl(at) | value.unbounded_shl(at))
    }
}

const COUNT: u64 = Concurrency::MOST as u64;
const LIMIT_AT: u32 = 24;
const EPOCH: u64 = (1 << 14) - 1;
const EPOCH_AT: u32 = 48;
const OBSERVED: u64 = 1 << 62;
const STALE: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_change_touches_its_field_only(word: u64, limit in 1..=Concurrency::MOST) {
            let gate = Gate(word);
            let limited = gate.limited(limit);
            prop_assert_eq!(limited.limit(), Some(limit));
            prop_assert_eq!(limited.limited(0).0, gate.limited(0).0);
            let next = gate.next_epoch();
            prop_assert_eq!(next.epoch(), (gate.epoch() + 1) % (1 << 14));
            prop_assert_eq!((next.in_flight(), next.limit()), (gate.in_flight(), gate.limit()));
            let reset = gate.observing().reset();
            prop_assert!(reset.is_stale() && !reset.is_observed() && !reset.forgotten().is_stale());
            prop_assert_eq!((reset.in_flight(), reset.limit()), (gate.in_flight(), None));
        }
    }
}
