//! What ends a run that would not end.

use super::*;

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
    world.set_patience(60);
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
fn a_loop_that_wakes_main_has_a_bound() {
    let world = World::new();
    world.set_patience(60);
    let clock = world.clone();
    let endless = async move {
        loop {
            clock.sleep(secs(1)).await;
        }
    };
    let ended: Result<(), Stuck> = world.run(endless);
    let stuck = ended.expect_err("no end");
    assert_eq!(
        stuck.to_string(),
        "stuck at 60s: 60 sleeps fired and there is no end to it; waiting:\n  \
         `main` since 60s\n\
         bound the loop that sleeps, or allow for more with `World::set_patience`"
    );
    // Each run counts anew.
    world.block_on(world.sleep(secs(1)));
}

#[test]
fn an_advance_has_a_bound() {
    let world = World::new();
    world.set_patience(60);
    let clock = world.clone();
    let _ticks = world.spawn("ticks", async move {
        loop {
            clock.sleep(Duration::from_millis(1)).await;
        }
    });
    world.advance(Duration::from_millis(60));
    let text = panic_text(|| world.advance(Duration::MAX));
    assert!(
        text.starts_with("stuck at 120ms: 60 sleeps fired and there is no end to it"),
        "{text}"
    );
}
