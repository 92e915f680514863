//! A program without a runtime that guards a blocking TCP read.
//!
//! `cargo run --example blocking`

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use steadfast::std_timer::Guard;
use steadfast::{Attempt, Policy, Reason};

/// `std::io::Error` says by its kind what is worth a retry.
static PRINTER: Guard = Guard::new(
    Policy::DEFAULT
        .with_name("printer")
        .with_deadline(Duration::from_secs(2))
        .with_attempt_timeout(Duration::from_millis(200)),
);

/// Nobody can cut a blocking attempt short, so it bounds itself.
fn pages_left(printer: SocketAddr, attempt: Attempt) -> io::Result<u8> {
    let timeout = attempt.timeout().unwrap_or(Duration::from_secs(1));
    let mut stream = TcpStream::connect_timeout(&printer, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    let mut pages = [0];
    stream.read_exact(&mut pages)?;
    Ok(pages[0])
}

/// Hangs up on its first visitor, leaves the second waiting, answers the third.
fn flaky_printer(listener: &TcpListener) -> io::Result<()> {
    drop(listener.accept()?);
    let (_waiting, _) = listener.accept()?;
    let (mut stream, _) = listener.accept()?;
    stream.write_all(&[42])
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let printer = listener.local_addr()?;
    let serving = thread::spawn(move || flaky_printer(&listener));

    let mut attempts = 0;
    let pages = PRINTER.call_blocking(|attempt| {
        attempts = attempt.number();
        let pages = pages_left(printer, attempt);
        println!("attempt {attempts}: {pages:?}");
        pages
    });
    assert_eq!(pages.ok(), Some(42));
    assert_eq!(attempts, 3, "hung up on, left waiting, answered");
    serving.join().map_err(|_| io::ErrorKind::Other)??;

    // Nobody listens any more, and a process as young as this one has made the
    // retries that its one success allows.
    let nowhere = PRINTER.call_blocking(|attempt| pages_left(printer, attempt));
    let error = nowhere.expect_err("the printer is gone");
    println!("{error}");
    assert_eq!(error.reason(), Reason::BudgetExhausted);
    Ok(())
}
