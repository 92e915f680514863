//! A program that is told to stop: it finishes what it has begun and retries nothing.
//!
//! `cargo run --example shutdown`

use std::future::{Ready, pending, ready};
use std::io;
use std::time::{Duration, Instant};

use steadfast::tokio::{Guard, drain, is_draining};
use steadfast::{Policy, Reason, smol, std_timer};

const POLICY: Policy = Policy::DEFAULT
    .with_deadline(Duration::from_secs(30))
    .with_attempt_timeout(Duration::from_secs(10));

static ORDERS: Guard = Guard::new(POLICY.with_name("orders"));

// Whatever runs them: it is one process.
static ON_SMOL: smol::Guard = smol::Guard::new(POLICY);
static ON_A_THREAD: std_timer::Guard = std_timer::Guard::new(POLICY);

/// What the host gives the program to end by itself.
const GRACE: Duration = Duration::from_millis(300);

async fn answer() -> io::Result<u32> {
    tokio::time::sleep(Duration::from_millis(150)).await;
    Ok(42)
}

fn fail() -> Ready<io::Result<u32>> {
    ready(Err(io::ErrorKind::ConnectionReset.into()))
}

async fn hang() -> io::Result<u32> {
    pending().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let before = ORDERS.call(|_| fail()).await.expect_err("it is down");
    println!("before: {before}");
    assert!(before.attempts() > 1);

    let begun = tokio::spawn(async { ORDERS.call(|_| answer()).await });
    tokio::task::yield_now().await;

    // A program waits for `tokio::signal::ctrl_c()` here.
    let told = Instant::now();
    drain(GRACE);
    assert!(is_draining() && ORDERS.is_draining(), "not ready any more");
    println!(
        "{}",
        ORDERS
            .explain()
            .to_string()
            .lines()
            .take(4)
            .collect::<Vec<_>>()
            .join("\n")
    );

    let failed = ORDERS.call(|_| fail()).await.expect_err("it is down");
    println!("draining: {failed}");
    assert_eq!((failed.reason(), failed.attempts()), (Reason::Draining, 1));
    for failed in [
        ON_SMOL.call(|_| fail()).await,
        ON_A_THREAD.call_blocking(|_| Err(io::ErrorKind::ConnectionReset.into())),
    ] {
        assert_eq!(
            failed.map_err(|error| error.reason()),
            Err(Reason::Draining)
        );
    }

    let hung = ORDERS.call(|_| hang()).await.expect_err("it hangs");
    println!("at the end of the grace: {hung}");
    assert_eq!(hung.reason(), Reason::DeadlineExceeded);
    assert!(told.elapsed() >= GRACE);
    assert!(told.elapsed() < GRACE * 10, "not the 10 s of its attempt");

    let late = ORDERS.call(|_| answer()).await.expect_err("it is over");
    println!("after it: {late}");
    assert_eq!(
        (late.reason(), late.attempts()),
        (Reason::DeadlineExceeded, 0)
    );

    let begun = begun.await.expect("it runs to its end");
    assert_eq!(begun.expect("a value"), 42);
}
