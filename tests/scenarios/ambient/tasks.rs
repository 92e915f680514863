//! Facts follow their task and nobody else.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use futures_lite::future::{or, yield_now, zip};
use steadfast::Instant;
use steadfast::ambient::{current, follow, run};
use steadfast_testing::World;

use super::*;

/// Facts that can be told apart.
fn number(number: u64) -> Ambient {
    Ambient::NONE.with_deadline(Instant::from_nanos(number))
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Sees its own facts at every poll, and its inner ones within.
async fn watch(own: u64, inner: u64) {
    for _ in 0..8 {
        assert_eq!(current(), number(own));
        yield_now().await;
        assert_eq!(current(), number(own));
        follow(number(inner), async {
            assert_eq!(current(), number(inner));
            yield_now().await;
            assert_eq!(current(), number(inner));
        })
        .await;
        let level = Ambient::NONE.with_criticality(Sheddable);
        follow(level, async {
            yield_now().await;
            assert_eq!(current(), level.over(number(own)));
        })
        .await;
    }
}

#[test]
fn leaving_restores_what_was_around() {
    assert_eq!(current(), Ambient::NONE);
    run(number(1), || {
        run(number(2), || assert_eq!(current(), number(2)));
        assert_eq!(current(), number(1));
        let level = Ambient::NONE.with_criticality(Sheddable);
        run(level, || assert_eq!(current(), level.over(number(1))));
        run(Ambient::NONE, || assert_eq!(current(), number(1)));
    });
    assert_eq!(current(), Ambient::NONE);
    futures_lite::future::block_on(follow(number(3), watch(3, 4)));
    assert_eq!(current(), Ambient::NONE);
}

// A future that waits has left no trace on its thread.
#[test]
fn between_two_polls_nothing_is_known() {
    let mut future = pin!(follow(number(1), watch(1, 2)));
    while poll(future.as_mut()).is_pending() {
        assert_eq!(current(), Ambient::NONE);
    }
    assert_eq!(current(), Ambient::NONE);
}

#[test]
fn two_scopes_of_one_task_stay_apart() {
    let both = zip(
        follow(number(1), watch(1, 10)),
        follow(number(2), watch(2, 20)),
    );
    futures_lite::future::block_on(follow(number(3), async {
        both.await;
        assert_eq!(current(), number(3));
        // One of two goes on, the other is dropped half-way.
        let endless = follow(number(4), async {
            loop {
                yield_now().await;
                assert_eq!(current(), number(4));
            }
        });
        or(endless, follow(number(5), watch(5, 50))).await;
        assert_eq!(current(), number(3));
    }));
}

#[test]
fn siblings_on_tokio_see_only_their_own() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let task = |n: u64| {
            tokio::spawn(follow(number(n), async move {
                for _ in 0..4 {
                    watch(n, n + 1_000).await;
                    tokio::task::yield_now().await;
                }
                // A new task knows nothing, unless it is told.
                let spawned = tokio::spawn(async { current() }).await;
                assert_eq!(spawned.expect("no panic"), Ambient::NONE);
                let told = tokio::spawn(follow(current(), async { current() })).await;
                assert_eq!(told.expect("no panic"), number(n));
            }))
        };
        let strangers = (0..64).map(|_| {
            tokio::spawn(async {
                for _ in 0..64 {
                    assert_eq!(current(), Ambient::NONE);
                    tokio::task::yield_now().await;
                }
            })
        });
        let tasks: Vec<_> = (0..256).map(task).chain(strangers).collect();
        for task in tasks {
            task.await.expect("it sees its own facts only");
        }
    });
}

#[test]
fn siblings_on_smol_see_only_their_own() {
    let executor = smol::Executor::new();
    let tasks: Vec<_> = (0..256)
        .map(|n| executor.spawn(follow(number(n), watch(n, n + 1_000))))
        .collect();
    let left = AtomicUsize::new(3);
    std::thread::scope(|scope| {
        for _ in 0..left.load(Ordering::Relaxed) {
            scope.spawn(|| {
                let until = poll_fn(|cx| {
                    if tasks.iter().all(smol::Task::is_finished) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                });
                smol::block_on(executor.run(until));
                assert_eq!(current(), Ambient::NONE);
            });
        }
    });
    smol::block_on(async {
        for task in tasks {
            task.await;
        }
    });
}

#[test]
fn tasks_of_a_world_see_only_their_own() {
    let world = World::new();
    let tasks = [1, 2, 3].map(|n| world.spawn(format!("task {n}"), follow(number(n), watch(n, 9))));
    for task in tasks {
        world.block_on(task);
    }
}

#[test]
fn a_panic_restores_what_was_around() {
    let blow_up = || -> () { resume_unwind(Box::new("on purpose")) };
    run(number(1), || {
        let caught = catch_unwind(|| run(number(2), blow_up));
        assert!(caught.is_err());
        assert_eq!(current(), number(1));

        let mut future = pin!(follow(number(3), async {
            yield_now().await;
            assert_eq!(current(), number(3));
            blow_up();
        }));
        assert!(poll(future.as_mut()).is_pending());
        let caught = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut())));
        assert!(caught.is_err());
        assert_eq!(current(), number(1));
    });
    assert_eq!(current(), Ambient::NONE);
}

/// Notes what holds when it is dropped.
struct Last(Rc<Cell<Ambient>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.set(current());
    }
}

#[test]
fn a_dropped_future_knows_its_facts_to_the_end() {
    let seen = Rc::new(Cell::new(Ambient::NONE));
    for polls in 0..3 {
        seen.set(Ambient::NONE);
        let last = Last(Rc::clone(&seen));
        let mut future = Box::pin(follow(number(7), async move {
            let _last = last;
            yield_now().await;
            yield_now().await;
            yield_now().await;
        }));
        for _ in 0..polls {
            assert!(poll(future.as_mut()).is_pending());
        }
        run(number(1), || {
            drop(future);
            assert_eq!(current(), number(1));
        });
        assert_eq!(seen.get(), number(7), "dropped after {polls} polls");
    }
}

#[test]
fn a_drop_that_panics_restores_too() {
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert_eq!(current(), number(7));
            resume_unwind(Box::new("on purpose"));
        }
    }

    let bomb = Bomb;
    let future = follow(number(7), async move {
        let _bomb = bomb;
    });
    assert!(catch_unwind(AssertUnwindSafe(|| drop(future))).is_err());
    assert_eq!(current(), Ambient::NONE);
}

#[test]
fn a_stream_knows_its_facts_at_every_item() {
    let items = futures_lite::stream::iter(0..3).map(|_| current());
    let mut stream = pin!(follow(number(5), items));
    assert_eq!(futures_lite::Stream::size_hint(&*stream), (3, Some(3)));
    futures_lite::future::block_on(async {
        for _ in 0..3 {
            assert_eq!(stream.next().await, Some(number(5)));
            assert_eq!(current(), Ambient::NONE);
        }
        assert_eq!(stream.next().await, None);
    });
}

// Another thread is another world: what blocks there says it again.
#[test]
fn a_thread_begins_with_nothing_said() {
    run(number(1), || {
        let facts = current();
        std::thread::scope(|scope| {
            let plain = scope.spawn(current);
            let told = scope.spawn(move || run(facts, current));
            assert_eq!(plain.join().expect("no panic"), Ambient::NONE);
            assert_eq!(told.join().expect("no panic"), number(1));
        });
    });
}

#[test]
fn following_allocates_nothing() {
    static STOCK: steadfast::tokio::Guard =
        steadfast::tokio::Guard::new(LEVELLED.with_ambient_deadline(true));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let _entered = runtime.enter();
    let request = Ambient::NONE
        .within(secs(5), STOCK.timer())
        .with_criticality(Sheddable)
        .with_retried(true);
    let answer = || {
        let call = STOCK.call(|attempt| {
            follow(attempt.ambient(), async {
                yield_now().await;
                std::io::Result::Ok(current().is_retried())
            })
        });
        let answer = runtime.block_on(follow(request, call));
        assert!(answer.expect("a value"));
        run(request, || current().is_none());
    };
    answer();
    let counted = measure(answer);
    assert_eq!(counted.count_total, 0);
}

#[test]
fn it_is_send_when_its_future_is() {
    fn is_send<T: Send + Sync>(_: &T) {}
    is_send(&follow(number(1), std::future::ready(1)));
    is_send(&number(1));
    let size = size_of_val(&follow(number(1), std::future::ready(1_u64)));
    assert!(size <= 24 + 24, "{size}");
}

#[test]
fn who_follows_nothing_goes_its_way() {
    let stage = Stage::new(INSTANT.with_deadline(secs(9)));
    let error = stage.hang(number(0).with_criticality(Sheddable).with_retried(true));
    assert_eq!(error.deadline(), Some(secs(9)));
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
}
