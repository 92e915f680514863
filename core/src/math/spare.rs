//! One spare token that comes back by time alone, ever later.
//!
//! The word holds when a token was last given out, in units of 64 ns, and how
//! often the wait doubled since a success. Zero is "never": the wait has not begun.

use core::time::Duration;

use crate::memory::{Memory, Shared, Word};
use crate::time::{Instant, nanos};

/// A spare token, for when there is no other.
///
/// It is there when some token was given out, and then none for a while. When
/// nothing has succeeded since, it takes twice that while, and twice as long
/// again each time the spare is taken. So two are never closer than a while, and
/// while nothing succeeds, they come at 2, 6, 14, 30 whiles.
///
/// A clock that steps back by less than the wait lengthens it by as much; one
/// that steps back further ends it.
#[derive(Debug)]
pub(crate) struct Spare<M: Memory = Shared> {
    /// The first wait, in nanoseconds.
    every: u64,
    word: M::U64,
}

impl<M: Memory> Spare<M> {
    /// Makes a spare that comes back after `every`, rounded up to 64 ns.
    pub(crate) const fn new(every: Duration) -> Self {
        Self {
            every: match nanos(every).checked_next_multiple_of(UNIT) {
                Some(every) => every,
                None => TIME_MASK,
            },
            word: M::U64::ZERO,
        }
    }

    /// Takes the spare, if it is there; then it is away for twice as long.
    ///
    /// Tries once: who loses has lost it to another.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let word = self.word.load();
        self.left(word, now).is_zero()
            && self
                .word
                .compare_exchange(word, given(now, doublings(word).saturating_add(1)))
                .is_ok()
    }

    /// Starts the wait anew: another token was given out.
    ///
    /// Tries once: who loses leaves it to a time as late.
    pub(crate) fn restart(&self, now: Instant) {
        let word = self.word.load();
        let next = given(now, doublings(word).max(1));
        if next > word || self.left(word, now).is_zero() {
            let _ = self.word.compare_exchange(word, next);
        }
    }

    /// Makes the wait short again: something succeeded.
    pub(crate) fn shorten(&self) {
        let word = self.word.load();
        if doublings(word) > 0 {
            let _ = self
                .word
                .compare_exchange(word, word & TIME_MASK | FIRST_WAIT);
        }
    }

    /// Returns the time until the spare is there.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.left(self.word.load(), now)
    }

    /// Forgets everything: the wait has not begun.
    pub(crate) fn clear(&self) {
        self.word.store(0);
    }

    fn left(&self, word: u64, now: Instant) -> Duration {
        if word == 0 {
            return Duration::from_nanos(self.every);
        }
        let (now, then) = (now.as_nanos() & TIME_MASK, word & TIME_MASK);
        let wait = self
            .every
            .saturating_mul(1_u64.checked_shl(doublings(word)).unwrap_or(u64::MAX));
        let left = match then.checked_sub(now) {
            Some(back) if back >= wait => 0,
            Some(back) => wait.saturating_add(back),
            None => wait.saturating_sub(now.saturating_sub(then)),
        };
        Duration::from_nanos(left)
    }
}

/// Nanoseconds that the word leaves out, to have room for the doublings.
const UNIT: u64 = 64;
const TIME_MASK: u64 = !(UNIT - 1);

/// What stands in that room: the doublings and one, so that a word that was
/// written is never zero.
const FIRST_WAIT: u64 = 1;
/// A second doubled that often is 35 000 years.
const MOST_DOUBLINGS: u32 = 40;

const fn given(now: Instant, doublings: u32) -> u64 {
    let doublings = if doublings > MOST_DOUBLINGS {
        MOST_DOUBLINGS
    } else {
        doublings
    };
    now.as_nanos() & TIME_MASK | FIRST_WAIT.saturating_add(doublings as u64)
}

const fn doublings(word: u64) -> u32 {
    (word & !TIME_MASK).saturating_sub(FIRST_WAIT) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use proptest::prelude::*;

    const EVERY: Duration = Duration::from_secs(30);

    fn spare() -> Spare<Local> {
        Spare::new(EVERY)
    }

    fn begun() -> Spare<Local> {
        let spare = spare();
        spare.restart(at(0));
        spare
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    /// Returns the seconds of 0 to `end` at which one is taken.
    fn taken(spare: &Spare<Local>, end: u64) -> Vec<u64> {
        (0..=end).filter(|second| spare.take(at(*second))).collect()
    }

    #[test]
    fn a_spare_follows_another_token() {
        for now in [Instant::ZERO, at(77), Instant::MAX] {
            assert!(!spare().take(now));
            assert_eq!(spare().wait(now), EVERY);
        }
        assert_eq!(taken(&Spare::new(Duration::MAX), 1_000), []);
    }

    #[test]
    fn each_wait_is_twice_as_long() {
        assert_eq!(taken(&begun(), 1_000), [60, 180, 420, 900]);
    }

    #[test]
    fn a_success_shortens_the_wait() {
        let spare = begun();
        spare.shorten();
        assert_eq!(taken(&spare, 100), [30, 90]);
        spare.shorten();
        assert!(!spare.take(at(119)));
        assert!(spare.take(at(120)));
    }

    #[test]
    fn another_token_starts_the_wait_anew() {
        let spare = spare();
        spare.restart(at(10));
        spare.shorten();
        assert_eq!(spare.wait(at(20)), Duration::from_secs(20));
        spare.restart(at(5));
        assert_eq!(spare.wait(at(20)), Duration::from_secs(20));
        assert!(!spare.take(at(39)));
        assert!(spare.take(at(40)));
    }

    #[test]
    fn a_step_back_costs_or_gives_one() {
        let spare = spare();
        spare.restart(at(1_000));
        spare.shorten();
        assert_eq!(spare.wait(at(980)), Duration::from_secs(50));
        assert!(!spare.take(at(971)));
        assert!(spare.take(at(970)));
        assert!(!spare.take(at(1_000)));
        spare.shorten();
        spare.restart(at(100));
        assert_eq!(spare.wait(at(100)), 2 * EVERY);
    }

    #[test]
    fn a_clock_that_stands_gives_none() {
        let spare = begun();
        let funded = |now| {
            (0..100)
                .filter(|_| {
                    spare.shorten();
                    spare.take(at(now))
                })
                .count()
        };
        assert_eq!(funded(0), 0);
        assert_eq!(funded(500), 1);
    }

    proptest! {
        // B2
        #[test]
        fn spares_are_a_while_apart(steps in proptest::collection::vec((0..40_u64, any::<bool>()), 1..300)) {
            let spare = begun();
            let (mut now, mut funded) = (0, 0);
            for &(step, succeeds) in &steps {
                now += step;
                funded += u64::from(spare.take(at(now)));
                if succeeds {
                    spare.shorten();
                }
            }
            prop_assert!(funded <= now / 30);
        }

        // B2
        #[test]
        fn without_success_spares_are_few(steps in proptest::collection::vec(0..400_u64, 1..300)) {
            let spare = begun();
            let (mut now, mut funded) = (0, 0);
            for step in steps {
                now += step;
                funded += u32::from(spare.take(at(now)));
            }
            prop_assert!(funded <= (1 + now / 30).ilog2());
        }

        // B5
        #[test]
        fn a_wait_is_kept(start in 0..u64::MAX / 4, every in 0..u64::MAX / 8, into: u64) {
            let spare = Spare::<Local>::new(Duration::from_nanos(every));
            spare.restart(Instant::from_nanos(start));
            let now = Instant::from_nanos(start + into % (every + 1));
            prop_assert!(spare.take(now.saturating_add(spare.wait(now))));
        }

        #[test]
        fn nothing_panics(every: u64, ops in proptest::collection::vec((0..4, any::<u64>()), 0..90)) {
            let spare = Spare::<Local>::new(Duration::from_nanos(every));
            for (op, now) in ops {
                let now = Instant::from_nanos(now);
                match op {
                    0 => spare.restart(now),
                    1 => spare.shorten(),
                    2 => drop(spare.wait(now)),
                    _ => drop(spare.take(now)),
                }
            }
        }
    }
}
