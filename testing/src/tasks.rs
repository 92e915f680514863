//! The futures of a world, and the queue of those that can run.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::task::Waker;

use steadfast_core::Instant;

use crate::stuck::{Cause, Stuck, Waiting};

/// How often one task may be polled while time stands still.
///
/// A hundred thousand rounds at one instant is far beyond what a test does on
/// purpose, and takes milliseconds to reach.
pub(crate) const POLLS_PER_INSTANT: u32 = 100_000;

pub(crate) type Body = Pin<Box<dyn Future<Output = ()>>>;

/// Names one task; what it named may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    slot: usize,
    id: u64,
}

/// The tasks that can run, first come first served.
///
/// The only part that other threads touch, through wakers.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<VecDeque<Key>>);

impl Ready {
    pub(crate) fn pop(&self) -> Option<Key> {
        self.queue().pop_front()
    }

    fn push(&self, key: Key) {
        self.queue().push_back(key);
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a task's wakers share.
#[derive(Debug)]
struct Signal {
    key: Key,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.key);
        }
    }
}

/// A task's turn: what is needed to poll it outside the borrow.
pub(crate) struct Turn {
    pub(crate) waker: Waker,
    /// `None` for the root future, which stands on the stack of its run.
    pub(crate) body: Option<Body>,
    pub(crate) polls: u32,
}

/// The slab of tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    last_id: u64,
}

pub(crate) struct Slot {
    name: String,
    since: Instant,
    signal: Arc<Signal>,
    waker: Waker,
    body: Option<Body>,
    polls: u32,
    period: u64,
}

impl Tasks {
    /// Adds a task, ready to run, that was already polled `polls` times.
    pub(crate) fn add(
        &mut self,
        ready: &Arc<Ready>,
        name: String,
        body: Option<Body>,
        (now, period): (Instant, u64),
        polls: u32,
    ) -> Key {
        self.last_id += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let key = Key {
            slot,
            id: self.last_id,
        };
        let signal = Arc::new(Signal {
            key,
            queued: AtomicBool::new(true),
            ready: Arc::clone(ready),
        });
        self.slots[slot] = Some(Slot {
            name,
            since: now,
            waker: Waker::from(Arc::clone(&signal)),
            signal,
            body,
            polls,
            period,
        });
        ready.push(key);
        key
    }

    /// Starts a task's turn; `None` when it has ended.
    pub(crate) fn begin(
        &mut self,
        key: Key,
        (now, period): (Instant, u64),
    ) -> Result<Option<Turn>, Stuck> {
        let Some(slot) = self.get(key) else {
            return Ok(None);
        };
        if mem::replace(&mut slot.period, period) != period {
            slot.polls = 0;
        }
        if slot.polls >= POLLS_PER_INSTANT {
            let task = Waiting::new(&slot.name, slot.since);
            let cause = Cause::Spins { polls: slot.polls };
            return Err(Stuck::new(now, vec![task], cause));
        }
        slot.polls += 1;
        slot.since = now;
        slot.signal.queued.store(false, Ordering::Release);
        Ok(Some(Turn {
            waker: slot.waker.clone(),
            body: slot.body.take(),
            polls: slot.polls,
        }))
    }

    /// Puts a body back; hands it out again when the task ended meanwhile.
    pub(crate) fn park(&mut self, key: Key, body: Body) -> Option<Body> {
        match self.get(key) {
            Some(slot) => slot.body.replace(body),
            None => Some(body),
        }
    }

    /// Takes a task out, to be dropped after the borrow.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Slot> {
        self.get(key)?;
        let slot = self.slots.get_mut(key.slot)?.take();
        self.free.push(key.slot);
        slot
    }

    /// Returns how many tasks have not ended.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Lists the root future, then the tasks in the order they were spawned.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let mut slots: Vec<_> = self.slots.iter().flatten().collect();
        slots.sort_by_key(|slot| (slot.body.is_some(), slot.signal.key.id));
        slots
            .into_iter()
            .map(|slot| Waiting::new(&slot.name, slot.since))
            .collect()
    }

    fn get(&mut self, key: Key) -> Option<&mut Slot> {
        self.slots
            .get_mut(key.slot)?
            .as_mut()
            .filter(|slot| slot.signal.key == key)
    }
}
