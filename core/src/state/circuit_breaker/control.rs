//! The one word a circuit breaker turns on.

use crate::breaker_state::BreakerState;

/// State, counts and generation of a breaker, packed for compare-and-swap.
///
/// From the low bit: successes 8, in flight 8, opens 6, state 3, busy 1,
/// observed 1, lease 4, generation 33. Every change of state begins another
/// generation, and its leases are counted from zero. All zero is closed, and
/// only a closed breaker that is not busy has zero in [`Control::BARRIER`], so
/// admission in health is one load and one test.
///
/// Sixteen leases on, a lease has the same number again. A probe that comes back
/// so late gives up the slot of another, and one probe more than allowed is on
/// its way until the next lease: sixteen hang by then anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Control(pub(super) u64);

const BYTE: u64 = 0xFF;
const FLIGHT: u32 = 8;
const OPENS: u32 = 16;
const MOST_OPENS: u64 = 0x3F;
const STATE: u32 = 22;
const STATE_MASK: u64 = 0b111;
const BUSY: u64 = 1 << 25;
const OBSERVED: u64 = 1 << 26;
const LEASE: u32 = 27;
const MOST_LEASES: u64 = 0xF;
const GENERATION: u32 = 31;

impl Control {
    /// The bits that are zero exactly when everything may pass.
    const BARRIER: u64 = BUSY | (STATE_MASK << STATE);

    /// A word that no live breaker takes for its own.
    pub(super) const STRANGER: Self = Self((BreakerState::Disabled as u64) << STATE);

    /// A stranger whose admission was against the rules: an observed breaker in
    /// this state refuses nothing.
    pub(super) const fn overruled(state: BreakerState) -> Self {
        Self(Self::STRANGER.0 | OBSERVED | state as u64)
    }

    /// The state of an [`overruled`](Self::overruled) word.
    pub(super) const fn overruled_in(self) -> Option<BreakerState> {
        if self.is_observed() && matches!(self.state(), BreakerState::Disabled) {
            Some(state_of(self.0 & BYTE))
        } else {
            None
        }
    }

    pub(super) const fn passes(self) -> bool {
        self.0 & Self::BARRIER == 0
    }

    pub(super) const fn state(self) -> BreakerState {
        state_of((self.0 >> STATE) & STATE_MASK)
    }

    pub(super) const fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// The same word while its winner prepares the next one.
    ///
    /// On a permit the same bit says that this admission half-opened.
    pub(super) const fn busy(self) -> Self {
        Self(self.0 | BUSY)
    }

    pub(super) const fn is_observed(self) -> bool {
        self.0 & OBSERVED != 0
    }

    pub(super) const fn observed(self) -> Self {
        Self(self.0 | OBSERVED)
    }

    pub(super) const fn unobserved(self) -> Self {
        Self(self.0 & !OBSERVED)
    }

    /// How often it opened without closing in between, at most 63.
    pub(super) const fn opens(self) -> u32 {
        ((self.0 >> OPENS) & MOST_OPENS) as u32
    }

    pub(super) const fn in_flight(self) -> u32 {
        ((self.0 >> FLIGHT) & BYTE) as u32
    }

    pub(super) const fn successes(self) -> u32 {
        (self.0 & BYTE) as u32
    }

    pub(super) const fn is_same_generation(self, other: Self) -> bool {
        self.0 >> GENERATION == other.0 >> GENERATION
    }

    pub(super) const fn is_same_lease(self, other: Self) -> bool {
        self.0 >> LEASE == other.0 >> LEASE
    }

    /// Tells whether nobody has begun or ended a transition in between, or taken
    /// away the slots.
    pub(super) const fn is_same_turn(self, other: Self) -> bool {
        self.is_same_lease(other) && self.is_busy() == other.is_busy()
    }

    /// The bits of the generation, in their place.
    pub(super) const fn generation_bits(self) -> u64 {
        self.0 >> GENERATION << GENERATION
    }

    /// The next generation, in another state: nothing in flight, not busy.
    pub(super) const fn turned(self, state: BreakerState) -> Self {
        let kept = self.0 & (OBSERVED | (MOST_OPENS << OPENS));
        let generation = (self.0 >> GENERATION).wrapping_add(1) << GENERATION;
        Self(generation | kept | ((state as u64) << STATE))
    }

    /// The next generation, with its first probe in flight.
    pub(super) const fn half_opened(self) -> Self {
        self.turned(BreakerState::HalfOpen)
            .with_one_more_in_flight()
    }

    /// The next generation, with the growth of the break forgotten.
    pub(super) const fn closed(self) -> Self {
        let next = self.turned(BreakerState::Closed);
        Self(next.0 & !(MOST_OPENS << OPENS))
    }

    pub(super) const fn with_one_more_open(self) -> Self {
        if self.opens() as u64 == MOST_OPENS {
            self
        } else {
            Self(self.0.wrapping_add(1 << OPENS))
        }
    }

    pub(super) const fn with_one_more_in_flight(self) -> Self {
        Self(self.0.wrapping_add(1 << FLIGHT))
    }

    /// Takes back the slot of the probe admitted at `seen`, if it still has one.
    pub(super) const fn with_slot_back(self, seen: Self) -> Self {
        if self.in_flight() == 0 || !self.is_same_lease(seen) {
            self
        } else {
            Self(self.0.wrapping_sub(1 << FLIGHT))
        }
    }

    /// The next lease: all slots are taken from the probes that hold them, and
    /// one goes to another. What the probes have shown is kept.
    pub(super) const fn leased_anew(self) -> Self {
        let lease = ((self.0 >> LEASE).wrapping_add(1) & MOST_LEASES) << LEASE;
        let kept = self.0 & !((MOST_LEASES << LEASE) | (BYTE << FLIGHT));
        Self(kept | lease).with_one_more_in_flight()
    }

    pub(super) const fn with_one_more_success(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The state of a number that `as` made of one.
const fn state_of(number: u64) -> BreakerState {
    match number {
        0 => BreakerState::Closed,
        1 => BreakerState::Open,
        2 => BreakerState::HalfOpen,
        3 => BreakerState::Recovering,
        4 => BreakerState::Isolated,
        _ => BreakerState::Disabled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Control = Control(0);

    #[test]
    fn every_state_survives_packing() {
        for state in [
            BreakerState::Closed,
            BreakerState::Open,
            BreakerState::HalfOpen,
            BreakerState::Recovering,
            BreakerState::Isolated,
            BreakerState::Disabled,
        ] {
            let word = START.turned(state);
            assert_eq!(word.state(), state);
            assert_eq!(word.passes(), state == BreakerState::Closed);
            assert!(!word.busy().passes());
            assert!(!word.is_same_generation(START));
            assert_eq!(word.overruled_in(), None);
            assert_eq!(Control::overruled(state).overruled_in(), Some(state));
            assert_eq!(Control::overruled(state).state(), BreakerState::Disabled);
        }
    }

    #[test]
    fn a_stranger_was_not_overruled() {
        assert_eq!(Control::STRANGER.overruled_in(), None);
    }

    #[test]
    fn full_counts_touch_no_neighbour() {
        let mut word = START.turned(BreakerState::HalfOpen).observed();
        for _ in 0..255 {
            word = word.with_one_more_in_flight().with_one_more_success();
        }
        for _ in 0..100 {
            word = word.with_one_more_open();
        }
        assert_eq!(
            (word.in_flight(), word.successes(), word.opens()),
            (255, 255, 63)
        );
        assert_eq!(word.state(), BreakerState::HalfOpen);
        assert!(word.is_observed() && !word.is_busy());
        assert!(word.is_same_generation(START.turned(BreakerState::Open)));
    }

    #[test]
    fn a_lease_takes_the_slots_only() {
        let first = START
            .with_one_more_open()
            .observed()
            .half_opened()
            .with_one_more_in_flight()
            .with_one_more_success();
        let next = first.leased_anew();
        assert!(next.is_same_generation(first) && !next.is_same_lease(first));
        assert!(!next.is_same_turn(first));
        assert_eq!(
            (next.in_flight(), next.successes(), next.opens()),
            (1, 1, 1)
        );
        assert!(next.is_observed() && !next.is_busy());
        assert_eq!(next.state(), BreakerState::HalfOpen);
        assert!(next.with_slot_back(first) == next);
        assert_eq!(next.with_slot_back(next).in_flight(), 0);
        assert!(next.half_opened().is_same_lease(first.half_opened()));
    }

    #[test]
    fn leases_begin_again_after_the_last() {
        let first = START.half_opened();
        let mut word = first;
        for _ in 1..16 {
            word = word.leased_anew();
            assert!(word.is_same_generation(first) && !word.is_same_lease(first));
        }
        assert!(word.leased_anew() == first);
    }

    #[test]
    fn a_turn_keeps_growth_and_observation() {
        let word = START.with_one_more_open().observed().busy();
        let next = word.half_opened();
        assert_eq!(
            (next.opens(), next.in_flight(), next.successes()),
            (1, 1, 0)
        );
        assert!(next.is_observed() && !next.is_busy());
        assert_eq!(next.closed().opens(), 0);
    }

    #[test]
    fn generations_begin_again_after_the_last() {
        let last = Control(u64::MAX << GENERATION);
        assert!(last.turned(BreakerState::Open).is_same_generation(START));
    }
}
