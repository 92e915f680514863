//! What is done when a call has failed.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use steadfast_core::{Attempt, Classify, Conclude, Listener, Memory, Rules};

use crate::call::Call;
use crate::lanes::Flights;
use crate::timer::Timer;

/// What a fallback gives: a call's value, or a result of one.
#[diagnostic::on_unimplemented(
    message = "a fallback gives what the call does, and `{Self}` is not that",
    label = "expected `{V}`, or a result of that"
)]
pub trait Answer<V> {
    /// Makes the answer of a call that succeeded.
    fn accepted(value: V) -> Self;
}

impl<V> Answer<V> for V {
    fn accepted(value: V) -> V {
        value
    }
}

impl<V, E> Answer<V> for Result<V, E> {
    fn accepted(value: V) -> Self {
        Ok(value)
    }
}

impl<T, F, Fut, C, R, L, M, J, H> Call<'_, T, F, Fut, C, R, L, M, J, H>
where
    T: Timer,
    Fut: Future,
    M: Memory,
    H: Flights,
{
    /// Answers by `fallback` when the call fails.
    ///
    /// `fallback` is told the failure, with its [reason](steadfast_core::Reason): a
    /// [`CallError`](steadfast_core::CallError), or the
    /// [`Outcome`](steadfast_core::Outcome) of a call that was asked for
    /// [one](Call::outcome). It makes a future of a value, which this then always gives,
    /// or of a result. Unlike in what a call gives, **a value that was judged a failure
    /// is one**: for a 503 the fallback is asked, and an outcome holds that 503.
    ///
    /// It hides nothing: events, breaker and budget have seen the failure before. The
    /// call is over by then, so that none of its bounds holds for the fallback; a second
    /// guard may bound it. Say what belongs to the call before.
    ///
    /// ```
    /// use steadfast_core::{AnyError, Policy};
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// static NEAR: Guard<StdTimer, AnyError> = Guard::classified(Policy::DEFAULT, AnyError);
    /// static FAR: Guard<StdTimer, AnyError> = Guard::classified(Policy::DEFAULT, AnyError);
    ///
    /// # async fn ask(_: &str) -> Result<u32, ()> { Ok(1) }
    /// # async fn example() -> Result<(), steadfast_core::CallError<()>> {
    /// // A value in any case.
    /// let price = NEAR.call(|_| ask("near")).or_else(async |_| 0).await;
    ///
    /// // Another call, which may fail, too.
    /// let price = NEAR
    ///     .call(|_| ask("near"))
    ///     .or_else(|failure| {
    ///         println!("{failure}");
    ///         FAR.call(|_| ask("far"))
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn or_else<O, A, V, E>(self, fallback: O) -> OrElse<Self, O, A>
    where
        Fut: Future<Output = Result<V, E>>,
        J: Conclude<V, E>,
        O: FnOnce(J::Failure) -> A,
        A: Future<Output: Answer<V>>,
    {
        OrElse {
            stage: Stage::Calling {
                call: self,
                fallback: Some(fallback),
            },
        }
    }
}

pin_project! {
    /// A call with a fallback: what [`Call::or_else`] gives.
    ///
    /// Nothing happens before it is polled, and dropping it cancels whichever of the
    /// two runs. It is `Send` exactly when its parts are, and allocates nothing.
    #[must_use = "a call does nothing unless it is awaited"]
    pub struct OrElse<P, O, A> {
        #[pin]
        stage: Stage<P, O, A>,
    }
}

pin_project! {
    /// One at a time, so that both take the room of the larger one.
    #[project = StageNow]
    enum Stage<P, O, A> {
        Calling {
            #[pin]
            call: P,
            fallback: Option<O>,
        },
        FallingBack {
            #[pin]
            answer: A,
        },
        Over,
    }
}

impl<T, F, Fut, C, R, L, M, J, H, O, A, V, E> Future
    for OrElse<Call<'_, T, F, Fut, C, R, L, M, J, H>, O, A>
where
    T: Timer,
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<V, E>>,
    C: Classify<Result<V, E>>,
    R: Rules<V, E>,
    L: Listener,
    M: Memory,
    J: Conclude<V, E>,
    H: Flights,
    O: FnOnce(J::Failure) -> A,
    A: Future<Output: Answer<V>>,
{
    type Output = A::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<A::Output> {
        let mut stage = self.project().stage;
        loop {
            match stage.as_mut().project() {
                StageNow::Calling { call, fallback } => {
                    let accepted = ready!(call.poll_accepted(cx));
                    let fallback = fallback.take();
                    // The call is gone before anything else begins.
                    stage.set(Stage::Over);
                    match (accepted, fallback) {
                        (Ok(value), _) => return Poll::Ready(A::Output::accepted(value)),
                        (Err(failure), Some(fallback)) => stage.set(Stage::FallingBack {
                            answer: fallback(failure),
                        }),
                        (Err(_), None) => {}
                    }
                }
                StageNow::FallingBack { answer } => {
                    let answer = ready!(answer.poll(cx));
                    stage.set(Stage::Over);
                    return Poll::Ready(answer);
                }
                StageNow::Over => return Poll::Pending,
            }
        }
    }
}

impl<P: fmt::Debug, O, A> fmt::Debug for OrElse<P, O, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("OrElse");
        match &self.stage {
            Stage::Calling { call, .. } => text.field("call", call),
            Stage::FallingBack { .. } => text.field("is_falling_back", &true),
            Stage::Over => &mut text,
        }
        .finish_non_exhaustive()
    }
}
