//! The timer of smol for Steadfast.
//!
//! ```
//! use steadfast_smol::Guard;
//! use steadfast_core::Policy;
//!
//! static SEARCH: Guard = Guard::new(Policy::DEFAULT.with_name("search"));
//!
//! let found = async_io::block_on(SEARCH.call(|_| async { std::io::Result::Ok(3) }));
//! assert_eq!(found.unwrap(), 3);
//! ```

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant as StdInstant;

use steadfast_core::{
    ByError, Clock, Draining, Instant, NoListener, NoRules, QueueReading, Shared,
};
use steadfast_runtime::{
    Block, Drift, DriftProbe, PROCESS, StaticTimer, Timer, from_system, system_seed, to_system,
};

pub use steadfast_runtime::{drain, is_draining};

/// A guard on smol's timer.
pub type Guard<C = ByError, R = NoRules, L = NoListener> = steadfast_runtime::Guard<Smol, C, R, L>;

/// A guard on smol's timer with room for two attempts of a call at once, or
/// `N`: two or three.
pub type HedgedGuard<C = ByError, R = NoRules, L = NoListener, const N: usize = 2> =
    steadfast_runtime::HedgedGuard<Smol, C, R, L, Shared, N>;

/// The system's clock and smol's reactor; works under any executor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smol;

static DRIFT: Drift = Drift::new();

impl Clock for Smol {
    fn now(&self) -> Instant {
        from_system(StdInstant::now())
    }
}

impl Timer for Smol {
    type Sleep = SmolSleep;

    fn sleep_until(&self, at: Instant) -> SmolSleep {
        SmolSleep {
            timer: to_system(at).map_or_else(async_io::Timer::never, async_io::Timer::at),
            at,
            probe: DriftProbe::NONE,
        }
    }

    fn rearm(&self, mut sleep: Pin<&mut Option<SmolSleep>>, at: Instant) {
        match (sleep.as_mut().as_pin_mut(), to_system(at)) {
            (Some(mut armed), Some(due)) if !armed.probe.is_sent() => {
                armed.at = at;
                armed.timer.set_at(due);
            }
            _ => sleep.set(Some(self.sleep_until(at))),
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

impl StaticTimer for Smol {
    const TIMER: Self = Self;
}

impl Block for Smol {
    fn block_until(&self, at: Instant) {
        std::thread::sleep(at.saturating_since(self.now()));
    }
}

/// A sleep of [`Smol`].
#[derive(Debug)]
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct SmolSleep {
    timer: async_io::Timer,
    at: Instant,
    probe: DriftProbe<Smol>,
}

impl SmolSleep {
    fn fire_at(&mut self, at: Instant) {
        match to_system(at) {
            Some(at) => self.timer.set_at(at),
            None => self.timer = async_io::Timer::never(),
        }
    }
}

impl Future for SmolSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if Pin::new(&mut self.timer).poll(cx).is_pending() {
                let Some(start) = self.probe.send(&DRIFT) else {
                    return Poll::Pending;
                };
                let at = self.at.min(start);
                self.fire_at(at);
                continue;
            }
            if !self.probe.is_sent() {
                return Poll::Ready(());
            }
            let now = Smol.now();
            self.probe.finish(now);
            if now >= self.at {
                return Poll::Ready(());
            }
            let at = self.at;
            self.fire_at(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_real_sleep_is_never_early() {
        let at = Smol.now().saturating_add(Duration::from_millis(3));
        async_io::block_on(Smol.sleep_until(at));
        assert!(Smol.now() >= at);
    }

    // R-52
    #[test]
    fn never_is_not_a_panic() {
        let mut never = Smol.sleep_until(Instant::MAX);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut never).poll(&mut context).is_pending());
    }

    #[test]
    fn a_sleep_tells_how_late_it_is_served() {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut asleep = || {
            let now = Smol.now();
            assert!(Smol.queue_delay(now).is_some());
            let at = now.saturating_add(Duration::from_millis(40));
            let mut sleep = Smol.sleep_until(at);
            assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
            sleep
        };
        let mut sleep = asleep();
        // The sleep of another test may have taken the probe.
        while !sleep.probe.is_sent() {
            std::thread::sleep(Duration::from_millis(50));
            sleep = asleep();
        }
        let at = sleep.at;
        // The task has to wait.
        std::thread::sleep(Duration::from_millis(20));
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        let reading = Smol.queue_delay(Smol.now()).expect("it is measured");
        assert!(reading.delay() >= Duration::from_millis(15), "{reading:?}");
        async_io::block_on(sleep);
        assert!(Smol.now() >= at);
    }

    #[test]
    fn an_armed_sleep_moves() {
        let start = Smol.now();
        let mut sleep = Box::pin(Some(Smol.sleep_until(Instant::MAX)));
        let at = start.saturating_add(Duration::from_millis(3));
        Smol.rearm(sleep.as_mut(), at);
        if let Some(sleep) = sleep.as_mut().as_pin_mut() {
            async_io::block_on(sleep);
        }
        assert!(Smol.now() >= at);
    }
}
