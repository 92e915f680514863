use std::pin::pin;
use std::task::Waker;
use std::thread;

use steadfast_core::{Meaning, Verdict};

use super::*;
use crate::World;
use crate::no_time::NoTime;

type Numbers = Script<u32>;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

// test-01.4
#[test]
fn delays_before_one_step_add_up() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .delays(secs(1))
        .delays(secs(2))
        .returns(7);
    assert_eq!(world.block_on(script.next()), Ok(7));
    assert_eq!(world.elapsed(), secs(3));
}

// test-01.5
#[test]
fn a_trailing_delay_is_reported() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .returns(1)
        .times(2)
        .delays(secs(5));
    assert_eq!(world.block_on(script.next()), Ok(1));
    assert_eq!(world.block_on(script.next()), Ok(1));
    let over = world.block_on(script.next()).expect_err("two steps only");
    assert_eq!(
        over,
        Scripted::Exhausted {
            steps: 2,
            call: 3,
            trailing_delay: Some(secs(5)),
        }
    );
    assert_eq!(over.verdict(), Verdict::PERMANENT);
    assert_eq!(
        over.to_string(),
        "the script of length 2 has no step for call 3; the 5s at its end delay no step"
    );
    assert_eq!((script.calls(), script.remaining()), (3, 0));
    assert_eq!(world.elapsed(), Duration::ZERO);
}

// test-01.6
#[test]
fn zero_times_is_no_step() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .delays(secs(9))
        .returns(1)
        .times(0);
    assert_eq!(script.remaining(), 0);
    let script = script.delays(secs(1)).returns(2).returns(3).times(0);
    assert_eq!(script.remaining(), 1);
    assert_eq!(world.block_on(script.next()), Ok(2));
    assert_eq!(world.elapsed(), secs(1));
}

// test-01.13
#[test]
fn tasks_share_every_step_once() {
    let world = World::new();
    let script = (0..100).fold(Numbers::on(world.timer()), |script, n| {
        script
            .delays(Duration::from_millis(u64::from(n % 7)))
            .returns(n)
    });
    let task = |name: &str| {
        let script = script.clone();
        world.spawn(name, async move {
            let mut served = Vec::new();
            for _ in 0..50 {
                served.extend(script.next().await);
            }
            served
        })
    };
    let (one, two) = (task("one"), task("two"));
    let mut served = world.block_on(one);
    served.extend(world.block_on(two));
    served.sort_unstable();
    assert_eq!(served, (0..100).collect::<Vec<_>>());
    assert_eq!((script.calls(), script.remaining()), (100, 0));
}

// test-01.13
#[test]
fn threads_share_every_step_once() {
    let script: Script<u32, Fault, _> = (0..100).fold(Script::on(NoTime), Script::returns);
    let serve = || {
        let mut cx = Context::from_waker(Waker::noop());
        let polls = (0..50).map(|_| pin!(script.next()).poll(&mut cx));
        let values = polls.map(|poll| match poll {
            Poll::Ready(Ok(value)) => value,
            other => unreachable!("{other:?}"),
        });
        values.collect::<Vec<_>>()
    };
    let mut served = thread::scope(|scope| {
        let other = scope.spawn(serve);
        let mut served = serve();
        served.extend(other.join().expect("it serves"));
        served
    });
    served.sort_unstable();
    assert_eq!(served, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_repeated_step_keeps_its_delay() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .delays(secs(1))
        .fails(Fault::Transient)
        .times(3);
    for _ in 0..3 {
        assert!(world.block_on(script.next()).is_err());
    }
    assert_eq!(world.elapsed(), secs(3));
    assert!(
        world
            .block_on(script.next())
            .is_err_and(|e| e.is_exhausted())
    );
}

#[test]
fn the_last_step_repeats_for_ever() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .fails(Fault::Permanent)
        .delays(secs(1))
        .returns(2)
        .repeats_last();
    let first = world.block_on(script.next()).expect_err("it fails first");
    assert_eq!(first.failed(), Some(Fault::Permanent));
    for _ in 0..100 {
        assert_eq!(world.block_on(script.next()), Ok(2));
    }
    assert_eq!(world.elapsed(), secs(100));
    assert_eq!((script.calls(), script.remaining()), (101, 0));
}

#[test]
fn a_step_without_delay_makes_no_timer() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .returns(1)
        .delays(Duration::ZERO)
        .returns(2);
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(pin!(script.next()).poll(&mut cx), Poll::Ready(Ok(1)));
    assert_eq!(pin!(script.next()).poll(&mut cx), Poll::Ready(Ok(2)));
    assert_eq!((world.timers_made(), world.clock_reads()), (0, 0));
}

#[test]
fn a_hanging_step_never_ends() {
    let world = World::new();
    let script = Numbers::on(world.timer()).delays(secs(1)).hangs();
    let stuck = world.run(script.next()).expect_err("it hangs");
    assert!(!stuck.is_spinning());
    assert_eq!(world.elapsed(), secs(1));
    assert_eq!((script.alive(), script.peak_alive()), (0, 1));
}

#[test]
fn a_step_lives_until_finished_or_dropped() {
    let world = World::new();
    let script = Numbers::on(world.timer()).returns(1).times(2).hangs();
    let (mut finished, dropped, hung) = (pin!(script.next()), script.next(), script.next());
    assert_eq!((script.alive(), script.peak_alive()), (3, 3));
    assert_eq!(world.block_on(finished.as_mut()), Ok(1));
    assert_eq!(script.alive(), 2);
    drop(dropped);
    assert_eq!(script.alive(), 1);
    drop(hung);
    assert_eq!((script.alive(), script.peak_alive()), (0, 3));
    assert!(world.run(finished).is_err());
}

#[test]
fn a_blocking_step_holds_the_thread() {
    let world = World::new();
    let script = Numbers::on(world.timer())
        .delays(secs(2))
        .returns(1)
        .fails(Fault::Transient);
    assert_eq!(script.next_blocking(), Ok(1));
    assert_eq!(world.elapsed(), secs(2));
    assert_eq!(
        script.next_blocking(),
        Err(Scripted::Failed(Fault::Transient))
    );
    assert!(script.next_blocking().is_err_and(|e| e.is_exhausted()));
    assert_eq!((script.alive(), script.peak_alive()), (0, 1));
    assert_eq!(world.timers_made(), 0);
}

#[test]
fn a_step_needs_no_clone_to_be_served() {
    struct Unique;
    let world = World::new();
    let script: Script<Unique, Unique> = Script::on(world.timer()).returns(Unique).fails(Unique);
    assert!(world.block_on(script.next()).is_ok());
    assert!(world.block_on(script.next()).is_err());
}

#[test]
fn a_scripted_error_means_what_it_says() {
    let busy = Fault::SelfImposed(Some(secs(1)));
    assert_eq!(Scripted::Failed(busy).verdict(), busy.verdict());
    assert_eq!(Scripted::Failed(busy).to_string(), busy.to_string());
}
