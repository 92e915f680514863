//! The clock of a world, and the sleeps on it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use steadfast_core::{Clock, Draining, Instant, QueueReading, random};
use steadfast_runtime::{Block, Timer};

use crate::alarms::{Alarms, Ticket};

/// The timer of a [`World`](crate::World); clones share its time.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Clock;
/// use steadfast_runtime::{Block, Timer};
/// use steadfast_testing::World;
///
/// let world = World::new();
/// let timer = world.timer();
/// let due = timer.now().saturating_add(Duration::from_secs(5));
/// timer.block_until(due);
/// assert_eq!(world.elapsed(), Duration::from_secs(5));
/// world.block_on(timer.sleep_until(due));
/// assert_ne!(timer.seed(), timer.seed());
/// ```
#[derive(Clone)]
pub struct VirtualTimer(Rc<Time>);

/// Kept apart from the tasks: these hold timers, and must not hold themselves.
struct Time {
    now: Cell<Instant>,
    alarms: RefCell<Alarms>,
    seed: u64,
    seeds: Cell<u64>,
    reads: Cell<u64>,
    sleeps: Cell<u64>,
    queue: Cell<Option<QueueReading>>,
    draining: Draining,
}

impl VirtualTimer {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Rc::new(Time {
            now: Cell::new(Instant::ZERO),
            alarms: RefCell::default(),
            seed,
            seeds: Cell::new(0),
            reads: Cell::new(0),
            sleeps: Cell::new(0),
            queue: Cell::new(None),
            draining: Draining::new(),
        }))
    }

    /// Wakes the first sleep that is due by `limit`, and is then no earlier.
    pub(crate) fn fire_next(&self, limit: Instant) -> bool {
        let due = self.0.alarms.borrow_mut().take_due(limit);
        let Some((at, waker)) = due else {
            return false;
        };
        self.pass_to(at);
        waker.wake();
        true
    }

    /// Lets time pass to `at`; it does not go back.
    pub(crate) fn pass_to(&self, at: Instant) {
        self.set(at.max(self.peek()));
    }

    pub(crate) fn set(&self, at: Instant) {
        self.0.now.set(at);
    }

    /// Reads the clock without counting.
    pub(crate) fn peek(&self) -> Instant {
        self.0.now.get()
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.alarms.borrow_mut().next()
    }

    pub(crate) fn pending(&self) -> usize {
        self.0.alarms.borrow().live()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.0.reads.get()
    }

    pub(crate) fn made(&self) -> u64 {
        self.0.sleeps.get()
    }

    pub(crate) fn set_queue(&self, reading: Option<QueueReading>) {
        self.0.queue.set(reading);
    }

    pub(crate) fn armed(&self) -> u64 {
        self.0.alarms.borrow().armed()
    }
}

impl Clock for VirtualTimer {
    fn now(&self) -> Instant {
        self.0.reads.set(self.0.reads.get() + 1);
        self.peek()
    }
}

impl Timer for VirtualTimer {
    type Sleep = Sleep;

    fn sleep_until(&self, at: Instant) -> Sleep {
        self.0.sleeps.set(self.0.sleeps.get() + 1);
        Sleep {
            timer: self.clone(),
            at,
            ticket: None,
        }
    }

    /// Moves the sleep in place: it counts as armed again, not as made.
    fn rearm(&self, mut sleep: Pin<&mut Option<Sleep>>, at: Instant) {
        match sleep.as_mut().get_mut() {
            Some(sleep) if Rc::ptr_eq(&sleep.timer.0, &self.0) => {
                sleep.disarm();
                sleep.at = at;
            }
            _ => sleep.set(Some(self.sleep_until(at))),
        }
    }

    /// Returns the next seed of the world's stream; the first 2³² all differ.
    fn seed(&self) -> u64 {
        let count = self.0.seeds.get();
        self.0.seeds.set(count + 1);
        let mask = u64::from(random(self.0.seed, u64::MAX));
        u64::from(random(self.0.seed, count)) << 32 | (mask ^ count) & 0xFFFF_FFFF
    }

    /// Reads what [`World::set_queue_delay`](crate::World::set_queue_delay) said.
    fn queue_delay(&self, _: Instant) -> Option<QueueReading> {
        self.0.queue.get()
    }

    /// Reads what [`World::drain`](crate::World::drain) said.
    fn draining(&self) -> Option<&Draining> {
        Some(&self.0.draining)
    }
}

/// Lets time pass, waking what is due on the way; nothing else runs, as on any
/// thread that is held.
///
/// # Panics
///
/// Panics at [`Instant::MAX`], which never comes.
impl Block for VirtualTimer {
    fn block_until(&self, at: Instant) {
        assert!(
            at < Instant::MAX,
            "stuck at {}: the thread is held until an instant that never comes",
            Since(self.peek()),
        );
        while self.fire_next(at) {}
        self.pass_to(at);
    }
}

impl fmt::Debug for VirtualTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualTimer")
            .field("now", &self.peek())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

/// Ready from its instant on; armed from its first poll until then.
///
/// One that waits for [`Instant::MAX`] is never armed and never ready. Dropping
/// it disarms it.
#[must_use = "a sleep does nothing unless polled"]
pub struct Sleep {
    timer: VirtualTimer,
    at: Instant,
    ticket: Option<Ticket>,
}

impl Sleep {
    fn disarm(&mut self) {
        let waker = self
            .ticket
            .take()
            .and_then(|ticket| self.timer.0.alarms.borrow_mut().disarm(ticket));
        drop(waker);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.at == Instant::MAX {
            return Poll::Pending;
        }
        if self.timer.peek() >= self.at {
            self.disarm();
            return Poll::Ready(());
        }
        // Made before and dropped after the borrow: wakers are foreign code.
        let mut waker = cx.waker().clone();
        let armed = match self.ticket {
            Some(ticket) => match self.timer.0.alarms.borrow_mut().waker(ticket) {
                Some(place) => {
                    std::mem::swap(place, &mut waker);
                    true
                }
                None => false,
            },
            None => false,
        };
        if !armed {
            let at = self.at;
            let ticket = self.timer.0.alarms.borrow_mut().arm(at, waker);
            self.ticket = Some(ticket);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// An instant as the time since the world began.
pub(crate) struct Since(pub(crate) Instant);

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_nanos() {
            0 => f.write_str("0s"),
            nanos => write!(f, "{:?}", Duration::from_nanos(nanos)),
        }
    }
}

#[cfg(test)]
mod tests;
