//! Many threads in a scope of few places.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use steadfast::std_timer::StdTimer;
use steadfast::{
    Chip, FixedKeyed, FixedScope, Guard, NoListener, NoRules, Plan, Policy, Shared, random,
};

use super::same;
use crate::stage::INSTANT;

type Keys<const N: usize> = FixedScope<u32, StdTimer, N>;

/// Who is in which guard right now, by its address.
static INSIDE: Mutex<Option<HashMap<usize, (u32, u32)>>> = Mutex::new(None);

fn with_inside<V>(run: impl FnOnce(&mut HashMap<usize, (u32, u32)>) -> V) -> V {
    let mut inside = INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
    run(inside.get_or_insert_default())
}

fn address<K>(handle: &FixedKeyed<'_, K, Guard<StdTimer>>) -> usize {
    let guard: &Guard<StdTimer> = handle;
    std::ptr::from_ref(guard).addr()
}

/// A key that lets others go ahead while it is compared.
#[derive(Clone, Copy, Debug, Eq)]
struct Slow(u32);

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        thread::yield_now();
        self.0 == other.0
    }
}

// core-10.14: no two keys are in one guard, and no key in two.
#[test]
fn a_guard_is_one_keys_while_it_is_used() {
    static KEYS: FixedScope<Slow, StdTimer, 4> = FixedScope::new(INSTANT);
    let round = |thread: u64, round: u64| {
        let key = random(thread, round) % 12;
        let handle = KEYS.get(Slow(key));
        let Some(&Slow(mine)) = handle.key() else {
            return;
        };
        assert_eq!(mine, key);
        let guard = address(&handle);
        with_inside(|inside| {
            let is_elsewhere =
                |(&at, &(other, _)): (&usize, &(u32, u32))| other == key && at != guard;
            assert!(!inside.iter().any(is_elsewhere), "{key} is in two guards");
            let (owner, count) = inside.entry(guard).or_insert((key, 0));
            assert_eq!(*owner, key, "two keys are in one guard");
            *count += 1;
        });
        if round.is_multiple_of(7) {
            thread::yield_now();
        }
        with_inside(|inside| {
            if let Some((_, count)) = inside.get_mut(&guard) {
                *count -= 1;
                if *count == 0 {
                    inside.remove(&guard);
                }
            }
            // In here, so that nobody else's turn comes between.
            drop(handle);
        });
    };
    thread::scope(|threads| {
        for thread in 0..8 {
            threads.spawn(move || (0..2_000).for_each(|number| round(thread, number)));
        }
    });
    assert_eq!(KEYS.len(), 4);
    assert!(KEYS.list().all(|listed| listed.in_use == 0));
}

// Whoever is first, all get the same guard.
#[test]
fn a_key_has_one_guard_whoever_brings_it() {
    static ONCE: Keys<4> = FixedScope::new(INSTANT);
    for key in 0..300 {
        let held: Vec<_> = thread::scope(|threads| {
            let look = |_| threads.spawn(move || ONCE.get(key));
            let all: Vec<_> = (0..4).map(look).collect();
            all.into_iter()
                .map(|thread| thread.join().expect("it found one"))
                .collect()
        });
        let first = held.first().expect("four of them");
        assert!(
            held.iter()
                .all(|other| same(first, other) && !other.is_shared())
        );
    }
    // Who loses the race may have emptied a place for nothing.
    assert!((1..=4).contains(&ONCE.len()));
}

// Removed, reset and listed by some while others look up.
#[test]
fn whoever_cleans_up_takes_nobodys_place() {
    static KEYS: FixedScope<
        u32,
        StdTimer,
        4,
        steadfast::ByError,
        NoRules,
        NoListener,
        Shared<Chip>,
    > = FixedScope::planned(Plan::of(
        Policy::DEFAULT,
        steadfast::ByError,
        NoRules,
        NoListener,
    ));
    thread::scope(|threads| {
        for thread in 0..4 {
            threads.spawn(move || {
                for number in 0..2_000 {
                    let key = random(thread, number) % 6;
                    let handle = KEYS.get(key);
                    assert!(handle.key().is_none_or(|&mine| mine == key));
                    drop(handle);
                    if thread == 0 {
                        KEYS.remove(key);
                    }
                    if number % 97 == 0 {
                        KEYS.reset();
                    }
                    assert!(KEYS.list().count() <= 5 && KEYS.len() <= 4);
                }
            });
        }
    });
    KEYS.reset();
    assert!(KEYS.is_empty());
    for key in 10..14 {
        assert!(!KEYS.get(key).is_shared());
    }
    assert_eq!(KEYS.len(), 4);
}
