//! An adaptive limit in a guard, before a pool of workers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use steadfast::{
    Baseline, Concurrency, ConcurrencyLimit, Event, EventKind, Instant, Listener, Plan, Policy,
    Throttle, random,
};
use steadfast_testing::World;

use crate::stage::{INSTANT, Virtual, at, ms, secs};

/// What a service takes unloaded.
const SERVICE: u64 = 50;

/// Serves first come first served, with so many workers.
struct Pool {
    world: World,
    /// When each worker is free.
    workers: RefCell<Vec<Instant>>,
    slowness: Cell<u32>,
    draws: Cell<u64>,
}

impl Pool {
    fn new(world: &World, workers: usize) -> Self {
        Self {
            world: world.clone(),
            workers: RefCell::new(vec![Instant::ZERO; workers]),
            slowness: Cell::new(1),
            draws: Cell::new(0),
        }
    }

    /// From three to five quarters of the service time.
    fn service(&self) -> std::time::Duration {
        self.draws.set(self.draws.get() + 1);
        let spread = u64::from(random(3, self.draws.get())) % (SERVICE / 2);
        ms(SERVICE * 3 / 4 + spread) * self.slowness.get()
    }

    async fn serve(&self) -> Result<(), std::convert::Infallible> {
        let end = {
            let mut workers = self.workers.borrow_mut();
            let first = workers.iter_mut().min().expect("a worker");
            *first = (*first)
                .max(self.world.now())
                .saturating_add(self.service());
            *first
        };
        self.world.sleep_until(end).await;
        Ok(())
    }
}

/// The limits that were told, with their time.
#[derive(Default)]
struct Limits {
    world: World,
    told: RefCell<Vec<(Instant, u32)>>,
}

impl Listener for Limits {
    fn on_event(&self, event: &Event) {
        if event.kind() == EventKind::ConcurrencyAdapted {
            let told = (self.world.now(), event.number());
            self.told.borrow_mut().push(told);
        }
    }
}

impl Limits {
    /// The least and the most between two instants, but for probes.
    fn between(&self, from: Instant, until: Instant) -> (u32, u32) {
        let told = self.told.borrow();
        let limits = told
            .iter()
            .filter(|(at, limit)| (from..until).contains(at) && *limit > MINIMUM)
            .map(|&(_, limit)| limit);
        let (least, most) = (limits.clone().min(), limits.max());
        (least.unwrap_or(0), most.unwrap_or(0))
    }
}

const MINIMUM: u32 = 4;

const ONCE: Policy = INSTANT.without_attempt_ceiling().with_attempts(1);

/// Calls that come at a steady pace; what ten seconds each let succeed, and the
/// mean of how long those took, in milliseconds.
struct Load {
    world: World,
    guard: Rc<Virtual>,
    pool: Rc<Pool>,
    limits: Rc<Limits>,
}

impl Load {
    fn new(policy: Policy, workers: usize) -> Self {
        let world = World::new();
        let guard = Virtual::try_on(world.timer(), Plan::new(policy)).expect("a policy that works");
        Self {
            guard: Rc::new(guard),
            pool: Rc::new(Pool::new(&world, workers)),
            limits: Rc::new(Limits {
                world: world.clone(),
                told: RefCell::default(),
            }),
            world,
        }
    }

    fn run(&self, per_second: u32, bins: usize) -> Vec<(u64, u64)> {
        (0..bins).map(|_| self.ten_seconds(per_second)).collect()
    }

    fn ten_seconds(&self, per_second: u32) -> (u64, u64) {
        let tally = Rc::new(Cell::new((0, 0)));
        for _ in 0..per_second * 10 {
            let (guard, pool, limits) = (
                Rc::clone(&self.guard),
                Rc::clone(&self.pool),
                Rc::clone(&self.limits),
            );
            let (world, tally) = (self.world.clone(), Rc::clone(&tally));
            let call = self.world.spawn("call", async move {
                let began = world.now();
                let call = guard.call(|_| pool.serve()).listen(&*limits);
                if call.await.is_ok() {
                    let (done, took) = tally.get();
                    let took_now = world.now().saturating_since(began).as_micros();
                    tally.set((done + 1, took + u64::try_from(took_now).unwrap_or(0)));
                }
            });
            call.detach();
            self.world.advance(secs(1) / per_second);
        }
        let (done, took) = tally.get();
        (done, took.checked_div(done).unwrap_or(0) / 1_000)
    }
}

// L4
#[test]
fn a_constant_time_never_shrinks_the_limit() {
    // More workers than the limit ever allows: nothing queues.
    let load = Load::new(
        ONCE.with_concurrency(Concurrency::ADAPTIVE.with_maximum(40)),
        500,
    );
    let bins = load.run(1_000, 7);
    let mut highest = 0;
    for &(_, limit) in load.limits.told.borrow().iter() {
        // A probe falls to the minimum and goes back to where it was.
        assert!(limit == MINIMUM || limit >= highest, "{limit}");
        highest = highest.max(limit);
    }
    assert_eq!(highest, 40);
    assert!(bins.iter().all(|&(_, took)| took <= SERVICE), "{bins:?}");
}

// L5, Netflix/concurrency-limits#134: twice the capacity, and it does not drift.
#[test]
fn the_limit_follows_the_capacity() {
    let load = Load::new(ONCE.with_concurrency(Concurrency::ADAPTIVE), 16);
    // Sixteen workers do 320 a second.
    let bins = load.run(640, 12);
    for (bin, &(done, took)) in bins.iter().enumerate().skip(1) {
        assert!(done >= 2_900, "{bin}: {bins:?}");
        assert!(took <= 2 * SERVICE, "{bin}: {bins:?}");
    }
    let (least, most) = load.limits.between(at(secs(20)), at(secs(120)));
    assert!(least >= 16 && most <= 36, "{least} to {most}");

    // A quarter of the workers are left: the rest of the queue goes within ten
    // seconds, and the limit with it.
    load.pool.workers.borrow_mut().truncate(4);
    let bins = load.run(640, 6);
    for &(done, took) in &bins[1..] {
        assert!(done >= 700, "{bins:?}");
        assert!(took <= 3 * SERVICE, "{bins:?}");
    }
    let (_, most) = load.limits.between(at(secs(140)), at(secs(180)));
    assert!(most <= 14, "{most}");
}

// L6
#[test]
fn a_slower_service_is_learnt() {
    let load = Load::new(ONCE.with_concurrency(Concurrency::ADAPTIVE), 16);
    load.run(640, 4);
    load.pool.slowness.set(3);
    let bins = load.run(640, 8);
    // Sixteen workers now do 107 a second.
    for &(done, took) in &bins[4..] {
        assert!(done >= 960, "{bins:?}");
        assert!(took <= 6 * SERVICE, "{bins:?}");
    }
}

#[test]
fn what_is_tracked_never_probes() {
    let law = Concurrency::ADAPTIVE.with_baseline(Baseline::Tracked);
    let load = Load::new(ONCE.with_concurrency(law), 16);
    load.run(240, 6);
    let told = load.limits.told.borrow();
    assert!(told.iter().all(|&(_, limit)| limit > MINIMUM), "{told:?}");
}

// The limit is the guard's whatever else holds attempts back.
#[test]
fn a_throttle_beside_it_changes_nothing_in_health() {
    let policy = ONCE.with_concurrency(Concurrency::ADAPTIVE);
    let load = Load::new(policy.with_throttle(Throttle::DEFAULT), 16);
    let bins = load.run(200, 3);
    assert!(bins[1..].iter().all(|&(done, _)| done >= 1_980), "{bins:?}");
    assert_eq!(
        load.guard.concurrency().map(ConcurrencyLimit::limit),
        Some(20)
    );
}
