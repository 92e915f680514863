//! THE loop: the future of one guarded call.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use steadfast_core::{
    Attempt, AttemptLog, Classify, Conclude, Criticality, Instant, Journal, Listener, Memory,
    Rules, Shared, Single,
};

use crate::alarm::Alarm;
use crate::conduct::{Conduct, Turn};
use crate::lanes::{Flights, Places};
use crate::timer::Timer;

/// How many turns one poll takes before it lets others run.
///
/// A turn is an attempt, a refusal or a wait that is over at once; more of them
/// in a row come from an operation that never suspends.
const TURNS: u32 = 32;

/// What a poll begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has happened yet.
    Fresh,
    /// The machine is to be asked.
    Asking,
    /// The machine has said until when to wait.
    Waiting,
    /// It has ended; polled once more, against all custom, it has nothing to say.
    Over,
}

pin_project! {
    /// The future of one guarded call, and the builder of what belongs to it.
    ///
    /// Made by [`Guard::call`](crate::Guard::call). Nothing happens, and no
    /// deadline runs, before it is polled. Dropping it cancels the call: the
    /// attempt in flight leaves breaker and budget as if it had never been
    /// admitted. It is `Send` exactly when its parts are, and allocates nothing.
    #[must_use = "a call does nothing unless it is awaited"]
    pub struct Call<'g, T, F, Fut, C, R, L, M = Shared, J = (), H = Single>
    where
        T: Timer,
        Fut: Future,
        M: Memory,
        H: Flights,
    {
        // Fields drop in order: first the attempts, then what they held.
        #[pin]
        attempts: H::Places<Fut>,
        #[pin]
        alarm: Alarm<T>,
        stage: Stage,
        last: Option<Fut::Output>,
        operation: F,
        conduct: Conduct<'g, T, M, C, R, L, J, H>,
    }
}

impl<'g, T, F, Fut, C, R, L, M, J, H> Call<'g, T, F, Fut, C, R, L, M, J, H>
where
    T: Timer,
    Fut: Future,
    M: Memory,
    J: Journal,
    H: Flights,
{
    pub(crate) fn new(conduct: Conduct<'g, T, M, C, R, L, J, H>, operation: F) -> Self {
        Self {
            attempts: H::Places::new(),
            alarm: Alarm::new(),
            stage: Stage::Fresh,
            last: None,
            operation,
            conduct,
        }
    }

    /// The same call, polled or not, conducted in another way.
    fn conducted<D, S, K, I>(
        self,
        change: impl FnOnce(Conduct<'g, T, M, C, R, L, J, H>) -> Conduct<'g, T, M, D, S, K, I, H>,
    ) -> Call<'g, T, F, Fut, D, S, K, M, I, H> {
        Call {
            attempts: self.attempts,
            alarm: self.alarm,
            stage: self.stage,
            last: self.last,
            operation: self.operation,
            conduct: change(self.conduct),
        }
    }

    /// Says that the operation must not be repeated: one attempt, no retry, no
    /// hedge.
    ///
    /// Nor does the measured ceiling cut it: it could not be tried again, and what
    /// became of it would not be known. The attempt timeout does.
    pub fn once(self) -> Self {
        self.conducted(Conduct::once)
    }

    /// Says how much it matters that this call is answered.
    ///
    /// Unless said it is what the policy
    /// [follows](steadfast_core::Policy::with_ambient_criticality), else
    /// [`Criticality::Critical`]. Sheddable calls are never hedged, leave half of the
    /// retry budget to others, and are throttled first.
    pub fn criticality(self, criticality: Criticality) -> Self {
        self.conducted(|conduct| conduct.criticality(criticality))
    }

    /// Bounds this call, if that is less than the policy's deadline.
    ///
    /// The time starts at the first poll. An attempt that this bound cuts short
    /// counts against the dependency like any other that is cut.
    pub fn within(self, bound: Duration) -> Self {
        self.conducted(|conduct| conduct.within(bound))
    }

    /// Lets `listener` hear this call's events, after the guard's own.
    ///
    /// ```
    /// use steadfast_core::{Event, Listener, Policy};
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// struct Printer;
    ///
    /// impl Listener for Printer {
    ///     fn on_event(&self, event: &Event) {
    ///         println!("{event}");
    ///     }
    /// }
    ///
    /// static GUARD: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
    ///
    /// async fn fetch() -> std::io::Result<u32> {
    ///     Ok(1)
    /// }
    ///
    /// # async fn example() {
    /// let answer = GUARD.call(|_| fetch()).listen(&Printer).await;
    /// # }
    /// ```
    pub fn listen<K: Listener>(self, listener: K) -> Call<'g, T, F, Fut, C, R, (L, K), M, J, H> {
        self.conducted(|conduct| conduct.heard_by(listener))
    }

    /// Uses other hooks and another delay rule than the guard's.
    pub fn ruled<S>(self, rules: S) -> Call<'g, T, F, Fut, C, S, L, M, J, H> {
        self.conducted(|conduct| conduct.ruled(rules))
    }

    /// Keeps a log, and gives an [`Outcome`](steadfast_core::Outcome) that is
    /// never an error by itself.
    pub fn outcome(self) -> Call<'g, T, F, Fut, C, R, L, M, AttemptLog, H> {
        self.conducted(Conduct::logged)
    }
}

impl<T, F, Fut, C, R, L, M, J, H, V, E> Future for Call<'_, T, F, Fut, C, R, L, M, J, H>
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
{
    type Output = J::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_with(cx, Conduct::conclude)
    }
}

impl<'g, T, F, Fut, C, R, L, M, J, H, V, E> Call<'g, T, F, Fut, C, R, L, M, J, H>
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
{
    /// Drives the call to its end, and tells it by `tell`: from when that was, and what
    /// ended last.
    fn poll_with<X>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        tell: impl FnOnce(&Conduct<'g, T, M, C, R, L, J, H>, Instant, Option<Fut::Output>) -> X,
    ) -> Poll<X> {
        let mut this = self.project();
        let mut now = match *this.stage {
            Stage::Fresh if this.conduct.is_direct::<V, E>() => {
                let (at, ended) =
                    run_first(this.conduct, this.operation, this.attempts.as_mut(), cx);
                let ended = ended.map(|outcome| (this.conduct.weigh(&outcome), outcome));
                if let Some(((_, verdict), _)) = &ended
                    && verdict.is_ok()
                {
                    let now = at.unwrap_or(Instant::ZERO);
                    this.conduct.machine.succeed_at_once(now);
                    *this.stage = Stage::Over;
                    let value = ended.map(|(_, value)| value);
                    return Poll::Ready(tell(this.conduct, now, value));
                }
                // The machine counts it as if it were about to start.
                let mut now = at.unwrap_or_else(|| this.conduct.timer.now());
                *this.stage = Stage::Asking;
                if let Turn::Run(_, lane, at) = this.conduct.next(&mut now, this.last) {
                    if let Some((weighed, outcome)) = ended {
                        let last = &mut *this.last;
                        this.conduct.end(lane, &mut now, weighed, outcome, last);
                    } else {
                        *this.stage = Stage::Waiting;
                        ready!(this.alarm.as_mut().poll(this.conduct.timer, at, cx));
                        *this.stage = Stage::Asking;
                        now = this.conduct.timer.now();
                    }
                }
                now
            }
            Stage::Fresh | Stage::Asking => this.conduct.timer.now(),
            Stage::Waiting | Stage::Over => Instant::ZERO,
        };
        let mut turns = 0;
        loop {
            // While an attempt runs, a poll reads no clock and asks nobody.
            let turn = match *this.stage {
                Stage::Fresh | Stage::Asking => this.conduct.next(&mut now, this.last),
                Stage::Waiting => Turn::Wait(this.conduct.machine.wake()),
                Stage::Over => return Poll::Pending,
            };
            match turn {
                Turn::Run(attempt, lane, _) => {
                    let operation = &mut *this.operation;
                    if let Some(mut place) = this.attempts.as_mut().place(lane) {
                        place.set(Some(operation(attempt)));
                    }
                    *this.stage = Stage::Waiting;
                    // Not a turn of its own: what is started is also polled.
                    continue;
                }
                Turn::Wait(at) => {
                    *this.stage = Stage::Waiting;
                    if let Some((lane, outcome)) = first_ready(this.attempts.as_mut(), cx) {
                        *this.stage = Stage::Asking;
                        this.conduct.judge(lane, &mut now, outcome, this.last);
                        if this.conduct.machine.is_over() {
                            break;
                        }
                    } else {
                        ready!(this.alarm.as_mut().poll(this.conduct.timer, at, cx));
                        // The clock decides whether it is due, not the timer.
                        *this.stage = Stage::Asking;
                        now = this.conduct.timer.now();
                    }
                }
                Turn::Cut(lane) => {
                    if let Some(mut place) = this.attempts.as_mut().place(lane) {
                        place.set(None);
                    }
                    // What another one gave before is not what ended last.
                    *this.last = None;
                    this.conduct.cut::<V, E>(lane, now);
                }
                Turn::Again => {}
                Turn::Finish(_) => break,
            }
            turns += 1;
            if turns == TURNS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        // Whoever lost a race is dropped before the caller goes on.
        this.attempts.clear();
        this.alarm.clear();
        *this.stage = Stage::Over;
        let last = this.last.take();
        Poll::Ready(tell(this.conduct, now, last))
    }

    /// Drives the call to its end: gives the accepted value, or why there is none.
    pub(crate) fn poll_accepted(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<V, J::Failure>> {
        self.poll_with(cx, Conduct::accept)
    }
}

/// Runs the first attempt before the machine is asked for it: when that was, if it
/// matters, and what it gave, unless it suspended.
fn run_first<T, F, Fut, C, R, L, M, J, H>(
    conduct: &Conduct<'_, T, M, C, R, L, J, H>,
    operation: &mut F,
    mut attempts: Pin<&mut H::Places<Fut>>,
    cx: &mut Context<'_>,
) -> (Option<Instant>, Option<Fut::Output>)
where
    T: Timer,
    F: FnMut(Attempt) -> Fut,
    Fut: Future,
    M: Memory,
    J: Journal,
    H: Flights,
{
    let machine = &conduct.machine;
    let at = machine.is_timed().then(|| conduct.timer.now());
    let attempt = machine.first(at.unwrap_or(Instant::ZERO));
    if let Some(mut place) = attempts.as_mut().place(0) {
        place.set(Some(operation(attempt)));
    }
    let ended = first_ready(attempts, cx);
    (at, ended.map(|(_, outcome)| outcome))
}

/// Polls every attempt in flight up to the first that ends, which is dropped.
///
/// In the next turn the others are polled, too, so that nobody is left out.
fn first_ready<Fut: Future, P: Places<Fut>>(
    mut attempts: Pin<&mut P>,
    cx: &mut Context<'_>,
) -> Option<(usize, Fut::Output)> {
    let mut lane = 0;
    while let Some(mut place) = attempts.as_mut().place(lane) {
        if let Some(attempt) = place.as_mut().as_pin_mut()
            && let Poll::Ready(outcome) = attempt.poll(cx)
        {
            place.set(None);
            return Some((lane, outcome));
        }
        lane += 1;
    }
    None
}

impl<T, F, Fut, C, R, L, M, J, H> fmt::Debug for Call<'_, T, F, Fut, C, R, L, M, J, H>
where
    T: Timer,
    Fut: Future,
    M: Memory,
    H: Flights,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("machine", &self.conduct.machine)
            .field("is_attempting", &!self.attempts.is_empty())
            .finish_non_exhaustive()
    }
}
