//! What the handles of a world share.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;
use std::task::Context;

use steadfast_core::Instant;

use crate::stuck::{Cause, Stuck};
use crate::tasks::{Body, Key, Ready, Tasks, Turn};
use crate::timer::VirtualTimer;

/// How many sleeps may fire in one run of a world, unless it is told otherwise.
///
/// Far beyond what a test does on purpose; ten million take seconds.
const PATIENCE: u64 = 10_000_000;

/// The time and the tasks of a world.
pub(crate) struct State {
    pub(crate) timer: VirtualTimer,
    pub(crate) tasks: RefCell<Tasks>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) patience: Cell<u64>,
    driven: Cell<bool>,
    // Polls are counted anew in each period: when time moved, or a new run began.
    period: Cell<u64>,
    seen: Cell<Instant>,
    // Polls of the running task: what it spawns goes on from there, so that a
    // chain of spawns at one instant ends, too.
    polls: Cell<u32>,
}

impl State {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            timer: VirtualTimer::seeded(seed),
            tasks: RefCell::default(),
            ready: Arc::default(),
            patience: Cell::new(PATIENCE),
            driven: Cell::new(false),
            period: Cell::new(0),
            seen: Cell::new(Instant::ZERO),
            polls: Cell::new(0),
        }
    }

    /// Claims the world, as nothing may drive it from inside.
    #[track_caller]
    pub(crate) fn drive(&self) -> Drive<'_> {
        assert!(
            !self.driven.replace(true),
            "a task cannot drive its own world: await, or use `jump` to let time pass"
        );
        self.period.set(self.period.get() + 1);
        Drive(self)
    }

    pub(crate) fn add(&self, name: String, body: Option<Body>) -> Key {
        let (when, polls) = (self.when(), self.polls.get());
        let mut tasks = self.tasks.borrow_mut();
        tasks.add(&self.ready, name, body, when, polls)
    }

    pub(crate) fn begin(&self, key: Key) -> Result<Option<Turn>, Stuck> {
        let when = self.when();
        self.tasks.borrow_mut().begin(key, when)
    }

    pub(crate) fn poll(&self, key: Key) -> Result<(), Stuck> {
        let Some(Turn { waker, body, polls }) = self.begin(key)? else {
            return Ok(());
        };
        let Some(mut body) = body else {
            return Ok(());
        };
        let ending = Ending(self, key);
        self.polls.set(polls);
        let polled = body.as_mut().poll(&mut Context::from_waker(&waker));
        self.polls.set(0);
        if polled.is_pending() {
            mem::forget(ending);
            let ended = self.tasks.borrow_mut().park(key, body);
            drop(ended);
        }
        Ok(())
    }

    /// Runs what can run and fires what is due by `until`, one after the other.
    ///
    /// Without an instant, what is due now: a task may have moved the clock.
    pub(crate) fn drain(&self, until: Option<Instant>) -> Result<(), Stuck> {
        let mut fired = 0_u64;
        loop {
            while let Some(key) = self.ready.pop() {
                self.poll(key)?;
            }
            let limit = until.unwrap_or_else(|| self.timer.peek());
            if self.timer.next().is_none_or(|at| at > limit) {
                return Ok(());
            }
            if fired >= self.patience.get() {
                return Err(self.stuck(Cause::Endless { fired }));
            }
            self.timer.fire_next(limit);
            fired += 1;
        }
    }

    pub(crate) fn stuck(&self, cause: Cause) -> Stuck {
        let waiting = self.tasks.borrow().waiting();
        Stuck::new(self.timer.peek(), waiting, cause)
    }

    /// Ends a task and drops its future; no matter when, or whether it runs.
    pub(crate) fn end(&self, key: Key) {
        let slot = self.tasks.borrow_mut().remove(key);
        drop(slot);
    }

    /// Returns the time and the period that polls are counted in.
    fn when(&self) -> (Instant, u64) {
        let now = self.timer.peek();
        if self.seen.replace(now) != now {
            self.period.set(self.period.get() + 1);
        }
        (now, self.period.get())
    }
}

/// Gives the world free again, also after a panic.
pub(crate) struct Drive<'a>(&'a State);

impl Drop for Drive<'_> {
    fn drop(&mut self) {
        self.0.polls.set(0);
        self.0.driven.set(false);
    }
}

/// Takes a task off the list, also after a panic.
pub(crate) struct Ending<'a>(pub(crate) &'a State, pub(crate) Key);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}
