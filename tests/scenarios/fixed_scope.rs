//! A guard a key without an allocator: the same rule in a fixed number of places.

mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};

use steadfast::{
    Breaker, BreakerState, Budget, ByError, Chip, CircuitBreaker, FixedKeyed, FixedScope, Guard,
    Hedge, Hedged, Local, Memory, NoListener, NoRules, Plan, Policy, Problem, Ratio, Shared,
    Single, Unmeasured,
};
use steadfast_testing::{Fault, Script, VirtualTimer, World};

use crate::stage::{INSTANT, TOUCHY, Virtual, ms, secs};

/// A scope of `N` keys on virtual time.
type Keys<const N: usize, K = u8, M = Shared, H = Single> =
    FixedScope<K, VirtualTimer, N, ByError, NoRules, NoListener, M, H>;

const REFUSING: Policy = INSTANT.with_breaker(TOUCHY);

#[track_caller]
fn scope<const N: usize>(world: &World, policy: Policy) -> Keys<N> {
    FixedScope::try_on(world.timer(), Plan::new(policy)).expect("it works")
}

/// Tells whether both are the one guard.
fn same<K, G>(one: &FixedKeyed<'_, K, G>, other: &FixedKeyed<'_, K, G>) -> bool {
    let (one, other): (&G, &G) = (one, other);
    std::ptr::eq(one, other)
}

/// Calls once, and fails transiently if asked to.
fn call<const N: usize>(world: &World, keys: &Keys<N>, key: u8, fails: bool) -> bool {
    let script: Script<()> = Script::on(world.timer());
    let script = if fails {
        script.fails(Fault::Transient).repeats_last()
    } else {
        script.returns(())
    };
    world
        .block_on(keys.get(key).call(|_| script.next()))
        .is_ok()
}

fn keys_of<const N: usize>(keys: &Keys<N>) -> Vec<u8> {
    let mut all: Vec<_> = keys.list().filter_map(|listed| listed.key).collect();
    all.sort_unstable();
    all
}

// core-10.1, core-10.2
#[test]
fn each_key_has_a_guard_of_its_own() {
    let world = World::new();
    let keys: Keys<4> = scope(&world, REFUSING);
    assert!(keys.is_empty());
    for key in 0..4 {
        assert_eq!(call(&world, &keys, key, key == 2), key != 2);
    }
    for key in 0..4 {
        assert_eq!(call(&world, &keys, key, false), key != 2);
    }
    assert_eq!((keys.len(), keys.capacity()), (4, 4));
    let (one, again) = (keys.get(1), keys.get(1));
    assert!(same(&one, &again) && !one.is_shared());
    let listed = keys.list().find(|listed| listed.key == Some(1));
    assert_eq!(listed.map(|listed| listed.in_use), Some(2));
    let open = keys
        .list()
        .filter(|listed| listed.breaker == Some(BreakerState::Open));
    assert_eq!(open.map(|listed| listed.key).collect::<Vec<_>>(), [Some(2)]);
}

// core-10.6, core-10.12
#[test]
fn a_scope_without_room_is_not_made() {
    let world = World::new();
    let refused: Result<Keys<0>, _> =
        FixedScope::try_on(world.timer(), Plan::new(INSTANT.with_attempts(0)));
    let problems = refused.expect_err("no room").problems();
    assert!(problems.contains(Problem::NoKeys) && problems.contains(Problem::NoAttempts));
}

// core-10.7, core-10.8, core-10.10
#[test]
fn who_was_used_is_spared_once() {
    let world = World::new();
    let keys: Keys<4> = scope(&world, INSTANT);
    for key in 0..4 {
        keys.get(key);
    }
    keys.get(0);
    keys.get(1);
    keys.get(10);
    assert_eq!(keys_of(&keys), [0, 1, 3, 10]);
    keys.get(11);
    assert_eq!(keys_of(&keys), [0, 1, 10, 11]);
}

// core-10.9
#[test]
fn when_all_were_used_one_leaves() {
    let world = World::new();
    let keys: Keys<3> = scope(&world, INSTANT);
    for key in [0, 1, 2, 0, 1, 2, 3] {
        assert!(!keys.get(key).is_shared());
    }
    assert_eq!(keys_of(&keys), [1, 2, 3]);
}

// core-10.11
#[test]
fn a_key_that_left_starts_afresh() {
    let world = World::new();
    let policy = Policy::DEFAULT.with_breaker(TOUCHY);
    let keys: Keys<1> = scope(&world, policy);
    for _ in 0..30 {
        assert!(call(&world, &keys, 1, false));
    }
    assert!(keys.get(1).measured().attempt_ceiling.is_some());
    keys.get(1).breaker().expect("a breaker").disable();
    keys.get(2);
    let fresh = keys.get(2);
    assert_eq!(fresh.measured().successes, Some(0));
    assert_eq!(fresh.breaker_state(), Some(BreakerState::Closed));
    let budget = fresh.budget().expect("a budget");
    assert_eq!(budget.utilization(world.now()), Ratio::ZERO);
}

#[test]
fn a_refused_key_keeps_its_place_until_its_break_is_over() {
    let world = World::new();
    let keys: Keys<4> = scope(&world, REFUSING);
    assert!(!call(&world, &keys, 0, true));
    for key in 1..100 {
        assert!(call(&world, &keys, key, false));
    }
    assert_eq!(keys.get(0).breaker_state(), Some(BreakerState::Open));
    world.advance(secs(16));
    for key in 100..110 {
        keys.get(key);
    }
    assert!(!keys_of(&keys).contains(&0));
}

#[test]
fn a_spent_budget_keeps_its_place_until_time_fills_it() {
    let budget = Budget::new(Ratio::percent(10), 1).with_burst(2);
    let world = World::new();
    let keys: Keys<2> = scope(&world, INSTANT.with_budget(budget));
    assert!(!call(&world, &keys, 0, true));
    for key in 1..50 {
        keys.get(key);
    }
    assert!(keys_of(&keys).contains(&0));
    world.advance(secs(5));
    for key in 50..60 {
        keys.get(key);
    }
    assert!(!keys_of(&keys).contains(&0));
}

// A breaker that is everybody's is kept by nobody's place.
#[test]
fn a_shared_breaker_holds_no_place() {
    static BREAKER: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
    let world = World::new();
    let plan = Plan::new(INSTANT).with_breaker(&BREAKER);
    let keys: Keys<2> = FixedScope::try_on(world.timer(), plan).expect("it works");
    BREAKER.isolate();
    for key in 0..9 {
        assert_eq!(keys.get(key).key(), Some(&key));
    }
    assert_eq!(keys.get(8).breaker_state(), Some(BreakerState::Isolated));
}

#[test]
fn with_no_room_at_all_new_keys_share_a_guard() {
    let world = World::new();
    let keys: Keys<2> = scope(&world, REFUSING);
    let held = keys.get(0);
    assert!(!call(&world, &keys, 1, true));
    let (one, other) = (keys.get(2), keys.get(3));
    assert!(one.is_shared() && other.is_shared() && same(&one, &other));
    let guard: &Virtual = &one;
    assert!(std::ptr::eq(guard, keys.shared()));
    let last = keys.list().last().expect("the shared guard");
    assert_eq!((last.key, last.in_use), (None, 2));
    drop((one, other, held));
    assert_eq!(keys.list().last().map(|listed| listed.in_use), Some(0));
    assert!(!keys.get(2).is_shared());
    assert_eq!(keys_of(&keys), [1, 2]);
}

// core-10.15
#[test]
fn races_are_learnt_by_key() {
    let world = World::new();
    let plan = Plan::new(INSTANT.with_hedge(Hedge::DEFAULT));
    let keys: Keys<2, &str, Shared, Hedged<2>> =
        FixedScope::try_on(world.timer(), plan).expect("it works");
    let script: Script<()> = Script::on(world.timer())
        .delays(ms(40))
        .returns(())
        .repeats_last();
    for _ in 0..30 {
        let done = world.block_on(keys.get("a").call(|_| script.next()));
        assert!(done.is_ok());
    }
    assert!(keys.get("a").measured().hedge_threshold.is_some());
    assert!(keys.get("b").measured().hedge_threshold.is_none());
}

#[test]
fn a_key_that_nobody_uses_can_be_removed() {
    let world = World::new();
    let keys: Keys<2> = scope(&world, REFUSING);
    let held = keys.get(1);
    held.breaker().expect("a breaker").isolate();
    assert!(!keys.remove(1) && !keys.remove(7));
    drop(held);
    assert!(keys.remove(1) && !keys.remove(1));
    assert!(keys.is_empty());
    let state = keys.get(1).breaker_state();
    assert_eq!(state, Some(BreakerState::Closed));
}

#[test]
fn a_reset_starts_all_afresh() {
    let world = World::new();
    let keys: Keys<2> = scope(&world, REFUSING);
    let held = keys.get(0);
    for key in [0, 1] {
        assert!(!call(&world, &keys, key, true));
    }
    keys.drain(secs(9));
    keys.reset();
    assert_eq!(keys_of(&keys), [0]);
    assert_eq!(held.breaker_state(), Some(BreakerState::Closed));
    for key in [0, 1] {
        assert!(!keys.get(key).is_draining());
        assert!(call(&world, &keys, key, false));
    }
}

#[test]
fn all_keys_drain_those_to_come_too() {
    let world = World::new();
    let keys: Keys<2> = scope(&world, INSTANT);
    keys.get(1);
    keys.drain(secs(30));
    world.advance(secs(10));
    for key in 1..9 {
        let left = std::cell::Cell::new(None);
        let called = world.block_on(keys.get(key).call(|attempt| {
            left.set(attempt.left());
            std::future::ready(std::io::Result::Ok(()))
        }));
        assert!(called.is_ok() && keys.get(key).is_draining());
        assert_eq!(left.get(), Some(secs(20)));
    }
    assert!(keys.shared().is_draining());
}

#[test]
fn one_thread_needs_no_atomics() {
    let world = World::new();
    let plan = Plan::of(INSTANT, ByError, NoRules, NoListener);
    let keys: Keys<2, char, Local<Unmeasured>> =
        FixedScope::try_on(world.timer(), plan).expect("it works");
    let script: Script<u8> = Script::on(world.timer()).returns(7);
    let called = world.block_on(keys.get('a').call(|_| script.next()));
    assert_eq!(called, Ok(7));
}

/// A key that panics when it is compared.
#[derive(Clone, Copy, Debug)]
struct Touchy(u8);

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        assert!(self.0 < 200 && other.0 < 200, "not to be compared");
        self.0 == other.0
    }
}

impl Eq for Touchy {}

#[test]
fn a_key_that_panics_costs_no_place() {
    let world = World::new();
    let keys: Keys<2, Touchy> =
        FixedScope::try_on(world.timer(), Plan::new(INSTANT)).expect("it works");
    keys.get(Touchy(1));
    for _ in 0..9 {
        let looked = catch_unwind(AssertUnwindSafe(|| drop(keys.get(Touchy(255)))));
        assert!(looked.is_err());
    }
    for key in 2..9 {
        assert_eq!(keys.get(Touchy(key)).key(), Some(&Touchy(key)));
    }
    assert!(keys.list().all(|listed| listed.in_use == 0));
}

/// What a place takes beyond its guard.
const fn beyond<M: Memory>() -> usize {
    type Of<M, const N: usize> = FixedScope<u8, VirtualTimer, N, ByError, NoRules, NoListener, M>;
    let place = size_of::<Of<M, 5>>() - size_of::<Of<M, 4>>();
    place - size_of::<Guard<VirtualTimer, ByError, NoRules, NoListener, M>>()
}

#[test]
fn a_place_is_a_guard_and_a_few_words() {
    type Of<M> = Guard<VirtualTimer, ByError, NoRules, NoListener, M>;
    println!(
        "bytes a place: {} on a server, {} as a chip, {} unmeasured",
        size_of::<Of<Shared>>() + beyond::<Shared>(),
        size_of::<Of<Shared<Chip>>>() + beyond::<Shared<Chip>>(),
        size_of::<Of<Shared<Unmeasured>>>() + beyond::<Shared<Unmeasured>>()
    );
    assert!(beyond::<Shared>() <= 16 && beyond::<Shared<Chip>>() <= 16);
    assert!(size_of::<Of<Shared<Chip>>>() < 3_200);
}

#[test]
fn a_fixed_scope_is_a_static() {
    static SENSORS: steadfast::embassy::FixedScope<u8, 8> =
        steadfast::embassy::FixedScope::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT));
    fn is_sent<F: Future + Send>(future: F) -> F {
        future
    }
    let read = is_sent(async {
        SENSORS
            .get(0x48)
            .call(|_| async { std::io::Result::Ok(2) })
            .await
    });
    assert_eq!(futures_lite::future::block_on(read).expect("a value"), 2);
    assert_eq!((SENSORS.len(), SENSORS.list().count()), (1, 2));
}
