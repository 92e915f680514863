//! How many hedges may start, by how many of late have won.

use core::fmt;

use crate::math::ratio::Ratio;
use crate::math::rolling_counts::RollingCounts;
use crate::memory::{Memory, Word};
use crate::policy::hedge::WinRate;
use crate::time::Instant;

/// How many hedges may start, by how many of late have won.
///
/// A loop in the sense of control: at each quarter of the window it looks at the
/// window's hedges, and halves what it admits when too few won, or adds a
/// quarter. What it admits is counted out, not drawn: at a quarter every fourth.
pub(super) struct WinLoop<M: Memory> {
    law: Option<WinRate>,
    started: RollingCounts<M, QUARTERS>,
    won: RollingCounts<M, QUARTERS>,
    /// The end of the quarter that the last decision fell in; zero before any.
    decided: M::U64,
    /// What is admitted and what has been saved up of it, a [`Valve`].
    valve: M::U64,
}

impl<M: Memory> WinLoop<M> {
    pub(super) const fn new(law: Option<WinRate>) -> Self {
        let window = match law {
            Some(law) => law.window(),
            None => WinRate::DEFAULT.window(),
        };
        Self {
            law,
            started: RollingCounts::new(window),
            won: RollingCounts::new(window),
            decided: M::U64::ZERO,
            valve: M::U64::ZERO,
        }
    }

    /// Tells whether one more hedge may start.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let Some(law) = self.law else { return true };
        self.decide(now, &law);
        let mut seen = self.valve.load();
        loop {
            let (valve, admitted) = Valve::unpack(seen).asked();
            match self.valve.compare_exchange(seen, valve.pack()) {
                Ok(_) => return admitted,
                Err(other) => seen = other,
            }
        }
    }

    pub(super) fn start(&self, now: Instant) {
        if self.law.is_some() {
            self.started.record(now, false, false);
        }
    }

    pub(super) fn win(&self, now: Instant) {
        if self.law.is_some() {
            self.won.record(now, false, false);
        }
    }

    pub(super) fn reset(&self) {
        self.started.clear();
        self.won.clear();
        self.decided.store(0);
        self.valve.store(0);
    }

    /// Decides once a quarter, whoever comes first.
    fn decide(&self, now: Instant, law: &WinRate) {
        // First, as the end of the quarter is then never older.
        let last = self.decided.load();
        let started = self.started.totals(now).total();
        let end = self.started.end().as_nanos();
        if end == last || self.decided.compare_exchange(last, end).is_err() {
            return;
        }
        let won = self.won.totals(now).total();
        let quarters = match last {
            0 => 1,
            last => self.started.slices_between(last, end),
        };
        let mut seen = self.valve.load();
        loop {
            let valve = Valve::unpack(seen);
            let allowance = if started < u64::from(law.minimum_samples()) {
                valve.raised(quarters)
            } else if law.minimum().is_reached(won, started) {
                valve.raised(1)
            } else {
                valve.halved(law.minimum_allowance())
            };
            match self.valve.compare_exchange(seen, allowance.pack()) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }
}

impl<M: Memory> fmt::Debug for WinLoop<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WinLoop")
            .field("valve", &Valve::unpack(self.valve.load()))
            .finish_non_exhaustive()
    }
}

/// A decision looks at a whole window, and there are four to a window.
const QUARTERS: usize = 4;

const WHOLE: u32 = Ratio::ONE.as_ppm();

/// What share of hedges is admitted, in parts per million, and what was saved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Valve {
    allowance: u32,
    credit: u32,
}

impl Valve {
    /// Kept as what is missing, so that a word of zero admits everything.
    const fn unpack(word: u64) -> Self {
        Self {
            allowance: WHOLE.saturating_sub((word >> 32) as u32),
            #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
            credit: word as u32,
        }
    }

    const fn pack(self) -> u64 {
        ((WHOLE.saturating_sub(self.allowance) as u64) << 32) | self.credit as u64
    }

    const fn asked(self) -> (Self, bool) {
        let credit = self.credit.saturating_add(self.allowance);
        match credit.checked_sub(WHOLE) {
            Some(credit) => (Self { credit, ..self }, true),
            None => (Self { credit, ..self }, false),
        }
    }

    const fn raised(self, quarters: u64) -> Self {
        // Four quarters are all there is.
        let steps = if quarters > 4 { 4 } else { quarters };
        #[expect(clippy::cast_possible_truncation, reason = "at most four")]
        let more = (WHOLE / 4).saturating_mul(steps as u32);
        let allowance = self.allowance.saturating_add(more);
        Self {
            allowance: if allowance > WHOLE { WHOLE } else { allowance },
            ..self
        }
    }

    const fn halved(self, least: Ratio) -> Self {
        let half = self.allowance / 2;
        let least = least.as_ppm();
        Self {
            allowance: if half > least { half } else { least },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use core::time::Duration;
    use std::vec::Vec;

    type Loop = WinLoop<Local>;

    const LAW: WinRate = WinRate::DEFAULT;
    const QUARTER: Duration = Duration::from_secs(15);

    fn at(quarter: u32) -> Instant {
        Instant::from_nanos(1).saturating_add(QUARTER * quarter)
    }

    fn allowance(wins: &Loop) -> u32 {
        Valve::unpack(wins.valve.load()).allowance
    }

    fn race(wins: &Loop, now: Instant, started: u32, won: u32) {
        for _ in 0..started {
            wins.start(now);
        }
        for _ in 0..won {
            wins.win(now);
        }
    }

    /// Asks once in each quarter and returns what is then admitted.
    fn decisions(wins: &Loop, quarters: core::ops::Range<u32>, losses: u32) -> Vec<u32> {
        quarters
            .map(|quarter| {
                let _admitted = wins.admits(at(quarter));
                race(wins, at(quarter), losses, 0);
                allowance(wins)
            })
            .collect()
    }

    // core-08.16
    #[test]
    fn losing_halves_it_down_to_the_floor() {
        let wins = Loop::new(Some(LAW));
        let seen = decisions(&wins, 0..8, 12);
        let ppm = [
            1_000_000, 500_000, 250_000, 125_000, 62_500, 50_000, 50_000, 50_000,
        ];
        assert_eq!(seen, ppm);
    }

    // core-08.16
    #[test]
    fn evidence_lasts_three_decisions() {
        let wins = Loop::new(Some(LAW));
        let _first = decisions(&wins, 0..1, 12);
        let seen = decisions(&wins, 1..5, 0);
        assert_eq!(seen, [500_000, 250_000, 125_000, 375_000]);
    }

    // core-08.17
    #[test]
    fn idle_quarters_open_it_again() {
        let wins = Loop::new(Some(LAW));
        let _losing = decisions(&wins, 0..9, 12);
        assert_eq!(allowance(&wins), 50_000);
        assert!(wins.admits(at(13)));
        assert_eq!(allowance(&wins), WHOLE);
    }

    // core-08.18
    #[test]
    fn a_fifth_is_enough() {
        for (started, won, expected) in [(10, 2, WHOLE), (10, 1, 500_000), (9, 0, WHOLE)] {
            let wins = Loop::new(Some(LAW));
            let _first = wins.admits(at(0));
            race(&wins, at(0), started, won);
            let _second = wins.admits(at(1));
            assert_eq!(allowance(&wins), expected, "{won} of {started}");
        }
    }

    #[test]
    fn what_is_admitted_is_counted_out() {
        let wins = Loop::new(Some(LAW));
        let _losing = decisions(&wins, 0..3, 12);
        assert_eq!(allowance(&wins), 250_000);
        let admitted = (0..40).filter(|_| wins.admits(at(2))).count();
        assert_eq!(admitted, 10);
    }

    #[test]
    fn without_a_law_everything_is_admitted() {
        let wins = Loop::new(None);
        for quarter in 0..9 {
            race(&wins, at(quarter), 100, 0);
            assert!(wins.admits(at(quarter)));
        }
    }

    #[test]
    fn strange_clocks_are_borne() {
        let wins = Loop::new(Some(LAW));
        for now in [0, u64::MAX, 1, u64::MAX / 2, 0].map(Instant::from_nanos) {
            race(&wins, now, 20, 0);
            let _admitted = wins.admits(now);
        }
    }
}
