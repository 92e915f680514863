use std::pin::pin;
use std::task::Waker;

use super::*;
use crate::World;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

#[test]
fn never_arms_no_timer() {
    let world = World::new();
    let stuck = world.run(world.sleep(Duration::MAX));
    assert!(stuck.is_err_and(|stuck| !stuck.is_spinning()));
    assert_eq!((world.timers_made(), world.timers_armed()), (1, 0));
}

#[test]
fn a_due_sleep_arms_no_timer() {
    let world = World::new();
    world.block_on(world.sleep(Duration::ZERO));
    assert_eq!((world.timers_made(), world.timers_armed()), (1, 0));
    world.block_on(world.sleep(secs(1)));
    assert_eq!((world.timers_made(), world.timers_armed()), (2, 1));
}

#[test]
fn only_the_timer_counts_reads() {
    let world = World::new();
    let timer = world.timer();
    let _ = (world.now(), world.elapsed());
    world.block_on(world.sleep(secs(1)));
    assert_eq!(world.clock_reads(), 0);
    assert_eq!((timer.now(), timer.clone().now()), (at(1), at(1)));
    assert_eq!(world.clock_reads(), 2);
}

#[test]
fn a_moved_sleep_is_not_made_anew() {
    let world = World::new();
    let timer = world.timer();
    let mut sleep = pin!(None);
    timer.rearm(sleep.as_mut(), at(9));
    let mut cx = Context::from_waker(Waker::noop());
    let mut poll = |sleep: Pin<&mut Option<Sleep>>| {
        sleep.as_pin_mut().expect("armed").poll(&mut cx).is_ready()
    };
    assert!(!poll(sleep.as_mut()));
    timer.rearm(sleep.as_mut(), at(1));
    assert!(!poll(sleep.as_mut()));
    assert_eq!((world.timers_made(), world.timers_armed()), (1, 2));
    assert_eq!(world.pending_timers(), 1);
    world.advance(secs(1));
    assert!(poll(sleep.as_mut()));
}

#[test]
fn seeds_differ_and_repeat() {
    let seeds = |seed| {
        let timer = World::seeded(seed).timer();
        (0..1_000).map(|_| timer.seed()).collect::<Vec<_>>()
    };
    let mut one = seeds(1);
    assert_eq!(one, seeds(1));
    assert_ne!(one, seeds(2));
    one.sort_unstable();
    one.dedup();
    assert_eq!(one.len(), 1_000);
}
