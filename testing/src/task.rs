//! The handle of a spawned task.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use crate::state::State;
use crate::tasks::Key;

/// A spawned task: a future of its output.
///
/// Dropping it cancels the task and drops its future at once;
/// [`Task::detach`] lets it run on alone.
///
/// ```
/// use steadfast_testing::World;
///
/// let world = World::new();
/// let task = world.spawn("sum", async { 1 + 2 });
/// world.settle();
/// assert!(task.is_finished());
/// assert_eq!(world.block_on(task), 3);
/// ```
#[must_use = "dropping a task cancels it; `detach` lets it run on"]
pub struct Task<T> {
    world: Weak<State>,
    key: Key,
    exit: Rc<Exit<T>>,
}

/// Where a task leaves its output.
pub(crate) struct Exit<T> {
    output: Cell<Option<T>>,
    finished: Cell<bool>,
    waiter: Cell<Option<Waker>>,
}

impl<T> Exit<T> {
    pub(crate) fn new() -> Self {
        Self {
            output: Cell::new(None),
            finished: Cell::new(false),
            waiter: Cell::new(None),
        }
    }

    pub(crate) fn leave(&self, output: T) {
        self.output.set(Some(output));
        self.finished.set(true);
        if let Some(waiter) = self.waiter.take() {
            waiter.wake();
        }
    }
}

impl<T> Task<T> {
    pub(crate) fn new(world: Weak<State>, key: Key, exit: Rc<Exit<T>>) -> Self {
        Self { world, key, exit }
    }

    /// Lets the task run on without its handle.
    ///
    /// One that never ends and holds the world keeps it in memory: keep its handle
    /// instead.
    pub fn detach(mut self) {
        self.world = Weak::new();
    }

    /// Tells whether the task has come to its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.exit.finished.get()
    }
}

/// Pending for ever once it has given the output away.
impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let Some(output) = self.exit.output.take() {
            return Poll::Ready(output);
        }
        self.exit.waiter.set(Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(world) = self.world.upgrade() {
            world.end(self.key);
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
