//! Waiting for a stream's first item.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use futures_core::Stream;
use steadfast_core::{Classify, Conclude, Listener, Memory, Rules, Shared};

use super::{Stage, Streaming};
use crate::supply::Supply;
use crate::timer::Timer;

/// Waits for the first item of a stream: what [`Streaming::start`] gives.
#[must_use = "a stream does not start unless that is awaited"]
#[expect(clippy::type_complexity, reason = "it borrows all of a stream")]
pub struct Start<'s, 'g, T, O, S, C, R, L, M = Shared, J = ()>
where
    T: Timer,
    S: Stream,
    M: Memory,
{
    pub(super) stream: Pin<&'s mut Streaming<'g, T, O, S, C, R, L, M, J>>,
}

impl<T, O, S, C, R, L, M, J, V, E> Future for Start<'_, '_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    O: Supply<V, Source = S>,
    S: Stream<Item = Result<V, E>>,
    C: Classify<Result<V, E>>,
    R: Rules<V, E>,
    L: Listener,
    M: Memory,
    J: Conclude<(), E>,
{
    type Output = J::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut now = self.stream.conduct.timer.now();
        let opened = match self.stream.stage {
            Stage::Asking | Stage::Waiting => {
                ready!(self.stream.as_mut().poll_open(&mut now, cx))
            }
            // It did, and may have ended since.
            Stage::Flowing | Stage::Over => Ok(()),
        };
        let conduct = &self.stream.conduct;
        let last = match opened {
            Ok(()) if conduct.machine.is_success() => Some(Ok(())),
            Ok(()) => None,
            Err(error) => error.map(Err),
        };
        Poll::Ready(conduct.conclude(now, last))
    }
}

impl<T, O, S, C, R, L, M, J> fmt::Debug for Start<'_, '_, T, O, S, C, R, L, M, J>
where
    T: Timer,
    S: Stream,
    M: Memory,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Start").field(&self.stream).finish()
    }
}
