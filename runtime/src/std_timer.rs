//! A timer for programs that have no runtime's.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::time::Instant as StdInstant;

use futures_timer::Delay;
use steadfast_core::{Clock, Draining, Instant, QueueReading};

use crate::drift::{Drift, DriftProbe};
use crate::process::PROCESS;
use crate::system_clock::from_system;
use crate::system_seed::system_seed;
use crate::timer::{Block, StaticTimer, Timer};

/// The system's clock, and one thread that wakes tasks under any executor.
///
/// ```
/// use steadfast_core::Policy;
/// use steadfast_runtime::{Guard, StdTimer};
///
/// static GUARD: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StdTimer;

static DRIFT: Drift = Drift::new();

/// What a single delay may last; a longer wait is armed again.
const LONGEST: Duration = Duration::from_secs(86_400);

impl Clock for StdTimer {
    fn now(&self) -> Instant {
        from_system(StdInstant::now())
    }
}

impl Timer for StdTimer {
    type Sleep = StdSleep;

    fn sleep_until(&self, at: Instant) -> StdSleep {
        StdSleep {
            delay: Delay::new(self.left(at)),
            at,
            probe: DriftProbe::NONE,
        }
    }

    fn seed(&self) -> u64 {
        system_seed()
    }

    /// Reads how late sleeps are served, see [`Drift`].
    fn queue_delay(&self, now: Instant) -> Option<QueueReading> {
        Some(DRIFT.read(now))
    }

    fn draining(&self) -> Option<&Draining> {
        Some(&PROCESS)
    }
}

impl StaticTimer for StdTimer {
    const TIMER: Self = Self;
}

impl Block for StdTimer {
    fn block_until(&self, at: Instant) {
        std::thread::sleep(at.saturating_since(self.now()));
    }
}

impl StdTimer {
    fn left(self, at: Instant) -> Duration {
        at.saturating_since(self.now()).min(LONGEST)
    }
}

/// A sleep of [`StdTimer`].
#[derive(Debug)]
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct StdSleep {
    delay: Delay,
    at: Instant,
    probe: DriftProbe<StdTimer>,
}

impl Future for StdSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if Pin::new(&mut self.delay).poll(cx).is_pending() {
                let Some(start) = self.probe.send(&DRIFT) else {
                    return Poll::Pending;
                };
                let left = StdTimer.left(start.min(self.at));
                self.delay.reset(left);
                continue;
            }
            let now = StdTimer.now();
            self.probe.finish(now);
            let left = self.at.saturating_since(now).min(LONGEST);
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.delay.reset(left);
        }
    }
}
