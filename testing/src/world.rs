//! A world whose time moves only when nothing else can.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use steadfast_core::{Instant, Policy};
use steadfast_runtime::{Guard, Plan, Timer};

use crate::stuck::{Cause, Stuck};
use crate::task::{Exit, Task};
use crate::tasks::{Body, Key, Ready, Tasks, Turn};
use crate::timer::{Sleep, VirtualTimer};

/// One thread, its tasks, and a time that passes only when all of them wait.
///
/// A cheap handle: clones are the same world. Tasks run in the order they were
/// woken; equal instants fire in the order they were armed; so the same program
/// takes the same course every time. A world that cannot go on is [`Stuck`],
/// it does not hang; only a future that never returns from one poll can hold
/// it. Wakers may be called from any thread, but a world waits for none.
///
/// A spawned task that holds a `World` keeps it alive until the task ends.
///
/// ```
/// use std::time::Duration;
/// use steadfast_testing::World;
///
/// let world = World::new();
/// let clock = world.clone();
/// let early = world.spawn("early", async move {
///     clock.sleep(Duration::from_secs(1)).await;
///     clock.now()
/// });
/// world.advance(Duration::from_secs(3));
/// assert_eq!(world.block_on(early).as_nanos(), 1_000_000_000);
/// assert_eq!(world.elapsed(), Duration::from_secs(3));
/// ```
#[derive(Clone)]
pub struct World(Rc<State>);

pub(crate) struct State {
    timer: VirtualTimer,
    tasks: RefCell<Tasks>,
    ready: Arc<Ready>,
    driven: Cell<bool>,
    // Polls are counted anew in each period: when time moved, or a new run began.
    period: Cell<u64>,
    seen: Cell<Instant>,
    // Polls of the running task: what it spawns goes on from there, so that a
    // chain of spawns at one instant ends, too.
    polls: Cell<u32>,
    patience: Cell<u64>,
}

/// How many sleeps may fire before the root future is woken.
///
/// A task that ticks for ever must not hide that the root waits for nothing;
/// ten million take seconds.
const PATIENCE: u64 = 10_000_000;

impl World {
    /// Makes a world at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// Makes a world at time zero whose timer hands out other seeds.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Rc::new(State {
            timer: VirtualTimer::seeded(seed),
            tasks: RefCell::default(),
            ready: Arc::default(),
            driven: Cell::new(false),
            period: Cell::new(0),
            seen: Cell::new(Instant::ZERO),
            polls: Cell::new(0),
            patience: Cell::new(PATIENCE),
        }))
    }

    /// Runs `future` to its end, and every task as far as that takes.
    ///
    /// Time moves to the next armed sleep only when nothing else can run. Tasks
    /// that still wait are left where they are.
    ///
    /// # Errors
    ///
    /// [`Stuck`] when nothing can run and no sleep is armed; when a future was
    /// polled 100 000 times while time stood still; when ten million sleeps
    /// fired and none woke `future` (use [`World::advance`] for such a wait).
    ///
    /// # Panics
    ///
    /// Propagates the panic of a task. Panics inside a task of this world.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, Stuck> {
        let _drive = self.drive();
        let mut future = pin!(future);
        let main = self.0.add("main".to_owned(), None);
        let _main = Ending(&self.0, main);
        let mut fired = 0_u64;
        loop {
            while let Some(key) = self.0.ready.pop() {
                if key != main {
                    self.0.poll(key)?;
                } else if let Some(turn) = self.0.begin(key)? {
                    fired = 0;
                    let mut cx = Context::from_waker(&turn.waker);
                    if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                        return Ok(output);
                    }
                }
            }
            let cause = if fired >= self.0.patience.get() {
                Cause::Ignored { fired }
            } else if self.0.timer.fire_next(Instant::MAX) {
                fired += 1;
                continue;
            } else {
                Cause::Idle
            };
            let waiting = self.0.tasks.borrow().waiting();
            return Err(Stuck::new(self.now(), waiting, cause));
        }
    }

    /// Runs `future` to its end, as [`World::run`] does.
    ///
    /// # Panics
    ///
    /// Panics with the text of [`Stuck`] where `run` returns it.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test that hangs has failed")]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self.run(future) {
            Ok(output) => output,
            Err(stuck) => panic!("{stuck}"),
        }
    }

    /// Spawns a task; it first runs when the world is next driven.
    ///
    /// The name is how [`Stuck`] calls it.
    pub fn spawn<F>(&self, name: impl Into<String>, future: F) -> Task<F::Output>
    where
        F: Future + 'static,
    {
        let exit = Rc::new(Exit::new());
        let left = Rc::clone(&exit);
        let body = Box::pin(async move { left.leave(future.await) });
        let key = self.0.add(name.into(), Some(body));
        Task::new(Rc::downgrade(&self.0), key, exit)
    }

    /// Runs everything that can run, without moving time.
    ///
    /// # Panics
    ///
    /// Propagates the panic of a task. Panics with the text of [`Stuck`] when a
    /// task spins, and inside a task of this world.
    #[track_caller]
    pub fn settle(&self) {
        let _drive = self.drive();
        self.drain();
    }

    /// Moves time by `span`, step by step.
    ///
    /// Every sleep due on the way fires at its instant, in order, and what it
    /// wakes runs before time moves on.
    ///
    /// # Panics
    ///
    /// As [`World::settle`] does.
    #[track_caller]
    pub fn advance(&self, span: Duration) {
        let _drive = self.drive();
        let until = self.now().saturating_add(span);
        self.drain();
        while self.0.timer.fire_next(until) {
            self.drain();
        }
        self.0.timer.pass_to(until);
    }

    /// Moves the clock forward at once, as a suspended machine does.
    ///
    /// Nothing runs; what is overdue fires, late, when the world is next driven.
    /// Also for an operation that holds its thread.
    pub fn jump(&self, span: Duration) {
        self.set_time(self.now().saturating_add(span));
    }

    /// Moves the clock back, as no clock should; stops at zero.
    ///
    /// Armed sleeps keep their instants.
    pub fn step_back(&self, span: Duration) {
        self.set_time(self.now().saturating_sub(span));
    }

    /// Sets the clock, forward or back; nothing runs.
    pub fn set_time(&self, at: Instant) {
        self.0.timer.set(at);
    }

    /// Makes a future that is ready `span` from now.
    pub fn sleep(&self, span: Duration) -> Sleep {
        self.sleep_until(self.now().saturating_add(span))
    }

    /// Makes a future that is ready from `at` on.
    pub fn sleep_until(&self, at: Instant) -> Sleep {
        self.0.timer.sleep_until(at)
    }

    /// Makes a guard on this world's time.
    ///
    /// For one with a classifier, rules or a listener, see
    /// [`Guard::try_on`](steadfast_runtime::Guard::try_on).
    ///
    /// # Panics
    ///
    /// When the policy cannot work.
    #[must_use]
    #[track_caller]
    pub fn guard(&self, policy: Policy) -> Guard<VirtualTimer> {
        match Guard::try_on(self.timer(), Plan::new(policy)) {
            Ok(guard) => guard,
            #[expect(clippy::panic, reason = "a test's own mistake ends the test")]
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the timer, to be given to guards and scripts.
    #[must_use]
    pub fn timer(&self) -> VirtualTimer {
        self.0.timer.clone()
    }

    /// Returns the time; does not count as a read of the clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.timer.peek()
    }

    /// Returns the time since zero.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.now().saturating_since(Instant::ZERO)
    }

    /// Returns how many tasks have not ended, the root future included.
    #[must_use]
    pub fn live_tasks(&self) -> usize {
        self.0.tasks.borrow().live()
    }

    /// Returns how many sleeps are armed now.
    #[must_use]
    pub fn pending_timers(&self) -> usize {
        self.0.timer.pending()
    }

    /// Returns when the first armed sleep is due.
    #[must_use]
    pub fn next_timer(&self) -> Option<Instant> {
        self.0.timer.next()
    }

    /// Returns how often the timer was read as a clock.
    #[must_use]
    pub fn clock_reads(&self) -> u64 {
        self.0.timer.reads()
    }

    /// Returns how many sleeps were made, armed or not.
    #[must_use]
    pub fn timers_made(&self) -> u64 {
        self.0.timer.made()
    }

    /// Returns how often a sleep was armed; a moved one counts again.
    #[must_use]
    pub fn timers_armed(&self) -> u64 {
        self.0.timer.armed()
    }

    /// Claims the world, as nothing may drive it from inside.
    #[track_caller]
    fn drive(&self) -> Drive<'_> {
        assert!(
            !self.0.driven.replace(true),
            "a task cannot drive its own world: await, or use `jump` to let time pass"
        );
        self.0.period.set(self.0.period.get() + 1);
        Drive(&self.0)
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "a test that spins has failed")]
    fn drain(&self) {
        while let Some(key) = self.0.ready.pop() {
            if let Err(stuck) = self.0.poll(key) {
                panic!("{stuck}");
            }
        }
    }
}

impl State {
    /// Ends a task and drops its future; no matter when, or whether it runs.
    pub(crate) fn end(&self, key: Key) {
        let slot = self.tasks.borrow_mut().remove(key);
        drop(slot);
    }

    fn add(&self, name: String, body: Option<Body>) -> Key {
        let (when, polls) = (self.when(), self.polls.get());
        let mut tasks = self.tasks.borrow_mut();
        tasks.add(&self.ready, name, body, when, polls)
    }

    fn begin(&self, key: Key) -> Result<Option<Turn>, Stuck> {
        let when = self.when();
        self.tasks.borrow_mut().begin(key, when)
    }

    fn poll(&self, key: Key) -> Result<(), Stuck> {
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
            std::mem::forget(ending);
            let ended = self.tasks.borrow_mut().park(key, body);
            drop(ended);
        }
        Ok(())
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

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now())
            .field("live_tasks", &self.live_tasks())
            .field("pending_timers", &self.pending_timers())
            .finish_non_exhaustive()
    }
}

/// Gives the world free again, also after a panic.
struct Drive<'a>(&'a State);

impl Drop for Drive<'_> {
    fn drop(&mut self) {
        self.0.polls.set(0);
        self.0.driven.set(false);
    }
}

/// Takes a task off the list, also after a panic.
struct Ending<'a>(&'a State, Key);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

#[cfg(test)]
mod tests;
