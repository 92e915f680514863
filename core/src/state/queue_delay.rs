//! How long this process's own queue lets a task wait, by probes.
//!
//! Paced by those who ask: nobody asks, nothing is probed. One probe is on its
//! way at a time, and the word that holds it is also its name: who finishes a
//! probe that was given up finds another word and says nothing.

use core::fmt;
use core::time::Duration;

use crate::math::latency_window::LatencyWindow;
use crate::math::quantile::{Latency, Quantile};
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::policy::saturation::Saturation;
use crate::time::{Instant, nanos};

/// The delay of a runtime's queue now, and what is normal.
///
/// One for a process, as all that runs in it waits in the same queues. At most
/// four probes a second, one at a time. The delay is that of the last probe, or
/// the age of the one on its way, if that is more: a probe that cannot run is a
/// reading, too. Normal is the median of a minute. A probe that is on its way for
/// a minute is given up, since a runtime that nobody drives any more would never
/// finish it.
///
/// Several runtimes in one process share the reading.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, QueueDelay};
///
/// static QUEUE: QueueDelay = QueueDelay::new();
///
/// let now = Instant::ZERO;
/// let probe = QUEUE.probe(now, now).unwrap();
/// assert!(QUEUE.probe(now, now).is_none());
///
/// // The task that holds the probe runs 3 ms later.
/// let later = now.saturating_add(Duration::from_millis(3));
/// probe.finish(later);
/// assert_eq!(QUEUE.read(later).delay(), Duration::from_millis(3));
/// ```
pub struct QueueDelay<M: Memory = Shared> {
    /// A [`Trip`].
    trip: M::U64,
    /// The delay of the last probe that came back, in nanoseconds.
    last: M::U64,
    /// A [`Normal`].
    normal: M::U64,
    window: LatencyWindow<M, M::Profile>,
    median: Quantile<M>,
}

impl<M: Memory> QueueDelay<M> {
    /// Makes one that knows nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            trip: M::U64::ZERO,
            last: M::U64::ZERO,
            normal: M::U64::ZERO,
            window: LatencyWindow::new(WINDOW),
            median: Quantile::new(Ratio::percent(50), 1),
        }
    }

    /// Tells whether it is time for a probe, at the cost of one load.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        Trip(self.trip.load()).is_due(now)
    }

    /// Sends a probe, if one is due and nobody else was first.
    ///
    /// Its delay counts from `start`: `now` for a task that is queued, a little
    /// later for a timer that has to fire first.
    pub fn probe(&self, now: Instant, start: Instant) -> Option<QueueProbe<'_, M>> {
        let seen = Trip(self.trip.load());
        if !seen.is_due(now) {
            return None;
        }
        let trip = Trip::from(start);
        self.trip.compare_exchange(seen.0, trip.0).ok()?;
        Some(QueueProbe { queue: self, trip })
    }

    /// Reads the delay, and what is normal; sends no probe.
    #[must_use]
    pub fn read(&self, now: Instant) -> QueueReading {
        let last = Duration::from_nanos(self.last.load());
        let trip = Trip(self.trip.load());
        let age = if trip.is_under_way(now) {
            now.saturating_since(trip.start())
        } else {
            Duration::ZERO
        };
        let reading = QueueReading::new(last.max(age));
        match Normal(self.normal.load()).at(now) {
            Some((latency, samples)) => reading.with_normal(latency.middle(), samples),
            None => reading,
        }
    }

    /// Records a probe, in the order that readers rely on: it is back at last.
    fn record(&self, trip: Trip, now: Instant) {
        if self.trip.load() != trip.0 {
            return;
        }
        let delay = now.saturating_since(trip.start());
        self.window.record(now, delay);
        if let Some((median, samples)) = self.window.survey(now, &self.median) {
            self.normal.store(Normal::new(now, median, samples).0);
        }
        self.last.store(nanos(delay));
    }

    fn come_back(&self, trip: Trip) {
        // Another word: given up, and the next one is on its way.
        let _given_up = self.trip.compare_exchange(trip.0, trip.back().0);
    }
}

impl<M: Memory> Default for QueueDelay<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Memory> fmt::Debug for QueueDelay<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueDelay")
            .field("last", &Duration::from_nanos(self.last.load()))
            .field("is_probing", &Trip(self.trip.load()).is_on_its_way())
            .finish_non_exhaustive()
    }
}

/// A probe on its way; says nothing when dropped.
///
/// A runtime that shuts down drops its tasks: that is no delay.
///
/// ```
/// use steadfast_core::{Instant, QueueDelay};
///
/// static QUEUE: QueueDelay = QueueDelay::new();
///
/// drop(QUEUE.probe(Instant::ZERO, Instant::ZERO));
/// let reading = QUEUE.read(Instant::from_nanos(5_000));
/// assert!(reading.delay().is_zero());
/// ```
#[must_use = "a probe that is dropped says nothing"]
pub struct QueueProbe<'q, M: Memory = Shared> {
    queue: &'q QueueDelay<M>,
    trip: Trip,
}

impl<M: Memory> QueueProbe<'_, M> {
    /// Tells that its turn has come.
    ///
    /// Says nothing when that is before its start.
    pub fn finish(self, now: Instant) {
        if now >= self.trip.start() {
            self.queue.record(self.trip, now);
        }
    }
}

impl<M: Memory> Drop for QueueProbe<'_, M> {
    fn drop(&mut self) {
        self.queue.come_back(self.trip);
    }
}

impl<M: Memory> fmt::Debug for QueueProbe<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueProbe")
            .field("start", &self.trip.start())
            .finish_non_exhaustive()
    }
}

/// What a queue's delay is, and what is normal for it.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{QueueReading, Saturation};
///
/// let ms = Duration::from_millis;
/// let reading = QueueReading::new(ms(25)).with_normal(ms(1), 20);
/// assert_eq!(reading.saturated(&Saturation::DEFAULT), Some(ms(25)));
///
/// let usual = QueueReading::new(ms(30)).with_normal(ms(25), 20);
/// assert_eq!(usual.saturated(&Saturation::DEFAULT), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueReading {
    delay: Duration,
    normal: Duration,
    samples: u32,
}

impl QueueReading {
    /// Makes a reading that does not know what is normal.
    #[must_use]
    pub const fn new(delay: Duration) -> Self {
        Self {
            delay,
            normal: Duration::ZERO,
            samples: 0,
        }
    }

    /// Returns the reading with what so many samples call normal.
    #[must_use]
    pub const fn with_normal(self, normal: Duration, samples: u32) -> Self {
        Self {
            normal,
            samples,
            ..self
        }
    }

    /// Returns how long the queue lets a task wait.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns what is normal, if it rests on as many samples as the rule needs.
    #[must_use]
    pub fn normal(&self, rule: &Saturation) -> Option<Duration> {
        let is_known = self.samples > 0 && self.samples >= rule.minimum_samples();
        is_known.then_some(self.normal)
    }

    /// Returns the delay, if by this rule it makes the process saturated.
    #[must_use]
    pub fn saturated(&self, rule: &Saturation) -> Option<Duration> {
        let normal = nanos(self.normal(rule)?);
        let is_saturated =
            self.delay >= rule.floor() && rule.multiple().is_reached(nanos(self.delay), normal);
        is_saturated.then_some(self.delay)
    }
}

/// When the last probe started, and whether it is still on its way.
///
/// Bit 0 is set while it is, bit 1 always, so that zero is "never"; the rest are
/// nanoseconds in steps of four.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Trip(u64);

impl Trip {
    const fn from(start: Instant) -> Self {
        Self(start.as_nanos() | 3)
    }

    const fn back(self) -> Self {
        Self(self.0 & !1)
    }

    const fn start(self) -> Instant {
        Instant::from_nanos(self.0 & !3)
    }

    const fn is_on_its_way(self) -> bool {
        self.0 & 1 != 0
    }

    /// The distance and not the age: a clock that stepped back far is another
    /// clock.
    const fn distance(self, now: Instant) -> u64 {
        now.as_nanos().abs_diff(self.start().as_nanos())
    }

    const fn is_under_way(self, now: Instant) -> bool {
        self.is_on_its_way() && self.distance(now) < nanos(WINDOW)
    }

    const fn is_due(self, now: Instant) -> bool {
        let pause = if self.is_on_its_way() {
            WINDOW
        } else {
            INTERVAL
        };
        self.0 == 0 || self.distance(now) >= nanos(pause)
    }
}

/// What was normal at the last probe, on how many samples, in one word.
///
/// The lowest 9 bits are the latency's cell plus one, or zero when there is
/// none; 8 bits are the samples, at most 255; the rest is the time, in steps of
/// 1.05 ms.
#[derive(Clone, Copy)]
struct Normal(u64);

impl Normal {
    const SAMPLES: u32 = 9;
    const TIME: u64 = !((1 << 20) - 1);

    fn new(now: Instant, median: Option<Latency>, samples: u64) -> Self {
        let cell = median.map_or(0, |latency| u64::from(latency.cell()).saturating_add(1));
        let samples = samples.min(u64::from(u8::MAX)) << Self::SAMPLES;
        Self((now.as_nanos() & Self::TIME) | samples | cell)
    }

    /// `None` when it knows nothing, or is a minute old.
    #[expect(clippy::cast_possible_truncation, reason = "each part fits its bits")]
    fn at(self, now: Instant) -> Option<(Latency, u32)> {
        let cell = (self.0 & 511).checked_sub(1)? as u8;
        let samples = u32::from((self.0 >> Self::SAMPLES) as u8);
        let is_recent = now.as_nanos().abs_diff(self.0 & Self::TIME) < nanos(WINDOW);
        is_recent.then_some((Latency::of_cell(cell), samples))
    }
}

/// Often enough to see a burst of a second, too seldom to cost anything.
const INTERVAL: Duration = Duration::from_millis(250);

/// What counts as normal is the last minute.
const WINDOW: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
