//! Opening a stream.

use futures_core::Stream;
use steadfast_core::{Attempt, Classify, Journal, Lent, Memory};

use super::Streaming;
use crate::guard::Guard;
use crate::lanes::{Flights, OneAtATime};
use crate::prepared::Prepared;
use crate::supply::{Anew, Resumed};
use crate::timer::Timer;

impl<T: Timer, C, R, L, M: Memory, H: Flights> Guard<T, C, R, L, M, H> {
    /// Opens a stream within the policy's bounds.
    ///
    /// `open` makes a fresh source for every attempt. An attempt lasts up to the
    /// first item, which is judged like a call's value; a source that ends without
    /// one is a success. What follows passes as it comes, errors included, and only
    /// the gaps are bounded: by the attempt timeout, unless the policy says
    /// [otherwise](steadfast_core::Policy::with_gap). Only waiting for an
    /// item counts, not what is done between two: from the pull that found none until it
    /// comes, also if nobody polls in between. Neither the deadline nor a grace ends a
    /// stream that flows.
    ///
    /// A stream that broke after an item is not opened again, as its items would
    /// come twice; [`Guard::stream_from`] can.
    ///
    /// ```
    /// use std::pin::pin;
    /// use futures_core::{FusedStream, Stream};
    /// use futures_lite::StreamExt;
    /// use steadfast_core::Policy;
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// static FEED: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
    ///
    /// fn connect() -> impl Stream<Item = std::io::Result<u32>> {
    ///     futures_lite::stream::iter([Ok(1), Ok(2)])
    /// }
    ///
    /// # futures_lite::future::block_on(async {
    /// let mut items = pin!(FEED.stream(|_| connect()));
    /// let mut sum = 0;
    /// while let Some(item) = items.next().await {
    ///     sum += item.expect("both are there");
    /// }
    /// assert_eq!(sum, 3);
    /// # });
    /// ```
    pub fn stream<F, S, V, E>(
        &self,
        open: F,
    ) -> Streaming<'_, T, Anew<F>, S, Lent<'_, C>, &R, &L, M>
    where
        F: FnMut(Attempt) -> S,
        S: Stream<Item = Result<V, E>>,
        C: Classify<Result<V, E>>,
        H: OneAtATime,
    {
        self.prepare().stream(open)
    }

    /// Opens a stream that is opened again where it was when it breaks.
    ///
    /// `open` makes a source that begins after a checkpoint, at first after
    /// `start`; `checkpoint` tells which one an item is. It is asked for every item
    /// before that is handed over: no item comes twice and none is lost, if the two
    /// mean the same.
    ///
    /// A source that ends has ended; where a connection that closes early looks like an
    /// end, make it an error.
    ///
    /// A stream that stalls or fails after an item is resumed as often as the
    /// policy's [`Restarts`](steadfast_core::Restarts) allow: as if retried, so with
    /// a token of the budget, after a wait, if the breaker admits it and before the
    /// deadline of the call; a permanent error ends it. Then its error is the last
    /// item.
    ///
    /// ```
    /// use std::pin::pin;
    /// use futures_core::{FusedStream, Stream};
    /// use futures_lite::StreamExt;
    /// use steadfast_core::Policy;
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// static FEED: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
    ///
    /// /// The numbers after `seen`.
    /// fn read(seen: u32) -> impl Stream<Item = std::io::Result<u32>> {
    ///     futures_lite::stream::iter((seen + 1..=5).map(Ok))
    /// }
    ///
    /// # futures_lite::future::block_on(async {
    /// let items = pin!(FEED.stream_from(0, |seen, _| read(seen), |&item| item));
    /// let items: Vec<_> = items.map(|item| item.expect("all are there")).collect().await;
    /// assert_eq!(items, [1, 2, 3, 4, 5]);
    /// # });
    /// ```
    #[expect(
        clippy::type_complexity,
        reason = "named, so that a program can name it, too"
    )]
    pub fn stream_from<P, F, G, S, V, E>(
        &self,
        start: P,
        open: F,
        checkpoint: G,
    ) -> Streaming<'_, T, Resumed<P, F, G>, S, Lent<'_, C>, &R, &L, M>
    where
        P: Clone,
        F: FnMut(P, Attempt) -> S,
        G: FnMut(&V) -> P,
        S: Stream<Item = Result<V, E>>,
        C: Classify<Result<V, E>>,
        H: OneAtATime,
    {
        self.prepare().stream_from(start, open, checkpoint)
    }
}

impl<'g, T, C, R, L, M, J, H> Prepared<'g, T, C, R, L, M, J, H>
where
    T: Timer,
    M: Memory,
    J: Journal,
    H: Flights,
{
    /// Opens a stream, as [`Guard::stream`] does.
    pub fn stream<F, S, V, E>(self, open: F) -> Streaming<'g, T, Anew<F>, S, C, R, L, M, J>
    where
        F: FnMut(Attempt) -> S,
        S: Stream<Item = Result<V, E>>,
        C: Classify<Result<V, E>>,
        H: OneAtATime,
    {
        Streaming::new(self.conduct.single(), Anew(open))
    }

    /// Opens a stream that is opened again where it was when it breaks, as
    /// [`Guard::stream_from`] does.
    #[expect(
        clippy::type_complexity,
        reason = "named, so that a program can name it, too"
    )]
    pub fn stream_from<P, F, G, S, V, E>(
        self,
        start: P,
        open: F,
        checkpoint: G,
    ) -> Streaming<'g, T, Resumed<P, F, G>, S, C, R, L, M, J>
    where
        P: Clone,
        F: FnMut(P, Attempt) -> S,
        G: FnMut(&V) -> P,
        S: Stream<Item = Result<V, E>>,
        C: Classify<Result<V, E>>,
        H: OneAtATime,
    {
        let supply = Resumed {
            at: start,
            open,
            checkpoint,
        };
        Streaming::new(self.conduct.single(), supply)
    }
}
