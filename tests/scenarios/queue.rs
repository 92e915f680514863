//! A line before a dependency: who gets in, in which order, and who does not.

mod ends;
mod traces;

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use steadfast::{
    Attempt, BreakerState, Ending, EventKind, Kind, Limit, Limited, Outcome, Policy, Problem,
    Queue, Reason, Verdict,
};
use steadfast_testing::{Fault, Recorder, Task, World};

use crate::stage::{INSTANT, TOUCHY, Virtual, at, guard, ms, secs};

/// A guard, a line before what it guards, and who got in.
#[derive(Clone)]
struct Line {
    world: World,
    guard: Rc<Virtual>,
    queue: Rc<Queue>,
    entered: Rc<RefCell<Vec<u32>>>,
}

type Done = Outcome<(), Limited>;

impl Line {
    fn new(policy: Policy, permits: u32, waiting: u32) -> Self {
        let world = World::new();
        Self {
            guard: Rc::new(guard(&world, policy)),
            queue: Rc::new(Queue::new(permits, waiting)),
            entered: Rc::default(),
            world,
        }
    }

    /// Waits for a place and keeps it for so long.
    async fn work(self, name: u32, attempt: Attempt, span: Duration) -> Result<(), Limited> {
        let _place = self.queue.enter(&self.guard, attempt).await?;
        self.entered.borrow_mut().push(name);
        self.world.sleep(span).await;
        Ok(())
    }

    /// Spawns a call that keeps its place for so long.
    fn call(&self, name: u32, span: Duration) -> Task<Done> {
        let line = self.clone();
        self.world.spawn(name.to_string(), async move {
            let work = |attempt| line.clone().work(name, attempt, span);
            line.guard.call(work).outcome().await
        })
    }

    /// Spawns one call and lets everybody get as far as they can.
    fn call_now(&self, name: u32, span: Duration) -> Task<Done> {
        let task = self.call(name, span);
        self.world.settle();
        task
    }

    fn entered(&self) -> Vec<u32> {
        self.entered.borrow().clone()
    }

    #[track_caller]
    fn counts(&self, in_use: u32, waiting: u32) {
        let counts = (self.queue.in_use(), self.queue.waiting());
        assert_eq!(counts, (in_use, waiting));
    }

    fn end(&self, task: Task<Done>) -> Done {
        self.world.block_on(task)
    }
}

fn refused() -> Limited {
    Limited::new(Limit::Queue)
}

#[track_caller]
fn assert_refused(done: &Done) {
    assert_eq!(done.error(), Some(&refused()), "{done:?}");
}

const ONCE: Policy = INSTANT.with_attempts(1);

// core-09.2
#[test]
fn the_third_of_two_is_refused() {
    let line = Line::new(ONCE, 1, 1);
    let first = line.call_now(1, secs(1));
    let second = line.call_now(2, secs(1));
    line.counts(1, 1);
    let third = line.call_now(3, secs(1));
    assert_refused(&line.end(third));
    assert_eq!(line.world.elapsed(), Duration::ZERO);

    // Cancelled, the second leaves its place to another.
    drop(second);
    line.counts(1, 0);
    let fourth = line.call_now(4, secs(1));
    line.counts(1, 1);
    assert!(line.end(first).is_success());
    assert!(line.end(fourth).is_success());
    assert_eq!(line.entered(), [1, 4]);
    line.counts(0, 0);
}

// R-76, tower#793
#[test]
fn the_sixth_of_five_waiters_is_refused() {
    let line = Line::new(ONCE, 1, 5);
    let _calls: Vec<_> = (1..=6).map(|name| line.call_now(name, secs(1))).collect();
    line.counts(1, 5);
    let seventh = line.call_now(7, secs(1));
    assert_refused(&line.end(seventh));
    assert_eq!(line.world.elapsed(), Duration::ZERO);
    line.counts(1, 5);
}

#[test]
fn no_line_is_a_plain_limit() {
    let line = Line::new(ONCE, 2, 0);
    let calls = [1, 2].map(|name| line.call_now(name, secs(1)));
    assert_refused(&line.end(line.call_now(3, secs(1))));
    for call in calls {
        assert!(line.end(call).is_success());
    }
    assert_eq!(line.queue.try_enter().map(drop), Ok(()));
}

// a place for each who gets in.
#[test]
fn a_hundred_get_in_by_turns() {
    let line = Line::new(ONCE, 3, 100);
    let calls: Vec<_> = (0..103).map(|name| line.call_now(name, ms(10))).collect();
    line.counts(3, 100);
    let mut most = 0;
    for turn in 0..35 {
        most = most.max(line.queue.in_use());
        assert_eq!(line.entered().len(), 103.min(3 * (turn + 1)));
        line.world.advance(ms(10));
    }
    assert_eq!(most, 3);
    for call in calls {
        assert!(line.end(call).is_success());
    }
    assert_eq!(line.entered(), (0..103).collect::<Vec<_>>());
    line.counts(0, 0);
}

#[test]
fn a_newcomer_never_overtakes() {
    let line = Line::new(ONCE, 1, 9);
    let _first = line.call_now(1, ms(10));
    let _second = line.call_now(2, ms(10));
    // The place is on its way to the second, which has not run yet.
    line.world.jump(ms(10));
    let third = line.call(3, ms(10));
    line.world.settle();
    assert_eq!(line.entered(), [1, 2]);
    assert!(line.queue.try_enter().is_err());
    assert!(line.end(third).is_success());
    assert_eq!(line.entered(), [1, 2, 3]);
}

//
#[test]
fn two_places_at_once_wake_two() {
    let line = Line::new(ONCE, 2, 9);
    let places = [(); 2].map(|()| line.queue.try_enter().expect("a place"));
    let _calls = [1, 2, 3].map(|name| line.call_now(name, secs(1)));
    line.counts(2, 3);
    drop(places);
    line.counts(0, 1);
    line.world.settle();
    line.counts(2, 1);
    assert_eq!(line.entered(), [1, 2]);
}

// one tenant's calls do not starve another's.
#[test]
fn tenants_take_turns() {
    let line = Line::new(ONCE, 1, 100);
    let busy = |name| {
        let line = line.clone();
        line.world.clone().spawn("tenant", async move {
            for _ in 0..20 {
                let work = |attempt| line.clone().work(name, attempt, ms(10));
                assert!(line.guard.call(work).await.is_ok());
            }
        })
    };
    let (one, other) = (busy(1), busy(2));
    line.world.block_on(one);
    line.world.block_on(other);
    let entered = line.entered();
    assert!(
        entered.windows(2).all(|pair| pair[0] != pair[1]),
        "{entered:?}"
    );
}

// core-09.15
#[test]
fn fewer_permits_take_no_place_away() {
    let line = Line::new(ONCE, 20, 9);
    let mut places: Vec<_> = (0..20)
        .map(|_| line.queue.try_enter().expect("a place"))
        .collect();
    let waiter = line.call_now(1, secs(1));
    line.queue.set_permits(18);
    assert_eq!((line.queue.permits(), line.queue.in_use()), (18, 20));
    for in_use in [19, 18] {
        places.pop();
        line.world.settle();
        line.counts(in_use, 1);
    }
    places.pop();
    line.world.settle();
    line.counts(18, 0);
    assert!(line.end(waiter).is_success());
    line.queue.set_permits(0);
    assert_eq!(line.queue.permits(), 1);
}

#[test]
fn more_permits_wake_who_waits() {
    let line = Line::new(ONCE, 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let waiters = [1, 2, 3].map(|name| line.call_now(name, secs(1)));
    line.queue.set_permits(3);
    line.world.settle();
    line.counts(3, 1);
    assert_eq!(line.entered(), [1, 2]);
    for waiter in waiters {
        assert!(line.end(waiter).is_success());
    }
}

// none are none, and the type says so.
#[test]
fn no_permits_are_an_error() {
    let problem = Queue::try_new(0, 5).map(drop);
    assert_eq!(problem, Err(Problem::NoQueuePermits));
    assert!(Queue::try_new(1, 0).is_ok());
}
