//! What bounds a call first, in a sentence.

use core::fmt;
use core::time::Duration;

use super::{Count, Explanation};
use crate::breaker_state::BreakerState;
use crate::math::ratio::Ratio;
use crate::policy::span::{Compact, Drawn, Moment};
use crate::policy::timeline::{End, Ending, REJECTION_PAUSE, Row, Timeline};

impl Explanation<'_> {
    pub(super) fn bound_first(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeline = self.timeline();
        let ending = timeline.ending();
        if ending.end == End::Nothing {
            return f.write_str("The number of attempts, which is 0: nothing is ever called.");
        }
        if let Some((state, asked_again)) = self.refusing_breaker() {
            return self.breaker_first(f, state, asked_again);
        }
        let is_spent = !self.budget_observes && self.spent.is_some_and(|spent| spent >= Ratio::ONE);
        if self.policy.attempts() > 1 && is_spent {
            return f.write_str("The retry budget, which is spent: no attempt is retried.");
        }
        let worst = ending.worst.unwrap_or(Duration::MAX);
        match (ending.end, ending.last) {
            (End::Never | End::Nothing, _) => {
                f.write_str("Nothing: a call that hangs, hangs for ever.")
            }
            (End::TooLong, _) => self.too_long(f, worst),
            (_, None) => f.write_str("The deadline: no attempt starts."),
            (End::Deadline, Some(row)) => {
                self.deadline_first(f, row)?;
                self.never_start(f, row.number, &timeline)
            }
            (End::NoRoom { wait }, Some(row)) => {
                let wait = Drawn(wait, self.policy.backoff().jitter());
                write!(
                    f,
                    "The deadline: when every attempt hangs, there is no room for a wait of {wait} after attempt {}",
                    row.number
                )?;
                self.never_start(f, row.number, &timeline)
            }
            (End::Attempts, Some(_)) => self.attempts_first(f, ending, worst),
        }
    }

    fn refusing_breaker(&self) -> Option<(BreakerState, Option<Duration>)> {
        let refuses = |state| {
            matches!(
                state,
                BreakerState::Open
                    | BreakerState::HalfOpen
                    | BreakerState::Recovering
                    | BreakerState::Isolated
            )
        };
        self.breaker
            .filter(|&(state, _)| !self.observes && refuses(state))
    }

    fn breaker_first(
        &self,
        f: &mut fmt::Formatter<'_>,
        state: BreakerState,
        asked_again: Option<Duration>,
    ) -> fmt::Result {
        write!(f, "The breaker, which is {state}")?;
        let asked_again = asked_again.filter(|after| !after.is_zero());
        match (state, asked_again, self.policy.breaker()) {
            (BreakerState::HalfOpen, _, Some(breaker)) => {
                let probes = Count(breaker.probes(), "probe");
                write!(
                    f,
                    ": it lets {probes} through at a time and refuses the rest."
                )
            }
            (BreakerState::HalfOpen, _, None) => {
                f.write_str(": it lets probes through and refuses the rest.")
            }
            (BreakerState::Recovering, _, _) => {
                f.write_str(": it lets a growing share through and refuses the rest.")
            }
            (_, Some(after), _) => write!(f, " and may be asked again in {}.", Compact(after)),
            (_, None, _) => f.write_str("."),
        }
    }

    fn too_long(&self, f: &mut fmt::Formatter<'_>, worst: Duration) -> fmt::Result {
        f.write_str(match self.policy.deadline() {
            Some(deadline) if deadline <= worst => "The deadline or the number of attempts",
            _ => "The number of attempts",
        })?;
        let worst = Moment(worst);
        write!(
            f,
            ": when every attempt hangs, the call ends after {worst} at the latest."
        )
    }

    fn deadline_first(&self, f: &mut fmt::Formatter<'_>, row: Row) -> fmt::Result {
        f.write_str("The deadline: when every attempt hangs, ")?;
        let number = row.number;
        if !row.is_cut {
            return write!(f, "attempt {number} ends with it");
        }
        let allowed = row.end.unwrap_or(Duration::MAX).saturating_sub(row.start);
        write!(f, "it cuts attempt {number} after {}", Moment(allowed))?;
        match self.attempt_bound() {
            Some(own) => write!(f, ", {}% of its {}", share(allowed, own), Compact(own)),
            None => Ok(()),
        }
    }

    fn attempts_first(
        &self,
        f: &mut fmt::Formatter<'_>,
        ending: Ending,
        worst: Duration,
    ) -> fmt::Result {
        if ending.is_refusal_last {
            let pause = Compact(REJECTION_PAUSE);
            write!(f, "A refusal, which is held back up to {pause}: ")?;
        } else if let Some(ceiling) = self.ceiling_now() {
            let ceiling = Compact(ceiling);
            write!(f, "The measured attempt ceiling, now {ceiling}: ")?;
        } else {
            f.write_str("The attempt timeout: ")?;
        }
        let ends = Moment(worst);
        write!(f, "when every attempt hangs, the call ends after {ends}")?;
        match self.policy.deadline() {
            Some(deadline) => {
                let unused = deadline.saturating_sub(worst);
                write!(f, ", {} of the deadline unused.", Compact(unused))
            }
            None => f.write_str("."),
        }
    }

    /// Ends a sentence with the attempts after `last`: with short draws some
    /// of them start.
    fn never_start(
        &self,
        f: &mut fmt::Formatter<'_>,
        last: u32,
        timeline: &Timeline,
    ) -> fmt::Result {
        let attempts = self.policy.attempts();
        let most = timeline.most_attempts().min(attempts);
        if last < most {
            let (those, start) = (Attempts(last, most), verb(last, most));
            write!(f, "; {those} {start} only after short waits")?;
            if most < attempts {
                write!(f, ", {} never", Attempts(most, attempts))?;
            }
        } else if last < attempts {
            let (those, start) = (Attempts(last, attempts), verb(last, attempts));
            write!(f, ", and {those} never {start}")?;
        }
        f.write_str(".")
    }
}

/// The attempts after the first number up to the second.
struct Attempts(u32, u32);

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.saturating_add(1), self.1);
        if first < last {
            write!(f, "attempts {first} to {last}")
        } else {
            write!(f, "attempt {last}")
        }
    }
}

const fn verb(before: u32, last: u32) -> &'static str {
    if last.saturating_sub(before) > 1 {
        "start"
    } else {
        "starts"
    }
}

/// Percent that `part` is of `whole`, rounded.
fn share(part: Duration, whole: Duration) -> u128 {
    let (part, whole) = (part.as_nanos(), whole.as_nanos());
    part.saturating_mul(100)
        .saturating_add(whole / 2)
        .checked_div(whole)
        .unwrap_or(0)
}
