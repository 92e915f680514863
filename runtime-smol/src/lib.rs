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

use steadfast_core::{ByError, Clock, Instant, NoListener, NoRules, Shared};
use steadfast_runtime::{Block, StaticTimer, Timer, from_system, system_seed, to_system};

/// A guard on smol's timer.
pub type Guard<C = ByError, R = NoRules, L = NoListener> = steadfast_runtime::Guard<Smol, C, R, L>;

/// A guard on smol's timer with room for two attempts of a call at once, or
/// `N`: two or three.
pub type HedgedGuard<C = ByError, R = NoRules, L = NoListener, const N: usize = 2> =
    steadfast_runtime::HedgedGuard<Smol, C, R, L, Shared, N>;

/// The system's clock and smol's reactor; works under any executor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smol;

impl Clock for Smol {
    fn now(&self) -> Instant {
        from_system(StdInstant::now())
    }
}

impl Timer for Smol {
    type Sleep = SmolSleep;

    fn sleep_until(&self, at: Instant) -> SmolSleep {
        let timer = to_system(at).map_or_else(async_io::Timer::never, async_io::Timer::at);
        SmolSleep(timer)
    }

    fn rearm(&self, mut sleep: Pin<&mut Option<SmolSleep>>, at: Instant) {
        match (sleep.as_mut().as_pin_mut(), to_system(at)) {
            (Some(mut armed), Some(due)) => armed.0.set_at(due),
            _ => sleep.set(Some(self.sleep_until(at))),
        }
    }

    fn seed(&self) -> u64 {
        system_seed()
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
pub struct SmolSleep(async_io::Timer);

impl Future for SmolSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
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
