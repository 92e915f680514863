//! Timers that measure: one that counts, one that skips.

use std::cell::Cell;
use std::future::{Ready, ready};

use steadfast::tokio::Tokio;
use steadfast::{Clock, Instant, StaticTimer, Timer};

/// What a clock read costs where callgrind does not look, in the vDSO.
pub const READ: u64 = 61;

thread_local! {
    static READS: Cell<u64> = const { Cell::new(0) };
    static NOW: Cell<Instant> = const { Cell::new(Instant::ZERO) };
}

/// How often `run` reads a [`Counting`] clock.
pub fn reads_of(run: impl FnOnce()) -> u64 {
    READS.set(0);
    run();
    READS.get()
}

fn count() {
    READS.set(READS.get() + 1);
}

/// Tokio's timer, each read of its clock counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

impl Clock for Counting {
    fn now(&self) -> Instant {
        count();
        Tokio.now()
    }
}

impl Timer for Counting {
    type Sleep = <Tokio as Timer>::Sleep;

    fn sleep_until(&self, at: Instant) -> Self::Sleep {
        Tokio.sleep_until(at)
    }

    fn seed(&self) -> u64 {
        Tokio.seed()
    }
}

impl StaticTimer for Counting {
    const TIMER: Self = Self;
}

/// A timer whose sleeps are over at once: its clock jumps to their end.
#[derive(Clone, Copy, Debug)]
pub struct Skipping;

impl Clock for Skipping {
    fn now(&self) -> Instant {
        NOW.get()
    }
}

impl Timer for Skipping {
    type Sleep = Ready<()>;

    fn sleep_until(&self, at: Instant) -> Ready<()> {
        NOW.set(at);
        ready(())
    }

    fn seed(&self) -> u64 {
        1
    }
}

impl StaticTimer for Skipping {
    const TIMER: Self = Self;
}
