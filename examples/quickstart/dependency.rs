//! The scripted HTTP service.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::RETRY_AFTER;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::script::{Phase, Script, Tally};

/// Ports that no system hands out by itself: while the service is down, nobody
/// else may get its port, not even as the near end of a connection.
const PORTS: Range<u16> = 18_000..28_000;

/// One of so many replicas hangs in the slow phase.
const REPLICAS: u32 = 12;

/// An HTTP/1.1 service on a loopback port, and what has reached it.
#[derive(Debug)]
pub(crate) struct Dependency {
    address: SocketAddr,
    reached: Arc<Tally>,
}

impl Dependency {
    /// Opens the port and follows the script from then on.
    pub(crate) async fn start(script: Script) -> io::Result<Self> {
        let listener = bind_any().await?;
        let address = listener.local_addr()?;
        let reached = Arc::new(Tally::default());
        let counted = Arc::clone(&reached);
        tokio::spawn(async move {
            if let Err(error) = live(script, listener, &counted).await {
                eprintln!("the dependency did not come back: {error}");
            }
        });
        Ok(Self { address, reached })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns how many requests have come in, by phase.
    pub(crate) fn reached(&self) -> &Tally {
        &self.reached
    }
}

async fn bind_any() -> io::Result<TcpListener> {
    let mut last = io::ErrorKind::AddrInUse.into();
    // So that two programs at once do not look in the same place.
    let skipped = std::process::id() as usize * 10 % PORTS.len();
    for port in PORTS.cycle().skip(skipped).take(PORTS.len()) {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Serves, goes down, comes back at the same address.
async fn live(script: Script, listener: TcpListener, reached: &Arc<Tally>) -> io::Result<()> {
    let address = listener.local_addr()?;
    serve_until(script.start_of(Phase::Down), listener, script, reached).await;
    sleep_until(script.start_of(Phase::Recovered)).await;
    let listener = TcpListener::bind(address).await?;
    // The last calls end after the script does.
    let closing = script.end() + Duration::from_secs(60);
    serve_until(closing, listener, script, reached).await;
    Ok(())
}

/// Accepts until then; closes the listener and every connection on return.
async fn serve_until(until: Instant, listener: TcpListener, script: Script, reached: &Arc<Tally>) {
    let mut connections = JoinSet::new();
    while let Ok(accepted) = timeout_at(until, listener.accept()).await {
        if let Ok((stream, _)) = accepted {
            connections.spawn(serve(stream, script, Arc::clone(reached)));
        }
    }
}

async fn serve(stream: TcpStream, script: Script, reached: Arc<Tally>) -> hyper::Result<()> {
    let answer = service_fn(|_| async {
        let phase = script.phase().unwrap_or(Phase::Recovered);
        Ok::<_, Infallible>(answer(phase, reached.add(phase)).await)
    });
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await
}

async fn answer(phase: Phase, number: u32) -> Response<String> {
    let mut response = Response::new(String::from("42 in stock\n"));
    match phase {
        Phase::Healthy | Phase::Recovered => sleep(Duration::from_millis(5)).await,
        Phase::Slow if number.is_multiple_of(REPLICAS) => sleep(Duration::from_secs(2)).await,
        Phase::Slow => sleep(Duration::from_millis(20)).await,
        Phase::Failing => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
        Phase::Throttling => {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert(RETRY_AFTER, 1.into());
        }
        // It came in just before the connections were closed.
        Phase::Down => pending().await,
    }
    response
}
