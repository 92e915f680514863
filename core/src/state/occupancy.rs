//! Whether a place is in use, so that it can be given to somebody else.

use crate::memory::{Memory, Shared, Word};

/// How many use a place that can be given to somebody else, in one word.
///
/// It changes hands only while nobody is in it, and nobody enters meanwhile. Nobody
/// waits either: whoever comes then is told.
///
/// ```
/// use steadfast_core::Occupancy;
///
/// static SEAT: Occupancy = Occupancy::new();
///
/// assert!(SEAT.enter());
/// assert!(!SEAT.close());
/// SEAT.leave();
/// // It was used, and is spared once for that.
/// assert!(SEAT.take_mark() && SEAT.close());
/// assert!(!SEAT.enter());
/// SEAT.open(0);
/// assert!(SEAT.enter());
/// ```
#[derive(Debug)]
pub struct Occupancy<M: Memory = Shared> {
    word: M::U32,
}

/// It changes hands.
const CLOSED: u32 = 1 << 31;
/// Somebody has entered since the mark was taken.
const MARK: u32 = 1 << 30;
const OCCUPANTS: u32 = MARK - 1;

impl<M: Memory> Occupancy<M> {
    /// Makes the occupancy of a place that is open and empty.
    #[must_use]
    pub const fn new() -> Self {
        Self { word: M::U32::ZERO }
    }

    /// Enters and marks it as used; false while it changes hands.
    #[must_use = "who has not entered must not leave"]
    pub fn enter(&self) -> bool {
        let mut word = self.word.load();
        loop {
            // As many as there can be are as good as a closed place: it is not wrapped.
            if word & CLOSED != 0 || word & OCCUPANTS == OCCUPANTS {
                return false;
            }
            match self
                .word
                .compare_exchange(word, word.saturating_add(1) | MARK)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Leaves; whoever has entered does so once.
    pub fn leave(&self) {
        self.word.fetch_sub(1);
    }

    /// Takes the mark away; true if there was one.
    pub fn take_mark(&self) -> bool {
        let mut word = self.word.load();
        while word & MARK != 0 {
            match self.word.compare_exchange(word, word & !MARK) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Closes it, so that it can change hands; false unless it is open, empty and
    /// not marked.
    #[must_use = "a closed place has to be opened again"]
    pub fn close(&self) -> bool {
        self.word.compare_exchange(0, CLOSED).is_ok()
    }

    /// Opens it again with so many in it; only for who has closed it.
    pub fn open(&self, occupants: u32) {
        self.word.store(occupants & OCCUPANTS);
    }

    /// Returns how many are in it; `None` while it changes hands.
    #[must_use]
    pub fn occupants(&self) -> Option<u32> {
        let word = self.word.load();
        (word & CLOSED == 0).then_some(word & OCCUPANTS)
    }
}

impl<M: Memory> Default for Occupancy<M> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;

    #[test]
    fn it_changes_hands_only_when_empty() {
        let seat: Occupancy<Local> = Occupancy::new();
        assert!(seat.enter() && seat.enter());
        seat.leave();
        assert!(seat.take_mark() && !seat.take_mark());
        assert!(!seat.close());
        seat.leave();
        assert!(seat.close() && !seat.close());
        assert!(!seat.enter() && !seat.take_mark());
        assert_eq!(seat.occupants(), None);
        seat.open(1);
        assert_eq!(seat.occupants(), Some(1));
        seat.leave();
        assert_eq!(seat.occupants(), Some(0));
    }

    #[test]
    fn who_was_used_is_not_closed_at_once() {
        let seat: Occupancy<Local> = Occupancy::new();
        assert!(seat.enter());
        seat.leave();
        assert!(!seat.close());
        assert!(seat.take_mark());
        assert!(seat.close());
    }

    #[test]
    fn a_full_count_does_not_wrap() {
        let seat: Occupancy<Local> = Occupancy::new();
        assert!(seat.close());
        seat.open(u32::MAX);
        assert!(!seat.enter());
        seat.leave();
        assert!(seat.enter());
    }
}
