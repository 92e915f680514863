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
pub(crate) struct Slice {
    place: u8,
    tag: u8,
}

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
        // A clock that lags by less than the window is late or stepped back a
        // little: moving the ring to it would vacate too early what comes then.
        let longest = self
            .slices
            .length()
            .saturating_mul(const { S.saturating_add(1) as u64 });
        let left = self.end.load().wrapping_sub(now.as_nanos());
        // One comparison for both: no time left wraps to the largest numbers.
        if left.wrapping_sub(1) >= longest {
            self.rotate(now)
        } else {
            0
        }
    }

    /// Changes the word of the current slice and returns that slice; none when
    /// `change` has nothing to write.
    pub(crate) fn count(&self, change: impl Fn(u64) -> Option<u64>) -> Option<Slice> {
        let place = Self::place(self.current.load());
        // Whatever its tag: in the middle of a rotation it is the coming one.
        let tag = swap_payload(self.words.get(place)?, |_| true, change)?;
        let place = u8::try_from(place).ok()?;
        Some(Slice { place, tag })
    }

    /// Changes the word of a slice, unless that was vacated or `change` has
    /// nothing to write.
    pub(crate) fn update(&self, at: Slice, change: impl Fn(u64) -> Option<u64>) -> bool {
        let word = self.words.get(usize::from(at.place));
        word.and_then(|word| swap_payload(word, |tag| tag == at.tag, change))
            .is_some()
    }

    /// Returns the words, the current slice first, then from young to old.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> {
        let mut at = Self::place(self.current.load());
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
        let mut at = self.current.load();
        let mut vacated = 0_u64;
        for _ in 0..turn.steps {
            at = at.wrapping_add(1);
            if let Some(word) = self.words.get(Self::place(at)) {
                let held = word.swap(Self::tag(at) << PAYLOAD_BITS);
                vacated = vacated.wrapping_add(held & PAYLOAD);
            }
        }
        self.current.store(at);
        let _cleared_meanwhile = self.end.compare_exchange(end, turn.end);
        self.rotating.store(0);
        vacated
    }

    fn place(slice: u32) -> usize {
        (slice as usize).checked_rem(S).unwrap_or(0)
    }

    /// Returns what tells apart the slices that share a place.
    fn tag(slice: u32) -> u64 {
        let round = (slice as usize).checked_div(S).unwrap_or(0) as u64;
        round & (u64::MAX >> PAYLOAD_BITS)
    }
}

/// Changes the payload of a word whose tag is wanted, and returns the tag.
fn swap_payload(
    word: &impl Word<u64>,
    is_wanted: impl Fn(u8) -> bool,
    change: impl Fn(u64) -> Option<u64>,
) -> Option<u8> {
    let mut held = word.load();
    loop {
        let tag = u8::try_from(held >> PAYLOAD_BITS).ok()?;
        if !is_wanted(tag) {
            return None;
        }
        let payload = change(held & PAYLOAD)?;
        match word.compare_exchange(held, held & !PAYLOAD | payload & PAYLOAD) {
            Ok(_) => return Some(tag),
            Err(other) => held = other,
        }
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
        ring.count(|sum| Some(sum + 1)).unwrap()
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
        assert_eq!(ring.advance(at(26)), 2);
        assert!(!ring.update(first, Some));
        assert_eq!(ring.payloads().sum::<u64>(), 0);
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
                counted += u64::from(ring.count(|sum| Some(sum + 1)).is_some());
                prop_assert_eq!(ring.payloads().sum::<u64>() + vacated, counted);
            }
        }
    }
}
