//! A line before a dependency: who gets in, in which order, and who does not.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use steadfast::{
    Attempt, BreakerState, Ending, EventKind, Kind, Limit, Limited, Outcome, Policy, Problem,
    Queue, Reason, Verdict,
};
use steadfast_testing::{Fault, Recorder, Task, World};

use crate::stage::{INSTANT, TOUCHY, Virtual, at, guard, ms, secs};

/// A guard, a line before what it guards, and who got in.
#[derive(Clone)]
struct Line {
    world: World,
    guard: Rc<Virtual>,
    queue: Rc<Queue>,
    entered: Rc<RefCell<Vec<u32>>>,
}

type Done = Outcome<(), Limited>;

impl Line {
    fn new(policy: Policy, permits: u32, waiting: u32) -> Self {
        let world = World::new();
        Self {
            guard: Rc::new(guard(&world, policy)),
            queue: Rc::new(Queue::new(permits, waiting)),
            entered: Rc::default(),
            world,
        }
    }

    /// Waits for a place and keeps it for so long.
    async fn work(self, name: u32, attempt: Attempt, span: Duration) -> Result<(), Limited> {
        let _place = self.queue.enter(&self.guard, attempt).await?;
        self.entered.borrow_mut().push(name);
        self.world.sleep(span).await;
        Ok(())
    }

    /// Spawns a call that keeps its place for so long.
    fn call(&self, name: u32, span: Duration) -> Task<Done> {
        let line = self.clone();
        self.world.spawn(name.to_string(), async move {
            let work = |attempt| line.clone().work(name, attempt, span);
            line.guard.call(work).outcome().await
        })
    }

    /// Spawns one call and lets everybody get as far as they can.
    fn call_now(&self, name: u32, span: Duration) -> Task<Done> {
        let task = self.call(name, span);
        self.world.settle();
        task
    }

    fn entered(&self) -> Vec<u32> {
        self.entered.borrow().clone()
    }

    #[track_caller]
    fn counts(&self, in_use: u32, waiting: u32) {
        let counts = (self.queue.in_use(), self.queue.waiting());
        assert_eq!(counts, (in_use, waiting));
    }

    fn end(&self, task: Task<Done>) -> Done {
        self.world.block_on(task)
    }
}

fn refused() -> Limited {
    Limited::new(Limit::Queue)
}

#[track_caller]
fn assert_refused(done: &Done) {
    assert_eq!(done.error(), Some(&refused()), "{done:?}");
}

const ONCE: Policy = INSTANT.with_attempts(1);

// core-09.2
#[test]
fn the_third_of_two_is_refused() {
    let line = Line::new(ONCE, 1, 1);
    let first = line.call_now(1, secs(1));
    let second = line.call_now(2, secs(1));
    line.counts(1, 1);
    let third = line.call_now(3, secs(1));
    assert_refused(&line.end(third));
    assert_eq!(line.world.elapsed(), Duration::ZERO);

    // Cancelled, the second leaves its place to another.
    drop(second);
    line.counts(1, 0);
    let fourth = line.call_now(4, secs(1));
    line.counts(1, 1);
    assert!(line.end(first).is_success());
    assert!(line.end(fourth).is_success());
    assert_eq!(line.entered(), [1, 4]);
    line.counts(0, 0);
}

// R-76, tower#793
#[test]
fn the_sixth_of_five_waiters_is_refused() {
    let line = Line::new(ONCE, 1, 5);
    let _calls: Vec<_> = (1..=6).map(|name| line.call_now(name, secs(1))).collect();
    line.counts(1, 5);
    let seventh = line.call_now(7, secs(1));
    assert_refused(&line.end(seventh));
    assert_eq!(line.world.elapsed(), Duration::ZERO);
    line.counts(1, 5);
}

#[test]
fn no_line_is_a_plain_limit() {
    let line = Line::new(ONCE, 2, 0);
    let calls = [1, 2].map(|name| line.call_now(name, secs(1)));
    assert_refused(&line.end(line.call_now(3, secs(1))));
    for call in calls {
        assert!(line.end(call).is_success());
    }
    assert_eq!(line.queue.try_enter().map(drop), Ok(()));
}

// a place for each who gets in.
#[test]
fn a_hundred_get_in_by_turns() {
    let line = Line::new(ONCE, 3, 100);
    let calls: Vec<_> = (0..103).map(|name| line.call_now(name, ms(10))).collect();
    line.counts(3, 100);
    let mut most = 0;
    for turn in 0..35 {
        most = most.max(line.queue.in_use());
        assert_eq!(line.entered().len(), 103.min(3 * (turn + 1)));
        line.world.advance(ms(10));
    }
    assert_eq!(most, 3);
    for call in calls {
        assert!(line.end(call).is_success());
    }
    assert_eq!(line.entered(), (0..103).collect::<Vec<_>>());
    line.counts(0, 0);
}

#[test]
fn a_newcomer_never_overtakes() {
    let line = Line::new(ONCE, 1, 9);
    let _first = line.call_now(1, ms(10));
    let _second = line.call_now(2, ms(10));
    // The place is on its way to the second, which has not run yet.
    line.world.jump(ms(10));
    let third = line.call(3, ms(10));
    line.world.settle();
    assert_eq!(line.entered(), [1, 2]);
    assert!(line.queue.try_enter().is_err());
    assert!(line.end(third).is_success());
    assert_eq!(line.entered(), [1, 2, 3]);
}

//
#[test]
fn two_places_at_once_wake_two() {
    let line = Line::new(ONCE, 2, 9);
    let places = [(); 2].map(|()| line.queue.try_enter().expect("a place"));
    let _calls = [1, 2, 3].map(|name| line.call_now(name, secs(1)));
    line.counts(2, 3);
    drop(places);
    line.counts(0, 1);
    line.world.settle();
    line.counts(2, 1);
    assert_eq!(line.entered(), [1, 2]);
}

// one tenant's calls do not starve another's.
#[test]
fn tenants_take_turns() {
    let line = Line::new(ONCE, 1, 100);
    let busy = |name| {
        let line = line.clone();
        line.world.clone().spawn("tenant", async move {
            for _ in 0..20 {
                let work = |attempt| line.clone().work(name, attempt, ms(10));
                assert!(line.guard.call(work).await.is_ok());
            }
        })
    };
    let (one, other) = (busy(1), busy(2));
    line.world.block_on(one);
    line.world.block_on(other);
    let entered = line.entered();
    assert!(
        entered.windows(2).all(|pair| pair[0] != pair[1]),
        "{entered:?}"
    );
}

// a wait has a real end. It comes before the attempt's, as a refusal.
#[test]
fn a_wait_ends_before_the_attempt_would() {
    let policy = ONCE.with_attempt_timeout(secs(1)).with_breaker(TOUCHY);
    let line = Line::new(policy, 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, secs(1));
    let done = line.end(waiter);
    assert_refused(&done);
    let entry = done.log().entries().next().expect("an attempt");
    assert_eq!(
        (entry.kind(), entry.ending()),
        (Kind::Throttled, Ending::Error)
    );
    assert!(entry.is_self_imposed());
    assert_eq!(line.world.elapsed(), ms(990));
    let state = line.guard.breaker_state();
    assert_eq!(state, Some(BreakerState::Closed));
    line.counts(1, 0);
    drop(held);
    line.counts(0, 0);
    assert_eq!(line.world.pending_timers(), 0);
}

#[test]
fn nobody_waits_past_the_deadline() {
    let policy = INSTANT.with_deadline(ms(40));
    let line = Line::new(policy, 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let heard = Recorder::new();
    let work = |attempt| line.clone().work(1, attempt, secs(1));
    let call = line.guard.call(work).listen(&heard).outcome();
    let done = line.world.block_on(call);
    // An eighth of what is left remains, each time.
    let refusals = heard.of_kind(EventKind::Attempt);
    assert_eq!(refusals.len(), 3);
    assert_eq!(done.reason(), Reason::AttemptsExhausted);
    assert!(line.world.elapsed() < ms(40), "{:?}", line.world.elapsed());
    line.counts(1, 0);
}

// The bound is the attempt's, however late in it the line is entered.
#[test]
fn a_late_entry_waits_for_less() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let work = async |attempt| {
        line.world.sleep(ms(500)).await;
        line.clone().work(1, attempt, secs(1)).await
    };
    let done = line.world.block_on(line.guard.call(work).outcome());
    assert_refused(&done);
    assert_eq!(line.world.elapsed(), ms(990));
}

#[test]
fn without_a_bound_a_wait_arms_no_timer() {
    let line = Line::new(ONCE, 1, 9);
    let _first = line.call_now(1, secs(5));
    let second = line.call_now(2, Duration::ZERO);
    assert_eq!(line.world.timers_armed(), 1);
    assert!(line.end(second).is_success());
    assert_eq!(line.world.elapsed(), secs(5));
}

// A place that comes too late to use goes to somebody else.
#[test]
fn a_place_after_the_end_is_handed_on() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let late = line.call_now(1, ms(1));
    line.world.advance(ms(900));
    let fresh = line.call_now(2, ms(1));
    // The process hangs, and both find a place when it comes back.
    line.world.jump(ms(95));
    drop(held);
    assert_refused(&line.end(late));
    assert!(line.end(fresh).is_success());
    assert_eq!(line.entered(), [2]);
}

// R-79, sqlx#83, bb8#67: dropped wherever it waits, it leaves no trace.
#[test]
fn a_drop_at_any_await_leaves_no_trace() {
    for woken in [false, true] {
        for polls in 0..4 {
            let line = Line::new(ONCE.with_attempt_timeout(secs(9)), 1, 9);
            let held = line.queue.try_enter().expect("a place");
            let mut held = Some(held);
            line.world.block_on(async {
                let work = |attempt| line.clone().work(1, attempt, secs(1));
                let mut call = pin!(line.guard.call(work));
                let mut left = polls;
                poll_fn(|cx| {
                    while left > 0 {
                        left -= 1;
                        assert!(call.as_mut().poll(cx).is_pending());
                        if woken {
                            held = None;
                        }
                    }
                    Poll::Ready(())
                })
                .await;
            });
            drop(held);
            line.counts(0, 0);
            assert_eq!(line.world.pending_timers(), 0);
            drop(line.queue.try_enter().expect("the place is back"));
        }
    }
}

#[test]
fn the_wake_of_who_goes_reaches_the_next() {
    let line = Line::new(ONCE, 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let second = line.call_now(2, secs(1));
    let third = line.call_now(3, secs(1));
    let fourth = line.call_now(4, secs(1));
    drop(held);
    // The place is on its way to the second, then to the third.
    drop(second);
    drop(third);
    line.world.settle();
    assert_eq!(line.entered(), [4]);
    assert!(line.end(fourth).is_success());
    line.counts(0, 0);
}

#[test]
fn who_gives_up_keeps_the_order() {
    let line = Line::new(ONCE, 1, 99);
    let _first = line.call_now(0, ms(1));
    let mut calls: Vec<_> = (1..=20)
        .map(|name| Some(line.call_now(name, ms(1))))
        .collect();
    for call in calls.iter_mut().step_by(3) {
        *call = None;
    }
    line.counts(1, 13);
    for call in calls.into_iter().flatten() {
        assert!(line.end(call).is_success());
    }
    let entered = line.entered();
    assert!(entered.is_sorted(), "{entered:?}");
    assert_eq!(entered.len(), 14);
}

// Waiters behind an opening breaker are refused: the first who is woken wakes
// the next, and so on, all at one instant.
#[test]
fn an_open_breaker_empties_the_line() {
    let policy = ONCE.with_breaker(TOUCHY).with_deadline(secs(30));
    let line = Line::new(policy, 1, 100);
    let failing = {
        let line = line.clone();
        line.world.clone().spawn("failing", async move {
            let fail = async |attempt| {
                let _place = line
                    .queue
                    .enter(&line.guard, attempt)
                    .await
                    .expect("a place");
                line.world.sleep(secs(1)).await;
                Err::<(), _>(Fault::Transient)
            };
            line.guard.call(fail).outcome().await.is_success()
        })
    };
    line.world.settle();
    let calls: Vec<_> = (0..100).map(|name| line.call_now(name, ms(1))).collect();
    line.counts(1, 100);
    assert!(!line.world.block_on(failing));
    line.world.settle();
    assert_eq!(line.world.elapsed(), secs(1));
    line.counts(0, 0);
    for call in calls {
        let done = line.end(call);
        let hint = done.error().and_then(Limited::retry_after);
        assert_eq!(hint, Some(secs(15)));
    }
    assert_eq!(line.entered(), [0_u32; 0]);
}

#[test]
fn a_breaker_that_only_observes_refuses_no_waiter() {
    let line = Line::new(ONCE.with_breaker(TOUCHY), 1, 9);
    let breaker = line.guard.breaker().expect("a breaker");
    breaker.observe();
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, ms(1));
    let permit = breaker.admit(line.world.now()).expect("it observes");
    let failed = Kind::Transient;
    let opened = permit.settle(line.world.now(), failed, Duration::ZERO, || 0);
    assert!(opened.is_some());
    drop(held);
    assert!(line.end(waiter).is_success());
}

// While half-open a probe gets in, and who waited since before does not.
#[test]
fn a_probe_may_wait_in_line() {
    let line = Line::new(ONCE.with_breaker(TOUCHY), 1, 9);
    let breaker = line.guard.breaker().expect("a breaker");
    let held = line.queue.try_enter().expect("a place");
    let from_before = line.call_now(1, ms(1));
    let permit = breaker.admit(line.world.now()).expect("it is closed");
    let failed = Kind::Transient;
    permit.settle(line.world.now(), failed, Duration::ZERO, || 0);
    line.world.advance(secs(15));
    let probe = line.call_now(2, ms(1));
    assert_eq!(line.guard.breaker_state(), Some(BreakerState::HalfOpen));
    line.counts(1, 2);
    drop(held);
    assert_refused(&line.end(from_before));
    assert!(line.end(probe).is_success());
    assert_eq!(line.guard.breaker_state(), Some(BreakerState::Closed));
    assert_eq!(line.entered(), [2]);
}

// core-09.20, R-73: a closed line is an error, not a place.
#[test]
fn closing_refuses_all_who_wait() {
    let line = Line::new(ONCE, 1, 9);
    let first = line.call_now(1, secs(1));
    let waiters = [2, 3].map(|name| line.call_now(name, secs(1)));
    line.queue.close();
    assert!(line.queue.is_closed());
    for waiter in waiters {
        let done = line.end(waiter);
        assert_refused(&done);
        assert_eq!(done.reason(), Reason::AttemptsExhausted);
    }
    assert_eq!(line.world.elapsed(), Duration::ZERO);

    let done = line.end(line.call_now(4, secs(1)));
    assert_eq!(done.error(), Some(&Limited::new(Limit::Closed)));
    assert_eq!(done.reason(), Reason::Permanent);
    // Who was in stays in.
    line.counts(1, 0);
    assert!(line.end(first).is_success());
    line.counts(0, 0);
    assert!(line.queue.try_enter().is_err());
}

#[test]
fn closing_with_a_wake_on_its_way_loses_no_count() {
    let line = Line::new(ONCE, 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiters = [1, 2].map(|name| line.call_now(name, secs(1)));
    drop(held);
    line.queue.close();
    for waiter in waiters {
        assert_refused(&line.end(waiter));
    }
    line.counts(0, 0);
}

// core-09.15
#[test]
fn fewer_permits_take_no_place_away() {
    let line = Line::new(ONCE, 20, 9);
    let mut places: Vec<_> = (0..20)
        .map(|_| line.queue.try_enter().expect("a place"))
        .collect();
    let waiter = line.call_now(1, secs(1));
    line.queue.set_permits(18);
    assert_eq!((line.queue.permits(), line.queue.in_use()), (18, 20));
    for in_use in [19, 18] {
        places.pop();
        line.world.settle();
        line.counts(in_use, 1);
    }
    places.pop();
    line.world.settle();
    line.counts(18, 0);
    assert!(line.end(waiter).is_success());
    line.queue.set_permits(0);
    assert_eq!(line.queue.permits(), 1);
}

#[test]
fn more_permits_wake_who_waits() {
    let line = Line::new(ONCE, 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let waiters = [1, 2, 3].map(|name| line.call_now(name, secs(1)));
    line.queue.set_permits(3);
    line.world.settle();
    line.counts(3, 1);
    assert_eq!(line.entered(), [1, 2]);
    for waiter in waiters {
        assert!(line.end(waiter).is_success());
    }
}

// none are none, and the type says so.
#[test]
fn no_permits_are_an_error() {
    let problem = Queue::try_new(0, 5).map(drop);
    assert_eq!(problem, Err(Problem::NoQueuePermits));
    assert!(Queue::try_new(1, 0).is_ok());
}

// released when the work is done, not when its future is dropped.
#[test]
fn a_finished_future_holds_no_place() {
    let line = Line::new(ONCE, 1, 9);
    line.world.block_on(async {
        let mut work = pin!(line.clone().work(1, Attempt::new(1, Verdict::OK), ms(1)));
        poll_fn(|cx| work.as_mut().poll(cx)).await.expect("a place");
        line.counts(0, 0);
    });
}

// a place belongs to the work, not to the attempt that started it.
#[test]
fn work_that_outlives_its_attempt_keeps_the_place() {
    static QUEUE: Queue = Queue::new(1, 9);
    let world = World::new();
    let guard = guard(&world, ONCE.with_attempt_timeout(secs(1)));
    let (done, finish) = std::sync::mpsc::channel::<()>();
    let mut work = None;
    let started = async |attempt: Attempt, finish: std::sync::mpsc::Receiver<()>| {
        let place = QUEUE.enter(&guard, attempt).await?;
        work = Some(std::thread::spawn(move || {
            let _place = place;
            finish.recv()
        }));
        std::future::pending::<Result<(), Limited>>().await
    };
    let mut finish = Some(finish);
    let mut started = Some(started);
    let call = guard.call(|attempt| {
        let (started, finish) = (started.take(), finish.take());
        async move {
            let mut started = started.expect("one attempt");
            started(attempt, finish.expect("one attempt")).await
        }
    });
    assert!(world.block_on(call).is_err());
    assert_eq!(QUEUE.in_use(), 1);
    done.send(()).expect("the work goes on");
    work.expect("it has begun")
        .join()
        .expect("no panic")
        .expect("it was told to end");
    assert_eq!(QUEUE.in_use(), 0);
}

#[test]
fn real_threads_get_in_by_turns() {
    use std::sync::atomic::{AtomicU32, Ordering};

    static GUARD: steadfast::std_timer::Guard =
        steadfast::std_timer::Guard::new(Policy::NONE.with_deadline(secs(60)));
    static QUEUE: Queue = Queue::new(2, 100);
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    static SERVED: AtomicU32 = AtomicU32::new(0);

    /// Leaves when dropped, wherever that is.
    struct Inside;

    impl Drop for Inside {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }

    async fn work(attempt: Attempt) -> Result<(), Limited> {
        let _place = QUEUE.enter(&GUARD, attempt).await?;
        assert!(INSIDE.fetch_add(1, Ordering::SeqCst) < 2);
        let _inside = Inside;
        futures_lite::future::yield_now().await;
        SERVED.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    let run = |thread: u32| {
        for turn in 0..500 {
            let call = GUARD.call(work);
            if (turn + thread) % 7 == 0 {
                // Dropped wherever it is after two polls.
                let mut call = pin!(call);
                let twice = futures_lite::future::or(
                    async { call.as_mut().await.unwrap_or_default() },
                    futures_lite::future::yield_now(),
                );
                futures_lite::future::block_on(twice);
            } else {
                futures_lite::future::block_on(call).expect("a place");
            }
            if turn % 50 == 0 {
                QUEUE.set_permits(1 + turn / 50 % 2);
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || run(thread));
        }
    });
    assert!(SERVED.load(Ordering::SeqCst) >= 4 * 428);
    assert_eq!((QUEUE.in_use(), QUEUE.waiting()), (0, 0));
}

#[test]
fn a_clock_that_stands_still_refuses_nobody() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, ms(1));
    line.world.step_back(secs(5));
    line.world.set_time(at(Duration::ZERO));
    line.world.settle();
    line.counts(1, 1);
    drop(held);
    assert!(line.end(waiter).is_success());
}
