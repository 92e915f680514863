//! A program without `std` and without an allocator.
//!
//! Its panic handler would clash with that of `std`, so a crate of the tree that
//! links `std` is a compile error; so is one that links `alloc`.
#![no_std]

use core::panic::PanicInfo;

use steadfast::Policy;
use steadfast::embassy::{FixedScope, Guard};

/// A guard in a static, as firmware has it.
pub static SENSOR: Guard = Guard::new(Policy::DEFAULT);

/// A guard for each address of a bus.
pub static SENSORS: FixedScope<u8, 4> = FixedScope::new(Policy::DEFAULT);

/// Looks an address up, so that what a look-up needs is here.
pub fn has_room(address: u8) -> bool {
    !SENSORS.get(address).is_shared()
}

#[panic_handler]
fn halt(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
