//! A program without `std` and without an allocator.
//!
//! Its panic handler would clash with that of `std`, so a crate of the tree that
//! links `std` is a compile error; so is one that links `alloc`.
#![no_std]

use core::panic::PanicInfo;

use steadfast::Policy;
use steadfast::embassy::Guard;

/// A guard in a static, as firmware has it.
pub static SENSOR: Guard = Guard::new(Policy::DEFAULT);

#[panic_handler]
fn halt(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
