//! A stream that can be opened at any place, and what goes wrong at some of them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use pin_project_lite::pin_project;
use steadfast_runtime::Timer;

use crate::alive::{Alive, Life};
use crate::due::due;
use crate::fault::Fault;
use crate::timer::VirtualTimer;

/// The numbers from 0 up to a length, read from any place on.
///
/// For tests of what resumes: where it is opened is up to the test, and what goes
/// wrong belongs to a place. Each fault stands before an item and happens once, to
/// the source that comes there first; several at one place happen in the order they
/// were written, so two failures at one place let the next source fail before any
/// item. A fault at the place of the length stands before the end.
///
/// A handle, as a [`StreamScript`](crate::StreamScript) is. Give it the timer of the
/// guard. A source is alive until it is dropped.
///
/// ```
/// use std::pin::pin;
/// use std::time::Duration;
/// use futures_lite::StreamExt;
/// use steadfast_testing::{Fault, INSTANT, StreamLog, World};
///
/// let world = World::new();
/// let guard = world.guard(INSTANT.with_attempt_timeout(Duration::from_secs(1)));
/// let log: StreamLog = StreamLog::on(world.timer(), 5)
///     .fails_at(2, Fault::Transient)
///     .stalls_at(4);
///
/// let items = guard.stream_from(0, |from, _| log.open(from), |&item| item + 1);
/// let items: Vec<_> = world.block_on(pin!(items).collect());
/// let whole: Vec<_> = (0..5).map(Ok).collect();
/// assert_eq!(items, whole);
/// assert_eq!(log.asked(), [0, 2, 4]);
/// assert_eq!((log.alive(), log.peak_alive(), log.remaining()), (0, 1, 0));
/// ```
#[must_use = "a log does nothing until its sources are opened"]
pub struct StreamLog<E = Fault, C = VirtualTimer> {
    timer: C,
    shared: Arc<Shared<E>>,
}

struct Shared<E> {
    len: u64,
    state: Mutex<State<E>>,
    pulled: AtomicUsize,
    alive: Arc<Alive>,
}

struct State<E> {
    faults: BTreeMap<u64, VecDeque<Wrong<E>>>,
    gap: Duration,
    asked: Vec<u64>,
}

/// What goes wrong before an item.
enum Wrong<E> {
    Pause(Duration),
    Stall,
    Failure(E),
}

impl<E, C> StreamLog<E, C> {
    /// Makes a log of the items 0 up to `len`, without it, whose waits pass on `timer`.
    pub fn on(timer: C, len: u64) -> Self {
        Self {
            timer,
            shared: Arc::new(Shared {
                len,
                state: Mutex::new(State {
                    faults: BTreeMap::new(),
                    gap: Duration::ZERO,
                    asked: Vec::new(),
                }),
                pulled: AtomicUsize::new(0),
                alive: Arc::default(),
            }),
        }
    }

    /// Lets a source fail with `error` before item `at`, and end.
    pub fn fails_at(self, at: u64, error: E) -> Self {
        self.goes_wrong(at, Wrong::Failure(error))
    }

    /// Lets a source give nothing more before item `at`, and never end.
    pub fn stalls_at(self, at: u64) -> Self {
        self.goes_wrong(at, Wrong::Stall)
    }

    /// Lets a source wait for `span` before item `at`, beside the gap.
    ///
    /// From the pull of that item on.
    pub fn pauses_at(self, at: u64, span: Duration) -> Self {
        self.goes_wrong(at, Wrong::Pause(span))
    }

    /// Lets every source take `gap` for every item, from its pull on.
    pub fn takes(self, gap: Duration) -> Self {
        self.shared.state().gap = gap;
        self
    }

    /// Returns where it was opened, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<u64> {
        self.shared.state().asked.clone()
    }

    /// Returns how many sources were opened, pulled or not.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.shared.state().asked.len()
    }

    /// Returns how many faults and pauses no source has come to.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let state = self.shared.state();
        state.faults.values().map(VecDeque::len).sum()
    }

    /// Returns how many sources are not dropped.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.shared.alive.now()
    }

    /// Returns how many sources were alive at once, at most.
    #[must_use]
    pub fn peak_alive(&self) -> usize {
        self.shared.alive.peak()
    }

    /// Returns how many items all sources have given.
    #[must_use]
    pub fn pulled(&self) -> usize {
        self.shared.pulled.load(Ordering::Acquire)
    }

    fn goes_wrong(self, at: u64, wrong: Wrong<E>) -> Self {
        let mut state = self.shared.state();
        state.faults.entry(at).or_default().push_back(wrong);
        drop(state);
        self
    }
}

impl<E, C: Timer + Clone> StreamLog<E, C> {
    /// Opens a source whose first item is `from`; it is empty at the end or past it.
    pub fn open(&self, from: u64) -> LogSource<E, C> {
        self.shared.state().asked.push(from);
        LogSource {
            sleep: None,
            timer: self.timer.clone(),
            next: from,
            stage: Stage::Fresh,
            life: Life::begin(&self.shared.alive),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<E, C: Clone> Clone for StreamLog<E, C> {
    fn clone(&self) -> Self {
        Self {
            timer: self.timer.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<E, C> fmt::Debug for StreamLog<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamLog")
            .field("len", &self.shared.len)
            .field("opened", &self.opened())
            .field("remaining", &self.remaining())
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

impl<E> Shared<E> {
    /// Takes the next fault before item `at`, and says how long items take.
    fn meet(&self, at: u64) -> (Option<Wrong<E>>, Duration) {
        let mut state = self.state();
        let wrong = state.faults.get_mut(&at).and_then(VecDeque::pop_front);
        (wrong, state.gap)
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a source is with its next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was waited for.
    Fresh,
    /// The gap is behind.
    Due,
    /// It gives nothing more.
    Stalled,
    /// It has ended.
    Over,
}

pin_project! {
    /// One source of a [`StreamLog`].
    ///
    /// Owns what it needs.
    #[must_use = "a source does nothing unless polled"]
    pub struct LogSource<E = Fault, C: Timer = VirtualTimer> {
        #[pin]
        sleep: Option<C::Sleep>,
        timer: C,
        next: u64,
        stage: Stage,
        life: Life,
        shared: Arc<Shared<E>>,
    }
}

impl<E, C: Timer> Stream for LogSource<E, C> {
    type Item = Result<u64, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
                ready!(sleep.poll(cx));
                this.sleep.set(None);
            }
            let span = match *this.stage {
                Stage::Stalled => return Poll::Pending,
                Stage::Over => return Poll::Ready(None),
                Stage::Due => Duration::ZERO,
                Stage::Fresh => match this.shared.meet(*this.next) {
                    (Some(Wrong::Pause(span)), _) => span,
                    (Some(Wrong::Stall), _) => {
                        *this.stage = Stage::Stalled;
                        continue;
                    }
                    (Some(Wrong::Failure(error)), _) => {
                        *this.stage = Stage::Over;
                        return Poll::Ready(Some(Err(error)));
                    }
                    (None, _) if *this.next >= this.shared.len => {
                        *this.stage = Stage::Over;
                        continue;
                    }
                    (None, gap) => {
                        *this.stage = Stage::Due;
                        gap
                    }
                },
            };
            if let Some(at) = due(this.timer, span) {
                this.sleep.set(Some(this.timer.sleep_until(at)));
            } else if *this.stage == Stage::Due {
                let item = *this.next;
                *this.next = item.saturating_add(1);
                *this.stage = Stage::Fresh;
                this.shared.pulled.fetch_add(1, Ordering::AcqRel);
                return Poll::Ready(Some(Ok(item)));
            }
        }
    }
}

impl<E, C: Timer> fmt::Debug for LogSource<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogSource")
            .field("next", &self.next)
            .field("stage", &self.stage)
            .field("waits", &self.sleep.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
