//! Many threads in one scope, keys that misbehave, and what it takes.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use allocation_counter::measure;
use steadfast::std_timer::StdTimer;
use steadfast::{
    Alike, Breaker, ByError, Chip, NoListener, NoRules, Plan, Policy, Scope, Shared, Single,
    Unmeasured, random,
};

use super::same;
use crate::stage::INSTANT;

static KEYS: steadfast::std_timer::Scope<u32> =
    steadfast::std_timer::Scope::new(INSTANT.with_breaker(Breaker::DEFAULT), 32);

// core-10.14
#[test]
fn many_threads_stay_within_the_bound() {
    thread::scope(|threads| {
        for thread in 0..8 {
            threads.spawn(move || {
                for round in 0..20 {
                    for key in 0..400 {
                        let guard = KEYS.get(&((key * 7 + thread * 50 + round) % 400));
                        if let Some(key) = guard.key() {
                            assert!(*key < 400);
                        }
                        assert!(KEYS.len() <= 32);
                    }
                }
            });
        }
    });
    assert_eq!(KEYS.len(), 32);
    assert!(KEYS.list().iter().all(|listed| listed.in_use == 0));
}

// Whoever is first, all get the same guard.
#[test]
fn a_key_has_one_guard_whoever_brings_it() {
    static ONCE: steadfast::std_timer::Scope<u32> =
        steadfast::std_timer::Scope::new(INSTANT, 1_000);
    for key in 0..200 {
        let held: Vec<_> = thread::scope(|threads| {
            let look = |_| threads.spawn(move || ONCE.get(&key));
            let all: Vec<_> = (0..4).map(look).collect();
            all.into_iter()
                .map(|thread| thread.join().expect("it found one"))
                .collect()
        });
        let first = held.first().expect("four of them");
        assert!(held.iter().all(|other| same(first, other)));
    }
    assert_eq!(ONCE.len(), 200);
}

// Removed, reset and listed by some while others look up.
#[test]
fn whoever_cleans_up_leaves_the_bound_as_it_is() {
    static KEYS: steadfast::std_timer::Scope<u32> = steadfast::std_timer::Scope::new(INSTANT, 8);
    let play = |thread: u64, round: u64| {
        for number in 0..64 {
            let key = random(thread, round * 64 + number) % 24;
            let guard = KEYS.get(&key);
            assert!(guard.key().is_none_or(|mine| *mine == key));
            drop(guard);
            match number {
                31 if thread < 2 => KEYS.reset(),
                7 | 47 => drop(KEYS.remove(&key)),
                17 => drop(KEYS.list()),
                _ => {}
            }
        }
    };
    for round in 0..200 {
        thread::scope(|threads| {
            for thread in 0..4 {
                threads.spawn(move || play(thread, round));
            }
        });
        let listed = KEYS.list();
        assert!(listed.len() <= 9, "{listed:?}");
        // Each place can be had, and no more than these.
        let held: Vec<_> = (100..109).map(|key| KEYS.get(&key)).collect();
        let own = held.iter().filter(|guard| !guard.is_shared());
        assert_eq!((own.count(), KEYS.list().len()), (8, 9));
    }
}

/// A key that panics at a turn of its own choice.
#[derive(Debug, Eq)]
struct Touchy(u32);

static PANIC_AT: AtomicUsize = AtomicUsize::new(usize::MAX);

fn turn() {
    assert_ne!(PANIC_AT.fetch_sub(1, Ordering::Relaxed), 0, "as asked");
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        turn();
        self.0 == other.0
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        turn();
        self.0.hash(state);
    }
}

/// Not while another one unwinds, which would abort.
impl Drop for Touchy {
    fn drop(&mut self) {
        if !thread::panicking() {
            turn();
        }
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        turn();
        Self(self.0)
    }
}

#[test]
fn a_key_that_panics_costs_no_place() {
    static TOUCHY: steadfast::std_timer::Scope<Touchy> =
        steadfast::std_timer::Scope::new(INSTANT, 4);
    for panic_at in 0..24 {
        for key in 0..20 {
            PANIC_AT.store(panic_at, Ordering::Relaxed);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(TOUCHY.get(&Touchy(key)))));
        }
        PANIC_AT.store(usize::MAX, Ordering::Relaxed);
        // All four places still serve.
        for key in 100..104 {
            assert!(!TOUCHY.get(&Touchy(key)).is_shared());
        }
        for key in 100..104 {
            assert_eq!(TOUCHY.get(&Touchy(key)).key(), Some(&Touchy(key)));
        }
        assert_eq!(TOUCHY.len(), 4);
    }
}

type Keys<M> = Scope<u32, StdTimer, ByError, NoRules, NoListener, M, Single, Alike>;

const GUARDED: Policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);

/// Bytes that a thousand keys take, each.
fn bytes_a_key<M: steadfast::Memory>(policy: Policy) -> u64 {
    let keys: Keys<M> = Scope::try_on(
        StdTimer,
        Plan::of(policy, ByError, NoRules, NoListener),
        1_000,
        Alike,
    )
    .expect("it works");
    let info = measure(|| {
        for key in 0..1_000 {
            keys.get(&key);
        }
    });
    u64::try_from(info.bytes_current).expect("it holds memory") / 1_000
}

#[test]
fn the_memory_of_a_key_is_its_guard_and_little_more() {
    let plain = GUARDED.without_attempt_ceiling();
    let unmeasured = bytes_a_key::<Shared<Unmeasured>>(plain);
    let chip = bytes_a_key::<Shared<Chip>>(GUARDED);
    let server = bytes_a_key::<Shared>(GUARDED);
    println!("bytes a key: {server} on a server, {chip} as a chip, {unmeasured} unmeasured");
    let guard = size_of::<steadfast::std_timer::Guard>() as u64;
    assert!(server <= guard + 160, "{server} of {guard}");
    assert!(chip < server && unmeasured <= chip);
}

// A million keys through a scope of 1024 take no more than a few thousand.
#[test]
fn a_flood_takes_bounded_memory() {
    let keys: Keys<Shared<Unmeasured>> = Scope::try_on(
        StdTimer,
        Plan::of(
            GUARDED.without_attempt_ceiling(),
            ByError,
            NoRules,
            NoListener,
        ),
        1_024,
        Alike,
    )
    .expect("it works");
    let flood = |from: u32, to: u32| {
        measure(|| {
            for key in from..to {
                keys.get(&key);
            }
        })
    };
    let first = flood(0, 4_096).bytes_max;
    let all = flood(4_096, 1_000_000).bytes_max;
    assert_eq!(keys.len(), 1_024);
    assert!(all <= first * 2, "{all} bytes after {first}");
}
