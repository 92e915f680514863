//! A world whose time moves only when nothing else can.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use steadfast_core::{Instant, Policy, QueueReading};
use steadfast_runtime::{Guard, Plan, Timer};

use crate::state::{Ending, State};
use crate::stuck::{Cause, Stuck};
use crate::task::{Exit, Task};
use crate::timer::{Sleep, VirtualTimer};

/// One thread, its tasks, and a time that passes only when all of them wait.
///
/// A cheap handle: clones are the same world. Tasks run in the order they were
/// woken; equal instants fire in the order they were armed; so the same program
/// takes the same course every time. Wakers may be called from any thread, but
/// a world waits for none.
///
/// A world that has nothing to wait for is [`Stuck`] at once, and so is one
/// that spins at one instant. While time moves it is not stuck: a loop that
/// sleeps goes on until ten million sleeps have fired, see
/// [`World::set_patience`], which takes seconds of yours and any time of the
/// world's. A future that does not return from one poll holds it for ever.
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

impl World {
    /// Makes a world at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// Makes a world at time zero whose timer hands out other seeds.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Rc::new(State::seeded(seed)))
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
    /// fired and `future` has not ended, see [`World::set_patience`].
    ///
    /// # Panics
    ///
    /// Propagates the panic of a task. Panics inside a task of this world.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, Stuck> {
        let _drive = self.0.drive();
        let mut future = pin!(future);
        let main = self.0.add("main".to_owned(), None);
        let _main = Ending(&self.0, main);
        let (mut fired, mut is_ignored) = (0_u64, true);
        loop {
            while let Some(key) = self.0.ready.pop() {
                if key != main {
                    self.0.poll(key)?;
                } else if let Some(turn) = self.0.begin(key)? {
                    is_ignored &= fired == 0;
                    let mut cx = Context::from_waker(&turn.waker);
                    if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                        return Ok(output);
                    }
                }
            }
            let cause = if self.0.timer.next().is_none() {
                Cause::Idle
            } else if fired < self.0.patience.get() {
                self.0.timer.fire_next(Instant::MAX);
                fired += 1;
                continue;
            } else if is_ignored {
                Cause::Ignored { fired }
            } else {
                Cause::Endless { fired }
            };
            return Err(self.0.stuck(cause));
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
    /// Sleeps that are due fire, also those that [`World::jump`] made overdue.
    ///
    /// # Panics
    ///
    /// Propagates the panic of a task. Panics with the text of [`Stuck`] when a
    /// task spins or ten million sleeps have fired, see
    /// [`World::set_patience`], and inside a task of this world.
    #[track_caller]
    pub fn settle(&self) {
        let _drive = self.0.drive();
        go_on(self.0.drain(None));
    }

    /// Moves time by `span`, step by step.
    ///
    /// Every sleep due on the way fires at its instant, in order, and what it
    /// wakes runs before time moves on. A task that ticks makes a long `span`
    /// long for you, too.
    ///
    /// # Panics
    ///
    /// As [`World::settle`] does.
    #[track_caller]
    pub fn advance(&self, span: Duration) {
        let _drive = self.0.drive();
        let until = self.now().saturating_add(span);
        go_on(self.0.drain(Some(until)));
        self.0.timer.pass_to(until);
    }

    /// Sets how many sleeps may fire in one drive; ten million at first.
    ///
    /// Then [`World::run`] is [`Stuck`], and `block_on`, `advance` and `settle`
    /// panic. [`u64::MAX`] is no bound.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_testing::World;
    ///
    /// let world = World::new();
    /// world.set_patience(1_000);
    /// let clock = world.clone();
    /// let endless = async move {
    ///     loop {
    ///         clock.sleep(Duration::from_millis(1)).await;
    ///     }
    /// };
    /// let stuck: Result<(), _> = world.run(endless);
    /// assert!(stuck.is_err());
    /// assert_eq!(world.elapsed(), Duration::from_secs(1));
    /// ```
    pub fn set_patience(&self, sleeps: u64) {
        self.0.patience.set(sleeps);
    }

    /// Moves the clock forward at once, as a suspended machine does.
    ///
    /// Nothing runs; what is overdue fires, late, when the world is next driven,
    /// be it by [`World::settle`]. Also for an operation that holds its thread.
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

    /// Tells what its queue's delay is from now on; at first nothing is measured.
    ///
    /// For policies with a [`Saturation`](steadfast_core::Saturation). Tasks do
    /// not wait because of it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_core::{QueueReading, Saturation};
    /// use steadfast_runtime::Timer;
    /// use steadfast_testing::World;
    ///
    /// let ms = Duration::from_millis;
    /// let world = World::new();
    /// assert_eq!(world.timer().queue_delay(world.now()), None);
    ///
    /// world.set_queue_delay(Some(QueueReading::new(ms(80)).with_normal(ms(2), 20)));
    /// let reading = world.timer().queue_delay(world.now()).unwrap();
    /// assert_eq!(reading.saturated(&Saturation::DEFAULT), Some(ms(80)));
    /// ```
    pub fn set_queue_delay(&self, reading: Option<QueueReading>) {
        self.0.timer.set_queue(reading);
    }

    /// Says that everything in this world is about to stop, as a process does.
    ///
    /// From now on none of its guards retries, races or resumes anything, and a call
    /// that begins ends within what is left of `grace`; [`Duration::MAX`] bounds
    /// nothing. The first word counts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_core::{Policy, Reason};
    /// use steadfast_testing::{Fault, Script, World};
    ///
    /// let world = World::new();
    /// let guard = world.guard(Policy::DEFAULT);
    /// let script = Script::<()>::on(world.timer()).fails(Fault::Transient).repeats_last();
    ///
    /// world.drain(Duration::from_secs(30));
    /// let error = world.block_on(guard.call(|_| script.next())).unwrap_err();
    /// assert_eq!((error.reason(), error.attempts()), (Reason::Draining, 1));
    /// ```
    pub fn drain(&self, grace: Duration) {
        if let Some(draining) = self.0.timer.draining() {
            draining.begin(self.now(), grace);
        }
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
}

#[track_caller]
#[expect(clippy::panic, reason = "a test that spins has failed")]
fn go_on(driven: Result<(), Stuck>) {
    if let Err(stuck) = driven {
        panic!("{stuck}");
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

#[cfg(test)]
mod tests;
