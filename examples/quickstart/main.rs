//! One dependency, fifteen bad seconds, two ways to call it.
//!
//! Twenty tasks call an HTTP service in a naive loop, twenty others call its
//! twin through one guard. Both services turn slow, fail, throttle, go down and
//! come back, on real sockets. Exits with 1 unless the guard kept its word.
//!
//! `cargo run --release --example quickstart`

mod checks;
mod dependency;
mod report;
mod script;
mod side;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use steadfast::tokio::Guard;
use steadfast::{Breaker, BreakerState, Policy, Verdict};
use tokio::time::{Instant, sleep, sleep_until};

use crate::script::{Phase, Script};
use crate::side::{Reply, Side};

const POLICY: Policy = Policy::DEFAULT
    .with_name("inventory")
    .with_deadline(Duration::from_secs(2))
    .with_attempt_timeout(Duration::from_millis(300))
    // Short breaks, because this outage is over in six seconds.
    .with_breaker(Breaker::DEFAULT.with_break(Duration::from_millis(500), Duration::from_secs(1)));

/// One for the whole program: what its callers learn, they learn together.
static INVENTORY: Guard<fn(&reqwest::Result<Reply>) -> Verdict> =
    Guard::classified(POLICY, by_status);

/// Says what an answer means.
fn by_status(answer: &reqwest::Result<Reply>) -> Verdict {
    match answer {
        Err(_) => Verdict::TRANSIENT,
        Ok(reply) if reply.status == StatusCode::TOO_MANY_REQUESTS => match reply.retry_after {
            Some(after) => Verdict::throttled_for(after),
            None => Verdict::THROTTLED,
        },
        Ok(reply) if reply.status.is_server_error() => Verdict::TRANSIENT,
        Ok(reply) if reply.status.is_client_error() => Verdict::PERMANENT,
        Ok(_) => Verdict::OK,
    }
}

/// A call through the guard; true if it got what it came for.
async fn guarded(side: Arc<Side>) -> bool {
    match INVENTORY.call(|_| side.ask()).await {
        Ok(reply) => reply.status.is_success(),
        Err(_) => false,
    }
}

/// A call as it is often written: three tries, a short wait between them.
async fn bare(side: Arc<Side>) -> bool {
    for attempt in 1..=3 {
        match side.ask().await {
            Ok(reply) if reply.status.is_success() => return true,
            _ if attempt < 3 => sleep(Duration::from_millis(100)).await,
            _ => {}
        }
    }
    false
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let script = Script::begin();
    // The guard bounds every attempt; the naive side's client has a timeout.
    let patient = Client::builder().timeout(Duration::from_secs(10));
    let bare_side = Side::start("bare", patient, script).await?;
    let guarded_side = Side::start("guarded", Client::builder(), script).await?;

    let tasks = [
        bare_side.call_repeatedly(bare),
        guarded_side.call_repeatedly(guarded),
    ];
    let recovery = tokio::spawn(time_to_recover(script));
    report::every_second(
        &bare_side,
        &guarded_side,
        || INVENTORY.breaker_state(),
        script,
    )
    .await;
    for task in tasks {
        task.join_all().await;
    }

    println!();
    report::table(&bare_side, &guarded_side);
    println!("\n{}\n", INVENTORY.explain());
    let checks = checks::all(&bare_side, &guarded_side, &POLICY, script, recovery.await?);
    for check in &checks {
        println!("{check}");
    }
    Ok(if checks.iter().all(checks::Check::holds) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Waits for the last phase, then measures until the breaker has closed.
async fn time_to_recover(script: Script) -> Option<Duration> {
    let back = script.start_of(Phase::Recovered);
    sleep_until(back).await;
    while INVENTORY.breaker_state() != Some(BreakerState::Closed) {
        if Instant::now() > script.end() {
            return None;
        }
        sleep(Duration::from_millis(10)).await;
    }
    Some(back.elapsed())
}
