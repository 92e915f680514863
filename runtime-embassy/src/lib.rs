//! The timer of embassy for Steadfast.
//!
//! Hand over a seed before the first call, from a hardware random number
//! generator or a unique id: without one every device jitters alike, and
//! `explain()` says so.
//!
//! ```
//! use steadfast_embassy::Guard;
//! use steadfast_core::Policy;
//!
//! static SENSOR: Guard = Guard::new(Policy::DEFAULT.with_name("sensor"));
//!
//! fn main() {
//!     steadfast_embassy::seed(0x5EED);
//!     assert!(!SENSOR.explain().to_string().contains("seed"));
//! }
//! ```
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use embassy_time::{Instant as DeviceInstant, TICK_HZ, Timer as DeviceTimer};
use portable_atomic::{AtomicU32, AtomicU64, Ordering};
use steadfast_core::{
    ByError, Clock, Draining, Instant, Memory, Narrow, NoListener, NoRules, Profile, QueueReading,
    Shared, random,
};
use steadfast_runtime::{Drift, DriftProbe, StaticTimer, Timer};

/// A guard on embassy's timer.
pub type Guard<C = ByError, R = NoRules, L = NoListener> =
    steadfast_runtime::Guard<Embassy, C, R, L>;

/// A guard on embassy's timer with room for two attempts of a call at once, or
/// `N`: two or three.
pub type HedgedGuard<C = ByError, R = NoRules, L = NoListener, const N: usize = 2> =
    steadfast_runtime::HedgedGuard<Embassy, C, R, L, Shared, N>;

/// The device's time driver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embassy;

/// Zero until the program hands one over.
static SEED: AtomicU64 = AtomicU64::new(0);

static GIVEN: AtomicU32 = AtomicU32::new(0);

static DRIFT: Drift<Shared<Lateness>> = Drift::new();

/// From 1 ms to 0.26 s: what is normal for a device lies below.
#[derive(Clone, Copy, Debug)]
struct Lateness;

impl Profile for Lateness {
    type Cells<M: Memory> = [[Narrow<M>; 64]; 3];
    const FIRST: u8 = 80;
}

/// Hands over the seed of this device's jitter.
///
/// Zero takes it back.
pub fn seed(seed: u64) {
    SEED.store(seed, Ordering::Release);
}

/// Apart from a process's, whose clock has another epoch.
static DEVICE: Draining = Draining::new();

/// Says that this device is about to stop or to sleep, for good.
///
/// From now on none of its guards retries, races or resumes anything, and a call that
/// begins ends within what is left of `grace`; [`Duration::MAX`] bounds nothing. Calls
/// in flight go on within their bounds. The first word counts.
pub fn drain(grace: Duration) {
    DEVICE.begin(Embassy.now(), grace);
}

/// Tells whether this device is about to stop.
#[must_use]
pub fn is_draining() -> bool {
    DEVICE.is_draining()
}

const NANOS_A_SECOND: u64 = 1_000_000_000;

/// Never ahead of the device's clock.
const fn to_instant(ticks: u64) -> Instant {
    let whole = Duration::from_secs(ticks / TICK_HZ);
    // A remainder is below the rate, so this fits for every rate up to 18 GHz.
    let rest = (ticks % TICK_HZ) * NANOS_A_SECOND / TICK_HZ;
    Instant::ZERO
        .saturating_add(whole)
        .saturating_add(Duration::from_nanos(rest))
}

/// Rounds up, so that a wake is never early.
const fn to_ticks(at: Instant) -> u64 {
    let nanos = at.as_nanos();
    let whole = (nanos / NANOS_A_SECOND).saturating_mul(TICK_HZ);
    let rest = (nanos % NANOS_A_SECOND)
        .saturating_mul(TICK_HZ)
        .div_ceil(NANOS_A_SECOND);
    whole.saturating_add(rest)
}

impl Clock for Embassy {
    fn now(&self) -> Instant {
        to_instant(DeviceInstant::now().as_ticks())
    }
}

impl Timer for Embassy {
    type Sleep = EmbassySleep;

    fn sleep_until(&self, at: Instant) -> EmbassySleep {
        EmbassySleep {
            timer: fire_at(at),
            at,
            probe: DriftProbe::NONE,
        }
    }

    fn seed(&self) -> u64 {
        let seed = SEED.load(Ordering::Acquire);
        if seed == 0 {
            return 0;
        }
        let given = u64::from(GIVEN.fetch_add(2, Ordering::Relaxed));
        let high = u64::from(random(seed, given));
        let low = u64::from(random(seed, given.wrapping_add(1)));
        (high << 32) | low
    }

    fn is_seeded(&self) -> bool {
        SEED.load(Ordering::Acquire) != 0
    }

    /// Reads how late sleeps are served, see [`Drift`].
    fn queue_delay(&self, now: Instant) -> Option<QueueReading> {
        Some(DRIFT.read(now))
    }

    fn draining(&self) -> Option<&Draining> {
        Some(&DEVICE)
    }
}

impl StaticTimer for Embassy {
    const TIMER: Self = Self;
}

fn fire_at(at: Instant) -> DeviceTimer {
    DeviceTimer::at(DeviceInstant::from_ticks(to_ticks(at)))
}

/// A sleep of [`Embassy`].
#[derive(Debug)]
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct EmbassySleep {
    timer: DeviceTimer,
    at: Instant,
    probe: DriftProbe<Embassy, Shared<Lateness>>,
}

impl Future for EmbassySleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if Pin::new(&mut self.timer).poll(cx).is_pending() {
                let Some(start) = self.probe.send(&DRIFT) else {
                    return Poll::Pending;
                };
                self.timer = fire_at(self.at.min(start));
                continue;
            }
            if !self.probe.is_sent() {
                return Poll::Ready(());
            }
            let now = Embassy.now();
            self.probe.finish(now);
            if now >= self.at {
                return Poll::Ready(());
            }
            self.timer = fire_at(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn a_sleep_tells_how_late_it_is_served() {
        let now = Embassy.now();
        assert!(Embassy.queue_delay(now).is_some());
        let at = now.saturating_add(Duration::from_millis(40));
        let mut sleep = Embassy.sleep_until(at);
        let mut context = Context::from_waker(core::task::Waker::noop());
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        // The task has to wait.
        std::thread::sleep(Duration::from_millis(20));
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        let reading = Embassy.queue_delay(Embassy.now()).expect("it is measured");
        assert!(reading.delay() >= Duration::from_millis(15), "{reading:?}");
        std::thread::sleep(at.saturating_since(Embassy.now()) + Duration::from_millis(1));
        assert!(Pin::new(&mut sleep).poll(&mut context).is_ready());
        assert!(Embassy.now() >= at);
    }

    #[test]
    fn ticks_round_up() {
        for nanos in [0, 1, 999, 1_000, 1_000_001, 123_456_789_012_345] {
            let at = Instant::from_nanos(nanos);
            assert!(to_instant(to_ticks(at)) >= at);
            if let Some(before) = to_ticks(at).checked_sub(1) {
                assert!(to_instant(before) < at);
            }
        }
    }

    // R-52
    #[test]
    fn never_saturates() {
        assert!(to_ticks(Instant::MAX) > 0);
        assert!(to_instant(u64::MAX) > Instant::from_nanos(1 << 62));
    }

    #[test]
    fn seeds_differ_from_each_other() {
        assert!(!Embassy.is_seeded());
        seed(7);
        assert!(Embassy.is_seeded());
        assert_ne!(Embassy.seed(), Embassy.seed());
    }
}
