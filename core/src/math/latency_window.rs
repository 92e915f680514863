//! Latencies over a window that rolls slice by slice, for quantiles.
//!
//! A ring of histograms. A record adds to the current one; a rotation vacates
//! the oldest and moves on; a query adds up all. A busy bit keeps rotations,
//! queries and decimations apart, and nobody waits for it: a record that finds
//! it set goes to the old slice, a query gives the answer before.
//!
//! Counters are small. When one is full its slice is decimated: all its counts
//! are divided by eight, and from then on it counts one sample in eight, chosen
//! by a hash, so that the busier a window is the less its threads write to it.

use core::fmt;
use core::time::Duration;

use crate::math::cells;
use crate::math::quantile::{Answer, Latency, Quantile};
use crate::math::slices::Slices;
use crate::memory::profile::{Counter, Grid, Profile, Server};
use crate::memory::{Memory, Shared, Word};
use crate::time::{Instant, nanos};

/// How long calls took of late, as a histogram of fixed size.
///
/// With the four slices of a [`Server`] it covers between three quarters of the
/// window and all of it, with the three of a [`Chip`](crate::Chip) two thirds;
/// an idle window is empty. A sample that races a rotation may leave one slice
/// early. A clock that jumps ahead empties the window; one that comes back
/// goes on.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, LatencyWindow, Quantile, Ratio};
///
/// static WINDOW: LatencyWindow = LatencyWindow::new(Duration::from_secs(30));
/// static P95: Quantile = Quantile::new(Ratio::percent(95), 20);
///
/// let now = Instant::from_nanos(5);
/// for millis in 1..=100 {
///     WINDOW.record(now, Duration::from_millis(millis));
/// }
/// let p95 = WINDOW.quantile(now, &P95).unwrap().upper();
/// assert!(p95 >= Duration::from_millis(95) && p95 < Duration::from_millis(105));
///
/// let later = now.saturating_add(Duration::from_secs(30));
/// assert_eq!(WINDOW.quantile(later, &P95), None);
/// ```
pub struct LatencyWindow<M: Memory = Shared, P: Profile = Server> {
    slices: Slices,
    /// The end of the current slice, in nanoseconds; zero to start over.
    end: M::U64,
    /// A [`Head`].
    head: M::U32,
    busy: M::U32,
    cells: P::Cells<M>,
}

impl<M: Memory, P: Profile> LatencyWindow<M, P> {
    /// Makes an empty window; each slice is at least 1 ns long.
    #[must_use]
    pub const fn new(window: Duration) -> Self {
        const {
            let (slices, width) = (P::Cells::<M>::SLICES, P::Cells::<M>::WIDTH);
            assert!(slices > 0 && slices <= MOST_SLICES, "from 1 to 7 slices");
            assert!(
                (width > 0) == P::MEASURES
                    && width <= cells::CELLS.saturating_sub(P::FIRST as usize),
                "at least one cell if it measures, at most up to the 256th"
            );
        }
        Self {
            slices: Slices::new(window, P::Cells::<M>::SLICES),
            end: M::U64::ZERO,
            head: M::U32::ZERO,
            busy: M::U32::ZERO,
            cells: P::Cells::<M>::ZERO,
        }
    }

    /// Counts a call that took so long.
    pub fn record(&self, now: Instant, took: Duration) {
        self.record_nanos(now, nanos(took));
    }

    /// Counts a call that took so many nanoseconds.
    pub fn record_nanos(&self, now: Instant, took: u64) {
        if !P::MEASURES {
            return;
        }
        let now = now.as_nanos();
        if self.slices.is_over(now, self.end.load()) {
            self.rotate(now);
        }
        if !self.count(now, took) {
            self.decimate(now, took);
        }
    }

    /// Returns a quantile of the window that ends at `now`.
    ///
    /// `None` when the window holds too few samples. With eight times as many
    /// as it needs an answer is kept for an eighth of a slice; before that each
    /// one is new.
    #[must_use]
    pub fn quantile(&self, now: Instant, tracked: &Quantile<M>) -> Option<Latency> {
        if !P::MEASURES {
            return None;
        }
        let now = now.as_nanos();
        let answer = tracked.answer();
        if answer.holds(now, self.slices.length() >> 3) {
            answer.latency()
        } else {
            self.refresh(now, tracked)
        }
    }

    /// Computes a quantile anew, and the number of samples it rests on.
    ///
    /// `None` while another thread is busy.
    pub(crate) fn survey(
        &self,
        now: Instant,
        tracked: &Quantile<M>,
    ) -> Option<(Option<Latency>, u64)> {
        if !P::MEASURES {
            return Some((None, 0));
        }
        let now = now.as_nanos();
        self.busy.compare_exchange(0, 1).ok()?;
        if self.slices.is_over(now, self.end.load()) {
            self.turn(now);
        }
        let found = self.find(tracked);
        self.busy.store(0);
        Some(found)
    }

    /// Returns how many samples the window that ends at `now` holds.
    ///
    /// Reads every counter: for people, not for the path of a call.
    #[must_use]
    pub fn samples(&self, now: Instant) -> u64 {
        if !P::MEASURES {
            return 0;
        }
        let now = now.as_nanos();
        if self.slices.is_over(now, self.end.load()) {
            self.rotate(now);
        }
        let slices = Head(self.head.load()).slices(P::Cells::<M>::SLICES);
        let octaves = slices.flat_map(|(slot, _)| self.octaves(slot));
        octaves.fold(0, u64::saturating_add)
    }

    /// Tells whether a latency is of the last cell, which holds all above, too.
    pub(crate) fn is_last(latency: Latency) -> bool {
        latency == Self::at(P::Cells::<M>::WIDTH.saturating_sub(1))
    }

    /// Forgets everything.
    ///
    /// A [`Quantile`] keeps its answer until it is told to forget it.
    pub fn reset(&self) {
        // Whoever comes next vacates all slices. A rotation that is under way
        // finds its end exchanged and leaves it so.
        let _end = self.end.swap(0);
    }

    /// Counts a sample, or tells that its counter is full.
    fn count(&self, now: u64, took: u64) -> bool {
        let head = Head(self.head.load());
        let steps = head.steps(0);
        if steps != 0 && !is_sampled(now, took, steps) {
            return true;
        }
        match self.cells.counter(head.slot(), Self::place(took)) {
            Some(counter) if counter.load() >= Full::<M, P>::FULL => false,
            Some(counter) => {
                counter.increment();
                true
            }
            None => true,
        }
    }

    /// Returns where the cell of a latency stands in a slice.
    fn place(took: u64) -> usize {
        let cell = cells::cell(took).saturating_sub(P::FIRST);
        usize::from(cell).min(P::Cells::<M>::WIDTH.saturating_sub(1))
    }

    /// Divides the current slice by eight and counts the sample again.
    ///
    /// While another thread is busy the sample is dropped, and when its counter
    /// is full at the largest weight.
    #[cold]
    fn decimate(&self, now: u64, took: u64) {
        if self.busy.compare_exchange(0, 1).is_err() {
            return;
        }
        let head = Head(self.head.load());
        let slice = self.cells.slice(head.slot());
        let full = slice.get(Self::place(took));
        // Another thread may have done it.
        if full.is_some_and(|counter| counter.load() >= Full::<M, P>::FULL)
            && head.steps(0) < MOST_STEPS
        {
            // What a division leaves goes to the next cell, so that the number
            // of samples up to any cell stays right to within one.
            let mut rest = 4;
            for counter in slice {
                let count = counter.load();
                let sum = count.saturating_add(rest);
                rest = sum & 7;
                counter.subtract(count.saturating_sub(sum >> 3));
            }
            self.head.store(head.one_step_up().0);
        }
        self.busy.store(0);
        let _counted = self.count(now, took);
    }

    /// Moves on to the slice of `now`, unless another thread is busy.
    #[cold]
    fn rotate(&self, now: u64) {
        if self.busy.compare_exchange(0, 1).is_ok() {
            self.turn(now);
            self.busy.store(0);
        }
    }

    /// Moves on to the slice of `now`; only one thread at a time may.
    fn turn(&self, now: u64) {
        let slices = P::Cells::<M>::SLICES;
        let end = self.end.load();
        let mut turn = self.slices.turn(now, end, slices);
        if end == 0 {
            turn.steps = slices;
            turn.end = now.saturating_add(self.slices.length());
        }
        let mut head = Head(self.head.load());
        let weight = if turn.steps == 1 {
            self.weight_needed(head)
        } else {
            0
        };
        for step in 1..=turn.steps {
            head = head.moved_on(slices, if step == turn.steps { weight } else { 0 });
            for counter in self.cells.slice(head.slot()) {
                counter.clear();
            }
        }
        self.head.store(head.0);
        // A reset in between wins.
        let _reset = self.end.compare_exchange(end, turn.end);
    }

    /// Returns the weight at which the current slice would just have fitted.
    ///
    /// Its successor starts there: to find the weight anew in each slice would
    /// cost the writes that decimation saves.
    fn weight_needed(&self, head: Head) -> u32 {
        let mut steps = head.steps(0);
        if steps == 0 {
            return 0;
        }
        let counters = self.cells.slice(head.slot()).iter();
        let mut most = counters.map(Counter::load).max().unwrap_or(0);
        while steps > 0 && most <= Full::<M, P>::FULL >> 3 {
            most = most.wrapping_mul(8);
            steps = steps.saturating_sub(1);
        }
        steps
    }

    /// Computes an answer anew, or repeats the last while another thread is
    /// busy.
    #[cold]
    fn refresh(&self, now: u64, tracked: &Quantile<M>) -> Option<Latency> {
        if self.busy.compare_exchange(0, 1).is_err() {
            return tracked.answer().latency();
        }
        if self.slices.is_over(now, self.end.load()) {
            self.turn(now);
        }
        let (latency, samples) = self.find(tracked);
        let is_sure = samples >= u64::from(tracked.minimum()).saturating_mul(8);
        let until = if is_sure {
            now.saturating_add(self.slices.length() >> 3)
        } else {
            0
        };
        tracked.set_answer(Answer::new(latency, until));
        self.busy.store(0);
        latency
    }

    /// Returns the samples of each octave of a slice.
    fn octaves(&self, slot: usize) -> impl Iterator<Item = u64> {
        // Whole eights unroll.
        let (eights, rest) = self.cells.slice(slot).as_chunks::<OCTAVE>();
        eights.iter().map(|eight| sum(eight)).chain([sum(rest)])
    }

    /// Returns the quantile and the number of samples that the window holds.
    ///
    /// Reads each counter once and those of one octave twice. Only counts grow
    /// meanwhile, so the second reading reaches what the first one promised.
    fn find(&self, tracked: &Quantile<M>) -> (Option<Latency>, u64) {
        let head = Head(self.head.load());
        let mut octaves = [0_u64; cells::CELLS / OCTAVE];
        let mut samples = 0_u64;
        for (slot, weight) in head.slices(P::Cells::<M>::SLICES) {
            for (octave, count) in octaves.iter_mut().zip(self.octaves(slot)) {
                samples = samples.saturating_add(count);
                *octave = octave.saturating_add(count << weight);
            }
        }
        if samples == 0 || samples < u64::from(tracked.minimum()) {
            return (None, samples);
        }
        let total = octaves.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
        let mut left = rank(total, u64::from(tracked.ratio().as_ppm()));
        let mut place = 0_usize;
        for octave in octaves {
            if octave >= left {
                break;
            }
            left = left.saturating_sub(octave);
            place = place.saturating_add(OCTAVE);
        }
        let last = P::Cells::<M>::WIDTH.saturating_sub(1);
        while place < last {
            let counts = head.slices(P::Cells::<M>::SLICES).map(|(slot, weight)| {
                let counter = self.cells.counter(slot, place);
                u64::from(counter.map_or(0, Counter::load)) << weight
            });
            let count = counts.fold(0_u64, u64::saturating_add);
            if count >= left {
                break;
            }
            left = left.saturating_sub(count);
            place = place.saturating_add(1);
        }
        (Some(Self::at(place)), samples)
    }

    /// Returns the latency of the cell at a place in a slice.
    fn at(place: usize) -> Latency {
        let cell = usize::from(P::FIRST).saturating_add(place);
        Latency::of_cell(u8::try_from(cell).unwrap_or(u8::MAX))
    }
}

impl<M: Memory, P: Profile> fmt::Debug for LatencyWindow<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatencyWindow")
            .field("slices", &self.slices)
            .field("end", &self.end)
            .field("head", &Head(self.head.load()))
            .finish_non_exhaustive()
    }
}

type Full<M, P> = <<P as Profile>::Cells<M> as Grid>::Counter;

/// The slot of the current slice, and by age how often each was decimated.
///
/// Four bits each, the slot lowest, the ages from the top down.
#[derive(Clone, Copy, Debug)]
struct Head(u32);

impl Head {
    const fn slot(self) -> usize {
        (self.0 & 15) as usize
    }

    const fn steps(self, age: u32) -> u32 {
        self.0.unbounded_shl(age.wrapping_mul(4)) >> 28
    }

    const fn one_step_up(self) -> Self {
        Self(self.0.wrapping_add(1 << 28))
    }

    /// Enters the next slot, which starts with so many steps.
    const fn moved_on(self, slices: usize, steps: u32) -> Self {
        let next = (self.0 & 15).wrapping_add(1);
        let slot = if (next as usize) < slices { next } else { 0 };
        Self(steps << 28 | (self.0 >> 4 & !15) | slot)
    }

    /// Returns the slot of each slice and the shift that weighs its counts.
    fn slices(self, slices: usize) -> impl Iterator<Item = (usize, u32)> {
        let mut slot = self.slot();
        (0_u32..).take(slices).map(move |age| {
            let current = slot;
            slot = slot.checked_sub(1).unwrap_or(slices.saturating_sub(1));
            (current, self.steps(age).saturating_mul(3))
        })
    }
}

/// Tells whether a slice decimated so often counts this sample.
///
/// Multiplicative hashing (Knuth, volume 3, 6.4) by the golden ratio; the
/// constant moves the fixed point away from zero.
#[expect(clippy::cast_possible_truncation, reason = "hashes the lower halves")]
const fn is_sampled(now: u64, took: u64, steps: u32) -> bool {
    let mixed = now as u32 ^ (took as u32).rotate_left(16);
    let hash = mixed.wrapping_add(0x7F4A_7C15).wrapping_mul(0x9E37_79B1);
    hash.wrapping_shr(32_u32.wrapping_sub(steps.wrapping_mul(3))) == 0
}

/// Returns the samples of at most eight cells.
fn sum(counters: &[impl Counter]) -> u64 {
    let counts = counters.iter().map(|counter| u32::from(counter.load()));
    u64::from(counts.fold(0, u32::wrapping_add))
}

/// Returns which of so many sorted samples is the quantile, counted from 1.
fn rank(total: u64, ppm: u64) -> u64 {
    // No overflow: 2^12 samples a counter, 2^10 counters, a weight of 2^21.
    let rank = total.saturating_mul(ppm.min(1_000_000)).div_ceil(1_000_000);
    rank.max(1)
}

const OCTAVE: usize = 8;
/// As many as a [`Head`] has room for.
const MOST_SLICES: usize = 7;
/// Weights up to 2^21: 100 million calls a second in one cell for 75 s.
const MOST_STEPS: u32 = 7;

#[cfg(test)]
mod tests;
