//! Words that loom watches.

use std::sync::OnceLock;

use loom::model::Builder;
use loom::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use steadfast_core::{Memory, Unmeasured, Word};

/// Memory of a model.
///
/// Loom's atomics are not const constructible, so a word is made when first
/// touched.
#[derive(Debug)]
pub(crate) struct LoomMemory;

impl Memory for LoomMemory {
    type U8 = Lazy<AtomicU8>;
    type U16 = Lazy<AtomicU16>;
    type U32 = Lazy<AtomicU32>;
    type U64 = Lazy<AtomicU64>;
    type Profile = Unmeasured;
}

#[derive(Debug)]
pub(crate) struct Lazy<A>(OnceLock<A>);

/// Checks all orders with at most three preemptions, which find nearly all bugs.
pub(crate) fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

macro_rules! words {
    ($number:ty, $atomic:ty) => {
        impl Lazy<$atomic> {
            fn get(&self) -> &$atomic {
                self.0.get_or_init(|| <$atomic>::new(0))
            }
        }

        impl Word<$number> for Lazy<$atomic> {
            const ZERO: Self = Self(OnceLock::new());

            fn load(&self) -> $number {
                self.get().load(Ordering::Acquire)
            }
            fn store(&self, value: $number) {
                self.get().store(value, Ordering::Release);
            }
            fn swap(&self, value: $number) -> $number {
                self.get().swap(value, Ordering::AcqRel)
            }
            fn compare_exchange(&self, current: $number, new: $number) -> Result<$number, $number> {
                self.get()
                    .compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
            }
            fn fetch_add(&self, value: $number) -> $number {
                self.get().fetch_add(value, Ordering::AcqRel)
            }
            fn fetch_sub(&self, value: $number) -> $number {
                self.get().fetch_sub(value, Ordering::AcqRel)
            }
        }
    };
}

words!(u8, AtomicU8);
words!(u16, AtomicU16);
words!(u32, AtomicU32);
words!(u64, AtomicU64);
