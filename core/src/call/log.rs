//! The last attempts of a call, packed.

use core::fmt;
use core::time::Duration;

use crate::event::short_name;
use crate::policy::span::Compact;
use crate::time::nanos;
use crate::verdict::{Kind, Verdict};

/// What an attempt ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A value.
    Value,
    /// An error.
    Error,
    /// Nothing: its bound cut it short.
    Cut,
    /// Nothing: the `admit` hook refused it before it began.
    Refused,
    /// Nothing: another one was accepted first, and it was dropped.
    Discarded,
}

/// Takes down the attempts of a call.
///
/// `()` takes down nothing and costs nothing; [`AttemptLog`] keeps the last
/// eight. A call asked for its [`Outcome`](crate::Outcome) keeps a log.
pub trait Journal: Default {
    /// Whether anything is taken down.
    const IS_KEPT: bool = true;

    /// Takes down one finished attempt: when it began after the call's start,
    /// how long it took, what it ended with, what that means, and whether it
    /// raced another one.
    fn record(
        &mut self,
        start: Duration,
        took: Duration,
        ending: Ending,
        verdict: Verdict,
        is_hedge: bool,
    );
}

impl Journal for () {
    const IS_KEPT: bool = false;

    fn record(&mut self, _: Duration, _: Duration, _: Ending, _: Verdict, _: bool) {}
}

/// How many attempts a log keeps.
const KEPT: usize = 8;

/// Bits of the packed start that hold the verdict and the ending.
const FLAGS: u32 = 7;
const LATEST_START: u64 = u64::MAX >> FLAGS;

/// One attempt in sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    /// Nanoseconds since the call's start, 57 bits (four years), over seven flags.
    start: u64,
    took: u64,
}

impl Packed {
    const EMPTY: Self = Self { start: 0, took: 0 };

    fn new(
        start: Duration,
        took: Duration,
        ending: Ending,
        verdict: Verdict,
        is_hedge: bool,
    ) -> Self {
        let ending = match ending {
            Ending::Value => 0,
            Ending::Error => 1,
            Ending::Cut => 2,
            Ending::Refused => 3,
            Ending::Discarded => 4,
        };
        let kind = match verdict.kind() {
            Kind::Ok => 0,
            Kind::Transient => 1,
            Kind::Throttled => 2,
            Kind::Permanent => 3,
        };
        let flags = ending
            | (kind << 3)
            | (u64::from(verdict.is_self_imposed()) << 5)
            | (u64::from(is_hedge) << 6);
        Self {
            start: (nanos(start).min(LATEST_START) << FLAGS) | flags,
            took: nanos(took),
        }
    }

    const fn start(self) -> u64 {
        self.start >> FLAGS
    }

    const fn end(self) -> u64 {
        self.start().saturating_add(self.took)
    }

    const fn ending(self) -> Ending {
        match self.start & 0b111 {
            0 => Ending::Value,
            1 => Ending::Error,
            2 => Ending::Cut,
            3 => Ending::Refused,
            _ => Ending::Discarded,
        }
    }

    const fn kind(self) -> Kind {
        match (self.start >> 3) & 0b11 {
            0 => Kind::Ok,
            1 => Kind::Transient,
            2 => Kind::Throttled,
            _ => Kind::Permanent,
        }
    }

    const fn is_self_imposed(self) -> bool {
        self.start & 0b10_0000 != 0
    }

    const fn is_hedge(self) -> bool {
        self.start & 0b100_0000 != 0
    }
}

/// The last eight attempts of a call.
///
/// Comes with an [`Outcome`](crate::Outcome). Prints as a small table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLog {
    entries: [Packed; KEPT],
    count: u32,
    elapsed: Duration,
    deadline: Option<Duration>,
    error: &'static str,
}

impl Default for AttemptLog {
    fn default() -> Self {
        Self {
            entries: [Packed::EMPTY; KEPT],
            count: 0,
            elapsed: Duration::ZERO,
            deadline: None,
            error: "error",
        }
    }
}

impl Journal for AttemptLog {
    fn record(
        &mut self,
        start: Duration,
        took: Duration,
        ending: Ending,
        verdict: Verdict,
        is_hedge: bool,
    ) {
        // A ring: the entry of attempt n stands at (n - 1) mod 8.
        let at = self.count as usize % KEPT;
        if let Some(entry) = self.entries.get_mut(at) {
            *entry = Packed::new(start, took, ending, verdict, is_hedge);
        }
        self.count = self.count.saturating_add(1);
    }
}

impl AttemptLog {
    /// Closes the log when the call has ended.
    #[must_use]
    pub fn closed(
        self,
        elapsed: Duration,
        deadline: Option<Duration>,
        error: &'static str,
    ) -> Self {
        Self {
            elapsed,
            deadline,
            error,
            ..self
        }
    }

    /// Returns how many attempts were made, those no longer kept included.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.count
    }

    /// Returns how long the call took.
    #[must_use]
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the attempts that are kept, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = LogEntry> + '_ {
        let first = self.count.saturating_sub(8);
        let mut furthest = None;
        (first..self.count).filter_map(move |index| {
            let packed = *self.entries.get(index as usize % KEPT)?;
            let pause = match furthest {
                Some(end) => packed.start().saturating_sub(end),
                None => 0,
            };
            let overlaps = furthest.is_some_and(|end| packed.start() < end);
            furthest = furthest.max(Some(packed.end()));
            Some(LogEntry {
                number: index.saturating_add(1),
                pause: Duration::from_nanos(pause),
                overlaps,
                left: self
                    .deadline
                    .map(|bound| bound.saturating_sub(Duration::from_nanos(packed.start()))),
                packed,
            })
        })
    }
}

/// One attempt in an [`AttemptLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    number: u32,
    pause: Duration,
    overlaps: bool,
    left: Option<Duration>,
    packed: Packed,
}

impl LogEntry {
    /// Returns the number of the attempt, the first being 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns when it began, since the start of the call.
    #[must_use]
    pub const fn start(&self) -> Duration {
        Duration::from_nanos(self.packed.start())
    }

    /// Returns how long it took.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        Duration::from_nanos(self.packed.took)
    }

    /// Returns the pause since the attempt before; zero for the first kept.
    #[must_use]
    pub const fn pause(&self) -> Duration {
        self.pause
    }

    /// Returns what was left of the deadline when it began.
    #[must_use]
    pub const fn left(&self) -> Option<Duration> {
        self.left
    }

    /// Returns what it ended with.
    #[must_use]
    pub const fn ending(&self) -> Ending {
        self.packed.ending()
    }

    /// Returns what that meant.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.packed.kind()
    }

    /// Tells whether it raced another one.
    #[must_use]
    pub const fn is_hedge(&self) -> bool {
        self.packed.is_hedge()
    }

    /// Tells whether this process refused.
    #[must_use]
    pub const fn is_self_imposed(&self) -> bool {
        self.packed.is_self_imposed()
    }
}

/// The count and the total, then a line for each attempt that is kept.
impl fmt::Display for AttemptLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(
            f,
            "{} attempt{plural} in {}",
            self.count,
            Compact(self.elapsed)
        )?;
        for entry in self.entries() {
            write!(f, "\n  #{}", entry.number())?;
            if entry.overlaps {
                write!(f, " at {}", Compact(entry.start()))?;
            } else if !entry.pause().is_zero() {
                write!(f, " after {}", Compact(entry.pause()))?;
            }
            f.write_str(if entry.is_hedge() { " hedge: " } else { ": " })?;
            if entry.ending() != Ending::Discarded {
                write!(f, "{}", entry.kind())?;
            }
            match entry.ending() {
                Ending::Value => {}
                Ending::Discarded => f.write_str("discarded")?,
                Ending::Error => write!(f, " {}", short_name(self.error))?,
                Ending::Cut => f.write_str(" (timed out)")?,
                Ending::Refused => f.write_str(" (not admitted)")?,
            }
            write!(f, ", {}", Compact(entry.duration()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn an_entry_fits_sixteen_bytes() {
        assert_eq!(size_of::<Packed>(), 16);
    }

    #[test]
    fn the_last_eight_are_kept() {
        let mut log = AttemptLog::default();
        for n in 0..11 {
            log.record(MS(n * 10), MS(4), Ending::Error, Verdict::TRANSIENT, false);
        }
        let log = log.closed(MS(104), Some(MS(200)), "std::io::Error");
        let numbers: Vec<_> = log.entries().map(|entry| entry.number()).collect();
        assert_eq!(numbers, [4, 5, 6, 7, 8, 9, 10, 11]);
        let last = log.entries().last().expect("eight entries");
        assert_eq!(last.start(), MS(100));
        assert_eq!(last.pause(), MS(6));
        assert_eq!(last.left(), Some(MS(100)));
        assert_eq!(log.attempts(), 11);
    }

    #[test]
    fn every_part_survives_packing() {
        let endings = [
            Ending::Value,
            Ending::Error,
            Ending::Cut,
            Ending::Refused,
            Ending::Discarded,
        ];
        let verdicts = [
            Verdict::OK,
            Verdict::TRANSIENT,
            Verdict::SELF_IMPOSED,
            Verdict::PERMANENT,
        ];
        for ending in endings {
            for verdict in verdicts {
                let packed = Packed::new(MS(7), Duration::MAX, ending, verdict, true);
                assert!(packed.is_hedge());
                assert_eq!(packed.start(), 7_000_000);
                assert_eq!(packed.ending(), ending);
                assert_eq!(packed.kind(), verdict.kind());
                assert_eq!(packed.is_self_imposed(), verdict.is_self_imposed());
                assert_eq!(packed.end(), u64::MAX);
            }
        }
    }

    #[test]
    fn text_is_a_small_table() {
        let mut log = AttemptLog::default();
        log.record(
            MS(0),
            Duration::from_micros(300),
            Ending::Error,
            Verdict::TRANSIENT,
            false,
        );
        log.record(MS(100), MS(1_250), Ending::Cut, Verdict::TRANSIENT, false);
        let log = log.closed(MS(1_350), None, "std::io::error::Error");
        assert_eq!(
            log.to_string(),
            "2 attempts in 1.35s\n  #1: Transient Error, 300us\n  #2 after 99.7ms: Transient (timed out), 1.25s"
        );
    }

    // core-14.19
    #[test]
    fn a_race_shows_in_the_table() {
        let mut log = AttemptLog::default();
        log.record(MS(44), MS(5), Ending::Value, Verdict::OK, true);
        log.record(MS(0), MS(49), Ending::Discarded, Verdict::OK, false);
        let log = log.closed(MS(49), None, "()");
        assert_eq!(
            log.to_string(),
            "2 attempts in 49ms\n  #1 hedge: Ok, 5ms\n  #2 at 0s: discarded, 49ms"
        );
    }
}
