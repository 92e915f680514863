//! What a call does when every attempt hangs until it is cut.

use core::convert::Infallible;
use core::fmt;
use core::time::Duration;

use super::backoff::Backoff;
use super::policy::Policy;
use super::span::{Compact, Drawn, Moment};
use crate::verdict::Kind;

/// What a refusal waits before it is told, so that a caller that asks in a
/// loop cannot ask more than ten times a second.
pub(crate) const REJECTION_PAUSE: Duration = Duration::from_millis(100);

/// The parts of a policy that decide how long a call can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    attempts: u32,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    backoff: Backoff,
    has_breaker: bool,
    has_budget: bool,
    /// Attempts and waits may be shorter than this walk's by what is measured.
    may_shrink: bool,
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
    /// The wait that follows, if another attempt does.
    wait: Option<Duration>,
}

/// Why the walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// No attempt is allowed.
    Nothing,
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
    /// When the call has ended; after [`End::TooLong`] an upper bound.
    pub(super) worst: Option<Duration>,
    /// A refusal, which is told late, ends the call later than the attempts do.
    pub(super) is_refusal_last: bool,
}

/// How long the waits of a walk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draws {
    Longest,
    Shortest,
}

impl Timeline {
    /// How many attempts the walk follows while their waits still change.
    const LIMIT: u32 = 1_000;
    /// How many attempts a text shows.
    const SHOWN: u32 = 6;

    /// The walk that no measurement makes longer.
    pub(super) const fn of(policy: &Policy) -> Self {
        let longest = policy.backoff().measured(Duration::MAX);
        Self {
            may_shrink: policy.is_learning(),
            ..Self::measured(policy, policy.attempt_timeout(), longest)
        }
    }

    /// The walk whose attempts have this bound, and whose waits this rule.
    pub(super) const fn measured(
        policy: &Policy,
        attempt_bound: Option<Duration>,
        backoff: Backoff,
    ) -> Self {
        Self {
            attempts: policy.attempts(),
            deadline: policy.deadline(),
            attempt_timeout: attempt_bound,
            backoff,
            has_breaker: policy.breaker().is_some(),
            has_budget: policy.attempts() > 1 && policy.budget().is_limited(),
            may_shrink: false,
        }
    }

    /// Tells whether attempts or waits are others than in that walk.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.attempt_timeout != other.attempt_timeout
            || self.curve(2) != other.curve(2) && self.attempts > 1
    }

    /// The same walk with a breaker that lets everything through.
    pub(super) const fn without_breaker(self) -> Self {
        Self {
            has_breaker: false,
            ..self
        }
    }

    /// The same walk with a budget that funds every retry.
    pub(super) const fn without_budget(self) -> Self {
        Self {
            has_budget: false,
            ..self
        }
    }

    /// Tells whether there is an attempt to follow, and an end to it.
    pub(super) fn is_bounded(&self) -> bool {
        self.attempts > 0 && self.ending().worst.is_some()
    }

    /// Tells whether breaker or budget can refuse.
    pub(super) const fn can_refuse(&self) -> bool {
        self.has_breaker || self.has_budget
    }

    /// Follows the attempts when every wait is at its longest.
    pub(super) fn ending(&self) -> Ending {
        let Ok((end, last)) = self.walk(Draws::Longest, |_| Ok::<_, Infallible>(()));
        self.ended(end, last)
    }

    /// Returns how many attempts start at most, however short the draws.
    pub(super) fn most_attempts(&self) -> u32 {
        match self.walk(Draws::Shortest, |_| Ok::<_, Infallible>(())) {
            Ok((End::TooLong, _)) => self.attempts,
            Ok((_, last)) => last.map_or(0, |row| row.number),
        }
    }

    /// Follows the attempts, each of which hangs until it is cut, to the last.
    fn walk<E>(
        &self,
        draws: Draws,
        mut visit: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(End, Option<Row>), E> {
        if self.attempts == 0 {
            return Ok((End::Nothing, None));
        }
        let mut last = None;
        let mut start = Duration::ZERO;
        let mut number = 1_u32;
        loop {
            let Some((row, end)) = self.step(number, start, draws) else {
                let end = match self.deadline {
                    Some(_) => End::Deadline,
                    None => End::Never,
                };
                return Ok((end, last));
            };
            visit(row)?;
            last = Some(row);
            if let Some(end) = end {
                return Ok((end, last));
            }
            let end = row.end.unwrap_or(Duration::MAX);
            start = end.saturating_add(row.wait.unwrap_or(Duration::ZERO));
            number = number.saturating_add(1);
            if number > Self::SHOWN && self.is_steady(number) {
                let round = self.round(number, draws);
                let skipped = self.rounds_before_end(number, start, round);
                start = start.saturating_add(round.saturating_mul(skipped));
                number = number.saturating_add(skipped);
            }
        }
    }

    /// Plays attempt `number`, if there is time for it; the end is `None` when
    /// another follows.
    fn step(&self, number: u32, start: Duration, draws: Draws) -> Option<(Row, Option<End>)> {
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
        if number >= Self::LIMIT && !self.is_steady(number) {
            return stop(End::TooLong);
        }
        let wait = self.wait_after(number, draws);
        if wait >= deadline.saturating_sub(end) {
            return stop(End::NoRoom { wait });
        }
        let row = Row {
            wait: Some(wait),
            ..row
        };
        Some((row, None))
    }

    fn wait_after(&self, number: u32, draws: Draws) -> Duration {
        let whole = self.curve(number.saturating_add(1));
        match draws {
            Draws::Longest => whole,
            Draws::Shortest => self.backoff.jitter().shortest(whole),
        }
    }

    fn curve(&self, number: u32) -> Duration {
        self.backoff.curve(number, Kind::Transient)
    }

    /// Tells whether all waits from attempt `number` on are alike: the curve
    /// never turns.
    fn is_steady(&self, number: u32) -> bool {
        self.curve(number.saturating_add(1)) == self.curve(self.attempts)
    }

    /// Returns how long an attempt and its wait take.
    fn round(&self, number: u32, draws: Draws) -> Duration {
        self.attempt_timeout
            .unwrap_or(Duration::MAX)
            .saturating_add(self.wait_after(number, draws))
    }

    /// Returns how many steady rounds certainly lead to another attempt.
    fn rounds_before_end(&self, number: u32, start: Duration, round: Duration) -> u32 {
        let left = self.deadline.unwrap_or(Duration::MAX).saturating_sub(start);
        let fitting = left
            .as_nanos()
            .saturating_sub(1)
            .checked_div(round.as_nanos())
            .unwrap_or(u128::MAX);
        let allowed = self.attempts.saturating_sub(number);
        u32::try_from(fitting).map_or(allowed, |fitting| fitting.min(allowed))
    }

    fn ended(&self, end: End, last: Option<Row>) -> Ending {
        let natural = match (end, last) {
            (End::Nothing, _) => Some(Duration::ZERO),
            (End::Never, _) => None,
            (End::Deadline, _) | (_, None) => self.deadline,
            // A short draw, or a measurement, lets the next attempt start, and hang.
            (End::NoRoom { .. }, Some(row))
                if self.may_shrink || self.most_attempts() > row.number =>
            {
                self.deadline
            }
            (End::NoRoom { .. } | End::Attempts, Some(row)) => row.end,
            (End::TooLong, Some(row)) => Some(self.cut(self.at_most(row))),
        };
        let refusal = last.and_then(|row| self.last_refusal(end, row));
        let refusal = refusal.map(|told| self.cut(told));
        let is_refusal_last = natural.is_some() && refusal > natural;
        Ending {
            end,
            last,
            worst: if is_refusal_last { refusal } else { natural },
            is_refusal_last,
        }
    }

    fn cut(&self, at: Duration) -> Duration {
        self.deadline.map_or(at, |deadline| at.min(deadline))
    }

    /// Bounds a walk that is not followed beyond `row`.
    fn at_most(&self, row: Row) -> Duration {
        let next = row.number.saturating_add(1);
        // The curve never turns, so one of its ends is the longest.
        let wait = self.curve(next).max(self.curve(self.attempts));
        let round = self
            .attempt_timeout
            .unwrap_or(Duration::MAX)
            .saturating_add(wait);
        let pause = if self.can_refuse() {
            REJECTION_PAUSE
        } else {
            Duration::ZERO
        };
        row.end
            .unwrap_or(Duration::MAX)
            .saturating_add(round.saturating_mul(self.attempts.saturating_sub(row.number)))
            .saturating_add(pause)
    }

    /// Returns when the last refusal that breaker or budget can give is told.
    fn last_refusal(&self, end: End, last: Row) -> Option<Duration> {
        let by_breaker = self.has_breaker.then_some(last.start);
        // The budget is asked when an attempt has failed, before the wait.
        let asked = match end {
            End::NoRoom { .. } => last.end,
            _ if last.number > 1 => Some(last.start.saturating_sub(self.curve(last.number))),
            _ => None,
        };
        let by_budget = asked.filter(|_| self.has_budget);
        let refused = by_breaker.max(by_budget)?;
        Some(refused.saturating_add(REJECTION_PAUSE))
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
        let (end, last) = self.walk(Draws::Longest, |row| self.write_row(f, row))?;
        let ending = self.ended(end, last);
        let Some(worst) = ending.worst else {
            return write!(f, "  {:>9}  nothing ends the call", "");
        };
        if ending.end == End::Nothing {
            return write!(f, "  {:>9}  nothing is called", Moment(worst));
        }
        let last = ending.last.map_or(0, |row| row.number);
        match last.saturating_sub(Self::SHOWN) {
            0 => {}
            1 => writeln!(f, "  {:>9}  attempt {last}", "...")?,
            _ => writeln!(f, "  {:>9}  attempts {} to {last}", "...", Self::SHOWN + 1)?,
        }
        let end = ending.last.and_then(|row| row.end).unwrap_or(worst);
        match ending.end {
            End::TooLong => {
                writeln!(f, "  {:>9}  and so on", Moment(end))?;
                return write!(
                    f,
                    "  {:>9}  the call has ended, at the latest",
                    Moment(worst)
                );
            }
            End::NoRoom { wait } => {
                write!(f, "  {:>9}  no time to ", Moment(end))?;
                self.write_wait(f, wait)?;
                if !ending.is_refusal_last && worst > end {
                    f.write_str(if self.may_shrink {
                        ", unless less is measured"
                    } else {
                        ", unless the draw is short"
                    })?;
                }
                f.write_str("\n")?;
            }
            _ => {}
        }
        write!(f, "  {:>9}  the call has ended", Moment(worst))?;
        if ending.is_refusal_last {
            let pause = Compact(REJECTION_PAUSE);
            write!(f, ": a refusal is told after {pause}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
