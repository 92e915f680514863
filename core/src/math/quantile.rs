//! A quantile that somebody reads time and again, and what it says.

use core::fmt::{self, Debug};
use core::time::Duration;

use crate::math::cells;
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};

/// Which quantile to read from a window, and the answer it gave last.
///
/// One for each reader and window; several may share a
/// [`LatencyWindow`](crate::LatencyWindow).
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, LatencyWindow, Quantile, Ratio};
///
/// static WINDOW: LatencyWindow = LatencyWindow::new(Duration::from_secs(30));
/// static MEDIAN: Quantile = Quantile::new(Ratio::percent(50), 2);
///
/// let now = Instant::ZERO;
/// WINDOW.record(now, Duration::from_millis(40));
/// assert_eq!(WINDOW.quantile(now, &MEDIAN), None);
/// WINDOW.record(now, Duration::from_millis(40));
/// assert!(WINDOW.quantile(now, &MEDIAN).is_some());
/// ```
pub struct Quantile<M: Memory = Shared> {
    ratio: Ratio,
    minimum: u32,
    /// An [`Answer`], zero when there is none.
    answer: M::U64,
}

impl<M: Memory> Quantile<M> {
    /// Tracks the latency that `ratio` of the samples do not exceed.
    ///
    /// With fewer than `minimum` samples there is none. Counted are samples
    /// that a window holds: one that counts only some holds fewer.
    #[must_use]
    pub const fn new(ratio: Ratio, minimum: u32) -> Self {
        Self {
            ratio,
            minimum,
            answer: M::U64::ZERO,
        }
    }

    /// Returns the share of the samples; more than the whole is the whole.
    #[must_use]
    pub const fn ratio(&self) -> Ratio {
        self.ratio
    }

    /// Returns how many samples it needs.
    #[must_use]
    pub const fn minimum(&self) -> u32 {
        self.minimum
    }

    /// Forgets the last answer.
    ///
    /// To be called when its window is reset.
    pub fn forget(&self) {
        self.answer.store(0);
    }

    pub(super) fn answer(&self) -> Answer {
        Answer(self.answer.load())
    }

    pub(super) fn set_answer(&self, answer: Answer) {
        self.answer.store(answer.0);
    }
}

impl<M: Memory> Debug for Quantile<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quantile")
            .field("ratio", &self.ratio)
            .field("minimum", &self.minimum)
            .field("answer", &self.answer().latency())
            .finish()
    }
}

/// A latency as precise as a window knows it.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, LatencyWindow, Quantile, Ratio};
///
/// static WINDOW: LatencyWindow = LatencyWindow::new(Duration::from_secs(30));
/// static MEDIAN: Quantile = Quantile::new(Ratio::percent(50), 1);
///
/// WINDOW.record(Instant::ZERO, Duration::from_millis(40));
/// let median = WINDOW.quantile(Instant::ZERO, &MEDIAN).unwrap();
/// assert_eq!(median.upper().as_micros(), 43_515);
/// assert_eq!(median.middle().as_micros(), 41_680);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Latency {
    cell: u8,
}

impl Latency {
    pub(crate) const fn of_cell(cell: u8) -> Self {
        Self { cell }
    }

    /// Returns its cell, of which [`Latency::of_cell`] makes it again.
    pub(crate) const fn cell(self) -> u8 {
        self.cell
    }

    /// Returns a bound above it, at most 9.64 % too long: for what must not
    /// come too early.
    #[must_use]
    pub fn upper(self) -> Duration {
        Duration::from_nanos(self.upper_nanos())
    }

    /// Returns the likeliest value, at most 4.82 % off: for comparisons.
    #[must_use]
    pub fn middle(self) -> Duration {
        Duration::from_nanos(self.middle_nanos())
    }

    /// Returns [`Latency::upper`] in nanoseconds.
    ///
    /// Making a [`Duration`] takes a division, dear on small chips.
    #[must_use]
    pub fn upper_nanos(self) -> u64 {
        cells::upper(self.cell)
    }

    /// Returns [`Latency::middle`] in nanoseconds.
    #[must_use]
    pub fn middle_nanos(self) -> u64 {
        cells::middle(self.cell)
    }
}

impl Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latency").field(&self.middle()).finish()
    }
}

/// A cell and until when it holds, in one word.
///
/// The upper 54 bits are the time in units of 1024 ns, the rest is the cell
/// plus one, so that zero is no answer.
#[derive(Clone, Copy)]
pub(super) struct Answer(u64);

impl Answer {
    pub(super) const fn new(latency: Option<Latency>, until: u64) -> Self {
        match latency {
            None => Self(0),
            Some(latency) => Self((until & !TAG) | (latency.cell as u64).wrapping_add(1)),
        }
    }

    /// Tells whether it still holds; one from a time far ahead does not.
    pub(super) const fn holds(self, now: u64, longest: u64) -> bool {
        (self.0 & !TAG).wrapping_sub(now).wrapping_sub(1) < longest
    }

    #[expect(clippy::cast_possible_truncation, reason = "a tag is at most 256")]
    pub(super) const fn latency(self) -> Option<Latency> {
        match (self.0 & TAG).checked_sub(1) {
            None => None,
            Some(cell) => Some(Latency::of_cell(cell as u8)),
        }
    }
}

const TAG: u64 = 1023;
