//! What every value must hold to, and the refusal that names all of it.

use super::backoff::Backoff;
use super::breaker::Breaker;
use super::budget::Budget;
use super::policy::Policy;
use super::problem::{PolicyError, Problem, Problems};
use super::timeline::Timeline;
use crate::math::ratio::Ratio;
use crate::time::nanos;

impl Policy {
    /// Finds everything that makes the policy impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem of the policy and its parts.
    pub const fn validate(&self) -> Result<(), Problems> {
        let problems = Problems::NONE
            .with(Problem::NoAttempts, self.attempts() == 0)
            .with(
                Problem::ZeroDeadline,
                matches!(self.deadline(), Some(span) if span.is_zero()),
            )
            .with(
                Problem::ZeroAttemptTimeout,
                matches!(self.attempt_timeout(), Some(span) if span.is_zero()),
            )
            .and(self.backoff().validate());
        let problems = match self.breaker() {
            Some(breaker) => problems.and(breaker.validate()),
            None => problems,
        };
        problems.and(self.budget().validate()).into_result()
    }

    /// Returns the policy, if it can work.
    ///
    /// In a `const` or a `static` a bad policy does not compile, and the
    /// compiler's message is the one below.
    ///
    /// # Panics
    ///
    /// Panics with every problem when the policy is impossible. For a policy
    /// that is read at run time there is [`Policy::try_checked`].
    ///
    /// ```compile_fail,E0080
    /// use steadfast_core::Policy;
    ///
    /// static BAD: Policy = Policy::DEFAULT.with_attempts(0).checked();
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(problems) = self.validate() {
            refuse("this policy cannot work", problems);
        }
        self
    }

    /// Returns the policy, if it can work.
    ///
    /// # Errors
    ///
    /// Returns every problem, and a text that explains them.
    pub const fn try_checked(self) -> Result<Self, PolicyError> {
        match self.validate() {
            Ok(()) => Ok(self),
            Err(problems) => Err(PolicyError::new(self.name(), problems, Timeline::of(&self))),
        }
    }
}

impl Backoff {
    /// Finds everything that makes the rule impossible.
    ///
    /// A base that the library chose is capped in silence: 100 ms after a
    /// transient failure, and after a throttled one as much as that or ten
    /// times as much. A longest wait of zero switches every base off.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let longest = nanos(self.maximum());
        let transient = nanos(self.transient_base());
        let is_default = transient == nanos(Self::DEFAULT.transient_base());
        let waits = longest > 0;
        Problems::NONE
            .with(Problem::ZeroFactor, self.factor().as_ppm() == 0)
            .with(
                Problem::TransientBaseAboveMaximum,
                waits && transient > longest && !is_default,
            )
            .with(
                Problem::ThrottledBaseAboveMaximum,
                waits
                    && nanos(self.throttled_base()) > longest
                    && !self.throttled_follows_transient(),
            )
            .into_result()
    }
}

impl Breaker {
    /// Finds everything that makes the settings impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        Problems::NONE
            .with(
                Problem::NoConsecutiveFailures,
                self.consecutive_failures() == 0,
            )
            .with(
                Problem::FailureRatioOutOfRange,
                matches!(self.failure_ratio(), Some(ratio) if !is_share(ratio)),
            )
            .and(self.validate_relative_failures())
            .with(
                Problem::ZeroSlowThreshold,
                matches!(self.slow_call(), Some(span) if span.is_zero()),
            )
            .with(
                Problem::SlowRatioOutOfRange,
                self.slow_call().is_some() && !is_share(self.slow_ratio()),
            )
            .with(Problem::NoMinimumCalls, self.minimum_calls() == 0)
            .with(Problem::ZeroWindow, self.window().is_zero())
            .with(Problem::ZeroBreak, self.first_break().is_zero())
            .with(
                Problem::LongestBreakBelowFirst,
                nanos(self.longest_break()) < nanos(self.first_break()),
            )
            .with(Problem::ProbesOutOfRange, !matches!(self.probes(), 1..=255))
            .with(
                Problem::ProbeSuccessesOutOfRange,
                !matches!(self.probe_successes(), 1..=255),
            )
            .into_result()
    }

    const fn validate_relative_failures(&self) -> Result<(), Problems> {
        let (Some(law), Some(baseline)) = (self.relative_failures(), self.baseline()) else {
            return Ok(());
        };
        let multiple = law.multiple();
        let is_multiple = multiple.as_ppm() > Ratio::ONE.as_ppm();
        let twice = nanos(self.window()).saturating_mul(2);
        Problems::NONE
            .with(Problem::RelativeMultipleTooSmall, !is_multiple)
            .with(Problem::RelativeFloorOutOfRange, !is_share(law.floor()))
            .with(Problem::NoMinimumBaseline, law.minimum_baseline() == 0)
            .with(Problem::ZeroBaseline, baseline.is_zero())
            .with(
                Problem::BaselineTooShort,
                is_multiple && !baseline.is_zero() && !multiple.is_reached(nanos(baseline), twice),
            )
            .into_result()
    }

    /// Returns the settings, if they can work.
    ///
    /// # Panics
    ///
    /// Panics with every problem when they cannot; in a `const` or a `static`
    /// that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(problems) = self.validate() {
            refuse("this breaker cannot work", problems);
        }
        self
    }
}

impl Budget {
    /// Finds everything that makes the law impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem; [`Budget::NONE`] has none.
    pub const fn validate(&self) -> Result<(), Problems> {
        let limited = self.is_limited();
        Problems::NONE
            .with(
                Problem::BudgetFractionOutOfRange,
                limited && !is_share(self.fraction()),
            )
            .with(Problem::NoBudgetBurst, limited && self.burst() == 0)
            .into_result()
    }

    /// Returns the law, if it can work.
    ///
    /// # Panics
    ///
    /// Panics with every problem when it cannot; in a `const` or a `static`
    /// that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(problems) = self.validate() {
            refuse("this budget cannot work", problems);
        }
        self
    }
}

const fn is_share(ratio: Ratio) -> bool {
    ratio.as_ppm() > 0 && ratio.as_ppm() <= Ratio::ONE.as_ppm()
}

/// Panics with the list of problems: a constant cannot format one.
#[cold]
#[track_caller]
#[expect(
    clippy::panic,
    reason = "documented by its callers; at compile time it is the error message"
)]
const fn refuse(what: &str, problems: Problems) -> ! {
    let text = refusal(what, problems);
    panic!("{}", text.as_str());
}

const fn refusal(what: &str, problems: Problems) -> Text {
    let mut text = Text::EMPTY;
    text.push(what);
    text.push(":");
    let mut rest: &[Problem] = &Problem::ALL;
    while let Some((&problem, tail)) = rest.split_first() {
        rest = tail;
        if problems.contains(problem) {
            text.push("\n- ");
            text.push(problem.message());
        }
    }
    text
}

/// A text that a constant can build; what does not fit is left out.
struct Text {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl Text {
    /// Holds every problem at once, which a test makes sure of.
    const ROOM: usize = 3_200;
    const EMPTY: Self = Self {
        bytes: [0; Self::ROOM],
        len: 0,
    };

    const fn push(&mut self, part: &str) {
        if let Some((_, free)) = self.bytes.split_at_mut_checked(self.len)
            && let Some((place, _)) = free.split_at_mut_checked(part.len())
        {
            place.copy_from_slice(part.as_bytes());
            self.len = self.len.saturating_add(part.len());
        }
    }

    const fn as_str(&self) -> &str {
        match self.bytes.split_at_checked(self.len) {
            Some((written, _)) => match core::str::from_utf8(written) {
                Ok(text) => text,
                Err(_) => "",
            },
            None => "",
        }
    }
}

#[cfg(test)]
mod tests;
