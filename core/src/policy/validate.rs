//! What every value must hold to, and the refusal that names all of it.

mod breaker;
mod checked;

use super::backoff::Backoff;
use super::budget::Budget;
use super::hedge::{Hedge, WinRate};
use super::policy::Policy;
use super::problem::Problem;
use super::problems::Problems;
use super::saturation::Saturation;
use crate::math::ratio::Ratio;
use crate::time::nanos;

mod limits;

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
            .with(
                Problem::ZeroHistory,
                self.is_learning() && self.history().is_zero(),
            )
            .and(self.backoff().validate())
            .and(self.validate_ceiling())
            .and(self.validate_adaptive())
            .with(
                Problem::CriticalityGatesNothing,
                self.follows_criticality() && !self.gates_by_criticality(),
            )
            .and(self.validate_hedge())
            .and(self.validate_limits())
            .with(
                Problem::ZeroGap,
                matches!(self.gap(), Some(gap) if gap.is_zero())
                    && !matches!(self.attempt_timeout(), Some(timeout) if timeout.is_zero()),
            )
            .with(
                Problem::ZeroHealthyStretch,
                self.restarts().limit() > 0 && self.restarts().healthy_after().is_zero(),
            );
        let problems = match self.breaker() {
            Some(breaker) => problems.and(breaker.validate()),
            None => problems,
        };
        problems.and(self.budget().validate()).into_result()
    }

    const fn validate_ceiling(&self) -> Result<(), Problems> {
        let Some(law) = self.attempt_ceiling() else {
            return Ok(());
        };
        let quantile = law.quantile().as_ppm();
        Problems::NONE
            .with(
                Problem::CeilingMultipleTooSmall,
                law.multiple().as_ppm() <= Ratio::ONE.as_ppm(),
            )
            .with(
                Problem::CeilingQuantileOutOfRange,
                quantile < Ratio::percent(50).as_ppm() || quantile > Ratio::percent(99).as_ppm(),
            )
            .with(Problem::NoCeilingSamples, law.minimum_samples() == 0)
            .with(Problem::ZeroCeilingFloor, law.floor().is_zero())
            .with(
                Problem::CeilingFloorAboveTimeout,
                matches!(self.attempt_timeout(), Some(span) if nanos(law.floor()) >= nanos(span)),
            )
            .into_result()
    }

    /// Tells whether anything is refused or left out by criticality.
    const fn gates_by_criticality(&self) -> bool {
        let is_funded = self.attempts() > 1 && self.budget().is_limited();
        is_funded || self.hedge().is_some() || self.throttle().is_some()
    }

    /// The library does not pick a winner between two wishes.
    const fn validate_adaptive(&self) -> Result<(), Problems> {
        let off = !self.is_adaptive();
        Problems::NONE
            .with(
                Problem::CeilingNotAdaptive,
                off && self.has_chosen_ceiling(),
            )
            .with(
                Problem::BaseNotAdaptive,
                off && self.backoff().measured_base().is_some(),
            )
            .with(Problem::HedgeNotAdaptive, off && self.hedge().is_some())
            .with(
                Problem::SaturationNotAdaptive,
                off && self.saturation().is_some(),
            )
            .into_result()
    }

    const fn validate_limits(&self) -> Result<(), Problems> {
        let mut problems = Problems::NONE;
        if let Some(limit) = self.concurrency() {
            problems = problems.and(limit.validate());
        }
        if let Some(limit) = self.rate() {
            problems = problems.and(limit.validate());
        }
        if let Some(throttle) = self.throttle() {
            problems = problems.and(throttle.validate());
        }
        if let Some(saturation) = self.saturation() {
            problems = problems.and(saturation.validate()).with(
                Problem::SaturationGuardsNothing,
                !self.is_learning() && self.hedge().is_none(),
            );
        }
        problems.into_result()
    }

    const fn validate_hedge(&self) -> Result<(), Problems> {
        let Some(hedge) = self.hedge() else {
            return Ok(());
        };
        Problems::NONE
            .and(hedge.validate())
            .with(Problem::HedgeWithoutRetry, self.attempts() <= 1)
            .into_result()
    }

    /// Finds what keeps the policy from working in a guard with so many lanes,
    /// which measures latencies or does not.
    pub(crate) const fn validate_in(&self, lanes: usize, measures: bool) -> Result<(), Problems> {
        let asks = self.has_chosen_ceiling()
            || self.hedge().is_some()
            || self.backoff().measured_base().is_some();
        Problems::NONE
            .and(self.validate())
            .with(
                Problem::HedgeWithoutLanes,
                self.hedge().is_some() && lanes < 2,
            )
            .with(
                Problem::LanesWithoutHedge,
                self.hedge().is_none() && lanes > 1,
            )
            .with(Problem::NothingToMeasureWith, asks && !measures)
            .into_result()
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
            .and(self.validate_measured_base())
            .into_result()
    }

    const fn validate_measured_base(&self) -> Result<(), Problems> {
        let Some(law) = self.measured_base() else {
            return Ok(());
        };
        let quantile = law.quantile().as_ppm();
        Problems::NONE
            .with(Problem::ZeroBaseMultiple, law.multiple().as_ppm() == 0)
            .with(
                Problem::BaseQuantileOutOfRange,
                quantile == 0 || quantile > Ratio::percent(50).as_ppm(),
            )
            .with(Problem::NoBaseSamples, law.minimum_samples() == 0)
            .with(Problem::BaseSpreadTooSmall, law.spread() < 2)
            .with(
                Problem::MeasuredConstant,
                self.factor().as_ppm() == Ratio::ONE.as_ppm()
                    && nanos(self.maximum()) == nanos(self.transient_base()),
            )
            .into_result()
    }
}

impl Hedge {
    /// Finds everything that makes the law impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let quantile = self.quantile().as_ppm();
        let problems = Problems::NONE
            .with(
                Problem::HedgeQuantileOutOfRange,
                quantile < Ratio::percent(50).as_ppm() || quantile >= Ratio::ONE.as_ppm(),
            )
            .with(Problem::NoHedgeSamples, self.minimum_samples() == 0)
            .with(Problem::ZeroHedgeWindow, self.window().is_zero())
            .with(
                Problem::HedgeSuppressionOutOfRange,
                !is_share(self.suppression()),
            );
        match self.win_rate() {
            Some(law) => problems.and(law.validate()),
            None => problems,
        }
        .into_result()
    }
}

impl WinRate {
    /// Finds everything that makes the law impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        let whole = Ratio::ONE.as_ppm();
        Problems::NONE
            .with(
                Problem::WinRateOutOfRange,
                !is_share(self.minimum()) || self.minimum().as_ppm() == whole,
            )
            .with(Problem::ZeroWinWindow, self.window().is_zero())
            .with(Problem::NoWinSamples, self.minimum_samples() == 0)
            .with(
                Problem::WinAllowanceTooLarge,
                self.minimum_allowance().as_ppm() >= whole,
            )
            .into_result()
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
            .with(
                Problem::ZeroBudgetHalfLife,
                limited && matches!(self.half_life(), Some(span) if span.is_zero()),
            )
            .with(
                Problem::ZeroBudgetSpare,
                limited && matches!(self.spare(), Some(span) if span.is_zero()),
            )
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

impl Saturation {
    /// Finds everything that makes the rule impossible.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn validate(&self) -> Result<(), Problems> {
        Problems::NONE
            .with(
                Problem::SaturationMultipleTooSmall,
                self.multiple().as_ppm() <= Ratio::ONE.as_ppm(),
            )
            .with(Problem::ZeroSaturationFloor, self.floor().is_zero())
            .with(
                Problem::SaturationSamplesOutOfRange,
                self.minimum_samples() == 0 || self.minimum_samples() > Self::MOST_SAMPLES,
            )
            .into_result()
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
    const ROOM: usize = 16_000;
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
