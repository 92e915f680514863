//! Attempts that may take longer than the ceiling, to see what it cuts off.

use core::fmt;
use core::num::NonZeroU16;
use core::time::Duration;

use crate::memory::{Memory, Word};
use crate::time::nanos;

/// Attempts that may take longer than the ceiling, to see what it cuts off.
///
/// An attempt that the ceiling cuts might have succeeded a little later, or never.
/// The two want opposite things: a slow success must raise the ceiling, or it is
/// cut for ever; one that hangs must not, or the ceiling is gone when it is
/// needed. So after some cuts one attempt, a scout, gets four times the ceiling. If
/// it succeeds late it stands for all the cuts before it, and they count as
/// successes of its length; if it is cut, too, they were no successes, and the
/// next scout goes four times as far, after four times as many cuts. If it
/// succeeds in time it has seen nothing, and the next one goes.
pub(super) struct Scouts<M: Memory> {
    /// A [`Debt`].
    word: M::U32,
}

impl<M: Memory> Scouts<M> {
    pub(super) const fn new() -> Self {
        Self { word: M::U32::ZERO }
    }

    /// Counts a cut that nobody has looked into.
    pub(super) fn owe(&self) {
        self.change(|debt| debt.with_more(1));
    }

    /// Sends a scout, if enough has been cut.
    pub(super) fn send(&self) -> Option<Scout> {
        // In health this is one load.
        let seen = self.word.load();
        if seen == 0 {
            return None;
        }
        let debt = Debt(seen);
        if debt.cuts() < FIRST.unbounded_shl(debt.reach().saturating_mul(2)) {
            return None;
        }
        // Whoever loses the race is no scout.
        self.word.compare_exchange(seen, debt.cleared().0).ok()?;
        Scout::new(debt)
    }

    /// A scout has seen nothing: it came back in time, or failed by itself.
    pub(super) fn call_back(&self, scout: Scout) {
        self.change(|debt| debt.with_more(scout.cuts().into()));
    }

    /// A scout was cut as well: the next one goes farther.
    pub(super) fn lose(&self) {
        self.change(Debt::farther);
    }

    /// A scout has seen a late success.
    pub(super) fn find(&self) {
        self.change(Debt::near);
    }

    pub(super) fn reset(&self) {
        self.word.store(0);
    }

    fn change(&self, to: impl Fn(Debt) -> Debt) {
        let mut seen = self.word.load();
        while let Err(other) = self.word.compare_exchange(seen, to(Debt(seen)).0) {
            seen = other;
        }
    }
}

impl<M: Memory> fmt::Debug for Scouts<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let debt = Debt(self.word.load());
        f.debug_struct("Scouts")
            .field("cuts", &debt.cuts())
            .field("reach", &debt.reach())
            .finish()
    }
}

/// An attempt that may take longer than the ceiling, in two bytes: its reach, and
/// how many cuts it stands for, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scout(NonZeroU16);

impl Scout {
    const REACH: u32 = 14;
    const MOST: u16 = (1 << Self::REACH) - 1;

    fn new(debt: Debt) -> Option<Self> {
        let cuts = u16::try_from(debt.cuts()).unwrap_or(Self::MOST);
        let reach = u16::try_from(debt.reach()).unwrap_or(0);
        let word = reach.unbounded_shl(Self::REACH) | cuts.min(Self::MOST);
        NonZeroU16::new(word).map(Self)
    }

    /// How many cuts it stands for.
    pub(crate) const fn cuts(self) -> u16 {
        self.0.get() & Self::MOST
    }

    /// How long it may take where others have `ceiling`.
    pub(crate) const fn bound(self, ceiling: Duration) -> Duration {
        let reach = (self.0.get() as u32).unbounded_shr(Self::REACH);
        let times = 4_u64.unbounded_shl(reach.saturating_mul(2));
        Duration::from_nanos(nanos(ceiling).saturating_mul(times))
    }
}

/// How many cuts nobody has looked into, and how far the next scout goes.
#[derive(Clone, Copy)]
struct Debt(u32);

impl Debt {
    const REACH: u32 = 24;
    const MOST: u32 = (1 << Self::REACH) - 1;

    const fn cuts(self) -> u32 {
        self.0 & Self::MOST
    }

    const fn reach(self) -> u32 {
        self.0 >> Self::REACH
    }

    const fn of(cuts: u32, reach: u32) -> Self {
        let cuts = if cuts > Self::MOST { Self::MOST } else { cuts };
        Self(reach << Self::REACH | cuts)
    }

    const fn with_more(self, cuts: u32) -> Self {
        Self::of(self.cuts().saturating_add(cuts), self.reach())
    }

    const fn cleared(self) -> Self {
        Self::of(0, self.reach())
    }

    /// After the farthest it begins anew, for what is slow may come later.
    const fn farther(self) -> Self {
        let reach = self.reach().saturating_add(1);
        Self::of(self.cuts(), if reach > FARTHEST { 0 } else { reach })
    }

    const fn near(self) -> Self {
        Self::of(self.cuts(), 0)
    }
}

/// From how many cuts on the first scout goes.
///
/// A dependency of which a fifth hangs thus holds every 25th attempt for four
/// ceilings, every 100th for 16 and every 400th for 64.
const FIRST: u32 = 4;
/// The farthest reach: 256 ceilings.
const FARTHEST: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn owing(cuts: u32) -> Scouts<Local> {
        let scouts = Scouts::new();
        (0..cuts).for_each(|_| scouts.owe());
        scouts
    }

    #[test]
    fn four_cuts_send_one_scout() {
        assert_eq!(owing(3).send(), None);
        let scouts = owing(4);
        let scout = scouts.send().expect("four were cut");
        assert_eq!((scout.cuts(), scout.bound(ms(50))), (4, ms(200)));
        assert_eq!(scouts.send(), None);
    }

    #[test]
    fn one_that_saw_nothing_hands_on() {
        let scouts = owing(5);
        let scout = scouts.send().expect("five were cut");
        scouts.owe();
        scouts.call_back(scout);
        assert_eq!(scouts.send().map(Scout::cuts), Some(6));
    }

    #[test]
    fn one_that_is_lost_sends_the_next_farther_and_later() {
        let scouts = Scouts::<Local>::new();
        let mut seen = [(0, Duration::ZERO); 5];
        for seen in &mut seen {
            let scout = loop {
                if let Some(scout) = scouts.send() {
                    break scout;
                }
                scouts.owe();
            };
            scouts.lose();
            *seen = (scout.cuts(), scout.bound(ms(50)));
        }
        let expected = [(4, 200), (16, 800), (64, 3_200), (256, 12_800), (4, 200)];
        assert_eq!(seen, expected.map(|(cuts, bound)| (cuts, ms(bound))));
    }

    #[test]
    fn one_that_found_something_brings_the_next_back() {
        let scouts = owing(4);
        let _scout = scouts.send();
        scouts.lose();
        scouts.find();
        (0..4).for_each(|_| scouts.owe());
        let scout = scouts.send().expect("four were cut");
        assert_eq!(scout.bound(ms(50)), ms(200));
    }

    #[test]
    fn counts_and_bounds_saturate() {
        let scouts = Scouts::<Local>::new();
        for _ in 0..2_000 {
            let debt = Debt::of(Debt::MOST, 0);
            scouts.call_back(Scout::new(debt).expect("many were cut"));
        }
        let scout = scouts.send().expect("many were cut");
        assert_eq!(scout.cuts(), Scout::MOST);
        let longest = Duration::from_nanos(u64::MAX);
        assert_eq!(scout.bound(Duration::MAX), longest);
    }
}
