//! Whoever goes, and whenever: no place and no wake is lost.

use super::*;

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
            if (turn + thread).is_multiple_of(7) {
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
