//! The seam to a runtime: a clock that can also wake a task.

use core::future::Future;
use core::pin::Pin;

use steadfast_core::{Clock, Draining, Instant, QueueReading};

/// A clock that can also wake a task.
///
/// An implementation never wakes early, rounds up, and takes
/// [`Instant::MAX`] as "never".
pub trait Timer: Clock {
    /// A future that is ready from its instant on.
    type Sleep: Future<Output = ()>;

    /// Makes a future that is ready once the clock has reached `at`.
    fn sleep_until(&self, at: Instant) -> Self::Sleep;

    /// Moves an armed sleep to another instant.
    ///
    /// Override it where moving is cheaper than making anew.
    fn rearm(&self, mut sleep: Pin<&mut Option<Self::Sleep>>, at: Instant) {
        sleep.set(Some(self.sleep_until(at)));
    }

    /// Returns a seed for the jitter of one guard, another one at each call.
    ///
    /// A constant as long as the timer is not seeded.
    fn seed(&self) -> u64;

    /// Tells whether seeds differ between devices and runs.
    ///
    /// Where there is no system to ask, the program has to hand over a seed;
    /// until then a guard's `explain()` warns.
    fn is_seeded(&self) -> bool {
        true
    }

    /// Reads how long the runtime lets a task wait now, and measures again when
    /// it is time.
    ///
    /// Asked by guards whose policy names a
    /// [`Saturation`](steadfast_core::Saturation), so that whoever has none pays
    /// for none. `None` where nothing is measured.
    #[expect(unused_variables, reason = "its name says what it is")]
    fn queue_delay(&self, now: Instant) -> Option<QueueReading> {
        None
    }

    /// Returns whether all that makes calls on this timer is about to stop.
    ///
    /// `None` where nothing can say so.
    fn draining(&self) -> Option<&Draining> {
        None
    }
}

/// A timer that exists without being made, so that a guard can be `static`.
pub trait StaticTimer: Timer + Copy + 'static {
    /// The timer.
    const TIMER: Self;
}

/// A clock whose thread can be held until an instant.
pub trait Block: Clock {
    /// Holds this thread until the clock has reached `at`.
    fn block_until(&self, at: Instant);
}

impl<T: Timer> Timer for &T {
    type Sleep = T::Sleep;

    fn sleep_until(&self, at: Instant) -> Self::Sleep {
        (**self).sleep_until(at)
    }

    fn rearm(&self, sleep: Pin<&mut Option<Self::Sleep>>, at: Instant) {
        (**self).rearm(sleep, at);
    }

    fn seed(&self) -> u64 {
        (**self).seed()
    }

    fn is_seeded(&self) -> bool {
        (**self).is_seeded()
    }

    fn queue_delay(&self, now: Instant) -> Option<QueueReading> {
        (**self).queue_delay(now)
    }

    fn draining(&self) -> Option<&Draining> {
        (**self).draining()
    }
}

impl<T: Block> Block for &T {
    fn block_until(&self, at: Instant) {
        (**self).block_until(at);
    }
}
