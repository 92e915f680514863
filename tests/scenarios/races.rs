//! A hedged call as a future: drops, panics, hooks, polls.

mod foreign;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use steadfast::{Budget, Ending, EventKind, Flights, Hedge, Hedged, Kind, Policy, Ratio};
use steadfast_testing::{Fault, Recorder, Scripted};

use crate::stage::{RACED, SLOW, Stage, TOUCHY, TRANSIENT, backoff, drop_after, ms, secs};

type Two = Stage<Hedged>;
type Three = Stage<Hedged<3>>;

/// Everything a call can hold, thirty tokens that time does not restore.
const FULL: Policy = RACED
    .with_attempts(5)
    .with_deadline(secs(20))
    .with_attempt_timeout(secs(2))
    .without_attempt_ceiling()
    .with_backoff(backoff(secs(1)))
    .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30))
    .with_breaker(TOUCHY.with_consecutive_failures(100));

/// Drops a call after each number of polls; returns how many it takes to its end
/// and how many copies flew at most.
fn drop_everywhere<const N: usize>() -> (u32, usize)
where
    Hedged<N>: Flights,
{
    let (mut polls, mut most) = (0, 0);
    loop {
        let stage = Stage::<Hedged<N>>::warm(FULL);
        let script = stage
            .script()
            .hangs()
            .delays(ms(100))
            .fails(Fault::Transient)
            .hangs()
            .delays(ms(20))
            .fails(Fault::Throttled(Some(ms(500))))
            .delays(ms(10))
            .returns(1);
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        let ended = drop_after(&stage.world, polls, call);

        // A token is gone for each further attempt that started, and no other.
        let further = script.calls().saturating_sub(1);
        assert_eq!(stage.tokens(), 30 - further, "after {polls} polls");
        assert_eq!(script.alive(), 0, "after {polls} polls");
        assert_eq!(stage.world.pending_timers(), 0, "after {polls} polls");
        most = most.max(script.peak_alive());
        if ended {
            return (polls, most);
        }
        polls += 1;
        assert!(polls < 100);
    }
}

// Invariant 6, Polly#1340: who drops the call drops every copy.
#[test]
fn a_drop_at_any_poll_leaks_no_copy() {
    let (polls, most) = drop_everywhere::<2>();
    assert!(polls > 5, "{polls} polls do not reach every wait");
    assert_eq!(most, 2);
    let (polls, most) = drop_everywhere::<3>();
    assert!(polls > 5, "{polls} polls do not reach every wait");
    assert_eq!(most, 3);
}

// Polly#1340: a copy that ends by a timeout of its own ends only itself.
#[test]
fn a_copy_that_gives_up_is_alone() {
    let stage = Two::warm(RACED);
    let script = stage.script().delays(ms(100)).returns(1);
    let call = stage.guard.call(|attempt| {
        let first = script.next();
        let world = stage.world.clone();
        async move {
            if attempt.number() == 1 {
                return first.await;
            }
            drop(first);
            world.sleep(ms(10)).await;
            Err(Scripted::Failed(Fault::Transient))
        }
    });
    assert_eq!(stage.world.block_on(call), Ok(1));
}

/// Counts when it is dropped.
struct Body(Rc<Cell<u32>>);

impl Drop for Body {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

// R-66, core-08.23, failsafe-go#65: who lost is gone before the caller goes on,
// and the winner lives as long as its value does.
#[test]
fn losers_are_dropped_before_the_call_returns() {
    let stage = Two::warm(RACED);
    let dropped = Rc::new(Cell::new(0));
    let worked = Rc::new(Cell::new(0));
    let call = stage.guard.call(|attempt| {
        let body = Body(Rc::clone(&dropped));
        let (world, worked) = (stage.world.clone(), Rc::clone(&worked));
        async move {
            let span = if attempt.number() == 1 { 200 } else { 5 };
            world.sleep(ms(span)).await;
            worked.set(worked.get() + 1);
            Ok::<_, Scripted>(body)
        }
    });
    let body = stage.world.block_on(call).expect("a value");
    assert_eq!((dropped.get(), worked.get()), (1, 1));
    stage.world.advance(secs(10));
    assert_eq!((dropped.get(), worked.get()), (1, 1));
    drop(body);
    assert_eq!(dropped.get(), 2);
}

/// An operation that leaves its waker with the test.
struct Parked<'a>(&'a RefCell<Vec<Waker>>);

impl Future for Parked<'_> {
    type Output = Result<u32, Scripted>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.borrow_mut().push(cx.waker().clone());
        Poll::Pending
    }
}

// envoy#7192, azure-cosmos-dotnet-v3#5623: what a loser would have said or done
// after the decision reaches nobody.
#[test]
fn a_loser_is_inert() {
    let stage = Two::warm(RACED.with_breaker(TOUCHY));
    let wakers = RefCell::new(Vec::new());
    let second = stage.script().delays(ms(5)).returns(2);
    stage.world.block_on(async {
        let mut call = pin!(
            stage
                .guard
                .call(|attempt| {
                    let (parked, second) = (Parked(&wakers), second.clone());
                    async move {
                        if attempt.number() == 1 {
                            parked.await
                        } else {
                            second.next().await
                        }
                    }
                })
                .listen(&stage.heard)
        );
        assert_eq!(call.as_mut().await, Ok(2));
        // Polled once more, against all custom, and woken by the loser's peer.
        for waker in wakers.borrow_mut().drain(..) {
            waker.wake();
        }
        poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    });
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1"
    );
}

// Invariant 1: before it is pending, every copy was polled in this poll, with
// the task's own waker.
#[test]
fn every_copy_is_polled_each_time() {
    let stage = Three::warm(RACED.with_attempts(4));
    let polls = RefCell::new(Vec::new());
    let polls = &polls;
    let world = &stage.world;
    let kick = Cell::new(None::<Waker>);
    let kick = &kick;
    let call = stage.guard.call(|attempt| {
        let number = attempt.number();
        // The second copy ends, with a failure, when it is told to.
        let mut due = Box::pin(world.sleep(ms(100)));
        poll_fn(move |cx| {
            polls.borrow_mut().push((number, world.elapsed()));
            kick.set(Some(cx.waker().clone()));
            if number == 2 && due.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err::<(), _>(TRANSIENT));
            }
            Poll::Pending
        })
    });
    let mut call = pin!(call);
    let mut check = || {
        world.block_on(poll_fn(|cx| {
            polls.borrow_mut().clear();
            assert!(call.as_mut().poll(cx).is_pending());
            let waker = kick.take().expect("somebody was polled");
            assert!(waker.will_wake(cx.waker()));
            Poll::Ready(())
        }));
        let mut numbers: Vec<_> = polls.borrow().iter().map(|poll| poll.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    assert_eq!(check(), [1]);
    world.jump(SLOW);
    assert_eq!(check(), [1, 2]);
    world.jump(SLOW);
    assert_eq!(check(), [1, 2, 3]);
    assert_eq!(check(), [1, 2, 3]);
    // The second one ends in this poll: the others are polled all the same.
    world.jump(ms(100));
    assert_eq!(check(), [1, 2, 3]);
    world.jump(SLOW);
    assert_eq!(check(), [1, 3, 4]);
}

// Both are ready in the same poll: the one in the first lane is taken.
#[test]
fn a_dead_heat_goes_to_the_first() {
    let stage = Two::warm(RACED);
    let script = stage
        .script()
        .delays(SLOW + ms(5))
        .returns(1)
        .delays(ms(5))
        .returns(2);
    assert_eq!(stage.play(&script).value(), Some(&1));
    // Unless it failed.
    let script = stage
        .script()
        .delays(SLOW + ms(5))
        .fails(Fault::Permanent)
        .delays(ms(5))
        .returns(2);
    assert_eq!(stage.play(&script).value(), Some(&2));
}

// Invariant 7, with room for races.
#[test]
fn an_operation_that_never_suspends_starves_nobody() {
    let stage = Two::warm(RACED.with_attempts(1_000));
    let calls = Cell::new(0);
    let call = stage.guard.call(|_| {
        calls.set(calls.get() + 1);
        ready(Err::<(), _>(TRANSIENT))
    });
    let mut polls = 0;
    let mut call = pin!(call);
    let ended = stage.world.block_on(poll_fn(|cx| {
        polls += 1;
        call.as_mut().poll(cx)
    }));
    assert_eq!(ended.expect_err("all fail").attempts(), 1_000);
    assert_eq!(calls.get(), 1_000);
    assert!(polls > 1_000 / 32, "{polls} polls");
}

#[test]
fn a_log_shows_the_races() {
    let stage = Two::warm(RACED.with_attempts(4).with_backoff(backoff(ms(100))));
    let script = stage
        .script()
        .delays(ms(60))
        .fails(Fault::Transient)
        .delays(ms(30))
        .fails(Fault::Throttled(None))
        .delays(ms(80))
        .returns(3)
        .delays(ms(1))
        .returns(4);
    let outcome = stage.play(&script);
    let seen: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| {
            (
                entry.number(),
                entry.is_hedge(),
                entry.kind(),
                entry.ending(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, false, Kind::Transient, Ending::Error),
            (2, true, Kind::Throttled, Ending::Error),
            (3, true, Kind::Ok, Ending::Value),
            (4, false, Kind::Ok, Ending::Discarded),
        ]
    );
}

// Ten thousand calls on one guard, each with its race.
#[test]
fn a_crowd_of_races_leaves_nothing() {
    let stage = Two::warm(RACED);
    let guard = Rc::new(stage.guard);
    let heard = Rc::new(Recorder::new());
    let (world, won) = (stage.world, Rc::new(Cell::new(0)));
    let script = steadfast_testing::Script::<()>::on(world.timer())
        .delays(ms(44))
        .returns(())
        .repeats_last();
    for _ in 0..10_000 {
        let (guard, heard) = (Rc::clone(&guard), Rc::clone(&heard));
        let (script, won) = (script.clone(), Rc::clone(&won));
        let call = async move {
            let answer = guard.call(|_| script.next()).listen(&*heard).await;
            won.set(won.get() + u32::from(answer.is_ok()));
        };
        world.spawn("call", call).detach();
    }
    world.advance(secs(1));
    assert_eq!((world.live_tasks(), won.get()), (0, 10_000));
    assert_eq!((script.alive(), world.pending_timers()), (0, 0));
    assert_eq!(script.calls(), 20_000);
    let ended = heard.count_of(EventKind::Attempt) + heard.count_of(EventKind::HedgeDiscarded);
    assert_eq!(ended, 20_000);
}

#[test]
fn a_race_is_send_when_its_parts_are() {
    fn is_send<T: Send>(_: &T) {}
    static GUARD: steadfast::tokio::HedgedGuard =
        steadfast::tokio::HedgedGuard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));
    is_send(&GUARD.call(|_| ready(std::io::Result::Ok(1))));
    is_send(&GUARD);
}
