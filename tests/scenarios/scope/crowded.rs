//! More keys than room.

use steadfast::{Breaker, BreakerState, Budget, Policy, Ratio};
use steadfast_testing::{Fault, Script, World};

use super::{call, same, scope, state};
use crate::stage::{INSTANT, TOUCHY, Virtual, ms, secs};

const REFUSING: Policy = INSTANT.with_breaker(TOUCHY);

// An open breaker is not forgotten because others come.
#[test]
fn a_refused_key_leaves_last() {
    let world = World::new();
    let keys = scope(&world, REFUSING, 4);
    assert!(!call(&world, &keys, 0, Some(Fault::Transient)));
    for key in 1..100 {
        assert!(call(&world, &keys, key, None));
    }
    assert_eq!(state(&keys, 0), Some(BreakerState::Open));
    assert!(!call(&world, &keys, 0, None));
    assert_eq!(keys.len(), 4);
    // Once the break is over it is like any other.
    world.advance(secs(16));
    for key in 100..200 {
        keys.get(&key);
    }
    assert_eq!(state(&keys, 0), Some(BreakerState::Closed));
}

#[test]
fn a_key_in_flight_leaves_last() {
    let world = World::new();
    let keys = scope(&world, REFUSING, 3);
    let held = keys.get(&0);
    for key in 1..100 {
        keys.get(&key);
    }
    assert!(same(&held, &keys.get(&0)));
    drop(held);
    for key in 100..110 {
        keys.get(&key);
    }
    assert!(!keys.list().iter().any(|listed| listed.key == Some(0)));
}

#[test]
fn a_key_without_budget_leaves_last() {
    let budget = Budget::new(Ratio::percent(10), 1).with_burst(2);
    let world = World::new();
    let keys = scope(&world, INSTANT.with_budget(budget), 3);
    assert!(!call(&world, &keys, 0, Some(Fault::Transient)));
    let spent = |key: u32| {
        let list = keys.list();
        let listed = list.into_iter().find(|listed| listed.key == Some(key));
        listed.and_then(|listed| listed.budget_spent)
    };
    assert_eq!(spent(0), Some(Ratio::ONE));
    for key in 1..50 {
        keys.get(&key);
    }
    assert_eq!(spent(0), Some(Ratio::ONE));
    // Time has filled it.
    world.advance(secs(5));
    for key in 50..100 {
        keys.get(&key);
    }
    assert_eq!(spent(0), None);
}

// A budget that only a success would refill could hold its key for ever.
#[test]
fn what_time_does_not_mend_is_not_waited_for() {
    let budget = Budget::new(Ratio::percent(10), 0).with_burst(2);
    let world = World::new();
    let keys = scope(&world, INSTANT.with_budget(budget), 2);
    for key in 0..50 {
        assert!(!call(&world, &keys, key, Some(Fault::Transient)));
        assert!(!keys.get(&key).is_shared());
    }
}

#[test]
fn with_no_room_at_all_new_keys_share_a_guard() {
    let world = World::new();
    let keys = scope(&world, REFUSING, 2);
    for key in [0, 1] {
        assert!(!call(&world, &keys, key, Some(Fault::Transient)));
    }
    let (one, other) = (keys.get(&2), keys.get(&3));
    assert!(one.is_shared() && other.is_shared());
    assert_eq!(one.key(), None);
    let guard: &Virtual = &one;
    assert!(std::ptr::eq(guard, keys.shared()));
    let last = keys.list().pop().expect("the shared guard");
    assert_eq!((last.key, last.in_use), (None, 2));
    drop((one, other));
    assert_eq!(keys.list().pop().map(|listed| listed.in_use), Some(0));

    // It is a guard: what fails through it opens its breaker.
    assert!(!call(&world, &keys, 2, Some(Fault::Transient)));
    assert!(!call(&world, &keys, 3, None));
    // Those with a guard of their own are as they were.
    assert_eq!(state(&keys, 0), Some(BreakerState::Open));
    world.advance(secs(16));
    assert!(!keys.get(&2).is_shared());
    assert!(call(&world, &keys, 2, None));
}

// A flood of keys that all fail, and four that are in use all along.
#[test]
fn a_hostile_flood_takes_nobodys_state() {
    let world = World::new();
    let keys = scope(&world, REFUSING, 64);
    for key in 0..4 {
        assert!(call(&world, &keys, key, None));
        assert!(call(&world, &keys, key, None));
    }
    let known: Vec<_> = (0..4).map(|key| keys.get(&key)).collect();
    let is_known = |key: u32| same(&known[key as usize], &keys.get(&key));
    for round in 0..100_u32 {
        for n in 0..32 {
            let _ = call(
                &world,
                &keys,
                1_000 + round * 32 + n,
                Some(Fault::Transient),
            );
        }
        for key in 0..4 {
            assert!(is_known(key) && call(&world, &keys, key, None), "{round}");
        }
        world.advance(secs(1));
        assert!(keys.len() <= 64);
    }
}

// The same without their calls being in flight: used now and then is enough.
#[test]
fn keys_in_use_stay_through_a_flood() {
    let world = World::new();
    let policy = INSTANT.with_breaker(Breaker::DEFAULT);
    let keys = scope(&world, policy, 64);
    for key in 0..4 {
        keys.get(&key).breaker().expect("a breaker").observe();
    }
    for round in 0..500_u32 {
        for n in 0..32 {
            keys.get(&(1_000 + round * 32 + n));
        }
        for key in 0..4 {
            let guard = keys.get(&key);
            assert!(
                guard.breaker().expect("a breaker").is_observing(),
                "{round}"
            );
        }
    }
}

// Keys that all fail and are held for it, and a few healthy ones that are used each second.
#[test]
fn keys_in_use_stay_through_a_hostile_flood() {
    let world = World::new();
    let keys = scope(&world, REFUSING, 64);
    for key in 0..4 {
        keys.get(&key).breaker().expect("a breaker").observe();
        assert!(call(&world, &keys, key, None));
    }
    for round in 0..600_u32 {
        for n in 0..32 {
            let key = 1_000 + round * 32 + n;
            let guard = keys.get(&key);
            // A refusal takes a while, and this flood does not wait.
            if !guard.is_shared() {
                let script: Script<()> = Script::on(world.timer()).fails(Fault::Transient);
                let failed = world.block_on(guard.call(|_| script.next()).once());
                assert!(failed.is_err());
            }
        }
        world.advance(ms(100));
        if round % 5 > 0 {
            continue;
        }
        for key in 0..4 {
            assert!(call(&world, &keys, key, None), "{key} in round {round}");
            let guard = keys.get(&key);
            let is_known = guard.breaker().expect("a breaker").is_observing();
            assert!(is_known, "{key} in round {round}");
        }
    }
    // Once the breaks are over there is room for all that come.
    world.advance(secs(16));
    assert!((10..40).all(|key| !keys.get(&key).is_shared()));
}
