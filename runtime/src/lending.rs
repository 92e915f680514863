//! The driver that lends something to each attempt in turn.

use core::future::{Future, Pending, poll_fn};
use core::ops::AsyncFnMut;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};

use steadfast_core::{
    Attempt, CallError, Classify, Conclude, Instant, Journal, Listener, Memory, Rules,
};

use crate::conduct::Turn;
use crate::guard::Guard;
use crate::lanes::{Flights, OneAtATime};
use crate::prepared::Prepared;
use crate::timer::Timer;

/// How many turns are taken before others may run.
const TURNS: u32 = 32;

impl<T: Timer, C, R, L, M: Memory, H: Flights> Guard<T, C, R, L, M, H> {
    /// Calls an operation that needs something for itself: a bus, a connection.
    ///
    /// Each attempt borrows `lent` anew. Write the operation as an async
    /// closure that captures nothing, so that the call can be sent to another
    /// thread.
    ///
    /// ```
    /// use steadfast_core::{Meaning, Policy, Verdict};
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// struct Bus;
    /// struct Nack;
    ///
    /// impl Meaning for Nack {
    ///     fn verdict(&self) -> Verdict {
    ///         Verdict::TRANSIENT
    ///     }
    /// }
    ///
    /// impl Bus {
    ///     async fn read(&mut self) -> Result<u8, Nack> {
    ///         Ok(7)
    ///     }
    /// }
    ///
    /// static SENSOR: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
    ///
    /// async fn measure(bus: &mut Bus) -> Option<u8> {
    ///     SENSOR.call_with(bus, async |bus: &mut Bus, _| bus.read().await).await.ok()
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As a call does: when it failed and its last attempt gave no value.
    pub fn call_with<S, F, V, E>(
        &self,
        lent: &mut S,
        operation: F,
    ) -> impl Future<Output = Result<V, CallError<E>>>
    where
        S: ?Sized,
        F: AsyncFnMut(&mut S, Attempt) -> Result<V, E>,
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
        L: Listener,
        H: OneAtATime,
    {
        self.prepare().call_with(lent, operation)
    }
}

impl<T, C, R, L, M, J, H> Prepared<'_, T, C, R, L, M, J, H>
where
    T: Timer,
    M: Memory,
    J: Journal,
    H: Flights,
{
    /// Calls an operation that needs something for itself, as
    /// [`Guard::call_with`] does.
    pub async fn call_with<S, F, V, E>(self, lent: &mut S, mut operation: F) -> J::Output
    where
        S: ?Sized,
        F: AsyncFnMut(&mut S, Attempt) -> Result<V, E>,
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
        L: Listener,
        J: Conclude<V, E>,
        H: OneAtATime,
    {
        let mut conduct = self.conduct.single();
        let timer = conduct.timer;
        let mut sleep = pin!(None);
        let mut last = None;
        let mut now = timer.now();
        let mut turns = 0_u32;
        loop {
            match conduct.next(&mut now, &mut last) {
                Turn::Run(attempt, lane, at) => {
                    let ended = {
                        let attempt = pin!(operation(lent, attempt));
                        until(timer, sleep.as_mut(), at, Some(attempt)).await
                    };
                    if let Some(outcome) = ended {
                        conduct.judge(lane, &mut now, outcome, &mut last);
                    } else {
                        now = timer.now();
                        conduct.cut::<V, E>(lane, now);
                    }
                }
                Turn::Wait(at) => {
                    let nothing = None::<Pin<&mut Pending<()>>>;
                    until(timer, sleep.as_mut(), at, nothing).await;
                    now = timer.now();
                }
                Turn::Cut(lane) => conduct.cut::<V, E>(lane, now),
                Turn::Again => {}
                Turn::Finish(_) => return conduct.conclude(now, last),
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS) {
                give_way().await;
            }
        }
    }
}

/// Waits until `at` by the clock, or until `attempt` ends.
fn until<'a, T: Timer, A: Future>(
    timer: &'a T,
    mut sleep: Pin<&'a mut Option<T::Sleep>>,
    at: Instant,
    mut attempt: Option<Pin<&'a mut A>>,
) -> impl Future<Output = Option<A::Output>> {
    let mut is_armed = false;
    poll_fn(move |cx| {
        if let Some(attempt) = &mut attempt
            && let Poll::Ready(outcome) = attempt.as_mut().poll(cx)
        {
            return Poll::Ready(Some(outcome));
        }
        poll_clock(timer, sleep.as_mut(), at, &mut is_armed, cx).map(|()| None)
    })
}

fn poll_clock<T: Timer>(
    timer: &T,
    mut sleep: Pin<&mut Option<T::Sleep>>,
    at: Instant,
    is_armed: &mut bool,
    cx: &mut Context<'_>,
) -> Poll<()> {
    if at == Instant::MAX {
        return Poll::Pending;
    }
    if !*is_armed {
        timer.rearm(sleep.as_mut(), at);
        *is_armed = true;
    }
    if let Some(sleep) = sleep.as_mut().as_pin_mut()
        && sleep.poll(cx).is_pending()
    {
        return Poll::Pending;
    }
    *is_armed = false;
    if timer.now() >= at {
        return Poll::Ready(());
    }
    // The timer was early. Armed again at the next poll, so that one that
    // always is cannot hold the thread.
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Lets everything else on this executor have a turn.
fn give_way() -> impl Future<Output = ()> {
    let mut has_waited = false;
    poll_fn(move |cx| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}
