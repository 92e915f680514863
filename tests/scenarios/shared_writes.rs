//! How often a call writes to memory that threads share.
//!
//! Each such write takes a cache line away from every other core, so their number is
//! what decides whether a guard scales.

use std::cell::Cell;
use std::convert::Infallible;
use std::time::Duration;

use steadfast::{
    AnyError, Breaker, Budget, Concurrency, Flights, Guard, Hedge, Hedged, Memory, NoListener,
    NoRules, Plan, Policy, Server, Single, Word,
};
use steadfast_testing::{VirtualTimer, World};

use crate::stage::INSTANT;

thread_local! {
    static WRITES: Cell<u32> = const { Cell::new(0) };
}

/// Words that count how often they are written.
#[derive(Clone, Copy, Debug)]
struct Counted;

#[derive(Debug)]
struct Number<T: Copy>(Cell<T>);

macro_rules! word {
    ($($number:ident)*) => {$(
        impl Word<$number> for Number<$number> {
            const ZERO: Self = Self(Cell::new(0));

            fn load(&self) -> $number {
                self.0.get()
            }

            fn store(&self, value: $number) {
                self.swap(value);
            }

            fn swap(&self, value: $number) -> $number {
                WRITES.set(WRITES.get() + 1);
                self.0.replace(value)
            }

            fn compare_exchange(&self, current: $number, new: $number) -> Result<$number, $number> {
                // Takes the line away also if it fails.
                let held = self.swap(self.0.get());
                if held == current {
                    self.0.set(new);
                    return Ok(held);
                }
                Err(held)
            }

            fn fetch_add(&self, value: $number) -> $number {
                self.swap(self.0.get().wrapping_add(value))
            }

            fn fetch_sub(&self, value: $number) -> $number {
                self.swap(self.0.get().wrapping_sub(value))
            }
        }
    )*};
}

word!(u8 u16 u32 u64);

impl Memory for Counted {
    type U8 = Number<u8>;
    type U16 = Number<u16>;
    type U32 = Number<u32>;
    type U64 = Number<u64>;
    type Profile = Server;
}

type Watched<H> = Guard<VirtualTimer, AnyError, NoRules, NoListener, Counted, H>;

/// Calls that are counted, after as many that were not.
const CALLS: u32 = 500;

/// The writes of a hundred calls that succeed, five thousand a second.
fn writes<H: Flights>(policy: Policy) -> u32 {
    let world = World::new();
    let plan = Plan::of(policy, AnyError, NoRules, NoListener);
    let guard: Watched<H> = Guard::try_on(world.timer(), plan).expect("a policy that works");
    let run = || {
        let before = WRITES.get();
        for _ in 0..CALLS {
            let call = guard.call(async |_| Ok::<_, Infallible>(1));
            assert_eq!(world.block_on(call).ok(), Some(1));
            world.advance(Duration::from_micros(200));
        }
        WRITES.get() - before
    };
    run();
    run() / (CALLS / 100)
}

const DEFAULT: Policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);

// Two of a window of latencies, of the guard and of the breaker, one of its outcomes, one
// of how long attempts ran; beside them some that come every so many milliseconds.
#[test]
fn a_call_writes_seldom_to_what_is_shared() {
    let limited = INSTANT.with_concurrency(Concurrency::fixed(9));
    let found = [
        writes::<Single>(Policy::NONE),
        writes::<Single>(INSTANT.with_budget(Budget::REFERENCE)),
        writes::<Single>(Policy::DEFAULT),
        writes::<Single>(DEFAULT),
        writes::<Hedged>(DEFAULT.with_hedge(Hedge::DEFAULT)),
        writes::<Single>(limited),
    ];
    let ceilings = [0, 0, 105, 305, 405, 200];
    for (found, ceiling) in found.iter().zip(ceilings) {
        assert!(*found <= ceiling, "{found} of {ceiling} at most");
    }
    assert_eq!(found[5], 200, "a place is taken and given back");
}
