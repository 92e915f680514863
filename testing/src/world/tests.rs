use std::cell::Cell;
use std::future::{pending, poll_fn, ready};
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::task::Waker;
use std::thread;

use steadfast_runtime::Block;

use super::*;

type Log = Rc<RefCell<Vec<String>>>;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

/// Gives the thread away once.
async fn yield_now() {
    let mut given = false;
    poll_fn(|cx| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Spawns a task that sleeps and then writes its name and the time.
fn sleeper(world: &World, log: &Log, name: &'static str, span: Duration) -> Task<()> {
    let (clock, log) = (world.clone(), Rc::clone(log));
    world.spawn(name, async move {
        clock.sleep(span).await;
        let line = format!("{name} {:?}", clock.elapsed());
        log.borrow_mut().push(line);
    })
}

fn panic_text(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn time_moves_only_when_all_wait() {
    let world = World::new();
    let log = Log::default();
    let _late = sleeper(&world, &log, "late", secs(2));
    let _early = sleeper(&world, &log, "early", secs(1));
    world.settle();
    assert_eq!(world.elapsed(), Duration::ZERO);
    assert_eq!(world.pending_timers(), 2);
    world.block_on(world.sleep(secs(5)));
    assert_eq!(*log.borrow(), ["early 1s", "late 2s"]);
    assert_eq!(world.elapsed(), secs(5));
    assert_eq!(world.pending_timers(), 0);
}

// S2
#[test]
fn time_never_decreases() {
    let world = World::seeded(7);
    let seen = Rc::new(Cell::new(Instant::ZERO));
    let tasks: Vec<_> = (0..50)
        .map(|n| {
            let (clock, seen) = (world.clone(), Rc::clone(&seen));
            world.spawn(format!("task {n}"), async move {
                for round in 0..20 {
                    let span = steadfast_core::random(n, round) % 5_000;
                    clock.sleep(Duration::from_nanos(span.into())).await;
                    assert!(clock.now() >= seen.replace(clock.now()));
                }
            })
        })
        .collect();
    // A timer that was left behind by a jump does not take time back either.
    world.advance(Duration::from_micros(3));
    world.jump(Duration::from_micros(5));
    world.block_on(async {
        for task in tasks {
            task.await;
        }
    });
    assert!(world.elapsed() >= Duration::from_micros(8));
}

// S3
#[test]
fn equal_instants_fire_as_armed() {
    let world = World::new();
    let log = Log::default();
    let _tasks: Vec<_> = ["a", "b", "c", "d"]
        .into_iter()
        .map(|name| sleeper(&world, &log, name, secs(1)))
        .collect();
    world.advance(secs(1));
    assert_eq!(*log.borrow(), ["a 1s", "b 1s", "c 1s", "d 1s"]);
}

// S3: what a timer wakes runs before the next timer of the same instant.
#[test]
fn each_timer_is_drained_alone() {
    let world = World::new();
    let log = Log::default();
    let first = sleeper(&world, &log, "first", secs(1));
    let after = Rc::clone(&log);
    let _after = world.spawn("after", async move {
        first.await;
        after.borrow_mut().push("after first".to_owned());
    });
    world.settle();
    let _second = sleeper(&world, &log, "second", secs(1));
    world.advance(secs(1));
    assert_eq!(*log.borrow(), ["first 1s", "after first", "second 1s"]);
}

// S4
#[test]
fn a_dropped_future_leaves_nothing() {
    let world = World::new();
    let polls = Rc::new(Cell::new(0));
    let old = {
        let clock = world.clone();
        world.spawn("old", async move {
            yield_now().await;
            clock.sleep(secs(1)).await;
        })
    };
    world.settle();
    assert_eq!((world.live_tasks(), world.pending_timers()), (1, 1));

    // Ready in the queue, then gone: the new tenant of its slot is not polled for it.
    world.jump(secs(1));
    assert!(world.0.timer.fire_next(world.now()));
    drop(old);
    assert_eq!((world.live_tasks(), world.pending_timers()), (0, 0));
    let count = Rc::clone(&polls);
    world
        .spawn(
            "new",
            poll_fn(move |_| {
                count.set(count.get() + 1);
                Poll::<()>::Pending
            }),
        )
        .detach();
    world.settle();
    world.advance(secs(9));
    assert_eq!(polls.get(), 1);
}

// S6
#[test]
fn a_spinning_task_is_named() {
    let world = World::new();
    world
        .spawn("spin", async {
            loop {
                yield_now().await;
            }
        })
        .detach();
    let stuck = world.run(world.sleep(secs(1))).expect_err("it spins");
    assert!(stuck.is_spinning());
    assert_eq!(
        stuck.to_string(),
        "stuck at 0s: `spin` was polled 100000 times and time did not move; \
         let it wait for something, a sleep for example"
    );
}

// S6
#[test]
fn a_chain_of_spawns_is_detected() {
    fn again(world: &World) {
        let next = world.clone();
        world.spawn("chain", async move { again(&next) }).detach();
    }
    let world = World::new();
    again(&world);
    let text = panic_text(|| world.settle());
    assert!(
        text.starts_with("stuck at 0s: `chain` was polled"),
        "{text}"
    );
}

// S6
#[test]
fn many_polls_are_fine_while_time_moves() {
    let world = World::new();
    let clock = world.clone();
    world.block_on(async move {
        for _ in 0..3 {
            for _ in 0..POLLS {
                yield_now().await;
            }
            clock.sleep(Duration::from_nanos(1)).await;
        }
    });
}

const POLLS: u32 = crate::tasks::POLLS_PER_INSTANT * 2 / 3;

// S7
#[test]
fn a_waker_outlives_its_task() {
    let world = World::new();
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let polls = Rc::new(Cell::new(0));
    let (keep, count) = (Rc::clone(&kept), Rc::clone(&polls));
    let task = world.spawn(
        "woken twice",
        poll_fn(move |cx| {
            *keep.borrow_mut() = Some(cx.waker().clone());
            count.set(count.get() + 1);
            if count.get() == 2 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }),
    );
    world.settle();
    let waker = kept.borrow_mut().take().expect("polled");

    // A double wake polls once.
    waker.wake_by_ref();
    waker.wake_by_ref();
    world.settle();
    assert_eq!(polls.get(), 2);
    assert!(task.is_finished());

    // After the end, from another thread, with a new task in the slot.
    let count = Rc::new(Cell::new(0));
    let polled = Rc::clone(&count);
    let _new = world.spawn(
        "new tenant",
        poll_fn(move |_| {
            polled.set(polled.get() + 1);
            Poll::<()>::Pending
        }),
    );
    world.settle();
    thread::spawn(move || {
        waker.wake_by_ref();
        waker.wake();
    })
    .join()
    .expect("a wake does not panic");
    world.settle();
    assert_eq!(count.get(), 1);
    world.block_on(task);
}

// S7
#[test]
fn another_thread_can_wake_a_task() {
    let world = World::new();
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let keep = Rc::clone(&kept);
    let mut polled = false;
    let task = world.spawn(
        "remote",
        poll_fn(move |cx| {
            *keep.borrow_mut() = Some(cx.waker().clone());
            if std::mem::replace(&mut polled, true) {
                Poll::Ready(7)
            } else {
                Poll::Pending
            }
        }),
    );
    world.settle();
    let waker = kept.borrow_mut().take().expect("polled");
    thread::spawn(move || waker.wake())
        .join()
        .expect("a wake does not panic");
    assert_eq!(world.block_on(task), 7);
}

#[test]
fn waiting_for_nothing_is_stuck() {
    let world = World::new();
    let clock = world.clone();
    let worker = world.spawn("worker", async move {
        clock.sleep(Duration::from_millis(1_500)).await;
        pending::<()>().await;
    });
    let stuck = world.run(worker).expect_err("nobody wakes it");
    assert_eq!(
        stuck.to_string(),
        "stuck at 1.5s: nothing can run and no timer is armed; waiting:\n  \
         `main` since 0s\n  `worker` since 1.5s\n\
         spawn the task that wakes them, or bound the wait; \
         a wake from another thread is not waited for"
    );
    assert_eq!(stuck.at(), world.now());
    assert_eq!(
        stuck.waiting()[1].since(),
        Instant::from_nanos(1_500_000_000)
    );
    let text = panic_text(|| world.block_on(pending()));
    assert!(text.starts_with("stuck at 1.5s: nothing can run"), "{text}");
}

#[test]
fn a_ticking_task_hides_no_hang() {
    let world = World::new();
    world.0.patience.set(60);
    let clock = world.clone();
    let _ticks = world.spawn("ticks", async move {
        loop {
            clock.sleep(secs(1)).await;
        }
    });
    let stuck = world.run(pending::<()>()).expect_err("nobody wakes it");
    assert_eq!(
        stuck.to_string(),
        "stuck at 60s: 60 sleeps fired and none woke `main`; waiting:\n  \
         `main` since 0s\n  `ticks` since 60s\n\
         spawn the task that wakes them, or bound the wait; \
         a wake from another thread is not waited for"
    );
}

#[test]
fn advance_fires_each_at_its_time() {
    let world = World::new();
    let log = Log::default();
    let clock = world.clone();
    let kept = Rc::clone(&log);
    let _steps = world.spawn("steps", async move {
        for _ in 0..3 {
            clock.sleep(secs(1)).await;
            kept.borrow_mut()
                .push(format!("step {:?}", clock.elapsed()));
        }
    });
    let _late = sleeper(&world, &log, "late", Duration::from_millis(2_500));
    world.advance(Duration::from_millis(2_700));
    assert_eq!(*log.borrow(), ["step 1s", "step 2s", "late 2.5s"]);
    assert_eq!(world.elapsed(), Duration::from_millis(2_700));
    assert_eq!(world.next_timer(), Some(at(3)));
}

#[test]
fn a_jump_fires_late_but_in_order() {
    let world = World::new();
    let log = Log::default();
    let _second = sleeper(&world, &log, "second", secs(2));
    let _first = sleeper(&world, &log, "first", secs(1));
    world.settle();
    world.jump(secs(60));
    assert!(log.borrow().is_empty());
    world.advance(Duration::ZERO);
    assert_eq!(*log.borrow(), ["first 60s", "second 60s"]);
}

#[test]
fn armed_sleeps_keep_their_instants() {
    let world = World::new();
    world.advance(secs(10));
    let log = Log::default();
    let task = sleeper(&world, &log, "at 12", secs(2));
    world.settle();
    world.step_back(secs(5));
    assert_eq!(world.elapsed(), secs(5));
    world.advance(secs(6));
    assert!(!task.is_finished());
    world.block_on(task);
    assert_eq!(*log.borrow(), ["at 12 12s"]);
    world.step_back(secs(60));
    assert_eq!(world.now(), Instant::ZERO);
}

#[test]
fn a_fired_sleep_asks_the_clock() {
    let world = World::new();
    let clock = world.clone();
    // Steps the clock back between the firing and the poll of the other.
    let _culprit = world.spawn("culprit", async move {
        clock.sleep(secs(1)).await;
        clock.step_back(secs(1));
    });
    let task = world.spawn("victim", world.sleep_until(at(1)));
    world.settle();
    world.jump(secs(1));
    while world.0.timer.fire_next(world.now()) {}
    world.settle();
    assert!(!task.is_finished());
    world.block_on(task);
    assert_eq!(world.now(), at(1));
}

#[test]
fn a_held_thread_runs_nothing_else() {
    let world = World::new();
    let log = Log::default();
    let _other = sleeper(&world, &log, "other", secs(1));
    world.settle();
    world.timer().block_until(at(3));
    assert!(log.borrow().is_empty());
    world.timer().block_until(at(2));
    world.settle();
    assert_eq!(*log.borrow(), ["other 3s"]);
    let text = panic_text(|| world.timer().block_until(Instant::MAX));
    assert_eq!(
        text,
        "stuck at 3s: the thread is held until an instant that never comes"
    );
}

#[test]
fn a_dropped_handle_cancels() {
    struct Dropped(Rc<Cell<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let world = World::new();
    let dropped = Rc::new(Cell::new(false));
    let held = Dropped(Rc::clone(&dropped));
    let task = world.spawn("held", async move {
        pending::<()>().await;
        drop(held);
    });
    world.settle();
    task.cancel();
    assert!(dropped.get());
    assert_eq!(world.live_tasks(), 0);
}

#[test]
fn a_task_can_cancel_itself() {
    let world = World::new();
    let own = Rc::new(RefCell::new(None::<Task<()>>));
    let handle = Rc::clone(&own);
    let task = world.spawn("own end", async move {
        drop(handle.borrow_mut().take());
        pending::<()>().await;
    });
    *own.borrow_mut() = Some(task);
    world.settle();
    assert_eq!(world.live_tasks(), 0);
    assert_eq!(Rc::strong_count(&own), 1);
}

#[test]
fn a_detached_task_runs_on() {
    let world = World::new();
    let log = Log::default();
    sleeper(&world, &log, "alone", secs(1)).detach();
    world.advance(secs(1));
    assert_eq!(*log.borrow(), ["alone 1s"]);
}

#[test]
fn a_panic_of_a_task_propagates() {
    let world = World::new();
    world
        .spawn("bad", async {
            assert!(ready(false).await, "the task is bad");
        })
        .detach();
    assert_eq!(panic_text(|| world.settle()), "the task is bad");
    assert_eq!(world.live_tasks(), 0);
    assert_eq!(world.block_on(async { 1 }), 1);
}

#[test]
fn a_task_cannot_drive_its_world() {
    let world = World::new();
    let inner = world.clone();
    let text = panic_text(|| world.block_on(async move { inner.advance(secs(1)) }));
    assert!(
        text.starts_with("a task cannot drive its own world"),
        "{text}"
    );
    world.advance(secs(1));
}

#[test]
fn a_world_gone_drops_its_tasks() {
    let kept = Rc::new(());
    let held = Rc::clone(&kept);
    let world = World::new();
    let timer = world.timer();
    let task = world.spawn("left", async move {
        timer.sleep_until(at(1)).await;
        drop(held);
    });
    world.settle();
    drop(world);
    assert_eq!(Rc::strong_count(&kept), 1);
    drop(task);
}
