//! What holds its thread, in a guard that races attempts.

use std::net::TcpStream;

use steadfast::std_timer::HedgedGuard;
use steadfast::{Hedge, Policy};

static PRINTER: HedgedGuard = HedgedGuard::new(Policy::DEFAULT.with_hedge(Hedge::DEFAULT));

fn main() {
    let _printer = PRINTER.call_blocking(|_| TcpStream::connect("127.0.0.1:631"));
}
