//! Counts of outcomes over a window that rolls slice by slice.
//!
//! A ring of slices; a record adds to the current one, a rotation moves on and
//! drains the oldest by a swap, so a record that races it is counted once,
//! either here or in what the rotation returns. Nobody waits: a thread that
//! finds a rotation under way records into the old slice.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::math::slices::Slices;
use crate::memory::{Memory, Shared, Word};
use crate::time::Instant;

/// Counts of calls, failures and slow calls over the last `S` slices.
///
/// Covers between `(S - 1) / S` of the window and all of it. A clock that steps
/// back stretches the current slice by at most one.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, RollingCounts};
///
/// static WINDOW: RollingCounts = RollingCounts::new(Duration::from_secs(30));
///
/// let now = Instant::from_nanos(5);
/// WINDOW.record(now, true, false);
/// WINDOW.record(now, false, true);
/// let counts = WINDOW.totals(now);
/// assert_eq!((counts.total(), counts.failures(), counts.slow()), (2, 1, 1));
///
/// let later = now.saturating_add(Duration::from_secs(30));
/// assert_eq!(WINDOW.totals(later).total(), 0);
/// ```
#[derive(Debug)]
pub struct RollingCounts<M: Memory = Shared, const S: usize = 10> {
    slices: Slices,
    /// The end of the current slice, in nanoseconds.
    end: M::U64,
    current: M::U32,
    rotating: M::U32,
    /// Failures in the upper half of a word, calls in the lower.
    outcomes: [M::U64; S],
    slow: [M::U32; S],
}

impl<M: Memory, const S: usize> RollingCounts<M, S> {
    /// Makes an empty window; each slice is at least 1 ns long.
    #[must_use]
    pub const fn new(window: Duration) -> Self {
        const { assert!(S > 0, "a window needs a slice") };
        Self {
            slices: Slices::new(window, S),
            end: M::U64::ZERO,
            current: M::U32::ZERO,
            rotating: M::U32::ZERO,
            outcomes: [const { M::U64::ZERO }; S],
            slow: [const { M::U32::ZERO }; S],
        }
    }

    /// Counts one call.
    pub fn record(&self, now: Instant, failed: bool, slow: bool) {
        let _expired = self.advance(now);
        self.add(failed, slow);
    }

    /// Counts one call in the current slice, whatever the time.
    pub(crate) fn add(&self, failed: bool, slow: bool) {
        let at = self.current.load() as usize;
        let (Some(outcomes), Some(slows)) = (self.outcomes.get(at), self.slow.get(at)) else {
            return;
        };
        if calls(outcomes.load()) >= FULL {
            return;
        }
        outcomes.fetch_add(if failed { CALL | FAILURE } else { CALL });
        if slow {
            slows.fetch_add(1);
        }
    }

    /// Returns the counts of the window that ends at `now`.
    #[must_use]
    pub fn totals(&self, now: Instant) -> Counts {
        let _expired = self.advance(now);
        self.sum()
    }

    /// Returns the counts of all slices, whatever the time.
    pub(crate) fn sum(&self) -> Counts {
        // Slow before calls, the reverse of a record: a call that is being
        // recorded is a call before it is slow.
        let slow: u64 = self.slow.iter().map(|word| u64::from(word.load())).sum();
        let mut sum = Counts::default();
        for word in &self.outcomes {
            sum = sum.plus(Counts::from_words(word.load(), 0));
        }
        Counts {
            slow: slow.min(sum.total),
            ..sum
        }
    }

    /// Moves the window to `now` and returns what fell out of it.
    ///
    /// [`RollingCounts::record`] and [`RollingCounts::totals`] do that by
    /// themselves and drop what fell out.
    #[must_use]
    pub fn advance(&self, now: Instant) -> Counts {
        if self.is_over(now) {
            self.rotate(now)
        } else {
            Counts::default()
        }
    }

    /// Counts in the slice of `at` what another window saw, and returns what
    /// fell out of this one.
    ///
    /// A slice that has no room for all of it takes none of it, so that the
    /// share of failures stays right.
    pub(crate) fn merge(&self, at: Instant, counts: Counts) -> Counts {
        let expired = self.advance(at);
        let at = self.current.load() as usize;
        let (Some(outcomes), Some(slows)) = (self.outcomes.get(at), self.slow.get(at)) else {
            return expired;
        };
        let mut held = outcomes.load();
        loop {
            let sum = Counts::from_words(held, 0).plus(counts);
            if sum.total > u64::from(FULL) {
                return expired;
            }
            match outcomes.compare_exchange(held, sum.failures << 32 | sum.total) {
                Ok(_) => break,
                Err(other) => held = other,
            }
        }
        slows.fetch_add(u32::try_from(counts.slow).unwrap_or(0));
        expired
    }

    /// Tells whether [`RollingCounts::advance`] has something to do.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.slices.is_over(now.as_nanos(), self.end.load())
    }

    /// Returns the end of the current slice, zero before the first.
    pub(crate) fn end(&self) -> Instant {
        Instant::from_nanos(self.end.load())
    }

    /// Returns how many slices lie between two ends.
    pub(crate) fn slices_between(&self, earlier: u64, later: u64) -> u64 {
        later
            .saturating_sub(earlier)
            .checked_div(self.slices.length())
            .unwrap_or(0)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let _forgotten = self.drain_all();
    }

    /// Moves on to the slice of `now`, unless another thread does.
    #[cold]
    fn rotate(&self, now: Instant) -> Counts {
        if self.rotating.compare_exchange(0, 1).is_err() {
            return Counts::default();
        }
        let turn = self.slices.turn(now.as_nanos(), self.end.load(), S);
        let mut at = self.current.load() as usize;
        let mut drained = Counts::default();
        for _ in 0..turn.steps {
            at = at.saturating_add(1);
            at = if at < S { at } else { 0 };
            drained = drained.plus(self.drain(at));
        }
        self.current.store(u32::try_from(at).unwrap_or(0));
        self.end.store(turn.end);
        self.rotating.store(0);
        drained
    }

    fn drain_all(&self) -> Counts {
        (0..S).fold(Counts::default(), |sum, at| sum.plus(self.drain(at)))
    }

    /// Empties one slice by swap, so that no racing record is lost or doubled.
    fn drain(&self, at: usize) -> Counts {
        let outcomes = self.outcomes.get(at).map_or(0, |word| word.swap(0));
        let slow = self.slow.get(at).map_or(0, |word| word.swap(0));
        Counts::from_words(outcomes, slow)
    }
}

/// What a window has seen.
///
/// ```
/// use steadfast_core::Counts;
///
/// assert_eq!(Counts::default().total(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    total: u64,
    failures: u64,
    slow: u64,
}

impl Counts {
    /// Returns the number of calls.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of failed calls.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// Returns the number of slow calls, failed or not.
    #[must_use]
    pub const fn slow(&self) -> u64 {
        self.slow
    }

    /// Returns the share of the calls that failed, rounded down; `None` without
    /// calls.
    #[must_use]
    pub fn failure_ratio(&self) -> Option<Ratio> {
        let millionths = u128::from(self.failures).saturating_mul(Ratio::ONE.as_ppm().into());
        let ppm = millionths.checked_div(self.total.into())?;
        Some(Ratio::ppm(u32::try_from(ppm).unwrap_or(u32::MAX)))
    }

    /// Returns the sum of both, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            total: self.total.saturating_add(other.total),
            failures: self.failures.saturating_add(other.failures),
            slow: self.slow.saturating_add(other.slow),
        }
    }

    fn from_words(outcomes: u64, slow: u32) -> Self {
        Self {
            total: calls(outcomes).into(),
            failures: outcomes >> 32,
            slow: slow.into(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
const fn calls(outcomes: u64) -> u32 {
    outcomes as u32
}

const CALL: u64 = 1;
const FAILURE: u64 = 1 << 32;

/// Where a slice stops counting, far enough from an overflow for every thread
/// that may have looked before it adds.
const FULL: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use proptest::prelude::*;
    use std::vec::Vec;

    type Window = RollingCounts<Local, 10>;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const WINDOW: Duration = Duration::from_secs(10);

    proptest! {
        // W1
        #[test]
        fn nothing_is_lost_or_doubled(
            calls in proptest::collection::vec((any::<bool>(), any::<bool>(), clock()), 0..200),
        ) {
            let window = Window::new(WINDOW);
            let (mut recorded, mut expired) = (Counts::default(), Counts::default());
            let mut last = Instant::ZERO;
            for (failed, slow, now) in calls {
                last = Instant::from_nanos(now);
                expired = expired.plus(window.advance(last));
                window.record(last, failed, slow);
                recorded = recorded.plus(Counts {
                    total: 1,
                    failures: failed.into(),
                    slow: slow.into(),
                });
            }
            expired = expired.plus(window.advance(last));
            prop_assert_eq!(window.totals(last).plus(expired), recorded);
        }

        // W2
        #[test]
        fn the_span_is_between_nine_tenths_and_all(
            steps in proptest::collection::vec(prop_oneof![8 => 0..2_000_u64, 1 => 0..30_000_u64], 1..200),
        ) {
            let window = Window::new(WINDOW);
            let mut seen = Vec::new();
            let mut now = 0;
            for step in steps {
                now += step;
                window.record(at(now), false, false);
                seen.push(now);
                let within = |ms| seen.iter().filter(|&&then| now - then < ms).count() as u64;
                let total = window.totals(at(now)).total();
                prop_assert!(total <= within(10_000), "{} of {:?}", total, seen);
                prop_assert!(total >= within(9_000), "{} of {:?}", total, seen);
            }
        }

        // T1
        #[test]
        fn no_clock_panics(window: u64, clocks in proptest::collection::vec(any::<u64>(), 0..50)) {
            let window = Window::new(Duration::from_nanos(window));
            for now in clocks {
                let now = Instant::from_nanos(now);
                window.record(now, true, true);
                let counts = window.totals(now);
                prop_assert!(counts.failures() <= counts.total());
                prop_assert!(counts.slow() <= counts.total());
            }
        }
    }

    fn clock() -> impl Strategy<Value = u64> {
        prop_oneof![
            8 => 0..60_000_000_000_u64,
            1 => any::<u64>(),
            1 => u64::MAX - 10..=u64::MAX,
        ]
    }

    #[test]
    fn each_kind_has_its_own_count() {
        let window = Window::new(WINDOW);
        window.record(at(0), true, true);
        window.record(at(1), true, false);
        window.record(at(2), false, false);
        let counts = window.totals(at(3));
        assert_eq!(
            (counts.total(), counts.failures(), counts.slow()),
            (3, 2, 1)
        );
    }

    #[test]
    fn slices_leave_one_by_one() {
        let window = Window::new(WINDOW);
        for second in 0..10 {
            window.record(at(second * 1_000), false, false);
        }
        let left = |ms| window.totals(at(ms)).total();
        assert_eq!(
            [9_999, 10_000, 10_999, 11_000, 18_999, 19_000].map(left),
            [10, 9, 9, 8, 1, 0]
        );
    }

    #[test]
    fn clearing_forgets_everything() {
        let window = Window::new(WINDOW);
        for second in 0..10 {
            window.record(at(second * 1_000), true, true);
        }
        window.clear();
        assert_eq!(window.totals(at(9_000)), Counts::default());
    }

    #[test]
    fn a_clock_that_jumped_heals() {
        let window = Window::new(WINDOW);
        window.record(at(1_000_000_000), true, false);
        for second in 0..20 {
            window.record(at(second * 1_000), false, false);
        }
        let counts = window.totals(at(20_000));
        assert_eq!(counts.failures(), 0);
        assert!((9..=10).contains(&counts.total()));
    }

    #[test]
    fn a_full_slice_stops_counting() {
        let window = Window::new(WINDOW);
        window.record(at(0), true, true);
        for word in &window.outcomes {
            word.set(u64::from(FULL));
        }
        window.record(at(0), true, true);
        let counts = window.totals(at(0));
        assert_eq!(
            (counts.total(), counts.failures()),
            (10 * u64::from(FULL), 0)
        );
    }

    #[test]
    fn a_window_of_one_slice_starts_over() {
        let window = RollingCounts::<Local, 1>::new(WINDOW);
        window.record(at(0), false, false);
        assert_eq!(window.totals(at(9_999)).total(), 1);
        assert_eq!(window.totals(at(10_000)).total(), 0);
    }
}
