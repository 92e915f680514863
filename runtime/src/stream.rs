//! The driver of a stream: a call whose result goes on.

mod entry;
pub(crate) mod start;

use core::fmt;
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use futures_core::{FusedStream, Stream};
use pin_project_lite::pin_project;
use steadfast_core::{
    CallError, Classify, Ending, Flow, Instant, Journal, Listener, Memory, Reason, Rules, Shared,
    Stall, StreamError, Verdict,
};

use self::start::Start;
use crate::alarm::Alarm;
use crate::conduct::{Conduct, Turn};
use crate::supply::Supply;
use crate::timer::Timer;

/// How many turns one poll takes before it lets others run.
const TURNS: u32 = 32;

/// A stream runs one attempt at a time.
const LANE: usize = 0;

/// What a poll begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The machine is to be asked.
    Asking,
    /// The machine has said until when to wait.
    Waiting,
    /// The source gives items.
    Flowing,
    /// It has ended.
    Over,
}

/// What came of waiting for an item.
enum Flowed<V, E> {
    /// What the source gave.
    Item(Option<Result<V, E>>),
    /// Nothing, for as long as a gap may be.
    Stalled(Duration),
    /// Nothing yet: ask again.
    Again,
}

pin_project! {
    /// A guarded stream: what [`Guard::stream`] and [`Guard::stream_from`] give.
    ///
    /// Nothing happens, and no deadline runs, before it is polled. Dropping it
    /// cancels it. It is `Send` exactly when its parts are, and allocates nothing.
    ///
    /// Its error is [`StreamError`]: it could not be opened, its source failed, or
    /// its source stalled.
    #[must_use = "a stream does nothing unless it is polled"]
    pub struct Streaming<'g, T, O, S, C, R, L, M = Shared, J = ()>
    where
        T: Timer,
        S: Stream,
        M: Memory,
    {
        // Fields drop in order: first the source, then what it held.
        #[pin]
        source: Option<S>,
        #[pin]
        alarm: Alarm<T>,
        stage: Stage,
        last: Option<S::Item>,
        delivered: u64,
        flow: Flow,
        supply: O,
        conduct: Conduct<'g, T, M, C, R, L, J>,
    }
}

impl<'g, T, O, S, C, R, L, M, J> Streaming<'g, T, O, S, C, R, L, M, J>
where
    T: Timer,
    S: Stream,
    M: Memory,
    J: Journal,
{
    fn new(mut conduct: Conduct<'g, T, M, C, R, L, J>, supply: O) -> Self {
        conduct.machine.make_lasting();
        Self {
            source: None,
            alarm: Alarm::new(),
            stage: Stage::Asking,
            last: None,
            delivered: 0,
            flow: Flow::of(&conduct.machine),
            supply,
            conduct,
        }
    }

    /// Returns how many items were handed over.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns how often it was resumed in a row, as of the last break.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.flow.restarts()
    }

    /// Waits for the first item, and keeps it for the next poll.
    ///
    /// So that what to do when the stream cannot be opened is decided before its
    /// first item is asked for. Gives what a call would give, without a value; a
    /// stream [with a log](crate::Prepared::outcome) an outcome. After a failure the stream
    /// has ended.
    ///
    /// ```
    /// use std::pin::pin;
    /// use futures_lite::{StreamExt, stream};
    /// use steadfast_core::Policy;
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// static FEED: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
    ///
    /// # futures_lite::future::block_on(async {
    /// let mut items = pin!(FEED.stream(|_| stream::iter([std::io::Result::Ok(1)])));
    /// assert!(items.as_mut().start().await.is_ok());
    /// assert_eq!(items.next().await.unwrap().unwrap(), 1);
    /// # });
    /// ```
    pub fn start(self: Pin<&mut Self>) -> Start<'_, 'g, T, O, S, C, R, L, M, J> {
        Start { stream: self }
    }
}

impl<T, O, S, C, R, L, M, J, V, E> Streaming<'_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    O: Supply<V, Source = S>,
    S: Stream<Item = Result<V, E>>,
    C: Classify<Result<V, E>>,
    R: Rules<V, E>,
    L: Listener,
    M: Memory,
    J: Journal,
{
    /// Opens a source: as a call, whose attempts last up to the first item.
    fn poll_open(
        self: Pin<&mut Self>,
        now: &mut Instant,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Option<E>>> {
        let mut this = self.project();
        if *this.stage == Stage::Asking {
            *now = this.conduct.timer.now();
        }
        for _ in 0..TURNS {
            let turn = match *this.stage {
                Stage::Asking => this.conduct.next(now, this.last),
                _ => Turn::Wait(this.conduct.machine.wake()),
            };
            match turn {
                Turn::Run(attempt, _, _) => {
                    let source = this.supply.open(attempt);
                    this.source.set(Some(source));
                    *this.stage = Stage::Waiting;
                }
                Turn::Wait(at) => {
                    *this.stage = Stage::Waiting;
                    if let Some(source) = this.source.as_mut().as_pin_mut()
                        && let Poll::Ready(first) = source.poll_next(cx)
                    {
                        *this.stage = Stage::Asking;
                        let (ending, verdict) = match &first {
                            Some(item) => this.conduct.weigh(item),
                            // It has nothing to say, and that well.
                            None => (Ending::Value, Verdict::OK),
                        };
                        // Who has failed is gone before anything follows from it.
                        if first.is_none() || ending == Ending::Error || !verdict.is_ok() {
                            this.source.set(None);
                        }
                        *this.last = first;
                        *now = this.conduct.timer.now();
                        let last = this.last.as_ref();
                        this.conduct.settle(LANE, *now, ending, verdict, last);
                    } else {
                        ready!(this.alarm.as_mut().poll(this.conduct.timer, at, cx));
                        *this.stage = Stage::Asking;
                        *now = this.conduct.timer.now();
                    }
                }
                Turn::Cut(lane) => {
                    this.source.set(None);
                    *this.last = None;
                    this.conduct.cut::<V, E>(lane, *now);
                }
                Turn::Again => {}
                Turn::Finish(Reason::Succeeded) => {
                    this.alarm.as_mut().clear();
                    this.flow.begin(*now);
                    if this.source.is_none() {
                        // It was empty: nothing goes on.
                        this.conduct.machine.release();
                    }
                    *this.stage = Stage::Flowing;
                    return Poll::Ready(Ok(()));
                }
                Turn::Finish(_) => {
                    this.source.set(None);
                    this.alarm.as_mut().clear();
                    *this.stage = Stage::Over;
                    // An item that was refused is never shown.
                    return Poll::Ready(Err(this.last.take().and_then(Result::err)));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits for an item of the source that is open.
    fn poll_item(
        self: Pin<&mut Self>,
        now: &mut Instant,
        cx: &mut Context<'_>,
    ) -> Poll<Flowed<V, E>> {
        let mut this = self.project();
        let item = match (this.last.take(), this.source.as_mut().as_pin_mut()) {
            (Some(first), _) => return Poll::Ready(Flowed::Item(Some(first))),
            (None, None) => None,
            (None, Some(source)) => match source.poll_next(cx) {
                Poll::Ready(item) => item,
                Poll::Pending => {
                    if !this.flow.is_waiting() {
                        this.flow.wait(this.conduct.timer.now());
                    }
                    let Some(gap) = this.conduct.machine.policy().gap() else {
                        return Poll::Pending;
                    };
                    let due = this.flow.due(gap);
                    ready!(this.alarm.as_mut().poll(this.conduct.timer, due, cx));
                    *now = this.conduct.timer.now();
                    if *now < due {
                        return Poll::Ready(Flowed::Again);
                    }
                    if now.saturating_since(due) >= gap && this.flow.forgive(*now) {
                        return Poll::Ready(Flowed::Again);
                    }
                    return Poll::Ready(Flowed::Stalled(gap));
                }
            },
        };
        // A wait that ends in a failure was no health.
        if let Some(Ok(_)) = item {
            this.flow.deliver();
        }
        Poll::Ready(Flowed::Item(item))
    }

    /// What the consumer gets, unless there is nothing to get yet.
    fn pass(
        self: Pin<&mut Self>,
        flowed: Flowed<V, E>,
        mut now: Instant,
    ) -> ControlFlow<Option<Result<V, StreamError<E>>>> {
        let mut this = self.project();
        let (failure, gap) = match flowed {
            Flowed::Again => return ControlFlow::Continue(()),
            Flowed::Item(Some(Ok(item))) => {
                this.supply.note(&item);
                *this.delivered = this.delivered.saturating_add(1);
                return ControlFlow::Break(Some(Ok(item)));
            }
            // Whether its source has more to say is not for a guard to decide.
            Flowed::Item(Some(Err(error))) if !O::RESUMES => {
                return ControlFlow::Break(Some(Err(StreamError::Source(error))));
            }
            Flowed::Item(failure) => (failure, None),
            Flowed::Stalled(gap) => (None, Some(gap)),
        };
        // Whoever has ended is gone before anything follows from it.
        this.source.set(None);
        this.alarm.clear();
        let ended = match (failure, gap) {
            (Some(outcome), _) => {
                let (ending, verdict) = this.conduct.weigh(&outcome);
                now = this.conduct.timer.now();
                if O::RESUMES
                    && this
                        .conduct
                        .resume(this.flow, ending, verdict, now, Some(&outcome))
                {
                    *this.last = Some(outcome);
                    *this.stage = Stage::Asking;
                    return ControlFlow::Continue(());
                }
                outcome.err().map(StreamError::Source)
            }
            (None, Some(gap)) => {
                this.conduct.stall::<E>(gap, now);
                let (ending, verdict) = (Ending::Cut, Verdict::TRANSIENT);
                if O::RESUMES
                    && this
                        .conduct
                        .resume::<V, E>(this.flow, ending, verdict, now, None)
                {
                    *this.stage = Stage::Asking;
                    return ControlFlow::Continue(());
                }
                Some(StreamError::Stalled(Stall::new(gap, *this.delivered)))
            }
            (None, None) => None,
        };
        this.conduct.machine.release();
        *this.stage = Stage::Over;
        ControlFlow::Break(ended.map(Err))
    }
}

impl<T, O, S, C, R, L, M, J, V, E> Stream for Streaming<'_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    O: Supply<V, Source = S>,
    S: Stream<Item = Result<V, E>>,
    C: Classify<Result<V, E>>,
    R: Rules<V, E>,
    L: Listener,
    M: Memory,
    J: Journal,
{
    type Item = Result<V, StreamError<E>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut now = Instant::ZERO;
        for _ in 0..TURNS {
            match self.stage {
                Stage::Asking | Stage::Waiting => {
                    if let Err(error) = ready!(self.as_mut().poll_open(&mut now, cx)) {
                        let report = self.conduct.machine.report(now);
                        let error = CallError::new(&report, error);
                        return Poll::Ready(Some(Err(StreamError::Start(error))));
                    }
                }
                Stage::Flowing => {
                    let flowed = ready!(self.as_mut().poll_item(&mut now, cx));
                    if let ControlFlow::Break(item) = self.as_mut().pass(flowed, now) {
                        return Poll::Ready(item);
                    }
                }
                Stage::Over => return Poll::Ready(None),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T, O, S, C, R, L, M, J, V, E> FusedStream for Streaming<'_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    O: Supply<V, Source = S>,
    S: Stream<Item = Result<V, E>>,
    C: Classify<Result<V, E>>,
    R: Rules<V, E>,
    L: Listener,
    M: Memory,
    J: Journal,
{
    fn is_terminated(&self) -> bool {
        self.stage == Stage::Over
    }
}

impl<T, O, S, C, R, L, M, J> fmt::Debug for Streaming<'_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    S: Stream,
    M: Memory,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("stage", &self.stage)
            .field("delivered", &self.delivered)
            .field("machine", &self.conduct.machine)
            .finish_non_exhaustive()
    }
}
