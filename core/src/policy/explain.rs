//! A policy in words.

use core::fmt;
use core::time::Duration;

use super::breaker::Breaker;
use super::policy::Policy;
use super::span::{Compact, Drawn, Moment};
use super::timeline::{End, Ending, Timeline};
use super::warning::Warning;
use crate::breaker_state::BreakerState;
use crate::math::ratio::Ratio;
use crate::verdict::Kind;

impl Policy {
    /// Explains the policy in words; print it.
    ///
    /// Works on an impossible policy too, and lists its problems.
    #[must_use]
    pub const fn explain(&self) -> Explanation<'_> {
        Explanation {
            policy: self,
            breaker: None,
            spent: None,
            shares_breaker: false,
            shares_budget: false,
            unseeded: false,
        }
    }
}

/// A policy in words: what bounds a call, when it ends, what it costs.
///
/// A guard adds what it knows from its live parts.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::Policy;
///
/// const SEARCH: Policy = Policy::DEFAULT
///     .with_name("search")
///     .with_attempt_timeout(Duration::from_secs(1));
///
/// let explained = SEARCH.explain();
/// assert_eq!(explained.worst_case(), Some(Duration::from_millis(3_300)));
/// assert_eq!(explained.warnings().count(), 0);
/// assert!(explained.to_string().starts_with("search: 3 attempts, deadline 30s,"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a> {
    policy: &'a Policy,
    breaker: Option<(BreakerState, Option<Duration>)>,
    spent: Option<Ratio>,
    shares_breaker: bool,
    shares_budget: bool,
    unseeded: bool,
}

impl Explanation<'_> {
    /// Adds what the breaker does now, and in how long it may be asked again.
    #[must_use]
    pub const fn with_breaker(self, state: BreakerState, asked_again: Option<Duration>) -> Self {
        Self {
            breaker: Some((state, asked_again)),
            ..self
        }
    }

    /// Adds how much of the retry budget is spent; [`Ratio::ONE`] is all.
    #[must_use]
    pub const fn with_budget_spent(self, spent: Ratio) -> Self {
        Self {
            spent: Some(spent),
            ..self
        }
    }

    /// Adds that other guards use the same breaker.
    #[must_use]
    pub const fn with_shared_breaker(self) -> Self {
        Self {
            shares_breaker: true,
            ..self
        }
    }

    /// Adds that other guards use the same retry budget.
    #[must_use]
    pub const fn with_shared_budget(self) -> Self {
        Self {
            shares_budget: true,
            ..self
        }
    }

    /// Adds that nobody has handed over a seed for the jitter.
    #[must_use]
    pub const fn unseeded(self) -> Self {
        Self {
            unseeded: true,
            ..self
        }
    }

    /// Returns when a call ends whose attempts all hang until they are cut.
    ///
    /// `None` when nothing bounds it. Waits count at their longest; waits that
    /// a dependency asks for come on top, up to the deadline. Of more than 1000
    /// attempts it counts the first 1000.
    #[must_use]
    pub fn worst_case(&self) -> Option<Duration> {
        Timeline::of(self.policy).worst_case()
    }

    /// Returns what is legal in the policy, yet hardly meant.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let (policy, unseeded) = (self.policy, self.unseeded);
        Warning::ALL
            .into_iter()
            .filter(move |warning| warning.is_due(policy, unseeded))
    }

    fn headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy;
        let name = policy.name().unwrap_or("(unnamed)");
        write!(f, "{name}: {}", Count(policy.attempts(), "attempt"))?;
        match policy.deadline() {
            Some(deadline) => write!(f, ", deadline {}", Compact(deadline))?,
            None => f.write_str(", no deadline")?,
        }
        match policy.attempt_timeout() {
            Some(timeout) => write!(f, ", attempt timeout {}", Compact(timeout)),
            None => f.write_str(", no attempt timeout"),
        }
    }

    fn bound_first(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((state, asked_again)) = self.breaker
            && is_refusing(state)
        {
            write!(f, "The breaker, which is {state}")?;
            return match asked_again {
                Some(after) => write!(f, " and may be asked again in {}.", Compact(after)),
                None => f.write_str("."),
            };
        }
        let is_spent = self.spent.is_some_and(|spent| spent >= Ratio::ONE);
        if self.policy.attempts() > 1 && is_spent {
            return f.write_str("The retry budget, which is spent: no attempt is retried.");
        }
        let ending = Timeline::of(self.policy).ending();
        let worst = ending.worst.unwrap_or(Duration::MAX);
        match ending.end {
            End::Never => f.write_str("Nothing: a call that hangs, hangs for ever."),
            End::TooLong => write!(
                f,
                "The number of attempts, after {} or more.",
                Compact(worst)
            ),
            End::Deadline => self.deadline_first(f, ending),
            End::NoRoom { wait } => {
                let number = ending.last.map_or(0, |row| row.number);
                write!(
                    f,
                    "The deadline: after attempt {number} it has no room for a wait of {}",
                    Compact(wait)
                )?;
                self.never_start(f, number)
            }
            End::Attempts => {
                write!(
                    f,
                    "The attempt timeout: the call ends after {}",
                    Moment(worst)
                )?;
                match self.policy.deadline() {
                    Some(deadline) => {
                        let unused = deadline.saturating_sub(worst);
                        write!(f, ", {} of the deadline unused.", Compact(unused))
                    }
                    None => f.write_str("."),
                }
            }
        }
    }

    fn deadline_first(&self, f: &mut fmt::Formatter<'_>, ending: Ending) -> fmt::Result {
        let Some(row) = ending.last else {
            return f.write_str("The deadline: no attempt starts.");
        };
        let end = row.end.unwrap_or(Duration::MAX);
        let allowed = end.saturating_sub(row.start);
        let number = row.number;
        match self.policy.attempt_timeout() {
            Some(own) if row.is_cut => {
                let share = share(allowed, own);
                write!(
                    f,
                    "The deadline: it cuts attempt {number} after {}, {share}% of its {}",
                    Moment(allowed),
                    Compact(own)
                )?;
            }
            Some(_) => write!(f, "The deadline: attempt {number} ends with it")?,
            None => write!(
                f,
                "The deadline: attempt {number} may take {}",
                Moment(allowed)
            )?,
        }
        self.never_start(f, number)
    }

    /// Ends a sentence with the attempts after `last`.
    fn never_start(&self, f: &mut fmt::Formatter<'_>, last: u32) -> fmt::Result {
        let (next, attempts) = (last.saturating_add(1), self.policy.attempts());
        match attempts.saturating_sub(last) {
            0 => f.write_str("."),
            1 => write!(f, "; attempt {next} never starts."),
            _ => write!(f, "; attempts {next} to {attempts} never start."),
        }
    }

    fn waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backoff = self.policy.backoff();
        let (maximum, jitter) = (backoff.maximum(), backoff.jitter());
        if maximum.is_zero() {
            return f.write_str("None, whatever the dependency asks for.");
        }
        let transient = Drawn(backoff.curve(2, Kind::Transient), jitter);
        let throttled = Drawn(backoff.curve(2, Kind::Throttled), jitter);
        write!(f, "{transient} before attempt 2")?;
        if throttled.0 != transient.0 {
            write!(f, ", {throttled} when throttled")?;
        }
        if self.policy.attempts() > 2 && backoff.factor() != Ratio::ONE {
            let factor = Times(backoff.factor());
            write!(f, ",\n  {factor} as long before each further one")?;
            if maximum < Duration::MAX {
                write!(f, ", at most {}", Compact(maximum))?;
            }
        }
        f.write_str(".\n  A wait that the dependency asks for is kept to")?;
        if maximum < Duration::MAX {
            write!(f, "; more than {} ends the call", Compact(maximum))?;
        }
        f.write_str(".")
    }

    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, budget) = (self.policy, self.policy.budget());
        if policy.attempts() <= 1 {
            return f.write_str("1x the calls: nothing is retried.");
        }
        write!(f, "At most {}x the calls", policy.attempts())?;
        if !budget.is_limited() {
            return f.write_str(", for as long as the dependency fails.");
        }
        let sustained = Ratio::ppm(budget.fraction().as_ppm().saturating_add(1_000_000));
        write!(f, ", over time {}", Times(sustained))?;
        match budget.per_second() {
            0 => f.write_str("."),
            floor => write!(f, " plus {floor} a second."),
        }
    }

    fn budget(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let budget = self.policy.budget();
        if !budget.is_limited() {
            return f.write_str("None: every retry is funded.");
        }
        write!(f, "A success funds {} of a retry", budget.fraction())?;
        if budget.per_second() > 0 {
            write!(f, ", a second funds {}", budget.per_second())?;
        }
        write!(f, "; at most {} at once.", budget.burst())?;
        if let Some(spent) = self.spent {
            write!(f, "\n  Spent: {spent}.")?;
        }
        if self.shares_budget {
            f.write_str("\n  Shared with other guards.")?;
        }
        Ok(())
    }

    fn breaker(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy.breaker() {
            Some(breaker) => write_breaker(f, breaker)?,
            None if self.breaker.is_some() => f.write_str("Not of this policy.")?,
            None => f.write_str("None.")?,
        }
        if let Some((state, _)) = self.breaker {
            write!(f, "\n  Now {state}.")?;
        }
        if self.shares_breaker {
            f.write_str("\n  Shared with other guards.")?;
        }
        Ok(())
    }
}

/// Sections of short lines, for people; without a line break at the end.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        if let Err(problems) = self.policy.validate() {
            write!(f, "\n\nProblems\n{problems}")?;
        }
        f.write_str("\n\nBound first\n  ")?;
        self.bound_first(f)?;
        f.write_str("\n\nWorst case, when every attempt hangs\n")?;
        Timeline::of(self.policy).fmt(f)?;
        if self.policy.attempts() > 1 {
            f.write_str("\n\nWaits\n  ")?;
            self.waits(f)?;
        }
        f.write_str("\n\nLoad\n  ")?;
        self.load(f)?;
        if self.policy.attempts() > 1 {
            f.write_str("\n\nRetry budget\n  ")?;
            self.budget(f)?;
        }
        f.write_str("\n\nBreaker\n  ")?;
        self.breaker(f)?;
        let mut heading = "\n\nWarnings";
        for warning in self.warnings() {
            write!(f, "{heading}\n- {warning}")?;
            heading = "";
        }
        Ok(())
    }
}

fn write_breaker(f: &mut fmt::Formatter<'_>, breaker: &Breaker) -> fmt::Result {
    let failures = Count(breaker.consecutive_failures(), "failure");
    write!(f, "Opens after {failures} in a row")?;
    if let Some(ratio) = breaker.failure_ratio() {
        write!(f, ",\n  or when {ratio} of the calls fail")?;
    }
    if let Some(slow) = breaker.slow_call() {
        let ratio = breaker.slow_ratio();
        write!(
            f,
            ",\n  or when {ratio} of the calls take {} or more",
            Compact(slow)
        )?;
    }
    f.write_str(".")?;
    if breaker.failure_ratio().is_some() || breaker.slow_call().is_some() {
        let (calls, window) = (breaker.minimum_calls(), Compact(breaker.window()));
        write!(f, "\n  Shares count from {calls} calls in {window} on.")?;
    }
    let (first, longest) = (breaker.first_break(), breaker.longest_break());
    write!(f, "\n  Breaks for {}", Drawn(first, breaker.jitter()))?;
    if first < longest {
        write!(f, ", doubling up to {}", Compact(longest))?;
    }
    let probes = Count(breaker.probes(), "probe");
    write!(f, ".\n  Then lets {probes} through at once; ")?;
    match breaker.probe_successes() {
        1 => f.write_str("a success closes it."),
        successes => write!(f, "{successes} successes close it."),
    }
}

const fn is_refusing(state: BreakerState) -> bool {
    matches!(
        state,
        BreakerState::Open | BreakerState::HalfOpen | BreakerState::Isolated
    )
}

/// Percent that `part` is of `whole`, rounded.
fn share(part: Duration, whole: Duration) -> u128 {
    let (part, whole) = (part.as_nanos(), whole.as_nanos());
    part.saturating_mul(100)
        .saturating_add(whole / 2)
        .checked_div(whole)
        .unwrap_or(0)
}

/// A number of things.
struct Count(u32, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// A ratio as a factor with up to two decimals.
struct Times(Ratio);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.as_ppm().saturating_add(5_000) / 10_000;
        let whole = hundredths / 100;
        match hundredths % 100 {
            0 => write!(f, "{whole}x"),
            h if h % 10 == 0 => write!(f, "{whole}.{}x", h / 10),
            h => write!(f, "{whole}.{h:02}x"),
        }
    }
}

#[cfg(test)]
mod tests;
