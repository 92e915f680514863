//! What only one attempt at a time can have, in a guard that races them.

use steadfast::tokio::HedgedGuard;
use steadfast::{Hedge, Policy};

static BUS: HedgedGuard = HedgedGuard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));

async fn read(register: &mut u8) -> Option<u8> {
    let read = async |register: &mut u8, _| std::io::Result::Ok(*register);
    BUS.call_with(register, read).await.ok()
}

fn main() {
    let mut register = 7;
    let _read = read(&mut register);
}
