//! The counts of a queue, in one word.

/// Places taken, waiters, grants on their way, and whether it is closed.
///
/// A grant is a place that is taken for whoever it reaches: a waiter that was
/// woken for it and has not run yet. While a place is free, every waiter has a
/// grant, so who comes then overtakes nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control(pub(super) u64);

/// What becomes of somebody who wants a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The place is taken.
    Taken,
    /// There is none yet.
    Wait,
    /// Too many wait.
    Full,
    Closed,
}

/// What becomes of a place that is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// It is free, or one too many.
    Free,
    /// It is granted: the first who waits is to be woken.
    Granted,
}

impl Control {
    const BITS: u32 = 21;
    const MASK: u64 = (1 << Self::BITS) - 1;
    const TAKEN: u64 = 1;
    const WAITING: u64 = 1 << Self::BITS;
    const GRANTED: u64 = 1 << (2 * Self::BITS);
    const CLOSED: u64 = 1 << (3 * Self::BITS);

    /// The most permits and the most waiters: with their grants they fit.
    pub(super) const MOST: u32 = (1 << (Self::BITS - 1)) - 1;

    const fn part(self, unit: u64) -> u32 {
        ((self.0 / unit) & Self::MASK) as u32
    }

    /// Places that somebody has or that are granted.
    const fn taken(self) -> u32 {
        self.part(Self::TAKEN)
    }

    const fn granted(self) -> u32 {
        self.part(Self::GRANTED)
    }

    /// Those who wait, woken or not.
    const fn registered(self) -> u32 {
        self.part(Self::WAITING)
    }

    /// Places that somebody has.
    pub(super) const fn in_use(self) -> u32 {
        self.taken().saturating_sub(self.granted())
    }

    /// Those who wait and have no grant yet.
    pub(super) const fn waiting(self) -> u32 {
        self.registered().saturating_sub(self.granted())
    }

    pub(super) const fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    /// Takes a place or begins to wait.
    pub(super) const fn enter(self, permits: u32, most: u32) -> (Self, Entry) {
        if self.is_closed() {
            (self, Entry::Closed)
        } else if self.taken() < permits && self.registered() <= self.granted() {
            (Self(self.0 + Self::TAKEN), Entry::Taken)
        } else if self.waiting() < most {
            (Self(self.0 + Self::WAITING), Entry::Wait)
        } else {
            (self, Entry::Full)
        }
    }

    /// Gives a place back.
    pub(super) const fn leave(self, permits: u32) -> (Self, Freed) {
        Self(self.0 - Self::TAKEN).grant(permits)
    }

    /// Gives a grant back that reached nobody who wants it.
    pub(super) const fn pass_on(self, permits: u32) -> (Self, Freed) {
        if self.is_closed() {
            // Nobody counts grants any more.
            (self, Freed::Free)
        } else {
            Self(self.0 - Self::GRANTED).leave(permits)
        }
    }

    /// Grants a place, if one is free and somebody waits for it.
    pub(super) const fn grant(self, permits: u32) -> (Self, Freed) {
        if self.taken() < permits && self.waiting() > 0 && !self.is_closed() {
            (Self(self.0 + Self::TAKEN + Self::GRANTED), Freed::Granted)
        } else {
            (self, Freed::Free)
        }
    }

    /// Ends the wait of somebody who was woken; taken, unless it is closed.
    pub(super) const fn arrive(self) -> (Self, Entry) {
        let left = Self(self.0 - Self::WAITING);
        if self.is_closed() {
            (left, Entry::Closed)
        } else {
            (Self(left.0 - Self::GRANTED), Entry::Taken)
        }
    }

    /// Ends the wait of somebody who goes without a place.
    pub(super) const fn give_up(self) -> Self {
        Self(self.0 - Self::WAITING)
    }

    pub(super) const fn close(self) -> Self {
        Self(self.0 | Self::CLOSED)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    const NEW: Control = Control(0);

    fn counts(word: Control) -> (u32, u32, u32) {
        (word.taken(), word.registered(), word.granted())
    }

    /// Every word that a queue of 2 places and 2 waiters can reach.
    fn reached() -> Vec<Control> {
        let mut found = vec![NEW];
        let mut seen = 0;
        while let Some(&word) = found.get(seen) {
            seen += 1;
            let mut next = vec![word.enter(2, 2).0, word.close()];
            if word.in_use() > 0 {
                next.push(word.leave(2).0);
            }
            if word.granted() > 0 {
                next.push(word.pass_on(2).0);
                if word.registered() > 0 {
                    next.push(word.arrive().0);
                }
            }
            if word.registered() > 0 {
                next.push(word.give_up());
                if word.is_closed() {
                    next.push(word.arrive().0);
                }
            }
            for word in next {
                if !found.contains(&word) {
                    found.push(word);
                }
            }
        }
        found
    }

    #[test]
    fn nobody_waits_while_a_place_is_free() {
        let words = reached();
        assert!(words.len() > 20);
        for word in words {
            let (taken, registered, granted) = counts(word);
            assert!(taken <= 2 && granted <= taken, "{word:?}");
            assert!(word.waiting() <= 2, "{word:?}");
            let is_stuck = taken < 2 && registered > granted && !word.is_closed();
            assert!(!is_stuck, "{word:?}");
        }
    }

    #[test]
    fn a_closed_word_takes_nobody() {
        for word in reached().into_iter().filter(|word| word.is_closed()) {
            assert_eq!(word.enter(2, 2), (word, Entry::Closed));
            assert!(word.in_use() == 0 || word.leave(2).0.in_use() < word.in_use());
        }
    }

    // core-09.15
    #[test]
    fn fewer_permits_take_no_place_away() {
        let word = Control(20 * Control::TAKEN + 9 * Control::WAITING);
        let (word, freed) = word.leave(18);
        assert_eq!((counts(word), freed), ((19, 9, 0), Freed::Free));
        let (word, freed) = word.leave(18);
        assert_eq!((counts(word), freed), ((18, 9, 0), Freed::Free));
        let (word, freed) = word.leave(18);
        assert_eq!((counts(word), freed), ((18, 9, 1), Freed::Granted));
        let (word, freed) = word.grant(20);
        assert_eq!((counts(word), freed), ((19, 9, 2), Freed::Granted));
    }

    #[test]
    fn the_largest_counts_fit() {
        let mut word = Control(u64::from(Control::MOST) * Control::TAKEN);
        word.0 += u64::from(Control::MOST) * Control::WAITING;
        assert_eq!(word.enter(Control::MOST, Control::MOST).1, Entry::Full);
        word.0 += u64::from(Control::MOST) * Control::GRANTED;
        let (word, entry) = word.enter(Control::MOST, Control::MOST);
        assert_eq!(entry, Entry::Wait);
        assert_eq!(
            counts(word),
            (Control::MOST, Control::MOST + 1, Control::MOST)
        );
        assert!(!word.is_closed());
    }
}
