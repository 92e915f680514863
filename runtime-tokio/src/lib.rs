//! The timer of tokio for Steadfast.
//!
//! ```
//! use steadfast_tokio::Guard;
//! use steadfast_core::Policy;
//!
//! static SEARCH: Guard = Guard::new(Policy::DEFAULT.with_name("search"));
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let found = SEARCH.call(|_| async { std::io::Result::Ok(3) }).await;
//! assert_eq!(found.unwrap(), 3);
//! # }
//! ```

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use steadfast_core::{
    ByError, Clock, Draining, Instant, NoListener, NoRules, QueueDelay, QueueProbe, QueueReading,
    Shared,
};
use steadfast_runtime::{Block, PROCESS, StaticTimer, Timer, from_system, system_seed, to_system};
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

pub use steadfast_runtime::is_draining;

/// A guard on tokio's timer.
pub type Guard<C = ByError, R = NoRules, L = NoListener> = steadfast_runtime::Guard<Tokio, C, R, L>;

/// A guard on tokio's timer with room for two attempts of a call at once, or
/// `N`: two or three.
pub type HedgedGuard<C = ByError, R = NoRules, L = NoListener, const N: usize = 2> =
    steadfast_runtime::HedgedGuard<Tokio, C, R, L, Shared, N>;

/// Tokio's clock and timer wheel; follows `tokio::time::pause`.
///
/// Works on every runtime of the process, one after the other and side by side; a
/// call that has begun in one has to end there. Like every timer of tokio it has
/// to be used inside one, with time enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

/// Says that this process is about to stop, for good.
///
/// From now on none of its guards retries, races or resumes anything, and a call that
/// begins ends within what is left of `grace`: make it a little less than what the
/// process itself is given. [`Duration::MAX`] bounds nothing. Calls in flight go on
/// within their bounds. The first word counts.
///
/// It holds for guards on smol's and the standard timer, too.
///
/// ```no_run
/// use std::time::Duration;
///
/// # async fn serve() {}
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let interrupted = std::future::pending::<()>(); // `tokio::signal::ctrl_c()`
/// interrupted.await;
/// // The host kills this process after 30 s.
/// steadfast_tokio::drain(Duration::from_secs(25));
/// # }
/// ```
pub fn drain(grace: Duration) {
    PROCESS.begin(Tokio.now(), grace);
}

/// What cannot be represented is as good as never.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

fn to_tokio(at: Instant) -> TokioInstant {
    match to_system(at) {
        Some(at) => at.into(),
        None => TokioInstant::now() + FAR,
    }
}

static QUEUE: QueueDelay = QueueDelay::new();

impl Clock for Tokio {
    fn now(&self) -> Instant {
        from_system(TokioInstant::now().into_std())
    }
}

impl Timer for Tokio {
    type Sleep = TokioSleep;

    fn sleep_until(&self, at: Instant) -> TokioSleep {
        TokioSleep {
            sleep: sleep_until(to_tokio(at)),
        }
    }

    fn rearm(&self, mut sleep: Pin<&mut Option<TokioSleep>>, at: Instant) {
        match sleep.as_mut().as_pin_mut() {
            Some(armed) => armed.project().sleep.reset(to_tokio(at)),
            None => sleep.set(Some(self.sleep_until(at))),
        }
    }

    fn seed(&self) -> u64 {
        system_seed()
    }

    /// Reads how long a task waits in the queue of a worker.
    ///
    /// Measured by a task of its own, four times a second at most and only while
    /// somebody asks, from when it is spawned until it has been once through the
    /// queue. Outside a runtime nothing is measured anew.
    fn queue_delay(&self, now: Instant) -> Option<QueueReading> {
        if QUEUE.is_due(now)
            && let Ok(runtime) = Handle::try_current()
            && let Some(probe) = QUEUE.probe(now, now)
        {
            let round = Round {
                probe: Some(probe),
                is_queued: false,
            };
            drop(runtime.spawn(round));
        }
        Some(QUEUE.read(now))
    }

    fn draining(&self) -> Option<&Draining> {
        Some(&PROCESS)
    }
}

impl StaticTimer for Tokio {
    const TIMER: Self = Self;
}

pin_project! {
    /// A sleep of [`Tokio`].
    #[derive(Debug)]
    #[must_use = "a sleep does nothing unless it is awaited"]
    pub struct TokioSleep {
        #[pin]
        sleep: Sleep,
    }
}

impl Future for TokioSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // An attempt that uses up the task's budget at every poll must not hold
        // off the bound that would cut it.
        pin!(unconstrained(self.project().sleep)).poll(cx)
    }
}

/// A task that goes through the queue once.
///
/// A worker runs the task it has just spawned before all others; one that wakes
/// itself while it runs goes to the end.
struct Round {
    probe: Option<QueueProbe<'static>>,
    is_queued: bool,
}

impl Future for Round {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_queued {
            self.is_queued = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(probe) = self.probe.take() {
            probe.finish(Tokio.now());
        }
        Poll::Ready(())
    }
}

/// Holds the thread for real, also while tokio's clock is paused.
impl Block for Tokio {
    fn block_until(&self, at: Instant) {
        std::thread::sleep(at.saturating_since(self.now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_a_pause() {
        let before = Tokio.now();
        tokio::time::advance(MS(70)).await;
        assert_eq!(Tokio.now().saturating_since(before), MS(70));
    }

    #[tokio::test]
    async fn a_real_sleep_is_never_early() {
        let at = Tokio.now().saturating_add(MS(3));
        Tokio.sleep_until(at).await;
        assert!(Tokio.now() >= at);
    }

    // R-52
    #[tokio::test(start_paused = true)]
    async fn never_is_not_a_panic() {
        let never = Tokio.sleep_until(Instant::MAX);
        let waited = tokio::time::timeout(MS(86_400_000), never).await;
        assert!(waited.is_err());
    }

    // The process asks this clock first a while after another one was paused.
    #[test]
    fn a_clock_paused_early_still_moves() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        std::thread::sleep(MS(20));
        runtime.block_on(async {
            let before = Tokio.now();
            tokio::time::advance(MS(1)).await;
            assert_eq!(Tokio.now().saturating_since(before), MS(1));
        });
    }

    #[tokio::test]
    async fn a_busy_task_does_not_hold_off_its_bound() {
        let mut sleep = pin!(Tokio.sleep_until(Tokio.now().saturating_add(MS(3))));
        let busy = async {
            loop {
                tokio::task::coop::consume_budget().await;
            }
        };
        let mut busy = pin!(busy);
        std::future::poll_fn(|cx| {
            assert!(busy.as_mut().poll(cx).is_pending());
            sleep.as_mut().poll(cx)
        })
        .await;
    }

    // One test, as the reading is the process's.
    #[tokio::test]
    async fn a_task_tells_how_long_the_queue_is() {
        const BUSY: u32 = 4;
        async fn busy() {
            for _ in 0..2 {
                std::thread::sleep(MS(5));
                std::future::ready(()).await;
            }
        }
        for _ in 0..BUSY {
            tokio::spawn(busy());
        }
        let now = Tokio.now();
        let before = Tokio.queue_delay(now).expect("it is measured");
        assert!(before.delay() < MS(5));
        assert_eq!(Tokio.queue_delay(now), Some(before));
        tokio::task::yield_now().await;
        // Once more, as the first turn of the probe only leads to the end.
        tokio::task::yield_now().await;
        let reading = Tokio.queue_delay(Tokio.now()).expect("it is measured");
        assert!(reading.delay() >= MS(10) * BUSY, "{reading:?}");
    }

    #[test]
    fn outside_a_runtime_no_task_is_spawned() {
        assert!(Tokio.queue_delay(Instant::MAX).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_armed_sleep_moves() {
        let start = Tokio.now();
        let mut sleep = Box::pin(None);
        Tokio.rearm(sleep.as_mut(), start.saturating_add(MS(500)));
        Tokio.rearm(sleep.as_mut(), start.saturating_add(MS(20)));
        if let Some(sleep) = sleep.as_mut().as_pin_mut() {
            sleep.await;
        }
        // Tokio's wheel turns in milliseconds.
        let slept = Tokio.now().saturating_since(start);
        assert!((MS(20)..=MS(21)).contains(&slept), "{slept:?}");
    }
}
