//! How late tasks are served, told by the sleeps of calls in flight.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use steadfast_core::{Instant, Memory, QueueDelay, QueueProbe, QueueReading, Shared, Word};

use crate::timer::StaticTimer;

/// The queue delay of a runtime that has no queue to ask, in a `static`.
///
/// For adapters. Nothing is spawned and no thread is needed: when somebody has
/// asked, the next sleep of a call that suspends fires once in a millisecond,
/// and how much later its task is polled is the delay. That is the lateness of
/// the timer and the wait in the executor's queue together, which is what a call
/// waits, too. It costs that task one poll, four times a second at most.
///
/// Attempts that end within a millisecond say nothing, nor do calls that block a
/// thread. A call that its task does not poll is late like any other: a future
/// kept aside, in a buffered stream for one, can look like a delay until it is
/// polled or dropped, a minute at most.
///
/// ```
/// use steadfast_core::Clock;
/// use steadfast_runtime::{Drift, DriftProbe, StdTimer};
///
/// static DRIFT: Drift = Drift::new();
///
/// // In a sleep, when it is polled and not due:
/// let mut probe: DriftProbe<StdTimer> = DriftProbe::NONE;
/// assert_eq!(probe.send(&DRIFT), None);
/// // Somebody asks.
/// let reading = DRIFT.read(StdTimer.now());
/// assert!(reading.delay().is_zero());
/// assert!(probe.send(&DRIFT).is_some());
/// probe.finish(StdTimer.now());
/// ```
pub struct Drift<M: Memory = Shared> {
    queue: QueueDelay<M>,
    /// Not zero when somebody has asked and no sleep has heard of it.
    wanted: M::U32,
}

impl<M: Memory> Drift<M> {
    /// Makes one that knows nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: QueueDelay::new(),
            wanted: M::U32::ZERO,
        }
    }

    /// Reads the delay, and asks the sleeps for the next one when it is time.
    #[must_use]
    pub fn read(&self, now: Instant) -> QueueReading {
        if self.queue.is_due(now) {
            self.wanted.store(1);
        }
        self.queue.read(now)
    }
}

impl<M: Memory> Default for Drift<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Memory> fmt::Debug for Drift<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drift").field(&self.queue).finish()
    }
}

/// What a sleep keeps of a probe that it carries; see [`Drift`].
///
/// A sleep that is dropped before the probe was due says nothing; afterwards,
/// that nobody has polled it since.
///
/// ```
/// use steadfast_runtime::{DriftProbe, StdTimer};
///
/// let probe = DriftProbe::<StdTimer>::NONE;
/// assert!(!probe.is_sent());
/// ```
pub struct DriftProbe<T: StaticTimer, M: Memory = Shared> {
    sent: Option<QueueProbe<'static, M>>,
    timer: PhantomData<fn() -> T>,
}

impl<T: StaticTimer, M: Memory> DriftProbe<T, M> {
    /// No probe.
    pub const NONE: Self = Self {
        sent: None,
        timer: PhantomData,
    };

    /// Sends a probe if one is wanted, and returns when the sleep has to fire
    /// for it.
    #[must_use = "the sleep has to fire then"]
    pub fn send(&mut self, drift: &'static Drift<M>) -> Option<Instant> {
        if drift.wanted.load() == 0 || self.is_sent() || drift.wanted.swap(0) == 0 {
            return None;
        }
        let now = T::TIMER.now();
        let start = now.saturating_add(AHEAD);
        self.sent = drift.queue.probe(now, start);
        self.sent.is_some().then_some(start)
    }

    /// Tells whether a probe is on its way.
    #[must_use]
    pub const fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    /// Tells that the sleep was polled; nothing without a probe, or too early.
    pub fn finish(&mut self, now: Instant) {
        if let Some(probe) = self.sent.take() {
            probe.finish(now);
        }
    }
}

impl<T: StaticTimer, M: Memory> Drop for DriftProbe<T, M> {
    fn drop(&mut self) {
        if self.is_sent() {
            self.finish(T::TIMER.now());
        }
    }
}

impl<T: StaticTimer, M: Memory> fmt::Debug for DriftProbe<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DriftProbe").field(&self.sent).finish()
    }
}

/// The least that timers of every runtime resolve.
const AHEAD: Duration = Duration::from_millis(1);
