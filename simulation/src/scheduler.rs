//! The queue of the process's own runtime.

use std::time::Duration;

use steadfast_core::{Instant, QueueReading};

use crate::impairment::Stretch;

/// How long the runtime of a process lets a task wait, and when that is far too long.
///
/// Every attempt waits that long before it goes out, so it looks like a slow dependency.
/// A policy with a [`Saturation`](steadfast_core::Saturation) is told, four times a
/// second, together with the median of the last minute.
///
/// ```
/// use std::time::Duration;
/// use steadfast_simulation::Scheduler;
///
/// // 80 µs as a rule, 400 ms for 20 s.
/// let busy = Scheduler::new(Duration::from_micros(80)).stalled(
///     Duration::from_secs(30),
///     Duration::from_millis(400),
///     Duration::from_secs(20),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    healthy: Duration,
    stalls: Vec<(Stretch, Duration)>,
}

impl Scheduler {
    /// Makes a runtime that lets a task wait that long as a rule.
    #[must_use]
    pub const fn new(healthy: Duration) -> Self {
        Self {
            healthy,
            stalls: Vec::new(),
        }
    }

    /// Returns the runtime with a time in which tasks wait that long; of several the
    /// longest counts.
    #[must_use]
    pub fn stalled(mut self, after: Duration, delay: Duration, lasting: Duration) -> Self {
        self.stalls.push((Stretch::new(after, lasting), delay));
        self
    }

    /// How long a task waits now.
    pub(crate) fn delay(&self, now: Instant) -> Duration {
        let stalls = self.stalls.iter().filter(|(stretch, _)| stretch.holds(now));
        stalls
            .map(|(_, delay)| *delay)
            .max()
            .unwrap_or(self.healthy)
    }

    pub(crate) fn is_possible(&self) -> bool {
        !self.healthy.is_zero()
            && self
                .stalls
                .iter()
                .all(|(stretch, delay)| !delay.is_zero() && stretch.from < stretch.to)
    }
}

/// How often the delay is read.
pub(crate) const PERIOD: Duration = Duration::from_millis(250);

/// A minute of readings.
const KEPT: usize = 240;

/// What was read of late.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    delays: Vec<Duration>,
    next: usize,
    count: u32,
}

impl Readings {
    /// Adds what is read now, and tells it with what is normal.
    pub(crate) fn read(&mut self, delay: Duration) -> QueueReading {
        if self.delays.len() < KEPT {
            self.delays.push(delay);
        } else if let Some(oldest) = self.delays.get_mut(self.next) {
            *oldest = delay;
        }
        self.next = (self.next + 1) % KEPT;
        self.count = self.count.saturating_add(1);
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        let middle = (sorted.len() - 1) / 2;
        let normal = sorted.get(middle).copied().unwrap_or(delay);
        QueueReading::new(delay).with_normal(normal, self.count)
    }
}
