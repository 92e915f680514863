//! A thousand tenants, one of them failing: a guard each, or one breaker for all.
//!
//! Ten minutes of traffic on tokio's paused clock, so it takes a second or two. With
//! one breaker the failing tenant's errors refuse everybody; with a guard a tenant the
//! others lose nothing. Then a million keys go through a scope of 1024. Exits with 1
//! unless the others lost nothing, and a late look-up costs at most three early ones.
//!
//! `cargo run --release --example tenants`

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use steadfast::tokio::{Guard, Scope};
use steadfast::{Breaker, Policy};
use tokio::time::sleep;

const POLICY: Policy = Policy::DEFAULT
    .with_name("tenants")
    .with_breaker(Breaker::DEFAULT);

static TENANTS: Scope<u32> = Scope::new(POLICY, 2_000);

static TOGETHER: Guard = Guard::new(POLICY);

const COUNT: u32 = 1_000;
const FAILING: u32 = 7;

/// How long the traffic lasts; the shard of the failing tenant is down in the middle
/// third.
const SPAN: Duration = Duration::from_secs(600);

/// A database with a shard a tenant.
async fn query(tenant: u32, is_down: bool) -> io::Result<()> {
    sleep(Duration::from_millis(2)).await;
    if tenant == FAILING && is_down {
        Err(io::ErrorKind::ConnectionReset.into())
    } else {
        Ok(())
    }
}

/// What came of a side's calls.
#[derive(Debug)]
struct Tally {
    /// Calls that succeeded, and all.
    failing: [u32; 2],
    others: [u32; 2],
}

impl Tally {
    fn print(&self, side: &str) {
        let ([ok, all], [others, of]) = (self.failing, self.others);
        println!("{side:<22} failing tenant {ok} of {all}, the others {others} of {of}");
    }
}

/// Plays the traffic: the failing tenant calls all the time, the others in turn.
async fn play<F>(call: impl Fn(u32, bool) -> F) -> Tally
where
    F: Future<Output = bool>,
{
    let start = tokio::time::Instant::now();
    let is_down = || (SPAN / 3..SPAN * 2 / 3).contains(&start.elapsed());
    let failing = async {
        let mut tally = [0, 0];
        while start.elapsed() < SPAN {
            tally[0] += u32::from(call(FAILING, is_down()).await);
            tally[1] += 1;
            sleep(Duration::from_millis(20)).await;
        }
        tally
    };
    let others = async {
        let mut tally = [0, 0];
        for tenant in (0..COUNT).filter(|&tenant| tenant != FAILING).cycle() {
            if start.elapsed() >= SPAN {
                break;
            }
            tally[0] += u32::from(call(tenant, is_down()).await);
            tally[1] += 1;
            sleep(Duration::from_millis(8)).await;
        }
        tally
    };
    let (failing, others) = tokio::join!(failing, others);
    Tally { failing, others }
}

/// Nanoseconds a look-up of new keys takes: the first thousand, and a million.
fn look_ups() -> (u128, u128) {
    let keys: Scope<u32> = Scope::new(POLICY, 1_024);
    let look = |from: u32, to: u32| {
        let start = Instant::now();
        for key in from..to {
            drop(keys.get(&key));
        }
        start.elapsed().as_nanos() / u128::from(to - from)
    };
    (look(0, 1_000), look(1_000, 1_000_000))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> ExitCode {
    let together = play(async |tenant, is_down| {
        let call = TOGETHER.call(|_| query(tenant, is_down));
        call.await.is_ok()
    });
    let together = together.await;
    let apart = play(async |tenant, is_down| {
        let guard = TENANTS.get(&tenant);
        guard.call(|_| query(tenant, is_down)).await.is_ok()
    });
    let apart = apart.await;
    together.print("one breaker for all:");
    apart.print("a guard a tenant:");

    let tries = (0..3).map(|_| look_ups());
    let (first, late) = tries
        .min_by_key(|(first, late)| late * 1_000 / first.max(&1))
        .unwrap_or_default();
    println!("a look-up of a new key: {first} ns at first, {late} ns in a flood of a million");

    let lost = apart.others[1] - apart.others[0];
    let mut is_good = true;
    if lost > 0 {
        println!("FAILED: the others lost {lost} calls to a tenant that is not theirs");
        is_good = false;
    }
    if together.others[0] == together.others[1] {
        println!("FAILED: one breaker for all was to show what a scope is for");
        is_good = false;
    }
    if late > first * 3 {
        println!("FAILED: a look-up in a flood costs more than three early ones");
        is_good = false;
    }
    ExitCode::from(u8::from(!is_good))
}
