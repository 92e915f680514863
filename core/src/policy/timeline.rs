//! What a call does when every attempt hangs until it is cut.

use core::convert::Infallible;
use core::fmt;
use core::time::Duration;

use super::backoff::{Backoff, Jitter};
use super::policy::Policy;
use super::span::{Drawn, Moment};
use crate::verdict::Kind;

/// The parts of a policy that decide how long a call can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    attempts: u32,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    backoff: Backoff,
}

/// One attempt of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) number: u32,
    pub(super) start: Duration,
    /// `None` when nothing ends it.
    pub(super) end: Option<Duration>,
    /// The deadline leaves it less than its own bound.
    pub(super) is_cut: bool,
    /// The longest wait that follows, if another attempt does.
    pub(super) wait: Option<Duration>,
}

/// Why the walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing bounds an attempt.
    Never,
    /// The deadline.
    Deadline,
    /// The next wait may not fit before the deadline.
    NoRoom { wait: Duration },
    /// Every allowed attempt was made.
    Attempts,
    /// The walk is too long to follow.
    TooLong,
}

/// How the walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) end: End,
    /// The last attempt that starts; `None` if none does.
    pub(super) last: Option<Row>,
    /// When the call has ended; after [`End::TooLong`] a lower bound.
    pub(super) worst: Option<Duration>,
}

impl Timeline {
    /// How many attempts the walk follows.
    const LIMIT: u32 = 1_000;
    /// How many attempts a text shows.
    const SHOWN: u32 = 6;

    pub(super) const fn of(policy: &Policy) -> Self {
        Self {
            attempts: policy.attempts(),
            deadline: policy.deadline(),
            attempt_timeout: policy.attempt_timeout(),
            backoff: *policy.backoff(),
        }
    }

    /// Returns when a call has ended whose attempts all hang.
    pub(super) fn worst_case(&self) -> Option<Duration> {
        self.ending().worst
    }

    pub(super) fn ending(&self) -> Ending {
        let Ok(ending) = self.walk(|_| Ok::<_, Infallible>(()));
        ending
    }

    /// Follows the attempts, each of which hangs and waits for its longest.
    fn walk<E>(&self, mut visit: impl FnMut(Row) -> Result<(), E>) -> Result<Ending, E> {
        let mut last = None;
        let mut start = Duration::ZERO;
        let mut number = 1_u32;
        loop {
            let Some((row, end)) = self.step(number, start) else {
                return Ok(Ending {
                    end: End::Deadline,
                    last,
                    worst: self.deadline,
                });
            };
            visit(row)?;
            last = Some(row);
            if let Some(end) = end {
                let worst = match end {
                    End::Never => None,
                    End::Deadline => self.deadline,
                    // A short draw lets the next attempt start, and hang.
                    End::NoRoom { .. } if self.backoff.jitter() != Jitter::None => self.deadline,
                    End::NoRoom { .. } | End::Attempts | End::TooLong => row.end,
                };
                return Ok(Ending { end, last, worst });
            }
            let end = row.end.unwrap_or(Duration::MAX);
            start = end.saturating_add(row.wait.unwrap_or(Duration::ZERO));
            number = number.saturating_add(1);
        }
    }

    /// Plays attempt `number`, if there is time for it; the end is `None` when
    /// another follows.
    fn step(&self, number: u32, start: Duration) -> Option<(Row, Option<End>)> {
        let deadline = self.deadline.unwrap_or(Duration::MAX);
        let left = deadline.saturating_sub(start);
        if left.is_zero() {
            return None;
        }
        let own = self.attempt_timeout.unwrap_or(Duration::MAX);
        let end = start.saturating_add(own.min(left));
        let row = Row {
            number,
            start,
            end: (end < Duration::MAX).then_some(end),
            is_cut: left < own,
            wait: None,
        };
        let stop = |why| Some((row, Some(why)));
        if row.end.is_none() {
            return stop(End::Never);
        }
        if end >= deadline {
            return stop(End::Deadline);
        }
        if number >= self.attempts {
            return stop(End::Attempts);
        }
        if number >= Self::LIMIT {
            return stop(End::TooLong);
        }
        let wait = self
            .backoff
            .curve(number.saturating_add(1), Kind::Transient);
        if wait >= deadline.saturating_sub(end) {
            return stop(End::NoRoom { wait });
        }
        let row = Row {
            wait: Some(wait),
            ..row
        };
        Some((row, None))
    }

    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: Row) -> fmt::Result {
        if row.number > Self::SHOWN {
            return Ok(());
        }
        write!(f, "  {:>9}  attempt {}", Moment(row.start), row.number)?;
        match row.end {
            None => f.write_str(", for as long as it hangs")?,
            Some(end) => write!(f, " until {}", Moment(end))?,
        }
        if row.is_cut && self.attempt_timeout.is_some() {
            f.write_str(", cut short by the deadline")?;
        }
        if let (Some(end), Some(wait)) = (row.end, row.wait) {
            write!(f, "\n  {:>9}  ", Moment(end))?;
            self.write_wait(f, wait)?;
        }
        f.write_str("\n")
    }

    fn write_wait(&self, f: &mut fmt::Formatter<'_>, wait: Duration) -> fmt::Result {
        write!(f, "wait {}", Drawn(wait, self.backoff.jitter()))
    }
}

/// One line for each attempt and wait, up to six attempts, and one for the end.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = self.walk(|row| self.write_row(f, row))?;
        let Some(worst) = ending.worst else {
            return write!(f, "  {:>9}  nothing ends the call", "");
        };
        let last = ending.last.map_or(0, |row| row.number);
        match last.saturating_sub(Self::SHOWN) {
            0 => {}
            1 => writeln!(f, "  {:>9}  attempt {last}", "...")?,
            _ => writeln!(f, "  {:>9}  attempts {} to {last}", "...", Self::SHOWN + 1)?,
        }
        match ending.end {
            End::TooLong => return write!(f, "  {:>9}  and so on", Moment(worst)),
            End::NoRoom { wait } => {
                let end = ending.last.and_then(|row| row.end).unwrap_or(worst);
                write!(f, "  {:>9}  no time to ", Moment(end))?;
                self.write_wait(f, wait)?;
                if worst > end {
                    f.write_str(", unless the draw is short")?;
                }
                f.write_str("\n")?;
            }
            _ => {}
        }
        write!(f, "  {:>9}  the call has ended", Moment(worst))
    }
}
