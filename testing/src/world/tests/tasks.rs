//! Tasks: their wakers, their handles, their ends.

use super::*;

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
    drop(task);
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
