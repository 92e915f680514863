//! A policy in words.

mod bound;
mod breaker;
mod draining;
mod followed;
mod limits;
mod measured;
mod waits;
mod worst;

use core::fmt;
use core::time::Duration;

use super::policy::Policy;
use super::span::Compact;
use super::timeline::REJECTION_PAUSE;
use super::warning::Warning;
use crate::breaker_state::BreakerState;
use crate::math::ratio::Ratio;
use crate::measured::Measured;
use crate::standing::Standing;

impl Policy {
    /// Explains the policy in words; print it.
    ///
    /// Works on an impossible policy too, and lists its problems.
    #[must_use]
    pub const fn explain(&self) -> Explanation<'_> {
        Explanation {
            policy: self,
            measured: None,
            standing: Standing {
                concurrency: None,
                rate: None,
                throttle: None,
            },
            breaker: None,
            observes: false,
            spent: None,
            budget_observes: false,
            shares_breaker: false,
            shares_budget: false,
            unseeded: false,
            draining: None,
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that a guard adds, each apart from the others"
)]
pub struct Explanation<'a> {
    policy: &'a Policy,
    measured: Option<Measured>,
    standing: Standing,
    breaker: Option<(BreakerState, Option<Duration>)>,
    observes: bool,
    spent: Option<Ratio>,
    budget_observes: bool,
    shares_breaker: bool,
    shares_budget: bool,
    unseeded: bool,
    /// What is left of the grace, if it drains; more than anything without end.
    draining: Option<Duration>,
}

impl Explanation<'_> {
    /// Adds what a guard measures right now.
    #[must_use]
    pub const fn with_measured(self, measured: Measured) -> Self {
        Self {
            measured: Some(measured),
            ..self
        }
    }

    /// Adds how the limits stand right now.
    #[must_use]
    pub const fn with_standing(self, standing: Standing) -> Self {
        Self { standing, ..self }
    }

    /// Adds what the breaker does now, and in how long it may be asked again.
    #[must_use]
    pub const fn with_breaker(self, state: BreakerState, asked_again: Option<Duration>) -> Self {
        Self {
            breaker: Some((state, asked_again)),
            ..self
        }
    }

    /// Adds that the breaker only observes: it refuses nothing.
    #[must_use]
    pub const fn observing(self) -> Self {
        Self {
            observes: true,
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

    /// Adds that the retry budget only observes: it refuses nothing.
    #[must_use]
    pub const fn with_observing_budget(self) -> Self {
        Self {
            budget_observes: true,
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

    /// Adds that the guard or its process is about to stop, and what is left of the
    /// grace; [`Duration::MAX`] if nothing bounds it.
    #[must_use]
    pub const fn draining(self, left: Duration) -> Self {
        Self {
            draining: Some(left),
            ..self
        }
    }

    /// Returns when a call has ended at the latest if every attempt hangs.
    ///
    /// `None` when nothing bounds it. Waits count at their longest, and the
    /// 100 ms that a refusal by breaker or budget is held back count, too. A
    /// dependency that throttles or asks for a wait can make the call longer,
    /// up to the deadline; so can an operation that holds its thread, and rules of
    /// a guard that choose longer waits or have slow hooks: of those only the
    /// deadline is known. Beyond
    /// 1000 attempts, waits that still change count at their longest. Whatever a
    /// guard measures it holds: measured bounds only lower it, and a measured
    /// base of the backoff counts at its longest.
    #[must_use]
    pub fn worst_case(&self) -> Option<Duration> {
        self.bound().ending().worst
    }

    /// Returns what is legal in the policy, yet hardly meant.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let (policy, unseeded) = (self.policy, self.unseeded);
        // What this policy does not need may serve the others.
        let shares_budget = self.shares_budget;
        Warning::ALL
            .into_iter()
            .filter(move |warning| !(shares_budget && *warning == Warning::IdleBudget))
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

    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, budget) = (self.policy, self.policy.budget());
        match policy.attempts() {
            0 => return f.write_str("None: nothing is ever called."),
            1 => f.write_str("1 attempt a call: nothing is retried.")?,
            attempts => write!(
                f,
                "At most {attempts} attempts a call; the classifier says which failures are retried.\n  "
            )?,
        }
        if let (Some(hedge), 2..) = (policy.hedge(), policy.attempts()) {
            let raced = Ratio::ppm(
                Ratio::ONE
                    .as_ppm()
                    .saturating_sub(hedge.quantile().as_ppm()),
            );
            write!(
                f,
                "About {raced} of them are raced by a copy for being slow; a copy is one of the {}.\n  ",
                policy.attempts()
            )?;
        }
        if policy.attempts() > 1 && budget.is_limited() {
            let fraction = budget.fraction();
            let what = match policy.hedge() {
                Some(_) => "retries and copies",
                None => "retries",
            };
            write!(
                f,
                "Over time, {what} are at most {fraction} of the calls that succeed"
            )?;
            if budget.per_second() > 0 {
                write!(f, ", plus {} a second", budget.per_second())?;
            }
            if let Some(after) = budget.spare() {
                write!(f, ", plus 1 in {}", Compact(after))?;
            }
            f.write_str(".")?;
        } else if policy.attempts() > 1 {
            let attempts = policy.attempts();
            write!(
                f,
                "No budget limits the retries: an outage makes the load {attempts} times as high, "
            )?;
            f.write_str(match policy.breaker() {
                Some(_) if self.can_breaker_refuse() => "until the breaker opens.",
                _ => "for as long as it lasts.",
            })?;
        }
        if self.timeline().can_refuse() {
            let pause = Compact(REJECTION_PAUSE);
            write!(
                f,
                "\n  A refusal is told after {pause}, or at the deadline if that is sooner."
            )?;
        }
        Ok(())
    }

    fn budget(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let budget = self.policy.budget();
        if budget.is_limited() {
            write!(
                f,
                "A call that succeeds pays for {} of a retry",
                budget.fraction()
            )?;
            if budget.per_second() > 0 {
                let retries = Retries(budget.per_second());
                write!(f, ", and every second of time for {retries}")?;
            }
            match budget.half_life() {
                None => {
                    let room = Retries(budget.burst());
                    write!(
                        f,
                        ".\n  It starts full and holds {room}; when empty, it refuses."
                    )?;
                }
                Some(half_life) => {
                    let (half_life, most) = (Compact(half_life), budget.burst());
                    write!(
                        f,
                        ".\n  It holds what was paid of late, half of it after {half_life}: at least 1 retry, at most {most}. When empty, it refuses."
                    )?;
                }
            }
            if let Some(after) = budget.spare() {
                let [first, second, third] = [1, 2, 4]
                    .map(|times| after.saturating_mul(times))
                    .map(Compact);
                write!(
                    f,
                    "\n  After {first} without a retry one is allowed all the same; while no call succeeds, after {second}, then {third}, and so on."
                )?;
            }
            if let Some(spent) = self.spent {
                write!(f, "\n  Spent now: {spent}.")?;
            }
            if self.budget_observes {
                f.write_str("\n  It only observes: it refuses nothing.")?;
            }
        } else {
            f.write_str("None: every retry is allowed.")?;
        }
        if self.shares_budget {
            f.write_str("\n  Shared with other guards.")?;
        }
        Ok(())
    }

    fn breaker(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy.breaker() {
            Some(breaker) => breaker::write(f, breaker)?,
            None if self.breaker.is_some() => f.write_str("Not of this policy.")?,
            None => f.write_str("None.")?,
        }
        if let Some((state, _)) = self.breaker {
            write!(f, "\n  Now {state}.")?;
        }
        if self.observes {
            f.write_str("\n  It only observes: it refuses nothing.")?;
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
        if let Some(left) = self.draining {
            f.write_str("\n\nDraining now\n  ")?;
            draining::write(f, left)?;
        }
        if let Err(problems) = self.policy.validate() {
            write!(f, "\n\nProblems\n{problems}")?;
        }
        f.write_str("\n\nBound first\n  ")?;
        self.bound_first(f)?;
        self.worst(f)?;
        self.followed(f)?;
        if self.policy.attempts() > 1 {
            f.write_str("\n\nWaits\n  ")?;
            self.waits(f)?;
        }
        f.write_str("\n\nLoad\n  ")?;
        self.load(f)?;
        if self.policy.attempts() > 1 || self.shares_budget {
            f.write_str("\n\nRetry budget\n  ")?;
            self.budget(f)?;
        }
        let heading = match self.measured {
            Some(_) => "Measured now",
            None => "Measured by a guard",
        };
        write!(f, "\n\n{heading}\n  ")?;
        self.measurements(f)?;
        f.write_str("\n\nBreaker\n  ")?;
        self.breaker(f)?;
        self.limits(f)?;
        let mut heading = "\n\nWarnings";
        for warning in self.warnings() {
            write!(f, "{heading}\n- {warning}")?;
            heading = "";
        }
        Ok(())
    }
}

/// A number of things.
struct Count(u32, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

struct Retries(u32);

impl fmt::Display for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 retry"),
            retries => write!(f, "{retries} retries"),
        }
    }
}

/// A ratio as a factor, without trailing zeros.
struct Times(Ratio);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.0.as_ppm() / 1_000_000, self.0.as_ppm() % 1_000_000);
        if rest == 0 {
            return write!(f, "{whole}x");
        }
        let mut digits = 6_usize;
        while rest % 10 == 0 {
            rest /= 10;
            digits = digits.saturating_sub(1);
        }
        write!(f, "{whole}.{rest:0digits$}x")
    }
}

#[cfg(test)]
mod tests;
