//! A smol program that guards a read from a flaky TCP service.
//!
//! `cargo run --example smol`

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};
use steadfast::smol::Guard;
use steadfast::{Policy, Reason};

/// `std::io::Error` says by its kind what is worth a retry.
static WEATHER: Guard = Guard::new(
    Policy::DEFAULT
        .with_name("weather")
        .with_deadline(Duration::from_secs(2))
        .with_attempt_timeout(Duration::from_millis(200)),
);

async fn temperature(station: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(station).await?;
    let mut reading = [0; 4];
    stream.read_exact(&mut reading).await?;
    Ok(String::from_utf8_lossy(&reading).into_owned())
}

/// Hangs up on its first visitor, leaves the second waiting, then answers.
async fn flaky_station(listener: TcpListener) -> io::Result<()> {
    drop(listener.accept().await?);
    let (_waiting, _) = listener.accept().await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.write_all(b"21.5").await?;
    }
}

fn main() -> io::Result<()> {
    smol::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let station = listener.local_addr()?;
        let serving = smol::spawn(flaky_station(listener));

        let outcome = WEATHER.call(|_| temperature(station)).outcome().await;
        println!("{outcome}");
        assert_eq!(
            outcome.log().attempts(),
            3,
            "hung up on, left waiting, answered"
        );
        assert_eq!(outcome.value().map(String::as_str), Some("21.5"));

        // Nobody listens any more, and a process as young as this one has made the
        // retries that its one success allows.
        serving.cancel().await;
        let nowhere = WEATHER.call(|_| temperature(station)).await;
        let error = nowhere.expect_err("the station is gone");
        println!("{error}");
        assert_eq!(error.reason(), Reason::BudgetExhausted);
        Ok(())
    })
}
