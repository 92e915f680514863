//! A bounded line of those who wait for a place.

mod control;
mod waiter;

use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use event_listener::Event;
use steadfast_core::{
    Attempt, BreakerState, Instant, Lanes, Limit, Limited, Memory, Problem, Shared, Word,
};

use crate::guard::Guard;
use crate::timer::Timer;
use control::{Control, Entry, Freed};
use waiter::Waiter;

/// A limit on attempts in flight that lets some of them wait.
///
/// Enter it inside the operation, so that each attempt takes one place and the
/// wait counts against the attempt's bound. What it refuses means
/// [`Verdict::SELF_IMPOSED`](steadfast_core::Verdict::SELF_IMPOSED): retried on
/// the throttled curve, charged to no budget, evidence against nobody.
///
/// - **In order.** Places go to those who wait, oldest first; nobody overtakes.
/// - **Bounded.** When enough of them wait, the next one is refused at once. With
///   none allowed to wait it is a plain limit.
/// - **Not for longer than it helps.** A wait ends shortly before the attempt's
///   own bound would: as a refusal, not as a failure of the dependency.
/// - **Not behind an open breaker.** Who is woken while the guard's breaker
///   refuses is refused as well and wakes the next, so the line empties at once.
/// - **Without a trace.** A future that is dropped while it waits loses nobody's
///   place or wake.
///
/// A wait looks like a slow dependency to whatever measures the attempt: keep the
/// line short, and the attempt timeout above the longest wait worth having. Nothing
/// is allocated when nobody has to wait.
///
/// ```
/// use steadfast_core::{Attempt, Limited, Meaning, Policy, Verdict};
/// use steadfast_runtime::{Guard, Queue, StdTimer};
///
/// static GUARD: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
/// // Eight at once, up to a hundred wait.
/// static QUEUE: Queue = Queue::new(8, 100);
///
/// async fn fetch(attempt: Attempt) -> Result<u32, Limited> {
///     let _place = QUEUE.enter(&GUARD, attempt).await?;
///     // Talk to the dependency.
///     Ok(7)
/// }
///
/// # async fn example() {
/// let fetched = GUARD.call(fetch).await;
/// # }
/// ```
///
/// No permits are none, not any number of them:
///
/// ```compile_fail,E0080
/// use steadfast_runtime::Queue;
///
/// static QUEUE: Queue = Queue::new(0, 100);
/// ```
pub struct Queue {
    permits: u32,
    /// Other permits than those; none when zero.
    changed: <Shared as Memory>::U32,
    /// How many may wait.
    most: u32,
    /// A [`Control`].
    control: <Shared as Memory>::U64,
    /// Those who wait, in order. It is notified once for each grant, and for all
    /// when the queue is closed.
    event: Event,
}

impl Queue {
    /// Makes a queue of so many places, for which so many may wait.
    ///
    /// More than 1 048 575 of either are as many.
    ///
    /// # Panics
    ///
    /// Without a permit; in a `static` that is a compile error. See
    /// [`Queue::try_new`].
    #[must_use]
    #[track_caller]
    pub const fn new(permits: u32, waiting: u32) -> Self {
        assert!(permits > 0, "{}", Problem::NoQueuePermits.message());
        Self::sized(permits, waiting)
    }

    /// Makes a queue of numbers that are known at run time only.
    ///
    /// # Errors
    ///
    /// [`Problem::NoQueuePermits`] without a permit.
    pub const fn try_new(permits: u32, waiting: u32) -> Result<Self, Problem> {
        if permits == 0 {
            return Err(Problem::NoQueuePermits);
        }
        Ok(Self::sized(permits, waiting))
    }

    const fn sized(permits: u32, waiting: u32) -> Self {
        Self {
            permits: at_most(permits, Control::MOST),
            changed: <<Shared as Memory>::U32 as Word<u32>>::ZERO,
            most: at_most(waiting, Control::MOST),
            control: <<Shared as Memory>::U64 as Word<u64>>::ZERO,
            event: Event::new(),
        }
    }

    /// Takes a place for an attempt, after waiting for it if that may help.
    ///
    /// `guard` is the one that makes the attempt: its clock, timer and breaker are
    /// asked when there is no place yet. The place comes back when dropped; move
    /// it into work that outlives the attempt, a blocking task for one.
    ///
    /// # Errors
    ///
    /// Refuses at once when enough others wait ([`Limit::Queue`]) and after it was
    /// closed ([`Limit::Closed`], permanent); later, when no place came free until
    /// shortly before the attempt's bound, when it is closed meanwhile, and, with
    /// the breaker's hint, when the breaker no longer admits.
    pub async fn enter<T, C, R, L, M, H>(
        &self,
        guard: &Guard<T, C, R, L, M, H>,
        attempt: Attempt,
    ) -> Result<Place<'_>, Limited>
    where
        T: Timer,
        M: Memory,
        H: Lanes,
    {
        if let Some(answer) = self.enter_at_once() {
            return answer;
        }
        let (mut waiter, entry) = Waiter::new(self);
        if let Some(answer) = self.answer(entry) {
            return answer;
        }
        let now = guard.timer().now();
        let last = last_call(now, &attempt);
        if now >= last {
            return Err(Limited::new(Limit::Queue));
        }
        let before = guard.breaker().map(|breaker| breaker.state(now));

        let mut sleep = pin!(None::<T::Sleep>);
        let place = poll_fn(|cx| {
            if let Poll::Ready(place) = waiter.poll(cx) {
                return Poll::Ready(place);
            }
            if last == Instant::MAX {
                return Poll::Pending;
            }
            if sleep.is_none() {
                guard.timer().rearm(sleep.as_mut(), last);
            }
            if let Some(sleep) = sleep.as_mut().as_pin_mut()
                && sleep.poll(cx).is_pending()
            {
                return Poll::Pending;
            }
            // The clock decides whether it is due, not the timer.
            if guard.timer().now() >= last {
                return Poll::Ready(None);
            }
            sleep.set(None);
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        let Some(place) = place else {
            return Err(Limited::new(Limit::Queue));
        };

        let now = guard.timer().now();
        if now >= last {
            return Err(Limited::new(Limit::Queue));
        }
        if let Some(breaker) = guard.breaker()
            && !breaker.is_observing()
            && !still_admits(before, breaker.state(now))
        {
            let refusal = Limited::new(Limit::Queue);
            return Err(match breaker.retry_after(now) {
                Some(hint) => refusal.with_retry_after(hint),
                None => refusal,
            });
        }
        Ok(place)
    }

    /// Takes a place that is free, without waiting.
    ///
    /// # Errors
    ///
    /// As [`Queue::enter`] does at once, also when it would have to wait.
    pub fn try_enter(&self) -> Result<Place<'_>, Limited> {
        self.enter_at_once()
            .unwrap_or(Err(Limited::new(Limit::Queue)))
    }

    /// Takes nobody any more, and refuses all who wait.
    ///
    /// Places that are in use stay in use.
    pub fn close(&self) {
        self.change(|word| (word.close(), ()));
        self.event.notify_additional(usize::MAX);
    }

    /// Tells whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.word().is_closed()
    }

    /// Sets how many places there are from now on, at least 1.
    ///
    /// Fewer take no place away: the next one is given when enough came back.
    pub fn set_permits(&self, permits: u32) {
        let permits = at_most(permits, Control::MOST).max(1);
        Word::store(&self.changed, permits);
        // A write to the word: who begins to wait after it reads these permits,
        // and who did before is found below.
        Word::fetch_add(&self.control, 0);
        self.grant();
    }

    /// Returns how many places there are.
    #[must_use]
    pub fn permits(&self) -> u32 {
        match Word::load(&self.changed) {
            0 => self.permits,
            changed => changed,
        }
    }

    /// Returns how many places are in use.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.word().in_use()
    }

    /// Returns how many wait for a place.
    ///
    /// Whoever was woken for one and has not run yet does not count.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.word().waiting()
    }

    /// Takes a place or a refusal; `None` for who has to wait.
    fn enter_at_once(&self) -> Option<Result<Place<'_>, Limited>> {
        let entry = self.change(|word| match word.enter(self.permits(), self.most) {
            // Counted when it is in line.
            (_, Entry::Wait) => (word, Entry::Wait),
            changed => changed,
        });
        self.answer(entry)
    }

    fn answer(&self, entry: Entry) -> Option<Result<Place<'_>, Limited>> {
        match entry {
            Entry::Taken => Some(Ok(Place { queue: self })),
            Entry::Wait => None,
            Entry::Full => Some(Err(Limited::new(Limit::Queue))),
            Entry::Closed => Some(Err(Limited::new(Limit::Closed))),
        }
    }

    fn word(&self) -> Control {
        Control(Word::load(&self.control))
    }

    fn change<A>(&self, to: impl Fn(Control) -> (Control, A)) -> A {
        let mut word = self.word();
        loop {
            let (next, answer) = to(word);
            if next == word {
                return answer;
            }
            match Word::compare_exchange(&self.control, word.0, next.0) {
                Ok(_) => return answer,
                Err(other) => word = Control(other),
            }
        }
    }

    /// Gives a place back, to the first who waits.
    fn leave(&self) {
        if self.change(|word| word.leave(self.permits())) == Freed::Granted {
            self.wake();
        }
        self.grant();
    }

    /// Hands on a grant that nobody took.
    fn pass_on(&self) {
        if self.change(|word| word.pass_on(self.permits())) == Freed::Granted {
            self.wake();
        }
        self.grant();
    }

    /// Grants what is free to those who wait: only permits that were added
    /// meanwhile are.
    fn grant(&self) {
        while self.change(|word| word.grant(self.permits())) == Freed::Granted {
            self.wake();
        }
    }

    /// Wakes the first who waits for a grant, or takes that back.
    ///
    /// It may have gone between being counted and being woken; then there is
    /// another one to wake, or none.
    fn wake(&self) {
        while self.event.notify_additional(1) == 0 {
            if self.change(|word| word.pass_on(self.permits())) == Freed::Free {
                return;
            }
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        f.debug_struct("Queue")
            .field("permits", &self.permits())
            .field("in_use", &word.in_use())
            .field("waiting", &word.waiting())
            .field("is_closed", &word.is_closed())
            .finish_non_exhaustive()
    }
}

/// A place in a [`Queue`]; comes back when dropped, and wakes the next.
///
/// ```
/// use steadfast_runtime::Queue;
///
/// static QUEUE: Queue = Queue::new(1, 0);
///
/// let place = QUEUE.try_enter().unwrap();
/// assert!(QUEUE.try_enter().is_err());
/// drop(place);
/// assert!(QUEUE.try_enter().is_ok());
/// ```
#[must_use = "a place that is dropped at once is given back"]
pub struct Place<'q> {
    queue: &'q Queue,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.queue.leave();
    }
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.queue).finish()
    }
}

/// Returns until when it helps to wait for a place.
///
/// An eighth of what is left remains, at most [`ROOM`].
fn last_call(now: Instant, attempt: &Attempt) -> Instant {
    let span = match (attempt.timeout(), attempt.left()) {
        (Some(timeout), Some(left)) => Some(timeout.min(left)),
        (one, other) => one.or(other),
    };
    let end = match (attempt.until(), span) {
        (Some(end), _) => end,
        // Told by hand: as if it had begun just now.
        (None, Some(span)) => now.saturating_add(span),
        (None, None) => return Instant::MAX,
    };
    let room = end.saturating_since(now) / 8;
    end.saturating_sub(room.min(ROOM))
}

/// Tells whether a breaker that was in the state `before` when a wait began still
/// lets the attempt through.
///
/// While half-open it lets probes through only; who began to wait when it was
/// closed is none.
fn still_admits(before: Option<BreakerState>, state: BreakerState) -> bool {
    match state {
        BreakerState::Open | BreakerState::Isolated => false,
        BreakerState::HalfOpen => before != Some(BreakerState::Closed),
        _ => true,
    }
}

const fn at_most(number: u32, most: u32) -> u32 {
    if number < most { number } else { most }
}

/// More than timers are late, so that a refusal comes before the cut.
const ROOM: Duration = Duration::from_millis(10);
