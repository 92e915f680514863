//! The future of an operation with faults in it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use pin_project_lite::pin_project;

pin_project! {
    /// What a wrapped operation makes: the latency, then the fault or the real thing.
    ///
    /// A future where the operation makes futures, a stream where it opens streams;
    /// then the latency comes before the first item, and a fault is the only one.
    /// Holds everything inline. Pending for ever once it has given a fault away.
    #[must_use = "it does nothing unless polled"]
    pub struct Injected<S, W, V> {
        #[pin]
        sleep: Option<S>,
        #[pin]
        body: Body<W, V>,
    }
}

pin_project! {
    #[project = BodyView]
    enum Body<W, V> {
        Passing { #[pin] work: W },
        Failing { outcome: Option<V> },
    }
}

impl<S, W, V> Injected<S, W, V> {
    pub(super) const fn passing(sleep: Option<S>, work: W) -> Self {
        Self {
            sleep,
            body: Body::Passing { work },
        }
    }

    pub(super) const fn failing(sleep: Option<S>, outcome: V) -> Self {
        Self {
            sleep,
            body: Body::Failing {
                outcome: Some(outcome),
            },
        }
    }
}

impl<S: Future<Output = ()>, W, V> Injected<S, W, V> {
    /// Serves the latency, then tells what comes behind it.
    fn poll_body<'a>(
        self: Pin<&'a mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Pin<&'a mut Body<W, V>>> {
        let mut this = self.project();
        if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
            ready!(sleep.poll(cx));
            this.sleep.set(None);
        }
        Poll::Ready(this.body)
    }
}

impl<S, W> Future for Injected<S, W, W::Output>
where
    S: Future<Output = ()>,
    W: Future,
{
    type Output = W::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match ready!(self.poll_body(cx)).project() {
            BodyView::Passing { work } => work.poll(cx),
            BodyView::Failing { outcome } => outcome.take().map_or(Poll::Pending, Poll::Ready),
        }
    }
}

impl<S, W> Stream for Injected<S, W, W::Item>
where
    S: Future<Output = ()>,
    W: Stream,
{
    type Item = W::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<W::Item>> {
        match ready!(self.poll_body(cx)).project() {
            BodyView::Passing { work } => work.poll_next(cx),
            BodyView::Failing { outcome } => Poll::Ready(outcome.take()),
        }
    }
}

impl<S, W, V> fmt::Debug for Injected<S, W, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injected")
            .field("is_slowed", &self.sleep.is_some())
            .field("fails", &matches!(self.body, Body::Failing { .. }))
            .finish_non_exhaustive()
    }
}
