use std::pin::pin;
use std::task::Waker;
use std::thread;

use futures_lite::StreamExt;
use steadfast_core::{Policy, Restarts};

use super::*;
use crate::instant::INSTANT;
use crate::no_time::NoTime;
use crate::world::World;

const RESUMED: Policy = INSTANT
    .with_attempt_timeout(Duration::from_secs(1))
    .with_restarts(Restarts::at_most(9));

type Polled = Poll<Option<Result<u64, Fault>>>;

/// The first item.
const ITEM: Polled = Poll::Ready(Some(Ok(0)));

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn all(world: &World, source: LogSource) -> Vec<Result<u64, Fault>> {
    world.block_on(pin!(source).collect())
}

fn polled<C: Timer>(source: &mut Pin<Box<LogSource<Fault, C>>>) -> Polled {
    let mut cx = Context::from_waker(Waker::noop());
    source.as_mut().poll_next(&mut cx)
}

#[test]
fn a_log_is_read_from_any_place() {
    let world = World::new();
    let log: StreamLog = StreamLog::on(world.timer(), 3);
    assert_eq!(all(&world, log.open(0)), [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(all(&world, log.open(2)), [Ok(2)]);
    for past in [3, 4, u64::MAX] {
        assert_eq!(all(&world, log.clone().open(past)), []);
    }
    assert_eq!(log.asked(), [0, 2, 3, 4, u64::MAX]);
    assert_eq!((log.opened(), log.pulled()), (5, 4));
    assert_eq!((log.alive(), log.peak_alive()), (0, 1));
    assert_eq!(world.timers_made(), 0);
}

#[test]
fn a_fault_happens_once() {
    let world = World::new();
    let log = StreamLog::on(world.timer(), 3)
        .fails_at(1, Fault::Transient)
        .fails_at(1, Fault::Permanent)
        .fails_at(3, Fault::Transient)
        .fails_at(4, Fault::Transient);
    assert_eq!(all(&world, log.open(0)), [Ok(0), Err(Fault::Transient)]);
    // At the same place the second is before any item.
    assert_eq!(all(&world, log.open(1)), [Err(Fault::Permanent)]);
    // At the length there is nothing left to give.
    let end = [Ok(1), Ok(2), Err(Fault::Transient)];
    assert_eq!(all(&world, log.open(1)), end);
    assert_eq!(all(&world, log.open(0)), [Ok(0), Ok(1), Ok(2)]);
    // Nobody comes to the fault behind the end.
    assert_eq!(log.remaining(), 1);
}

#[test]
fn a_stalled_source_lives_until_it_is_dropped() {
    let world = World::new();
    let log: StreamLog = StreamLog::on(world.timer(), 3).stalls_at(1);
    let mut stalled = Box::pin(log.open(0));
    assert_eq!(polled(&mut stalled), ITEM);
    for _ in 0..2 {
        assert!(polled(&mut stalled).is_pending());
    }
    let other = log.open(1);
    assert_eq!((log.alive(), log.peak_alive()), (2, 2));
    assert_eq!(all(&world, other), [Ok(1), Ok(2)]);
    drop(stalled);
    assert_eq!((log.alive(), log.peak_alive()), (0, 2));
}

#[test]
fn waits_pass_from_the_pull_on() {
    let world = World::new();
    let log: StreamLog = StreamLog::on(world.timer(), 3)
        .takes(secs(1))
        .pauses_at(1, secs(5))
        .pauses_at(1, secs(7));
    let source = log.open(0);
    world.advance(secs(100));
    assert_eq!(all(&world, source).len(), 3);
    assert_eq!(world.elapsed(), secs(100 + 3 + 12));
    // The pauses are behind, the gap stays; an end takes no time.
    assert_eq!(all(&world, log.open(0)).len(), 3);
    assert_eq!(world.elapsed(), secs(100 + 3 + 12 + 3));
}

#[test]
fn a_guard_reads_over_every_fault() {
    let world = World::new();
    let guard = world.guard(RESUMED);
    let log = StreamLog::on(world.timer(), 6)
        .takes(Duration::from_millis(10))
        .fails_at(0, Fault::Transient)
        .fails_at(2, Fault::Transient)
        .fails_at(2, Fault::Transient)
        .stalls_at(4)
        .pauses_at(5, Duration::from_millis(900))
        .fails_at(6, Fault::Transient);
    let items = guard.stream_from(0, |from, _| log.open(from), |&item| item + 1);
    let items: Vec<_> = world.block_on(pin!(items).collect());
    assert_eq!(items, (0..6).map(Ok).collect::<Vec<_>>());
    assert_eq!(log.asked(), [0, 0, 2, 2, 4, 6]);
    assert_eq!((log.alive(), log.peak_alive()), (0, 1));
    assert_eq!((log.pulled(), log.remaining()), (6, 0));
}

#[test]
fn threads_meet_each_fault_once() {
    let log: StreamLog<_, NoTime> = (0..100).fold(StreamLog::on(NoTime, 1), |log, _| {
        log.fails_at(0, Fault::Transient)
    });
    let read = || {
        let firsts = (0..60).map(|_| polled(&mut Box::pin(log.open(0))));
        firsts.filter(|first| *first != ITEM).count()
    };
    let failed = thread::scope(|scope| {
        let other = scope.spawn(read);
        read() + other.join().expect("it reads")
    });
    assert_eq!((failed, log.pulled()), (100, 20));
    assert_eq!((log.opened(), log.alive(), log.remaining()), (120, 0, 0));
}
