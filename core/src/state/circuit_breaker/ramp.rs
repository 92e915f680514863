//! Which share of the attempts a recovering breaker lets through.

use super::control::Control;
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Word};
use crate::policy::recovery::Recovery;

/// What a ramp owes those who ask, and what holds it down.
#[derive(Debug)]
pub(super) struct Ramp<M: Memory> {
    /// The sum of the shares asked for, in units of 2^-32: each time it overflows
    /// one attempt is due.
    credit: M::U32,
    /// A [`Cap`].
    cap: M::U64,
}

impl<M: Memory> Ramp<M> {
    pub(super) const fn new() -> Self {
        Self {
            credit: M::U32::ZERO,
            cap: M::U64::ZERO,
        }
    }

    /// Begins to count; the cap begins anew with every generation by itself.
    pub(super) fn start(&self) {
        self.credit.store(0);
    }

    /// Tells whether one more attempt is due at this share, which is below all.
    pub(super) fn is_due(&self, share: Ratio) -> bool {
        let share = u64::from(share.as_ppm()) << 32;
        // Rounded up, so that a share of a twentieth admits the twentieth.
        let share = share.div_ceil(Ratio::ONE.as_ppm().into());
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        self.credit.fetch_add(share).checked_add(share).is_none()
    }

    /// Returns the share that the successes of this generation allow.
    pub(super) fn cap(&self, word: Control) -> Ratio {
        self.held(word).1.share()
    }

    /// Counts a success: a slow one halves the share, `row` fast ones in a row
    /// raise it by the first share.
    ///
    /// `clock` tells what the clock allows, if the generation of `word` still
    /// lasts.
    pub(super) fn count(
        &self,
        word: Control,
        is_slow: bool,
        row: u32,
        recovery: Recovery,
        clock: impl Fn() -> Option<Ratio>,
    ) {
        loop {
            let (held, cap) = self.held(word);
            // After the cap: what is replaced is no later generation's.
            let Some(clock) = clock() else { return };
            let initial = recovery.initial().as_ppm();
            let next = if is_slow {
                let share = cap.share().min(clock).as_ppm() / 2;
                Cap::new(word, share.max(initial), 0)
            } else if cap.share() >= Ratio::ONE {
                // Nothing holds it down. In health nothing is written here.
                return;
            } else if cap.fast().saturating_add(1) < row {
                Cap::new(word, cap.share().as_ppm(), cap.fast().saturating_add(1))
            } else {
                Cap::new(word, cap.share().as_ppm().saturating_add(initial), 0)
            };
            if self.cap.compare_exchange(held, next.0).is_ok() {
                return;
            }
        }
    }

    /// Returns what the word holds, and the cap of this generation.
    fn held(&self, word: Control) -> (u64, Cap) {
        let held = self.cap.load();
        let cap = Cap(held);
        if cap.is_of(word) {
            (held, cap)
        } else {
            (held, Cap::new(word, Ratio::ONE.as_ppm(), 0))
        }
    }
}

/// The share that a generation allows, and its fast successes in a row.
///
/// From the low bit: the share 20, in parts per million; the successes 8; the
/// generation where a [`Control`] has it, so that no late outcome holds down a
/// later ramp.
#[derive(Clone, Copy)]
struct Cap(u64);

impl Cap {
    fn new(word: Control, share: u32, fast: u32) -> Self {
        let share = share.min(Ratio::ONE.as_ppm());
        let fast = fast.min(0xFF);
        Self(word.generation_bits() | u64::from(fast) << FAST | u64::from(share))
    }

    const fn is_of(self, word: Control) -> bool {
        word.is_same_generation(Control(self.0))
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the lower bits")]
    const fn share(self) -> Ratio {
        Ratio::ppm(self.0 as u32 & ((1 << FAST) - 1))
    }

    const fn fast(self) -> u32 {
        (self.0 >> FAST & 0xFF) as u32
    }
}

const FAST: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker_state::BreakerState;
    use crate::memory::Local;
    use proptest::prelude::*;
    use std::vec::Vec;

    const WORD: Control = Control(0).turned(BreakerState::Recovering);

    fn admitted(ppm: u32, asked: u32) -> Vec<u32> {
        let ramp = Ramp::<Local>::new();
        (1..=asked)
            .filter(|_| ramp.is_due(Ratio::ppm(ppm)))
            .collect()
    }

    // core-07.19
    #[test]
    fn shares_are_let_through_evenly() {
        assert_eq!(admitted(500_000, 8), [2, 4, 6, 8]);
        assert_eq!(admitted(250_000, 12), [4, 8, 12]);
        assert_eq!(admitted(50_000, 60), [20, 40, 60]);
        assert_eq!(admitted(999_999, 3), [2, 3]);
    }

    proptest! {
        // K7
        #[test]
        fn what_is_let_through_is_what_is_owed(
            shares in proptest::collection::vec(0..1_000_000_u32, 0..500),
        ) {
            let ramp = Ramp::<Local>::new();
            let (mut owed, mut through) = (0_u64, 0_u64);
            for ppm in shares {
                owed += u64::from(ppm);
                through += u64::from(ramp.is_due(Ratio::ppm(ppm)));
                prop_assert!((through * 1_000_000).abs_diff(owed) <= 1_000_000);
            }
        }
    }

    fn count(ramp: &Ramp<Local>, is_slow: bool, clock: u32) -> u32 {
        let clock = || Some(Ratio::ppm(clock));
        ramp.count(WORD, is_slow, 2, Recovery::DEFAULT, clock);
        ramp.cap(WORD).as_ppm()
    }

    // core-07.20
    #[test]
    fn slow_halves_and_fast_adds() {
        let ramp = Ramp::new();
        assert_eq!(ramp.cap(WORD), Ratio::ONE);
        assert_eq!(count(&ramp, true, 800_000), 400_000);
        assert_eq!(count(&ramp, false, 800_000), 400_000);
        assert_eq!(count(&ramp, false, 800_000), 450_000);
        // A slow one begins the row again.
        assert_eq!(count(&ramp, false, 900_000), 450_000);
        assert_eq!(count(&ramp, true, 900_000), 225_000);
        assert_eq!(count(&ramp, false, 900_000), 225_000);
        assert_eq!(count(&ramp, false, 900_000), 275_000);
        // Never below the first share, never above all.
        assert_eq!(count(&ramp, true, 60_000), 50_000);
        for _ in 0..100 {
            count(&ramp, false, 900_000);
        }
        assert_eq!(ramp.cap(WORD), Ratio::ONE);
    }

    #[test]
    fn no_other_generation_holds_it_down() {
        let ramp = Ramp::new();
        assert_eq!(count(&ramp, true, 800_000), 400_000);
        let later = WORD.turned(BreakerState::Recovering);
        assert_eq!(ramp.cap(later), Ratio::ONE);
        // Its ramp is over: nobody's clock runs.
        ramp.count(later, true, 2, Recovery::DEFAULT, || None);
        assert_eq!(ramp.cap(WORD), Ratio::ppm(400_000));
    }

    #[test]
    fn a_count_held_up_holds_down_no_later_ramp() {
        let ramp = Ramp::<Local>::new();
        let later = WORD.turned(BreakerState::Recovering);
        let turns = core::cell::Cell::new(0);
        ramp.count(WORD, true, 2, Recovery::DEFAULT, || {
            // The first time all is well, and then another ramp gets ahead.
            turns.set(turns.get() + 1);
            if turns.get() > 1 {
                return None;
            }
            let clock = || Some(Ratio::ppm(800_000));
            ramp.count(later, true, 2, Recovery::DEFAULT, clock);
            Some(Ratio::ppm(100_000))
        });
        assert_eq!(turns.get(), 2);
        assert_eq!(ramp.cap(later), Ratio::ppm(400_000));
    }
}
