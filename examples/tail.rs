//! A slow tail, bare and hedged, side by side.
//!
//! A TCP service takes some 10 ms, and one time in a hundred twenty times as long.
//! A hedged guard asks again when an answer is late, and takes the first one.
//! Exits with 1 unless the p99.9 fell to half at most for 6 % more requests.
//!
//! `cargo run --release --example tail`

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use steadfast::tokio::HedgedGuard;
use steadfast::{Hedge, Policy, random};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

static SEARCH: HedgedGuard = HedgedGuard::new(
    Policy::DEFAULT
        .with_name("search")
        .with_hedge(Hedge::DEFAULT),
);

/// How long the service takes, up to a quarter more or less.
const USUAL: Duration = Duration::from_millis(10);
const SLOW: Duration = USUAL.saturating_mul(20);

/// Two hundred calls a second on each side.
const PACE: Duration = Duration::from_millis(5);
const WARM: u32 = 400;
const CALLS: u32 = 2_400;
const ROUNDS: u32 = 3;

/// A service on a loopback port, in a thread of its own.
#[derive(Debug)]
struct Service {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    /// Connections that wait for their next request.
    idle: Mutex<Vec<TcpStream>>,
}

impl Service {
    fn start(seed: u64) -> Result<Self, Box<dyn Error>> {
        let requests = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&requests);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || -> io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let _told = tell.send(listener.local_addr()?);
                loop {
                    let (stream, _) = listener.accept().await?;
                    tokio::spawn(serve(stream, seed, Arc::clone(&counter)));
                }
            })
        });
        Ok(Self {
            address: told.recv()?,
            requests,
            idle: Mutex::default(),
        })
    }

    /// Asks once. Dropped, it closes its connection: the service sees that nobody
    /// waits any more.
    async fn ask(&self) -> io::Result<()> {
        let idle = self.idle().pop();
        let mut stream = match idle {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        stream.write_all(b"?").await?;
        stream.read_exact(&mut [0]).await?;
        self.idle().push(stream);
        Ok(())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers one byte with one byte, in its own time.
async fn serve(mut stream: TcpStream, seed: u64, requests: Arc<AtomicU64>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        stream.read_exact(&mut [0]).await?;
        let number = requests.fetch_add(1, Ordering::Relaxed);
        let draw = random(seed, number);
        let took = if draw.is_multiple_of(100) {
            SLOW
        } else {
            USUAL * 3 / 4 + (USUAL / 2).mul_f64(f64::from(draw) / f64::from(u32::MAX))
        };
        sleep(took).await;
        stream.write_all(b"!").await?;
    }
}

/// What the calls of one side took and cost.
#[derive(Debug)]
struct Side {
    name: &'static str,
    took: Vec<Duration>,
    requests: u64,
}

impl Side {
    /// Makes calls at a steady pace, however slow the answers are.
    async fn play<F>(
        name: &'static str,
        service: Arc<Service>,
        call: impl Fn(Arc<Service>) -> F,
    ) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let start = Instant::now();
        let mut calls = JoinSet::new();
        let mut before = 0;
        for number in 0..WARM + CALLS {
            sleep_until(start + PACE * number).await;
            if number == WARM {
                before = service.requests.load(Ordering::Relaxed);
            }
            let call = call(Arc::clone(&service));
            calls.spawn(async move {
                let begun = Instant::now();
                let succeeded = call.await;
                (number, succeeded, begun.elapsed())
            });
        }
        let mut took = Vec::new();
        while let Some(ended) = calls.join_next().await {
            if let Ok((WARM.., true, span)) = ended {
                took.push(span);
            }
        }
        took.sort_unstable();
        Self {
            name,
            took,
            requests: service.requests.load(Ordering::Relaxed) - before,
        }
    }

    /// Returns what so many of a thousand calls did not exceed, in milliseconds.
    fn percentile(&self, per_mille: usize) -> f64 {
        let rank = (self.took.len() * per_mille).div_ceil(1_000);
        let span = self.took.get(rank.saturating_sub(1));
        span.map_or(f64::INFINITY, |span| span.as_secs_f64() * 1_000.0)
    }

    /// Returns how many requests more than calls there were, in percent.
    fn extra_load(&self) -> f64 {
        let requests = u32::try_from(self.requests).unwrap_or(u32::MAX);
        f64::from(requests) * 100.0 / f64::from(CALLS) - 100.0
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<7} {:>6} {:>8} {:>6.1} % {:>7.1} {:>7.1} {:>7.1}",
            self.name,
            self.took.len(),
            self.requests,
            self.extra_load(),
            self.percentile(500),
            self.percentile(990),
            self.percentile(999),
        )
    }
}

/// Plays both sides at once; true if hedging kept its word.
async fn round(number: u32) -> Result<bool, Box<dyn Error>> {
    let seed = u64::from(number) * 2;
    let services = [Service::start(seed)?, Service::start(seed + 1)?];
    let [bare, hedged] = services.map(Arc::new);
    let bare = Side::play("bare", bare, |service| async move {
        service.ask().await.is_ok()
    });
    let hedged = Side::play("hedged", hedged, |service| async move {
        SEARCH.call(|_| service.ask()).await.is_ok()
    });
    let (bare, hedged) = tokio::join!(bare, hedged);
    println!("side     calls requests     extra  p50 ms  p99 ms p99.9 ms");
    println!("{bare}\n{hedged}");
    let after = SEARCH.measured().hedge_threshold.unwrap_or_default();
    println!("a second request goes out after {after:.1?}\n");
    // Each call that failed is missing, and a side without calls has no tail.
    let all = hedged.took.len() + CALLS as usize / 1_000 >= CALLS as usize;
    let halved = hedged.percentile(999) * 2.0 <= bare.percentile(999);
    Ok(all && halved && hedged.extra_load() <= 6.0)
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The best of three, as a busy machine has a tail of its own.
    for number in 1..=ROUNDS {
        if round(number).await? {
            println!("ok: the p99.9 fell to half at most, for at most 6 % more requests");
            return Ok(ExitCode::SUCCESS);
        }
    }
    println!("FAILED in {ROUNDS} rounds: the p99.9 did not fall to half for 6 % more requests");
    Ok(ExitCode::FAILURE)
}
