//! A ring of time slices, each one word that is changed as a whole.
//!
//! A word carries a tag that a rotation changes, so whoever remembers a slice
//! can tell that it has been vacated since. A change is a compare-and-swap, a
//! rotation drains by swap: what was counted is drained once, and what comes
//! late finds another tag. Nobody waits: who finds a rotation under way goes on
//! with the old slice.

use core::time::Duration;

use crate::math::slices::Slices;
use crate::memory::{Memory, Word};
use crate::time::Instant;

/// Words of 60 bits over the last `S` slices of time.
///
/// Covers between `(S - 1) / S` of the window and all of it.
#[derive(Debug)]
pub(crate) struct Ring<M: Memory, const S: usize> {
    slices: Slices,
    /// The end of the current slice, in nanoseconds; zero to start over.
    end: M::U64,
    /// The current slice, counted from the first one ever.
    current: M::U32,
    rotating: M::U32,
    words: [M::U64; S],
}

/// One slice of a ring, also after it was vacated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice(u32);

impl<M: Memory, const S: usize> Ring<M, S> {
    /// Makes an empty ring; each slice is at least 1 ns long.
    pub(crate) const fn new(window: Duration) -> Self {
        const { assert!(S > 0 && S < 256, "a ring has from 1 to 255 slices") };
        Self {
            slices: Slices::new(window, S),
            end: M::U64::ZERO,
            current: M::U32::ZERO,
            rotating: M::U32::ZERO,
            words: [const { M::U64::ZERO }; S],
        }
    }

    /// Moves the ring to `now`; returns the sum of what was vacated, wrapping.
    #[must_use]
    pub(crate) fn advance(&self, now: Instant) -> u64 {
        if self.slices.is_over(now.as_nanos(), self.end.load()) {
            self.rotate(now)
        } else {
            0
        }
    }

    /// Returns the current slice.
    pub(crate) fn current(&self) -> Slice {
        Slice(self.current.load())
    }

    /// Changes the word of a slice, unless that was vacated or `change` has
    /// nothing to write.
    pub(crate) fn update(&self, at: Slice, change: impl Fn(u64) -> Option<u64>) -> bool {
        let Some(word) = self.words.get(at.slot::<S>()) else {
            return false;
        };
        let mut held = word.load();
        loop {
            if held >> PAYLOAD_BITS != at.tag::<S>() {
                return false;
            }
            let Some(payload) = change(held & PAYLOAD) else {
                return false;
            };
            let next = held & !PAYLOAD | payload & PAYLOAD;
            match word.compare_exchange(held, next) {
                Ok(_) => return true,
                Err(other) => held = other,
            }
        }
    }

    /// Returns the words, the current slice first, then from young to old.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> {
        let mut at = self.current().slot::<S>();
        self.words.iter().map(move |_| {
            let word = self.words.get(at).map_or(0, Word::load);
            at = at.checked_sub(1).unwrap_or(const { S.saturating_sub(1) });
            word & PAYLOAD
        })
    }

    /// Returns when the slice that is so much older than the current one is
    /// vacated.
    pub(crate) fn vacated_at(&self, age: usize) -> Instant {
        let left = S.saturating_sub(1).saturating_sub(age) as u64;
        let left = self.slices.length().saturating_mul(left);
        Instant::from_nanos(self.end.load()).saturating_add(Duration::from_nanos(left))
    }

    /// Vacates every slice when the ring is next moved.
    pub(crate) fn clear(&self) {
        // A rotation that is under way finds its end exchanged and leaves it so.
        self.end.store(0);
    }

    /// Tells whether [`Ring::clear`] waits for the ring to be moved, or nothing
    /// was ever counted.
    pub(crate) fn is_cleared(&self) -> bool {
        self.end.load() == 0
    }

    #[cold]
    fn rotate(&self, now: Instant) -> u64 {
        if self.rotating.compare_exchange(0, 1).is_err() {
            return 0;
        }
        let end = self.end.load();
        let mut turn = self.slices.turn(now.as_nanos(), end, S);
        if end == 0 {
            turn.steps = S;
            turn.end = turn.end.max(1);
        }
        let mut at = self.current();
        let mut vacated = 0_u64;
        for _ in 0..turn.steps {
            at = Slice(at.0.wrapping_add(1));
            if let Some(word) = self.words.get(at.slot::<S>()) {
                let held = word.swap(at.tag::<S>() << PAYLOAD_BITS);
                vacated = vacated.wrapping_add(held & PAYLOAD);
            }
        }
        self.current.store(at.0);
        let _cleared_meanwhile = self.end.compare_exchange(end, turn.end);
        self.rotating.store(0);
        vacated
    }
}

impl Slice {
    fn slot<const S: usize>(self) -> usize {
        (self.0 as usize).checked_rem(S).unwrap_or(0)
    }

    /// Returns what tells apart the slices that share a place.
    fn tag<const S: usize>(self) -> u64 {
        (self.0 as usize).checked_div(S).unwrap_or(0) as u64 & (u64::MAX >> PAYLOAD_BITS)
    }
}

const PAYLOAD_BITS: u32 = 60;
const PAYLOAD: u64 = (1 << PAYLOAD_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use proptest::prelude::*;

    type Four = Ring<Local, 4>;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn add(ring: &Four, now: u64) -> Slice {
        let _vacated = ring.advance(at(now));
        let slice = ring.current();
        assert!(ring.update(slice, |sum| Some(sum + 1)));
        slice
    }

    #[test]
    fn a_slice_is_vacated_once() {
        let ring = Four::new(Duration::from_nanos(40));
        let first = add(&ring, 5);
        add(&ring, 15);
        assert_eq!(ring.payloads().collect::<Vec<_>>(), [1, 1, 0, 0]);
        assert_eq!(ring.vacated_at(1), at(40));
        assert_eq!(ring.advance(at(39)), 0);
        assert!(ring.update(first, |sum| Some(sum + 1)));
        assert_eq!(ring.advance(at(40)), 2);
        assert!(!ring.update(first, Some));
        assert_eq!(ring.payloads().sum::<u64>(), 1);
    }

    #[test]
    fn clearing_vacates_everything() {
        let ring = Four::new(Duration::from_nanos(40));
        let first = add(&ring, 5);
        add(&ring, 25);
        ring.clear();
        assert!(ring.is_cleared());
        assert_eq!(ring.advance(at(26)), 2);
        assert!(!ring.update(first, Some));
        assert_eq!(ring.payloads().sum::<u64>(), 0);
        assert!(!ring.is_cleared());
    }

    #[test]
    fn a_change_of_nothing_changes_nothing() {
        let ring = Four::new(Duration::from_nanos(40));
        let slice = add(&ring, 5);
        assert!(!ring.update(slice, |_| None));
        assert_eq!(ring.payloads().sum::<u64>(), 1);
    }

    proptest! {
        // T1, W1
        #[test]
        fn what_was_counted_is_vacated_once(times: Vec<u64>, near in proptest::collection::vec(0..100_u64, 0..100)) {
            let ring = Four::new(Duration::from_nanos(40));
            let (mut counted, mut vacated) = (0, 0);
            for now in times.into_iter().chain(near) {
                vacated += ring.advance(at(now));
                counted += u64::from(ring.update(ring.current(), |sum| Some(sum + 1)));
                prop_assert_eq!(ring.payloads().sum::<u64>() + vacated, counted);
            }
        }
    }
}
