//! A feed over TCP that stalls once and is cut twice, read to its last line.
//!
//! The service numbers its lines and can begin after any of them. A stream with a
//! checkpoint is opened again after the last line it has handed over. Exits with 1
//! unless every line came once, in order, with two cuts and a stall on the way.
//!
//! `cargo run --release --example feed`

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_lite::stream::{Stream, StreamExt, try_unfold};
use steadfast::tokio::Guard;
use steadfast::{ByError, Event, EventKind, Listener, NoRules, Plan, Policy};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};

static FEED: Guard<ByError, NoRules, &'static Story> = Guard::planned(
    Plan::new(
        Policy::DEFAULT
            .with_name("feed")
            // The longest gap between two lines, too.
            .with_attempt_timeout(Duration::from_millis(500)),
    )
    .with_listener(&STORY),
);

static STORY: Story = Story {
    stalls: AtomicU32::new(0),
    restarts: AtomicU32::new(0),
};

const LINES: u64 = 2_000;

/// After which line the service falls silent, and closes the connection.
const STALL: u64 = 700;
const CUTS: [u64; 2] = [300, 1_500];

/// Counts what the guard tells.
#[derive(Debug)]
struct Story {
    stalls: AtomicU32,
    restarts: AtomicU32,
}

impl Listener for Story {
    fn on_event(&self, event: &Event) {
        match event.kind() {
            EventKind::Stalled => self.stalls.fetch_add(1, Ordering::Relaxed),
            EventKind::StreamResumed => self.restarts.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
        println!("{event}");
    }
}

/// Serves each connection: eight bytes say after which line to begin.
async fn serve(listener: TcpListener) -> io::Result<()> {
    let mut faults = Vec::from([STALL, CUTS[0], CUTS[1]]);
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut after = [0; 8];
        stream.read_exact(&mut after).await?;
        let mut line = u64::from_be_bytes(after);
        let fault = faults.iter().copied().filter(|&at| at > line).min();
        faults.retain(|&at| Some(at) != fault);
        tokio::spawn(async move {
            while line < LINES && Some(line) != fault {
                line += 1;
                stream.write_all(format!("{line}\n").as_bytes()).await?;
            }
            if fault == Some(STALL) {
                // Until the reader has gone.
                stream.read_exact(&mut [0]).await?;
            } else if fault.is_none() {
                stream.write_all(b"end\n").await?;
            }
            io::Result::Ok(())
        });
    }
}

/// The lines after a certain one. A connection that closes before the end is an
/// error.
fn lines_after(seen: u64, service: SocketAddr) -> impl Stream<Item = io::Result<u64>> {
    try_unfold(None, move |open| async move {
        let mut lines: Lines<BufReader<TcpStream>> = if let Some(lines) = open {
            lines
        } else {
            let mut stream = TcpStream::connect(service).await?;
            stream.write_all(&seen.to_be_bytes()).await?;
            BufReader::new(stream).lines()
        };
        match lines.next_line().await? {
            None => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(line) if line == "end" => Ok(None),
            Some(line) => {
                let number = line.parse().map_err(io::Error::other)?;
                Ok(Some((number, Some(lines))))
            }
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let service = listener.local_addr()?;
    tokio::spawn(serve(listener));

    let mut lines = pin!(FEED.stream_from(0, |seen, _| lines_after(seen, service), |&line| line));
    let mut seen = 0;
    let (mut twice, mut lost) = (0, 0);
    while let Some(line) = lines.next().await {
        let line = line?;
        if line <= seen {
            twice += 1;
        } else {
            lost += line - seen - 1;
        }
        seen = line;
    }

    let stalls = STORY.stalls.load(Ordering::Relaxed);
    let restarts = STORY.restarts.load(Ordering::Relaxed);
    println!(
        "{seen} of {LINES} lines, {twice} twice, {lost} lost; {restarts} restarts, {stalls} stall"
    );
    let is_whole = (seen, twice, lost, restarts, stalls) == (LINES, 0, 0, 3, 1);
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        println!("FAILED: every line once, three restarts and one stall were expected");
        ExitCode::FAILURE
    })
}
