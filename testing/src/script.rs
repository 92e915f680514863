//! What the dependency does, written down beforehand.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use steadfast_core::Instant;
use steadfast_runtime::{Block, Timer};

use crate::alive::{Alive, Life};
use crate::due::due;
use crate::fault::Fault;
use crate::scripted::Scripted;
use crate::timer::VirtualTimer;

/// The outcomes of one operation, one a call, in order.
///
/// A handle: clones serve the same steps, also to several threads, each step
/// once. Write the script before it serves. Give it the timer of the guard.
///
/// ```
/// use std::time::Duration;
/// use steadfast_testing::{Fault, Script, Scripted, World};
///
/// let world = World::new();
/// let script: Script<&str> = Script::on(world.timer())
///     .fails(Fault::Transient)
///     .times(2)
///     .delays(Duration::from_secs(1))
///     .returns("at last");
///
/// let fault = Scripted::Failed(Fault::Transient);
/// assert_eq!(world.block_on(script.next()), Err(fault));
/// assert_eq!(world.block_on(script.next()), Err(fault));
/// assert_eq!(world.block_on(script.next()), Ok("at last"));
/// assert_eq!(world.elapsed(), Duration::from_secs(1));
/// assert_eq!((script.calls(), script.remaining()), (3, 0));
/// ```
#[must_use = "a script does nothing until its steps are asked for"]
pub struct Script<T, E = Fault, C = VirtualTimer> {
    timer: C,
    shared: Arc<Shared<T, E>>,
}

struct Shared<T, E> {
    steps: Mutex<Steps<T, E>>,
    calls: AtomicUsize,
    alive: Arc<Alive>,
}

struct Steps<T, E> {
    left: VecDeque<Line<T, E>>,
    len: usize,
    // Waits for the step it belongs to.
    delay: Duration,
    // Kept as a function: only a script that repeats needs clones.
    repeat: Option<Copier<T, E>>,
}

type Copier<T, E> = fn(&Line<T, E>) -> Line<T, E>;

/// One step.
struct Line<T, E> {
    delay: Duration,
    end: End<T, E>,
}

#[derive(Clone)]
enum End<T, E> {
    Value(T),
    Failure(E),
    Never,
}

impl<T, E, C> Script<T, E, C> {
    /// Makes a script without steps whose delays pass on `timer`.
    pub fn on(timer: C) -> Self {
        Self {
            timer,
            shared: Arc::new(Shared {
                steps: Mutex::new(Steps {
                    left: VecDeque::new(),
                    len: 0,
                    delay: Duration::ZERO,
                    repeat: None,
                }),
                calls: AtomicUsize::new(0),
                alive: Arc::default(),
            }),
        }
    }

    /// Adds a step that returns `value`.
    pub fn returns(self, value: T) -> Self {
        self.step(End::Value(value))
    }

    /// Adds a step that fails with `error`.
    pub fn fails(self, error: E) -> Self {
        self.step(End::Failure(error))
    }

    /// Adds a step that never comes to an end.
    pub fn hangs(self) -> Self {
        self.step(End::Never)
    }

    /// Delays the next step; several delays before one step add up.
    ///
    /// The delay passes from the call of `next` on.
    pub fn delays(self, span: Duration) -> Self {
        let mut steps = self.shared.steps();
        steps.delay = steps.delay.saturating_add(span);
        drop(steps);
        self
    }

    /// Makes the last step `times` steps, each with its delay; 0 removes it.
    pub fn times(self, times: usize) -> Self
    where
        T: Clone,
        E: Clone,
    {
        let mut steps = self.shared.steps();
        if let Some(last) = steps.left.pop_back() {
            steps.left.extend((0..times).map(|_| last.clone()));
            steps.len = steps.left.len();
        }
        drop(steps);
        self
    }

    /// Lets the last step, with its delay, be served for ever.
    pub fn repeats_last(self) -> Self
    where
        T: Clone,
        E: Clone,
    {
        self.shared.steps().repeat = Some(Line::clone);
        self
    }

    /// Returns how many steps were asked for, those past the end included.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::Acquire)
    }

    /// Returns how many written steps were not asked for.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let len = self.shared.steps().len;
        len.saturating_sub(self.calls())
    }

    /// Returns how many steps are neither finished nor dropped.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.shared.alive.now()
    }

    /// Returns how many steps were alive at once, at most.
    #[must_use]
    pub fn peak_alive(&self) -> usize {
        self.shared.alive.peak()
    }

    fn step(self, end: End<T, E>) -> Self {
        let mut steps = self.shared.steps();
        let delay = std::mem::take(&mut steps.delay);
        steps.left.push_back(Line { delay, end });
        steps.len = steps.left.len();
        drop(steps);
        self
    }
}

impl<T, E, C: Timer> Script<T, E, C> {
    /// Serves the next step, past the end [`Scripted::Exhausted`].
    ///
    /// A step without delay is ready at once and makes no timer.
    pub fn next(&self) -> Step<T, E, C> {
        let (delay, end) = self.shared.serve();
        let sleep = due(&self.timer, delay).map(|at| self.timer.sleep_until(at));
        Step {
            sleep,
            end: Some(end),
            life: Some(Life::begin(&self.shared.alive)),
        }
    }
}

impl<T, E, C: Block> Script<T, E, C> {
    /// Serves the next step, holding the thread for its delay.
    ///
    /// # Errors
    ///
    /// What the step fails with; past the end [`Scripted::Exhausted`].
    ///
    /// # Panics
    ///
    /// Panics at a step that hangs, as virtual time has no end; a real timer
    /// holds the thread for ever.
    pub fn next_blocking(&self) -> Result<T, Scripted<E>> {
        let (delay, end) = self.shared.serve();
        let _life = Life::begin(&self.shared.alive);
        if let Some(at) = due(&self.timer, delay) {
            self.timer.block_until(at);
        }
        match end {
            Ok(End::Value(value)) => Ok(value),
            Ok(End::Failure(error)) => Err(Scripted::Failed(error)),
            Ok(End::Never) => loop {
                self.timer.block_until(Instant::MAX);
            },
            Err(exhausted) => Err(exhausted),
        }
    }
}

impl<T, E, C: Clone> Clone for Script<T, E, C> {
    fn clone(&self) -> Self {
        Self {
            timer: self.timer.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T, E, C> fmt::Debug for Script<T, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("calls", &self.calls())
            .field("remaining", &self.remaining())
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

impl<T, E> Shared<T, E> {
    fn serve(&self) -> (Duration, Result<End<T, E>, Scripted<E>>) {
        let mut steps = self.steps();
        // Counted under the lock, so that the numbers are those of the steps.
        let call = self.calls.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let line = match (steps.repeat, steps.left.front()) {
            (Some(copy), Some(last)) if steps.left.len() == 1 => Some(copy(last)),
            _ => steps.left.pop_front(),
        };
        if let Some(Line { delay, end }) = line {
            return (delay, Ok(end));
        }
        let exhausted = Scripted::Exhausted {
            steps: steps.len,
            call,
            trailing_delay: Some(steps.delay).filter(|delay| !delay.is_zero()),
        };
        (Duration::ZERO, Err(exhausted))
    }

    fn steps(&self) -> MutexGuard<'_, Steps<T, E>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone, E: Clone> Clone for Line<T, E> {
    fn clone(&self) -> Self {
        Self {
            delay: self.delay,
            end: self.end.clone(),
        }
    }
}

pin_project! {
    /// The future of one step of a [`Script`].
    ///
    /// Owns what it needs. Pending for ever once it has given its outcome away.
    #[must_use = "a step does nothing unless polled"]
    pub struct Step<T, E = Fault, C: Timer = VirtualTimer> {
        #[pin]
        sleep: Option<C::Sleep>,
        end: Option<Result<End<T, E>, Scripted<E>>>,
        life: Option<Life>,
    }
}

impl<T, E, C: Timer> Future for Step<T, E, C> {
    type Output = Result<T, Scripted<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
            if sleep.poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.sleep.set(None);
        }
        let outcome = match this.end.take() {
            None => return Poll::Pending,
            Some(Ok(End::Never)) => {
                *this.end = Some(Ok(End::Never));
                return Poll::Pending;
            }
            Some(Ok(End::Value(value))) => Ok(value),
            Some(Ok(End::Failure(error))) => Err(Scripted::Failed(error)),
            Some(Err(exhausted)) => Err(exhausted),
        };
        *this.life = None;
        Poll::Ready(outcome)
    }
}

impl<T, E, C: Timer> fmt::Debug for Step<T, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("delayed", &self.sleep.is_some())
            .field("finished", &self.life.is_none())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
