//! What samples come to.
//!
//! The signal of a round, and of a probe alike, is the mean over groups of four of
//! the shortest in each: one slow attempt is hidden by its group, and the mean is
//! the same for rounds of any length, which a plain minimum is not.

use core::time::Duration;

use crate::memory::{Memory, Word};
use crate::time::{Instant, nanos};

/// The samples of the round or probe under way.
#[derive(Debug)]
pub(super) struct Round<M: Memory> {
    samples: M::U32,
    /// The most that were in flight.
    peak: M::U32,
    /// The shortest of the group under way, and the sum of those before.
    shortest: M::U64,
    sum: M::U64,
}

/// One attempt that has come to an end.
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) took: Duration,
    /// Of its admission.
    pub(super) epoch: u32,
    /// When it ended, itself included.
    pub(super) in_flight: u32,
}

/// What a round came to.
pub(super) struct Finished {
    pub(super) signal: u64,
    pub(super) peak: u32,
}

impl<M: Memory> Round<M> {
    pub(super) const fn new() -> Self {
        Self {
            samples: M::U32::ZERO,
            peak: M::U32::ZERO,
            shortest: M::U64::ZERO,
            sum: M::U64::ZERO,
        }
    }

    pub(super) fn clear(&self) {
        self.samples.store(0);
        self.peak.store(0);
        self.shortest.store(0);
        self.sum.store(0);
    }

    /// Takes a sample; ends the round when there are as many as it needs.
    pub(super) fn take(&self, sample: &Sample, needed: u32) -> Option<Finished> {
        let took = nanos(sample.took).max(1);
        let samples = self.samples.load().saturating_add(1);
        let peak = self.peak.load().max(sample.in_flight);
        let mut sum = self.sum.load();
        let mut shortest = match self.shortest.load() {
            0 => took,
            shortest => shortest.min(took),
        };
        if samples % GROUP == 0 {
            sum = sum.saturating_add(shortest);
            shortest = 0;
        }
        if samples < needed {
            self.samples.store(samples);
            self.peak.store(peak);
            self.sum.store(sum);
            self.shortest.store(shortest);
            return None;
        }
        self.clear();
        let signal = sum.checked_div(u64::from(samples / GROUP))?;
        Some(Finished { signal, peak })
    }
}

/// Signals of a slice: their sum in 64 ns, 44 bits, and above it their number.
#[derive(Clone, Copy)]
pub(super) struct Signals(pub(super) u64);

impl Signals {
    const SUM: u64 = (1 << Self::COUNT_AT) - 1;
    const COUNT_AT: u32 = 44;
    const FULL: u64 = (1 << 16) - 1;

    fn count(self) -> u64 {
        self.0 >> Self::COUNT_AT
    }

    /// Adds a signal; none when there is no room for it.
    pub(super) fn with(self, signal: u64) -> Option<u64> {
        let sum = (self.0 & Self::SUM).saturating_add(signal / 64);
        let has_room = sum <= Self::SUM && self.count() < Self::FULL;
        has_room.then(|| self.count().saturating_add(1) << Self::COUNT_AT | sum)
    }

    pub(super) fn mean(self) -> Option<u64> {
        let mean = (self.0 & Self::SUM).checked_div(self.count())?;
        Some(mean.saturating_mul(64).max(1))
    }
}

/// How many samples compete for the shortest.
const GROUP: u32 = 4;
