//! What is printed: a line every second, a table at the end.

use std::fmt;
use std::time::Duration;

use steadfast::BreakerState;
use tokio::time::{Instant, interval_at};

use crate::script::{Phase, Script};
use crate::side::{Record, Side};

const SECOND: Duration = Duration::from_secs(1);

/// Calls and what they cost.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) calls: u32,
    pub(crate) succeeded: u32,
    /// Requests that the client began.
    pub(crate) tries: u32,
    /// Requests that the dependency counted.
    pub(crate) reached: u32,
    took: Vec<Duration>,
}

impl Figures {
    fn new(records: &[Record], tries: u32, reached: u32) -> Self {
        let mut took: Vec<_> = records.iter().map(|record| record.took).collect();
        took.sort_unstable();
        Self {
            calls: count(records.iter()),
            succeeded: count(records.iter().filter(|record| record.succeeded)),
            tries,
            reached,
            took,
        }
    }

    /// Adds up the calls that started in `phase`.
    pub(crate) fn of_phase(side: &Side, phase: Phase) -> Self {
        let mut records = side.records(0);
        records.retain(|record| record.phase == phase);
        Self::new(&records, side.tries().of(phase), side.reached().of(phase))
    }

    /// Returns the time that `percent` of the calls did not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.took.len() * percent).div_ceil(100);
        let time = self.took.get(rank.saturating_sub(1));
        time.copied().unwrap_or_default()
    }
}

/// Calls, successes, what reached the dependency, tries a call, p50 and p99.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = f64::from(self.tries) / f64::from(self.calls.max(1));
        write!(
            f,
            "{:>5} {:>6} {:>8} {load:>6.2} {:>6} {:>6}",
            self.calls,
            self.succeeded,
            self.reached,
            self.percentile(50).as_millis(),
            self.percentile(99).as_millis(),
        )
    }
}

const HEADER: &str = "calls     ok  reached   load p50 ms p99 ms";

/// Counts what an iterator gives.
pub(crate) fn count<'r>(records: impl Iterator<Item = &'r Record>) -> u32 {
    u32::try_from(records.count()).unwrap_or(u32::MAX)
}

/// What a side had done when it was last looked at.
#[derive(Debug, Default)]
struct Seen {
    calls: usize,
    tries: u32,
    reached: u32,
}

impl Seen {
    /// Returns what has been added since.
    fn news(&mut self, side: &Side) -> Figures {
        let records = side.records(self.calls);
        let (tries, reached) = (side.tries().total(), side.reached().total());
        let figures = Figures::new(&records, tries - self.tries, reached - self.reached);
        self.calls += records.len();
        (self.tries, self.reached) = (tries, reached);
        figures
    }
}

/// Prints a line with both sides every second until the script is over.
pub(crate) async fn every_second(
    left: &Side,
    right: &Side,
    breaker: fn() -> Option<BreakerState>,
    script: Script,
) {
    println!("  s phase     | {:<42} | {}", left.name(), right.name());
    println!("              | {HEADER} | {HEADER} breaker");
    let (mut seen_left, mut seen_right) = (Seen::default(), Seen::default());
    let mut seconds = interval_at(Instant::now() + SECOND, SECOND);
    while let Some(phase) = script.phase() {
        seconds.tick().await;
        println!(
            "{:>3} {:<9} | {} | {} {}",
            script.elapsed().as_secs(),
            phase.name(),
            seen_left.news(left),
            seen_right.news(right),
            breaker().map_or("none", BreakerState::name),
        );
    }
}

/// Prints both sides phase by phase; a call counts for the phase it started in.
pub(crate) fn table(left: &Side, right: &Side) {
    println!("phase     | {:<42} | {}", left.name(), right.name());
    println!("          | {HEADER} | {HEADER}");
    for phase in Phase::ALL {
        let [left, right] = [left, right].map(|side| Figures::of_phase(side, phase));
        println!("{:<9} | {left} | {right}", phase.name());
    }
    println!("load: tries for each call, also those that nobody answered");
}
