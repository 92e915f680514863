//! Where live state keeps its words: shared between threads, or not.
//!
//! Every algorithm is written once over [`Memory`]. The choice is a type, never
//! a Cargo feature: features unify across crates and would change the types of
//! somebody else.

pub(crate) mod profile;

use core::cell::Cell;
use core::fmt::Debug;
use core::marker::PhantomData;

use portable_atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use profile::{Profile, Server, Unmeasured};

/// A kind of memory for live state.
///
/// ```
/// use steadfast_core::{Local, Memory, Shared, Word};
///
/// fn count<M: Memory>() -> u64 {
///     let word = M::U64::ZERO;
///     word.fetch_add(2);
///     word.load()
/// }
///
/// assert_eq!(count::<Shared>(), 2);
/// assert_eq!(count::<Local>(), 2);
/// ```
pub trait Memory: Debug + 'static {
    /// A word of 8 bits, for what a chip keeps by the hundred.
    type U8: Word<u8>;
    /// A word of 16 bits, for what a server keeps by the thousand.
    type U16: Word<u16>;
    /// A word of 32 bits.
    type U32: Word<u32>;
    /// A word of 64 bits.
    type U64: Word<u64>;
    /// The size of each window of latencies.
    type Profile: Profile;
}

/// A word that holds a number and is written through a shared reference.
///
/// Loads acquire, stores release, the rest does both; arithmetic wraps.
pub trait Word<T>: Debug + Sized + 'static {
    /// A word that holds zero, for const construction.
    const ZERO: Self;

    /// Reads the number.
    fn load(&self) -> T;
    /// Writes the number.
    fn store(&self, value: T);
    /// Writes `value` and returns what stood there.
    fn swap(&self, value: T) -> T;
    /// Writes `new` if the word still holds `current`.
    ///
    /// # Errors
    ///
    /// Returns what the word holds instead.
    fn compare_exchange(&self, current: T, new: T) -> Result<T, T>;
    /// Adds to the number and returns what stood there.
    fn fetch_add(&self, value: T) -> T;
    /// Subtracts from the number and returns what stood there.
    fn fetch_sub(&self, value: T) -> T;
}

/// Atomics: state that threads share.
///
/// With [`Server`] each window of latencies takes 2 KiB; a guard has one, so
/// has a breaker, and one more hedges. `Shared<Unmeasured>` has none.
#[derive(Clone, Copy, Debug)]
pub struct Shared<P: Profile = Server>(PhantomData<P>);

/// Cells: state of one thread, or inside one critical section a call.
///
/// On a chip without compare-and-swap this is many times cheaper than
/// emulating each atomic.
#[derive(Clone, Copy, Debug)]
pub struct Local<P: Profile = Server>(PhantomData<P>);

/// No words: what is written is forgotten, and everything reads zero.
///
/// Stands where a type has live state that this program does not use.
///
/// ```
/// use steadfast_core::{Memory, Nowhere, Word};
///
/// fn keep<M: Memory>(number: u64) -> u64 {
///     let word = M::U64::ZERO;
///     word.store(number);
///     word.load()
/// }
///
/// assert_eq!(keep::<Nowhere>(7), 0);
/// assert_eq!(size_of::<<Nowhere as Memory>::U64>(), 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Memory for Nowhere {
    type U8 = ();
    type U16 = ();
    type U32 = ();
    type U64 = ();
    type Profile = Unmeasured;
}

impl<P: Profile> Memory for Shared<P> {
    type U8 = AtomicU8;
    type U16 = AtomicU16;
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Profile = P;
}

impl<P: Profile> Memory for Local<P> {
    type U8 = Cell<u8>;
    type U16 = Cell<u16>;
    type U32 = Cell<u32>;
    type U64 = Cell<u64>;
    type Profile = P;
}

macro_rules! words {
    ($number:ty, $atomic:ty) => {
        impl Word<$number> for $atomic {
            const ZERO: Self = Self::new(0);

            fn load(&self) -> $number {
                Self::load(self, Ordering::Acquire)
            }
            fn store(&self, value: $number) {
                Self::store(self, value, Ordering::Release);
            }
            fn swap(&self, value: $number) -> $number {
                Self::swap(self, value, Ordering::AcqRel)
            }
            fn compare_exchange(&self, current: $number, new: $number) -> Result<$number, $number> {
                Self::compare_exchange(self, current, new, Ordering::AcqRel, Ordering::Acquire)
            }
            fn fetch_add(&self, value: $number) -> $number {
                Self::fetch_add(self, value, Ordering::AcqRel)
            }
            fn fetch_sub(&self, value: $number) -> $number {
                Self::fetch_sub(self, value, Ordering::AcqRel)
            }
        }

        impl Word<$number> for () {
            const ZERO: Self = ();

            fn load(&self) -> $number {
                0
            }
            fn store(&self, _: $number) {}
            fn swap(&self, _: $number) -> $number {
                0
            }
            fn compare_exchange(&self, current: $number, _: $number) -> Result<$number, $number> {
                if current == 0 { Ok(0) } else { Err(0) }
            }
            fn fetch_add(&self, _: $number) -> $number {
                0
            }
            fn fetch_sub(&self, _: $number) -> $number {
                0
            }
        }

        impl Word<$number> for Cell<$number> {
            const ZERO: Self = Self::new(0);

            fn load(&self) -> $number {
                self.get()
            }
            fn store(&self, value: $number) {
                self.set(value);
            }
            fn swap(&self, value: $number) -> $number {
                self.replace(value)
            }
            fn compare_exchange(&self, current: $number, new: $number) -> Result<$number, $number> {
                let held = self.get();
                if held == current {
                    self.set(new);
                    Ok(held)
                } else {
                    Err(held)
                }
            }
            fn fetch_add(&self, value: $number) -> $number {
                self.replace(self.get().wrapping_add(value))
            }
            fn fetch_sub(&self, value: $number) -> $number {
                self.replace(self.get().wrapping_sub(value))
            }
        }
    };
}

words!(u8, AtomicU8);
words!(u16, AtomicU16);
words!(u32, AtomicU32);
words!(u64, AtomicU64);
