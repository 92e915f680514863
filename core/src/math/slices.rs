//! How a ring of time slices moves on.

use core::time::Duration;

use crate::time::nanos;

/// The length of the slices of a ring.
///
/// The end of the current slice is the caller's; zero stands for a ring that
/// has not begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    /// In nanoseconds, at least 1, at most a quarter of all time.
    length: u64,
}

/// What a ring has to do to reach a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// How many slices to vacate and enter, at most all of the ring.
    pub(crate) steps: usize,
    /// The end of the slice that is then current.
    pub(crate) end: u64,
}

impl Slices {
    /// Divides a window; each slice is at least 1 ns long.
    pub(crate) const fn new(window: Duration, slices: usize) -> Self {
        let length = match nanos(window).checked_div(slices as u64) {
            None | Some(0) => 1,
            Some(length) => length,
        };
        let longest = u64::MAX / 4;
        Self {
            length: if length < longest { length } else { longest },
        }
    }

    /// Returns the length of a slice in nanoseconds.
    pub(crate) const fn length(self) -> u64 {
        self.length
    }

    /// Tells whether the slice is over, or its end lies too far ahead.
    ///
    /// An end more than two slices ahead stands for a clock that jumped and
    /// came back.
    pub(crate) const fn is_over(self, now: u64, end: u64) -> bool {
        // One comparison for both: no time left wraps to the largest numbers.
        end.wrapping_sub(now).wrapping_sub(1) >= self.length.wrapping_mul(2)
    }

    /// Returns how a ring of so many slices gets from `end` to `now`.
    pub(crate) const fn turn(self, now: u64, end: u64, slices: usize) -> Turn {
        if !self.is_over(now, end) {
            return Turn { steps: 0, end };
        }
        let older = self
            .length
            .saturating_mul((slices as u64).saturating_sub(1));
        let gap = now.saturating_sub(end);
        if now < end || gap >= older {
            return Turn {
                steps: if now < end { 0 } else { slices },
                end: now.saturating_add(self.length),
            };
        }
        // By addition: a division of 64 bits is dear on small chips.
        let mut turn = Turn { steps: 0, end };
        while turn.end <= now && turn.steps < slices {
            turn.steps = turn.steps.saturating_add(1);
            turn.end = turn.end.saturating_add(self.length);
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slices() -> impl Strategy<Value = Slices> {
        prop_oneof![any::<u64>(), 1..1_000_u64]
            .prop_map(|window| Slices::new(Duration::from_nanos(window), 4))
    }

    proptest! {
        #[test]
        fn a_turn_reaches_now(slices in slices(), now: u64, end: u64, near in -2_000..2_000_i64) {
            for now in [now, end.saturating_add_signed(near)] {
                let turn = slices.turn(now, end, 4);
                prop_assert!(turn.steps <= 4);
                prop_assert!(!slices.is_over(now, turn.end) || now > u64::MAX - slices.length());
                prop_assert_eq!(slices.turn(now, turn.end, 4).steps * usize::from(now != u64::MAX), 0);
            }
        }
    }

    #[test]
    fn slices_pass_one_by_one() {
        let slices = Slices::new(Duration::from_nanos(40), 4);
        let steps = [9, 10, 19, 20, 39, 40, 1_000].map(|now| slices.turn(now, 10, 4).steps);
        assert_eq!(steps, [0, 1, 1, 2, 3, 4, 4]);
        assert_eq!(slices.turn(25, 10, 4).end, 30);
        assert_eq!(slices.turn(1_000, 10, 4).end, 1_010);
    }

    #[test]
    fn an_end_far_ahead_is_pulled_back() {
        let slices = Slices::new(Duration::from_nanos(40), 4);
        assert!(!slices.is_over(0, 20));
        assert_eq!(slices.turn(0, 21, 4), Turn { steps: 0, end: 10 });
    }
}
