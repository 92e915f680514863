//! Time: when it moves, and in what order sleeps fire.

use super::*;

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

// A jump makes sleeps overdue; to settle is to let them fire.
#[test]
fn settling_fires_what_is_overdue() {
    let world = World::new();
    let log = Log::default();
    let _second = sleeper(&world, &log, "second", secs(2));
    let _first = sleeper(&world, &log, "first", secs(1));
    let late = sleeper(&world, &log, "late", secs(3));
    world.settle();
    world.jump(secs(2));
    world.settle();
    assert_eq!(*log.borrow(), ["first 2s", "second 2s"]);
    assert_eq!(world.elapsed(), secs(2));
    assert!(!late.is_finished());
}
