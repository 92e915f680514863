//! Keys, clocks and threads that do what they should not.

use std::cell::{Cell, RefCell};
use std::future::{Pending, pending};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use steadfast::std_timer::{Guard, Scope};
use steadfast::{Clock, Instant, Plan, Policy, StaticTimer, Timer};
use steadfast_testing::World;

use super::{Keys, same};
use crate::stage::{INSTANT, TOUCHY};

type Hook = RefCell<Option<Box<dyn FnOnce()>>>;

thread_local! {
    /// Runs at the next clone of a key on this thread.
    static ON_CLONE: Hook = const { RefCell::new(None) };
    /// Whether a key that is dropped on this thread looks another one up.
    static COMES_BACK: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Slow(u32);

impl Clone for Slow {
    fn clone(&self) -> Self {
        if let Some(hook) = ON_CLONE.take() {
            hook();
        }
        Self(self.0)
    }
}

// Several who bring one new key take the place of nobody, if there is room.
#[test]
fn who_comes_second_with_a_key_evicts_nobody() {
    static KEYS: Scope<Slow> = Scope::new(INSTANT, 3);
    let elsewhere = || {
        let other = thread::spawn(|| drop(KEYS.get(&Slow(3))));
        other.join().expect("it looks up a key");
    };
    for key in [1, 2] {
        KEYS.get(&Slow(key));
    }
    // At the first clone, which is the caller's, and again at the one inside.
    ON_CLONE.set(Some(Box::new(move || {
        ON_CLONE.set(Some(Box::new(elsewhere)));
    })));
    KEYS.get(&Slow(3));
    assert_eq!(KEYS.len(), 3);
    for key in 1..=3 {
        let listed = KEYS.list();
        assert!(listed.iter().any(|listed| listed.key == Some(Slow(key))));
    }
}

#[test]
fn many_who_bring_the_same_keys_evict_nobody() {
    for _ in 0..100 {
        let keys: Scope<u32> = Scope::new(INSTANT, 8);
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| (0..8).for_each(|key| drop(keys.get(&key))));
            }
        });
        assert_eq!(keys.len(), 8);
    }
}

// Whoever holds a key and asks for it again has the same guard, whatever floods.
#[test]
fn a_key_in_use_has_one_guard() {
    static KEYS: Scope<u32> = Scope::new(INSTANT, 3);
    static DONE: AtomicBool = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut key = 100;
            while !DONE.load(Ordering::Relaxed) {
                KEYS.get(&key);
                key += 1;
            }
        });
        for _ in 0..20_000 {
            let (one, two) = (KEYS.get(&1), KEYS.get(&1));
            assert!(one.is_shared() || same(&one, &two));
        }
        DONE.store(true, Ordering::Relaxed);
    });
    assert!(KEYS.len() <= 3);
}

#[test]
fn who_is_removed_while_it_comes_leaves_no_ghost() {
    static KEYS: Scope<u32> = Scope::new(INSTANT.with_breaker(TOUCHY), 16);
    static DONE: AtomicBool = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !DONE.load(Ordering::Relaxed) {
                // Held for ever, so that a ghost would keep its place.
                KEYS.get(&1).breaker().expect("a breaker").isolate();
            }
        });
        for _ in 0..20_000 {
            KEYS.remove(&1);
        }
        DONE.store(true, Ordering::Relaxed);
    });
    KEYS.remove(&1);
    assert!(KEYS.is_empty());
    let held: Vec<_> = (100..116).map(|key| KEYS.get(&key)).collect();
    assert!(held.iter().all(|guard| !guard.is_shared()));
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Returning(u32);

static RETURNING: Scope<Returning> = Scope::new(INSTANT, 16);

impl Drop for Returning {
    fn drop(&mut self) {
        if COMES_BACK.replace(false) {
            RETURNING.get(&Self(self.0 + 1_000_000));
            COMES_BACK.set(true);
        }
    }
}

// A key whose drop brings another one, in the middle of a reset.
#[test]
fn a_reset_among_new_keys_keeps_the_bound() {
    for round in 0..30 {
        for key in 0..16 {
            RETURNING.get(&Returning(round * 100 + key));
        }
        COMES_BACK.set(true);
        RETURNING.reset();
        COMES_BACK.set(false);
    }
    for key in 0..200 {
        RETURNING.get(&Returning(5_000_000 + key));
    }
    assert_eq!(RETURNING.len(), 16);
    assert_eq!(RETURNING.list().len(), 17);
}

/// A clock that looks a key up.
#[derive(Clone, Copy, Debug)]
struct Curious;

static CURIOUS: steadfast::Scope<u32, Curious> = steadfast::Scope::new(Policy::DEFAULT, 4);
static ASKS: AtomicBool = AtomicBool::new(false);

impl Clock for Curious {
    fn now(&self) -> Instant {
        if ASKS.swap(false, Ordering::Relaxed) {
            CURIOUS.get(&7);
        }
        Instant::ZERO
    }
}

impl Timer for Curious {
    type Sleep = Pending<()>;

    fn sleep_until(&self, _: Instant) -> Self::Sleep {
        pending()
    }

    fn seed(&self) -> u64 {
        1
    }
}

impl StaticTimer for Curious {
    const TIMER: Self = Self;
}

#[test]
fn a_clock_may_look_a_key_up() {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        ASKS.store(true, Ordering::Relaxed);
        CURIOUS.get(&1);
        let _ = tell.send(CURIOUS.len());
    });
    let len = told.recv_timeout(Duration::from_secs(20));
    assert_eq!(len.expect("no lock is held while the clock is read"), 2);
}

// What the map keeps of those who have left is little, their guards are not in it.
#[test]
fn who_has_left_takes_no_guards_memory() {
    let keys: Scope<u32> = Scope::new(Policy::DEFAULT, 1);
    keys.get(&0);
    let info = measure(|| {
        for key in 1..28 {
            keys.get(&key);
        }
    });
    let guard = i64::try_from(size_of::<Guard>()).expect("a size");
    assert!(info.bytes_current < guard, "{} bytes", info.bytes_current);
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "a shape is asked with what a key is kept as"
)]
fn shape(key: &u32) -> Policy {
    if *key == 0 {
        INSTANT.with_attempts(1)
    } else {
        INSTANT.with_breaker(TOUCHY)
    }
}

// What must not be repeated is not, however crowded it is.
#[test]
fn a_key_without_room_keeps_its_policy() {
    let world = World::new();
    let plan = Plan::new(INSTANT.with_breaker(TOUCHY));
    let keys: Keys<u32, fn(&u32) -> Policy> =
        steadfast::Scope::try_on(world.timer(), plan, 2, shape as fn(&u32) -> Policy)
            .expect("it works");
    let held = [1, 2].map(|key| keys.get(&key).expect("it works"));
    let crowded = keys.get(&0).expect("it works");
    assert_eq!(crowded.policy().attempts(), 1);
    assert!(!crowded.is_shared() && crowded.key() == Some(&0));
    // Its guard is nobody else's, and forgotten with it.
    assert!(!same(&crowded, &keys.get(&0).expect("it works")));
    assert!(keys.get(&3).expect("it works").is_shared());
    assert_eq!(keys.len(), 2);
    drop(held);
}
