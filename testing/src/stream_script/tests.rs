use std::pin::{Pin, pin};
use std::task::Waker;
use std::thread;

use futures_lite::StreamExt;

use super::*;
use crate::no_time::NoTime;
use crate::world::World;

const FAILED: Scripted = Scripted::Failed(Fault::Transient);

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn all<T: Clone>(world: &World, source: Source<T>) -> Vec<Result<T, Scripted>> {
    world.block_on(pin!(source).collect())
}

#[test]
fn each_source_is_served_once() {
    let world = World::new();
    let script: StreamScript<u32> = StreamScript::on(world.timer())
        .yields([1, 2])
        .yields_nothing()
        .fails(Fault::Transient)
        .fails_after([3], Fault::Transient);
    let other = script.clone();
    assert_eq!(all(&world, script.open()), [Ok(1), Ok(2)]);
    assert_eq!(all(&world, other.open()), []);
    assert_eq!(all(&world, script.open()), [Err(FAILED)]);
    assert_eq!(script.remaining(), 1);
    assert_eq!(all(&world, other.open()), [Ok(3), Err(FAILED)]);
    assert_eq!((script.opened(), script.pulled()), (4, 3));

    let past = all(&world, script.open());
    let exhausted = Scripted::Exhausted {
        steps: 4,
        call: 5,
        trailing_delay: None,
    };
    assert_eq!(past, [Err(exhausted)]);
    assert_eq!(world.elapsed(), Duration::ZERO);
}

#[test]
fn a_delay_passes_from_the_first_pull_on() {
    let world = World::new();
    let script: StreamScript<u32> = StreamScript::on(world.timer())
        .delays(secs(1))
        .delays(secs(2))
        .yields([1])
        .yields([2]);
    let source = script.open();
    world.advance(secs(10));
    assert_eq!(all(&world, source), [Ok(1)]);
    assert_eq!(world.elapsed(), secs(13));
    assert_eq!(all(&world, script.open()), [Ok(2)]);
    assert_eq!(world.elapsed(), secs(13));
}

#[test]
fn pauses_stand_between_items() {
    let world = World::new();
    let beats = [
        Beat::Item(1),
        Beat::Pause(secs(2)),
        Beat::Pause(secs(3)),
        Beat::Item(2),
    ];
    let script: StreamScript<u32> = StreamScript::on(world.timer()).plays(beats).repeats_last();
    for _ in 0..3 {
        assert_eq!(all(&world, script.open()), [Ok(1), Ok(2)]);
    }
    assert_eq!(world.elapsed(), secs(15));
    assert_eq!((script.opened(), script.remaining()), (3, 0));
}

#[test]
fn a_source_lives_until_it_is_dropped() {
    let world = World::new();
    let script: StreamScript<u32> = StreamScript::on(world.timer())
        .hangs_after([1])
        .yields([2])
        .delays(secs(1));
    let mut hanging = Box::pin(script.open());
    let other = script.open();
    assert_eq!((script.alive(), script.peak_alive()), (2, 2));
    world.block_on(async {
        assert_eq!(hanging.next().await, Some(Ok(1)));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..2 {
            assert!(Pin::new(&mut hanging).poll_next(&mut cx).is_pending());
        }
    });
    drop((hanging, other));
    assert_eq!((script.alive(), script.peak_alive()), (0, 2));
    let past = all(&world, script.open());
    let Some(Err(Scripted::Exhausted { trailing_delay, .. })) = past.first() else {
        panic!("{past:?}");
    };
    assert_eq!(*trailing_delay, Some(secs(1)));
}

// test-01.13
#[test]
fn threads_share_every_source_once() {
    let sources = StreamScript::<u32, Fault, _>::on(NoTime);
    let script = (0..100).fold(sources, |script, item| script.yields([item]));
    let serve = || {
        let mut cx = Context::from_waker(Waker::noop());
        let polls = (0..50).map(|_| pin!(script.open()).poll_next(&mut cx));
        let items = polls.map(|poll| match poll {
            Poll::Ready(Some(Ok(item))) => item,
            other => unreachable!("{other:?}"),
        });
        items.collect::<Vec<_>>()
    };
    let mut served = thread::scope(|scope| {
        let other = scope.spawn(serve);
        let mut served = serve();
        served.extend(other.join().expect("it serves"));
        served
    });
    served.sort_unstable();
    assert_eq!(served, (0..100).collect::<Vec<_>>());
    assert_eq!((script.alive(), script.pulled()), (0, 100));
}
