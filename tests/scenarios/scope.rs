//! A guard a key: what is each key's own, who leaves, who shares.

mod crowded;
mod hostile;
mod threads;

use std::collections::HashSet;

use steadfast::{
    Alike, Breaker, BreakerState, Budget, ByError, Concurrency, Hedge, Hedged, Keyed, NoListener,
    NoRules, Plan, Policy, Problem, Ratio, RetryBudget, Scope, Shared, Single,
};
use steadfast_testing::{Fault, Script, VirtualTimer, World};

use crate::stage::{INSTANT, TOUCHY, drop_after, ms, secs};

/// A scope on virtual time.
pub(crate) type Keys<K, S = Alike, H = Single> =
    Scope<K, VirtualTimer, ByError, NoRules, NoListener, Shared, H, S>;

/// Tells whether both are the one guard.
pub(crate) fn same<K, G>(one: &Keyed<'_, K, G>, other: &Keyed<'_, K, G>) -> bool {
    let (one, other): (&G, &G) = (one, other);
    std::ptr::eq(one, other)
}

#[track_caller]
pub(crate) fn scope<K>(world: &World, policy: Policy, capacity: usize) -> Keys<K> {
    Scope::try_on(world.timer(), Plan::new(policy), capacity, Alike).expect("it works")
}

/// Calls once, and fails with `fault` if there is one.
pub(crate) fn call(world: &World, keys: &Keys<u32>, key: u32, fault: Option<Fault>) -> bool {
    let script: Script<()> = Script::on(world.timer());
    let script = match fault {
        Some(fault) => script.fails(fault).repeats_last(),
        None => script.returns(()),
    };
    world
        .block_on(keys.get(&key).call(|_| script.next()))
        .is_ok()
}

pub(crate) fn state(keys: &Keys<u32>, key: u32) -> Option<BreakerState> {
    keys.get(&key).breaker_state()
}

// core-10.1, R-39
#[test]
fn one_key_that_fails_is_no_other() {
    let world = World::new();
    let keys = scope(&world, INSTANT.with_breaker(TOUCHY), 8);
    for key in 0..7 {
        assert!(call(&world, &keys, key, None));
    }
    assert!(!call(&world, &keys, 3, Some(Fault::Transient)));
    for key in 0..7 {
        let expected = if key == 3 {
            BreakerState::Open
        } else {
            BreakerState::Closed
        };
        assert_eq!(state(&keys, key), Some(expected));
        assert_eq!(call(&world, &keys, key, None), key != 3);
    }
    assert_eq!(keys.shared().breaker_state(), Some(BreakerState::Closed));
}

// core-10.2
#[test]
fn a_key_comes_back_to_its_own_guard() {
    let world = World::new();
    let keys = scope(&world, Policy::DEFAULT, 8);
    for _ in 0..3 {
        assert!(call(&world, &keys, 1, None));
    }
    assert_eq!(keys.get(&1).measured().successes, Some(3));
    assert_eq!(keys.get(&2).measured().successes, Some(0));
    let (one, again) = (keys.get(&1), keys.get(&1));
    assert!(same(&one, &again));
    assert_eq!(one.key(), Some(&1));
}

#[test]
fn a_key_is_looked_up_as_what_it_borrows() {
    let world = World::new();
    let keys: Keys<String> = scope(&world, INSTANT, 8);
    let name = String::from("blue");
    assert!(same(&keys.get("blue"), &keys.get(&name[..])));
    assert_eq!(keys.get(name.as_str()).key(), Some(&name));
    assert_eq!(keys.len(), 1);
    let pairs: Keys<(u8, &str)> = scope(&world, INSTANT, 8);
    assert!(!same(&pairs.get(&(1, "a")), &pairs.get(&(2, "a"))));
}

// core-10.4, R-33
#[test]
fn budgets_are_each_keys_own_unless_shared() {
    static BUDGET: RetryBudget = RetryBudget::new(Budget::REFERENCE);
    let world = World::new();
    let funded = INSTANT.with_budget(Budget::REFERENCE);
    let empty = |keys: &Keys<u32>, key| {
        let guard = keys.get(&key);
        let budget = guard.budget().expect("a budget");
        while let Some(token) = budget.take(world.now()) {
            token.spend();
        }
    };
    let spent = |keys: &Keys<u32>, key| {
        let guard = keys.get(&key);
        guard.budget().map(|budget| budget.utilization(world.now()))
    };

    let own = scope(&world, funded, 8);
    empty(&own, 1);
    assert_eq!(spent(&own, 1), Some(Ratio::ONE));
    assert_eq!(spent(&own, 2), Some(Ratio::ZERO));

    let plan = Plan::new(INSTANT).with_budget(&BUDGET);
    let shared = Scope::try_on(world.timer(), plan, 8, Alike).expect("it works");
    empty(&shared, 1);
    assert_eq!(spent(&shared, 2), Some(Ratio::ONE));

    let none = scope(&world, INSTANT.with_budget(Budget::NONE), 8);
    assert_eq!(spent(&none, 1), None);
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "a shape is asked with what a key is kept as"
)]
fn shape(key: &u32) -> Policy {
    match key {
        7 => INSTANT.with_breaker(TOUCHY).with_attempts(1),
        0 => INSTANT.with_attempts(0),
        _ => INSTANT.with_breaker(TOUCHY),
    }
}

// core-10.5
#[test]
fn a_shape_gives_a_key_its_own_policy() {
    let world = World::new();
    let plan = Plan::new(INSTANT);
    let keys: Keys<u32, fn(&u32) -> Policy> =
        Scope::try_on(world.timer(), plan, 8, shape as fn(&u32) -> Policy).expect("it works");
    let attempts = |key: u32| keys.get(&key).expect("it works").policy().attempts();
    assert_eq!((attempts(7), attempts(8)), (1, 3));
    keys.get(&7)
        .expect("it works")
        .breaker()
        .expect("a breaker")
        .isolate();
    let other = keys.get(&8).expect("it works").breaker_state();
    assert_eq!(other, Some(BreakerState::Closed));
}

// core-10.12
#[test]
fn a_shape_that_cannot_work_is_told_by_the_look_up() {
    let world = World::new();
    let keys: Keys<u32, fn(&u32) -> Policy> = Scope::try_on(
        world.timer(),
        Plan::new(INSTANT),
        1,
        shape as fn(&u32) -> Policy,
    )
    .expect("it works");
    keys.get(&7).expect("it works");
    for _ in 0..3 {
        let error = keys.get(&0).expect_err("no attempts");
        assert!(error.problems().contains(Problem::NoAttempts));
    }
    // Nothing is kept of it, and nobody had to leave.
    assert_eq!(keys.list().first().and_then(|listed| listed.key), Some(7));
}

// core-10.6, core-10.12
#[test]
fn a_scope_that_cannot_work_is_not_made() {
    let world = World::new();
    let refused = |policy, capacity| {
        Scope::<u32, _, _, _, _, _, Single, _>::try_on(
            world.timer(),
            Plan::new(policy),
            capacity,
            Alike,
        )
        .expect_err("it cannot work")
        .problems()
    };
    assert!(refused(INSTANT, 0).contains(Problem::NoKeys));
    let both = refused(INSTANT.with_attempts(0), 0);
    assert!(both.contains(Problem::NoKeys) && both.contains(Problem::NoAttempts));
}

// core-10.7, core-10.8, core-10.10: ours is a hard bound, so the 65th takes the place
// of one of them.
#[test]
fn the_number_of_keys_is_bounded() {
    let world = World::new();
    let keys = scope(&world, INSTANT, 64);
    for key in 0..64 {
        keys.get(&key);
    }
    // Looked up since, so spared.
    keys.get(&0);
    keys.get(&64);
    assert_eq!((keys.len(), keys.capacity()), (64, 64));
    let there: HashSet<_> = keys.list().iter().filter_map(|listed| listed.key).collect();
    assert!(there.contains(&0) && there.contains(&64) && !there.contains(&1));
}

// core-10.11
#[test]
fn a_key_that_left_starts_afresh() {
    let world = World::new();
    let keys = scope(&world, Policy::DEFAULT.with_breaker(Breaker::DEFAULT), 1);
    for _ in 0..30 {
        assert!(call(&world, &keys, 1, None));
    }
    let budget = keys
        .get(&1)
        .budget()
        .expect("a budget")
        .utilization(world.now());
    assert!(keys.get(&1).measured().attempt_ceiling.is_some());
    assert_eq!(budget, Ratio::ZERO);
    keys.get(&2);
    keys.get(&1);
    let fresh = keys.get(&1);
    assert_eq!(fresh.measured().successes, Some(0));
    assert_eq!(fresh.breaker_state(), Some(BreakerState::Closed));
}

// core-10.13
#[test]
fn keys_live_on_the_clock_of_the_scope() {
    let world = World::new();
    let keys = scope(&world, INSTANT.with_breaker(TOUCHY), 8);
    assert!(!call(&world, &keys, 1, Some(Fault::Transient)));
    world.advance(secs(14));
    assert_eq!(state(&keys, 1), Some(BreakerState::Open));
    world.advance(secs(1));
    assert!(call(&world, &keys, 1, None));
    assert_eq!(state(&keys, 1), Some(BreakerState::Closed));
}

// core-10.15
#[test]
fn races_are_learnt_by_key() {
    let world = World::new();
    let plan = Plan::new(INSTANT.with_hedge(Hedge::DEFAULT));
    let keys: Keys<u32, Alike, Hedged<2>> =
        Scope::try_on(world.timer(), plan, 8, Alike).expect("it works");
    let script: Script<()> = Script::on(world.timer())
        .delays(ms(40))
        .returns(())
        .repeats_last();
    for _ in 0..30 {
        let done = world.block_on(keys.get(&1).call(|_| script.next()));
        assert!(done.is_ok());
    }
    assert!(keys.get(&1).measured().hedge_threshold.is_some());
    assert!(keys.get(&2).measured().hedge_threshold.is_none());
}

// one tenant that holds all its places holds nobody else's.
#[test]
fn one_tenants_crowd_starves_no_other() {
    let world = World::new();
    let policy = INSTANT
        .with_attempts(1)
        .with_concurrency(Concurrency::fixed(2));
    let keys: Keys<&str> = scope(&world, policy, 8);
    let crowd = keys.get(&"noisy");
    let limit = crowd.concurrency().expect("a limit");
    let _held = [world.now(); 2].map(|now| limit.acquire(now).expect("a place"));
    let once = |key: &'static str| {
        let script: Script<u8> = Script::on(world.timer()).returns(7);
        let guard = keys.get(&key);
        let call = guard.call(|_| script.next());
        world.block_on(call).is_ok()
    };
    assert!(!once("noisy"));
    assert!(once("quiet") && once("quiet"));
}

// Dropped after each number of polls, a call gives its handle and its probe back.
#[test]
fn a_dropped_call_leaves_nothing_behind() {
    let world = World::new();
    let keys: Keys<u32> = scope(&world, INSTANT.with_breaker(TOUCHY), 2);
    for polls in 0..6 {
        assert!(!call(&world, &keys, 1, Some(Fault::Transient)));
        world.advance(secs(16));
        let script: Script<()> = Script::on(world.timer()).delays(ms(40)).returns(());
        let probe = async { keys.get(&1).call(|_| script.next()).await.is_ok() };
        drop_after(&world, polls, probe);
        assert!(keys.list().iter().all(|listed| listed.in_use == 0));
        assert!(call(&world, &keys, 1, None), "the probe's place is free");
    }
}

#[test]
fn a_key_can_be_removed() {
    let world = World::new();
    let keys = scope(&world, INSTANT.with_breaker(TOUCHY), 2);
    let held = keys.get(&1);
    held.breaker().expect("a breaker").isolate();
    assert!(keys.remove(&1));
    assert!(!keys.remove(&1));
    // Whoever holds it goes on; whoever asks gets a new one.
    assert_eq!(held.breaker_state(), Some(BreakerState::Isolated));
    assert_eq!(state(&keys, 1), Some(BreakerState::Closed));
    keys.get(&2);
    keys.get(&3);
    assert_eq!(keys.len(), 2);
}

#[test]
fn a_reset_starts_all_afresh() {
    let world = World::new();
    let keys = scope(&world, INSTANT.with_breaker(TOUCHY), 4);
    for key in 0..4 {
        assert!(!call(&world, &keys, key, Some(Fault::Transient)));
    }
    keys.shared().breaker().expect("a breaker").isolate();
    keys.drain(secs(1));
    keys.reset();
    assert!(!keys.get(&0).is_draining() && keys.remove(&0));
    assert!(keys.is_empty());
    assert_eq!(keys.shared().breaker_state(), Some(BreakerState::Closed));
    for key in 0..4 {
        assert!(call(&world, &keys, key, None));
    }
}

#[test]
fn all_keys_drain_those_to_come_too() {
    let world = World::new();
    let keys = scope(&world, INSTANT, 4);
    keys.get(&1);
    keys.drain(secs(30));
    world.advance(secs(10));
    for key in [1, 2] {
        assert!(keys.get(&key).is_draining());
        let left = std::cell::Cell::new(None);
        let called = world.block_on(keys.get(&key).call(|attempt| {
            left.set(attempt.left());
            std::future::ready(std::io::Result::Ok(()))
        }));
        assert!(called.is_ok());
        assert_eq!(left.get(), Some(secs(20)));
    }
    assert!(keys.shared().is_draining());
}

#[test]
fn a_scope_is_a_static() {
    static HOSTS: steadfast::tokio::Scope<String> =
        steadfast::tokio::Scope::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT), 1024);
    fn is_sent<F: Future + Send>(future: F) -> F {
        future
    }
    let found = async {
        let call = HOSTS.get("search");
        call.call(|_| async { std::io::Result::Ok(1) }).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    assert_eq!(runtime.block_on(is_sent(found)).expect("it succeeds"), 1);
    let direct = is_sent(async {
        HOSTS
            .get("search")
            .call(|_| async { std::io::Result::Ok(2) })
            .await
    });
    assert_eq!(runtime.block_on(direct).expect("it succeeds"), 2);
    assert_eq!(HOSTS.len(), 1);
    assert_eq!(HOSTS.list().len(), 2);
}
