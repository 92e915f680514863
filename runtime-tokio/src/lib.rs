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

use std::pin::Pin;
use std::sync::LazyLock;
use std::time::Duration;
use std::time::Instant as StdInstant;

use steadfast_core::{ByError, Clock, Instant, NoListener, NoRules};
use steadfast_runtime::{Block, StaticTimer, Timer, system_seed};
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

/// A guard on tokio's timer.
pub type Guard<C = ByError, R = NoRules, L = NoListener> = steadfast_runtime::Guard<Tokio, C, R, L>;

/// Tokio's clock and timer wheel; follows `tokio::time::pause`.
///
/// Works on every runtime of the process and across runtimes. Like every timer
/// of tokio it has to be used inside one, with time enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

/// Where the clock starts: one epoch for the whole process.
static EPOCH: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

/// What cannot be represented is as good as never.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

fn to_tokio(at: Instant) -> TokioInstant {
    let epoch = *EPOCH;
    epoch
        .checked_add(Duration::from_nanos(at.as_nanos()))
        .unwrap_or_else(|| epoch + FAR)
        .into()
}

impl Clock for Tokio {
    fn now(&self) -> Instant {
        let epoch = *EPOCH;
        let now = TokioInstant::now().into_std();
        Instant::ZERO.saturating_add(now.saturating_duration_since(epoch))
    }
}

impl Timer for Tokio {
    type Sleep = Sleep;

    fn sleep_until(&self, at: Instant) -> Sleep {
        sleep_until(to_tokio(at))
    }

    fn rearm(&self, mut sleep: Pin<&mut Option<Sleep>>, at: Instant) {
        match sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.reset(to_tokio(at)),
            None => sleep.set(Some(self.sleep_until(at))),
        }
    }

    fn seed(&self) -> u64 {
        system_seed()
    }
}

impl StaticTimer for Tokio {
    const TIMER: Self = Self;
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
