//! The one word a circuit breaker turns on.

use crate::breaker_state::BreakerState;

/// State, counts and generation of a breaker, packed for compare-and-swap.
///
/// From the low bit: successes 8, in flight 8, opens 6, state 3, busy 1,
/// observed 1, generation 37. All zero is closed, and only a closed breaker
/// that is not busy has zero in [`Control::BARRIER`], so admission in health is
/// one load and one test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Control(pub(super) u64);

/// The code of each state; zero is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Closed,
    Open,
    HalfOpen,
    Isolated,
    Disabled,
}

const BYTE: u64 = 0xFF;
const FLIGHT: u32 = 8;
const OPENS: u32 = 16;
const MOST_OPENS: u64 = 0x3F;
const STAGE: u32 = 22;
const STAGE_MASK: u64 = 0b111;
const BUSY: u64 = 1 << 25;
const OBSERVED: u64 = 1 << 26;
const GENERATION: u32 = 27;

impl Control {
    /// The bits that are zero exactly when everything may pass.
    const BARRIER: u64 = BUSY | (STAGE_MASK << STAGE);

    /// A word that no live breaker takes for its own.
    pub(super) const STRANGER: Self = Self((Stage::Disabled as u64) << STAGE);

    pub(super) const fn passes(self) -> bool {
        self.0 & Self::BARRIER == 0
    }

    pub(super) const fn stage(self) -> Stage {
        match (self.0 >> STAGE) & STAGE_MASK {
            0 => Stage::Closed,
            1 => Stage::Open,
            2 => Stage::HalfOpen,
            3 => Stage::Isolated,
            _ => Stage::Disabled,
        }
    }

    pub(super) const fn state(self) -> BreakerState {
        match self.stage() {
            Stage::Closed => BreakerState::Closed,
            Stage::Open => BreakerState::Open,
            Stage::HalfOpen => BreakerState::HalfOpen,
            Stage::Isolated => BreakerState::Isolated,
            Stage::Disabled => BreakerState::Disabled,
        }
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

    /// The same word with nobody preparing the next one.
    pub(super) const fn idle(self) -> Self {
        Self(self.0 & !BUSY)
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

    /// The next generation, at another stage: nothing in flight, not busy.
    pub(super) const fn turned(self, stage: Stage) -> Self {
        let kept = self.0 & (OBSERVED | (MOST_OPENS << OPENS));
        let generation = (self.0 >> GENERATION).wrapping_add(1) << GENERATION;
        Self(generation | kept | ((stage as u64) << STAGE))
    }

    pub(super) const fn with_one_more_open(self) -> Self {
        if self.opens() as u64 == MOST_OPENS {
            self
        } else {
            Self(self.0.wrapping_add(1 << OPENS))
        }
    }

    pub(super) const fn without_opens(self) -> Self {
        Self(self.0 & !(MOST_OPENS << OPENS))
    }

    pub(super) const fn with_one_more_in_flight(self) -> Self {
        Self(self.0.wrapping_add(1 << FLIGHT))
    }

    pub(super) const fn with_one_less_in_flight(self) -> Self {
        if self.in_flight() == 0 {
            self
        } else {
            Self(self.0.wrapping_sub(1 << FLIGHT))
        }
    }

    pub(super) const fn with_one_more_success(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}
