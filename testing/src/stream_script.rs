//! What a source of a stream does, written down beforehand.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::iter;
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
use crate::scripted::Scripted;
use crate::timer::VirtualTimer;

/// One thing that a scripted source does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat<T, E = Fault> {
    /// Gives an item at once.
    Item(T),
    /// Waits that long from the pull that comes to it.
    Pause(Duration),
    /// Fails once, and goes on with what follows.
    Failure(E),
    /// Gives nothing more and never ends.
    Hang,
}

/// The sources of one stream, one an opening, in order.
///
/// A handle, as a [`Script`](crate::Script) is: clones serve the same sources, each
/// once. Write the script before it serves. Give it the timer of the guard. A source
/// is alive until it is dropped.
///
/// ```
/// use std::pin::pin;
/// use std::time::Duration;
/// use futures_lite::StreamExt;
/// use steadfast_testing::{Fault, Scripted, StreamScript, World};
///
/// let world = World::new();
/// let script: StreamScript<u32> = StreamScript::on(world.timer())
///     .delays(Duration::from_secs(5))
///     .fails_after([1, 2], Fault::Transient)
///     .yields([3]);
///
/// world.block_on(async {
///     let mut source = pin!(script.open());
///     assert_eq!(source.next().await, Some(Ok(1)));
///     assert_eq!(source.next().await, Some(Ok(2)));
///     assert_eq!(source.next().await, Some(Err(Scripted::Failed(Fault::Transient))));
///     assert_eq!(source.next().await, None);
///     assert_eq!((script.opened(), script.alive()), (1, 1));
/// });
/// assert_eq!(world.elapsed(), Duration::from_secs(5));
/// assert_eq!((script.alive(), script.remaining()), (0, 1));
/// ```
#[must_use = "a script does nothing until its sources are opened"]
pub struct StreamScript<T, E = Fault, C = VirtualTimer> {
    timer: C,
    shared: Arc<Shared<T, E>>,
}

struct Shared<T, E> {
    sources: Mutex<Sources<T, E>>,
    opened: AtomicUsize,
    pulled: Arc<AtomicUsize>,
    alive: Arc<Alive>,
}

struct Sources<T, E> {
    left: VecDeque<VecDeque<Beat<T, E>>>,
    len: usize,
    // Waits for the source it belongs to.
    delay: Duration,
    // Kept as a function: only a script that repeats needs clones.
    repeat: Option<Copier<T, E>>,
}

type Copier<T, E> = fn(&VecDeque<Beat<T, E>>) -> VecDeque<Beat<T, E>>;

impl<T, E, C> StreamScript<T, E, C> {
    /// Makes a script without sources whose delays pass on `timer`.
    pub fn on(timer: C) -> Self {
        Self {
            timer,
            shared: Arc::new(Shared {
                sources: Mutex::new(Sources {
                    left: VecDeque::new(),
                    len: 0,
                    delay: Duration::ZERO,
                    repeat: None,
                }),
                opened: AtomicUsize::new(0),
                pulled: Arc::default(),
                alive: Arc::default(),
            }),
        }
    }

    /// Adds a source that does what `beats` say, one after the other, and ends.
    pub fn plays(self, beats: impl IntoIterator<Item = Beat<T, E>>) -> Self {
        let mut sources = self.shared.sources();
        let delay = std::mem::take(&mut sources.delay);
        let mut source = VecDeque::new();
        if !delay.is_zero() {
            source.push_back(Beat::Pause(delay));
        }
        source.extend(beats);
        sources.left.push_back(source);
        sources.len = sources.left.len();
        drop(sources);
        self
    }

    /// Adds a source that gives `items` and ends.
    pub fn yields(self, items: impl IntoIterator<Item = T>) -> Self {
        self.plays(items.into_iter().map(Beat::Item))
    }

    /// Adds a source that ends without an item.
    pub fn yields_nothing(self) -> Self {
        self.plays(iter::empty())
    }

    /// Adds a source that fails with `error` at its first pull.
    pub fn fails(self, error: E) -> Self {
        self.plays([Beat::Failure(error)])
    }

    /// Adds a source that gives `items`, then fails with `error`, once.
    pub fn fails_after(self, items: impl IntoIterator<Item = T>, error: E) -> Self {
        let items = items.into_iter().map(Beat::Item);
        self.plays(items.chain([Beat::Failure(error)]))
    }

    /// Adds a source that gives `items` and then nothing more, for ever.
    pub fn hangs_after(self, items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(Beat::Item);
        self.plays(items.chain([Beat::Hang]))
    }

    /// Delays the first pull of the next source; several delays add up.
    pub fn delays(self, span: Duration) -> Self {
        let mut sources = self.shared.sources();
        sources.delay = sources.delay.saturating_add(span);
        drop(sources);
        self
    }

    /// Lets the last source be opened for ever.
    pub fn repeats_last(self) -> Self
    where
        T: Clone,
        E: Clone,
    {
        self.shared.sources().repeat = Some(VecDeque::clone);
        self
    }

    /// Returns how many sources were opened, pulled or not, those past the end
    /// included.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::Acquire)
    }

    /// Returns how many written sources were not opened.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let len = self.shared.sources().len;
        len.saturating_sub(self.opened())
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
}

impl<T, E, C: Timer + Clone> StreamScript<T, E, C> {
    /// Opens the next source; past the end it fails with [`Scripted::Exhausted`].
    pub fn open(&self) -> Source<T, E, C> {
        let (beats, exhausted) = self.shared.serve();
        Source {
            sleep: None,
            timer: self.timer.clone(),
            beats,
            exhausted,
            pulled: Arc::clone(&self.shared.pulled),
            life: Life::begin(&self.shared.alive),
        }
    }
}

impl<T, E, C: Clone> Clone for StreamScript<T, E, C> {
    fn clone(&self) -> Self {
        Self {
            timer: self.timer.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T, E, C> fmt::Debug for StreamScript<T, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamScript")
            .field("opened", &self.opened())
            .field("remaining", &self.remaining())
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

impl<T, E> Shared<T, E> {
    fn serve(&self) -> (VecDeque<Beat<T, E>>, Option<Scripted<E>>) {
        let mut sources = self.sources();
        // Counted under the lock, so that the numbers are those of the sources.
        let call = self.opened.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let source = match (sources.repeat, sources.left.front()) {
            (Some(copy), Some(last)) if sources.left.len() == 1 => Some(copy(last)),
            _ => sources.left.pop_front(),
        };
        if let Some(beats) = source {
            return (beats, None);
        }
        let exhausted = Scripted::Exhausted {
            steps: sources.len,
            call,
            trailing_delay: Some(sources.delay).filter(|delay| !delay.is_zero()),
        };
        (VecDeque::new(), Some(exhausted))
    }

    fn sources(&self) -> MutexGuard<'_, Sources<T, E>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pin_project! {
    /// One source of a [`StreamScript`].
    ///
    /// Owns what it needs.
    #[must_use = "a source does nothing unless polled"]
    pub struct Source<T, E = Fault, C: Timer = VirtualTimer> {
        #[pin]
        sleep: Option<C::Sleep>,
        timer: C,
        beats: VecDeque<Beat<T, E>>,
        exhausted: Option<Scripted<E>>,
        pulled: Arc<AtomicUsize>,
        life: Life,
    }
}

impl<T, E, C: Timer> Stream for Source<T, E, C> {
    type Item = Result<T, Scripted<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
                ready!(sleep.poll(cx));
                this.sleep.set(None);
            }
            let item = match this.beats.pop_front() {
                Some(Beat::Pause(span)) => {
                    let at = due(this.timer, span);
                    this.sleep.set(at.map(|at| this.timer.sleep_until(at)));
                    continue;
                }
                Some(Beat::Hang) => {
                    this.beats.push_front(Beat::Hang);
                    return Poll::Pending;
                }
                Some(Beat::Item(item)) => {
                    this.pulled.fetch_add(1, Ordering::AcqRel);
                    Some(Ok(item))
                }
                Some(Beat::Failure(error)) => Some(Err(Scripted::Failed(error))),
                None => this.exhausted.take().map(Err),
            };
            return Poll::Ready(item);
        }
    }
}

impl<T, E, C: Timer> fmt::Debug for Source<T, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("left", &self.beats.len())
            .field("waits", &self.sleep.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
