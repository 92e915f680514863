//! What makes a policy impossible.

use core::fmt;

use super::timeline::Timeline;

/// Something that makes a policy impossible.
///
/// ```
/// use steadfast_core::{Policy, Problem};
///
/// let problems = Policy::DEFAULT.with_attempts(0).validate().unwrap_err();
/// assert!(problems.contains(Problem::NoAttempts));
/// assert!(Problem::NoAttempts.message().starts_with("attempts is 0"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// Attempts is 0.
    NoAttempts,
    /// The deadline is zero.
    ZeroDeadline,
    /// The attempt timeout is zero.
    ZeroAttemptTimeout,
    /// The factor of the backoff is 0.
    ZeroFactor,
    /// The backoff's first wait after a transient failure is above its longest.
    TransientBaseAboveMaximum,
    /// The backoff's first wait after a throttled failure is above its longest.
    ThrottledBaseAboveMaximum,
    /// The history is zero.
    ZeroHistory,
    /// The attempt ceiling's multiple is not above 1.
    CeilingMultipleTooSmall,
    /// The attempt ceiling's quantile is not within 50 % and 99 %.
    CeilingQuantileOutOfRange,
    /// The attempt ceiling needs no samples.
    NoCeilingSamples,
    /// The attempt ceiling's floor is zero.
    ZeroCeilingFloor,
    /// The attempt ceiling's floor is not below the attempt timeout.
    CeilingFloorAboveTimeout,
    /// The measured base's multiple is 0.
    ZeroBaseMultiple,
    /// The measured base's quantile is 0 or above 50 %.
    BaseQuantileOutOfRange,
    /// The measured base needs no samples.
    NoBaseSamples,
    /// The measured base's spread is not above 1.
    BaseSpreadTooSmall,
    /// The first wait of a constant backoff is measured.
    MeasuredConstant,
    /// The hedge's quantile is not within 50 % and below 100 %.
    HedgeQuantileOutOfRange,
    /// The hedge needs no samples.
    NoHedgeSamples,
    /// The hedge's window is zero.
    ZeroHedgeWindow,
    /// The hedge's suppression is 0 or above 1.
    HedgeSuppressionOutOfRange,
    /// The share of hedges that have to win is 0 or not below 1.
    WinRateOutOfRange,
    /// The window of the win rate is zero.
    ZeroWinWindow,
    /// The win rate needs no hedges.
    NoWinSamples,
    /// The least share of hedges admitted is 1 or more.
    WinAllowanceTooLarge,
    /// A hedged policy allows one attempt only.
    HedgeWithoutRetry,
    /// A hedged policy stands in a guard with one lane.
    HedgeWithoutLanes,
    /// A guard with several lanes has a policy that does not hedge.
    LanesWithoutHedge,
    /// A measured bound was asked for where nothing is measured.
    NothingToMeasureWith,
    /// An attempt ceiling was asked for without measuring.
    CeilingNotAdaptive,
    /// A measured base was asked for without measuring.
    BaseNotAdaptive,
    /// A hedge was asked for without measuring.
    HedgeNotAdaptive,
    /// The breaker opens after 0 failures in a row.
    NoConsecutiveFailures,
    /// The breaker's failure ratio is 0 or above 1.
    FailureRatioOutOfRange,
    /// The breaker's multiple of what is normal is not above 1.
    RelativeMultipleTooSmall,
    /// The breaker's floor of relative failures is 0 or above 1.
    RelativeFloorOutOfRange,
    /// The breaker needs no attempts to know what is normal.
    NoMinimumBaseline,
    /// The breaker's baseline is zero.
    ZeroBaseline,
    /// The breaker's baseline is short of twice its window times the multiple.
    BaselineTooShort,
    /// The breaker calls every success slow.
    ZeroSlowThreshold,
    /// The breaker's slow ratio is 0 or above 1.
    SlowRatioOutOfRange,
    /// The breaker's ratios need no attempts.
    NoMinimumCalls,
    /// The breaker's window is zero.
    ZeroWindow,
    /// The breaker's first break is zero.
    ZeroBreak,
    /// The breaker's longest break is shorter than its first.
    LongestBreakBelowFirst,
    /// The breaker's probes are 0 or above 255.
    ProbesOutOfRange,
    /// The breaker's probe successes are 0 or above 255.
    ProbeSuccessesOutOfRange,
    /// The budget's fraction is 0 or above 1.
    BudgetFractionOutOfRange,
    /// The budget's burst is 0.
    NoBudgetBurst,
}

impl Problem {
    /// Every problem, in the order of reports.
    pub(crate) const ALL: [Self; 49] = [
        Self::NoAttempts,
        Self::ZeroDeadline,
        Self::ZeroAttemptTimeout,
        Self::ZeroFactor,
        Self::TransientBaseAboveMaximum,
        Self::ThrottledBaseAboveMaximum,
        Self::ZeroHistory,
        Self::CeilingMultipleTooSmall,
        Self::CeilingQuantileOutOfRange,
        Self::NoCeilingSamples,
        Self::ZeroCeilingFloor,
        Self::CeilingFloorAboveTimeout,
        Self::ZeroBaseMultiple,
        Self::BaseQuantileOutOfRange,
        Self::NoBaseSamples,
        Self::BaseSpreadTooSmall,
        Self::MeasuredConstant,
        Self::HedgeQuantileOutOfRange,
        Self::NoHedgeSamples,
        Self::ZeroHedgeWindow,
        Self::HedgeSuppressionOutOfRange,
        Self::WinRateOutOfRange,
        Self::ZeroWinWindow,
        Self::NoWinSamples,
        Self::WinAllowanceTooLarge,
        Self::HedgeWithoutRetry,
        Self::HedgeWithoutLanes,
        Self::LanesWithoutHedge,
        Self::NothingToMeasureWith,
        Self::CeilingNotAdaptive,
        Self::BaseNotAdaptive,
        Self::HedgeNotAdaptive,
        Self::NoConsecutiveFailures,
        Self::FailureRatioOutOfRange,
        Self::RelativeMultipleTooSmall,
        Self::RelativeFloorOutOfRange,
        Self::NoMinimumBaseline,
        Self::ZeroBaseline,
        Self::BaselineTooShort,
        Self::ZeroSlowThreshold,
        Self::SlowRatioOutOfRange,
        Self::NoMinimumCalls,
        Self::ZeroWindow,
        Self::ZeroBreak,
        Self::LongestBreakBelowFirst,
        Self::ProbesOutOfRange,
        Self::ProbeSuccessesOutOfRange,
        Self::BudgetFractionOutOfRange,
        Self::NoBudgetBurst,
    ];

    /// Says what is wrong, why, and what to do about it.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoAttempts => {
                "attempts is 0, so nothing would ever be called: the first attempt counts, make it at least 1"
            }
            Self::ZeroDeadline => {
                "the deadline is zero, so a call is over before it begins: give it time, or none with `without_deadline`"
            }
            Self::ZeroAttemptTimeout => {
                "the attempt timeout is zero, so no attempt can finish: give it time, or none with `without_attempt_timeout`"
            }
            Self::ZeroFactor => {
                "the backoff's factor is 0, so every wait after the first would vanish: 1 keeps the wait, 2 doubles it"
            }
            Self::TransientBaseAboveMaximum => {
                "the backoff's first wait after a transient failure is above its longest wait: lower the base or raise `with_maximum`"
            }
            Self::ThrottledBaseAboveMaximum => {
                "the backoff's first wait after a throttled failure is above its longest wait: lower the base or raise `with_maximum`"
            }
            Self::ZeroHistory => {
                "the history is zero, so nothing is ever recent and the measured bounds never hold: give it some minutes"
            }
            Self::CeilingMultipleTooSmall => {
                "the attempt ceiling's multiple is not above 1, so it would cut what is normal: take some such as 3"
            }
            Self::CeilingQuantileOutOfRange => {
                "the attempt ceiling's quantile must be from 50% to 99%: below, half of what is normal would count as its end; above, it hangs on single calls"
            }
            Self::NoCeilingSamples => {
                "the attempt ceiling needs 0 samples, and nothing measures nothing: make it at least 1, better 20"
            }
            Self::ZeroCeilingFloor => {
                "the attempt ceiling's floor is zero, so a very fast dependency would be cut at its first hiccup: give it some milliseconds"
            }
            Self::CeilingFloorAboveTimeout => {
                "the attempt ceiling's floor is not below the attempt timeout, so the ceiling could never lower it: lower the floor, raise the timeout, or take `without_attempt_ceiling`"
            }
            Self::ZeroBaseMultiple => {
                "the measured base's multiple is 0, so the wait would always be the shortest it may be: take some such as 1"
            }
            Self::BaseQuantileOutOfRange => {
                "the measured base's quantile is 0 or above 50%, and what most calls exceed or few reach is not normal: take 50% or less"
            }
            Self::NoBaseSamples => {
                "the measured base needs 0 samples, and nothing measures nothing: make it at least 1, better 20"
            }
            Self::BaseSpreadTooSmall => {
                "the measured base's spread is not above 1, so it could not move from the constant: take some such as 10, or no measured base"
            }
            Self::MeasuredConstant => {
                "the backoff is constant, and its first wait is to be measured: take `Backoff::exponential` or `with_factor`, or no measured base"
            }
            Self::HedgeQuantileOutOfRange => {
                "the hedge's quantile must be from 50% to below 100%: what is missing to 100% is about the extra load"
            }
            Self::NoHedgeSamples => {
                "the hedge needs 0 samples, and nothing measures nothing: make it at least 1, better 20"
            }
            Self::ZeroHedgeWindow => {
                "the hedge's window is zero, so it never knows what is slow: give it some seconds"
            }
            Self::HedgeSuppressionOutOfRange => {
                "the hedge's suppression is 0 or above 100% of the breaker's limit, so it would never hedge or never stop: take a share such as 50%"
            }
            Self::WinRateOutOfRange => {
                "the share of hedges that have to win is 0 or 100%, so all or none would do: take a share between, such as 20%"
            }
            Self::ZeroWinWindow => {
                "the window of the win rate is zero, so it never sees a hedge: give it a minute"
            }
            Self::NoWinSamples => {
                "the win rate needs 0 hedges, and nothing has no rate: make it at least 1, better 10"
            }
            Self::WinAllowanceTooLarge => {
                "the least share of hedges admitted is 100% or more, so the win rate could hold nothing back: take a share such as 5%"
            }
            Self::HedgeWithoutRetry => {
                "a hedge is another attempt, and attempts is 1: allow at least 2"
            }
            Self::HedgeWithoutLanes => {
                "the policy hedges, and this guard has room for one attempt at a time: take `HedgedGuard`, or `without_hedge`"
            }
            Self::LanesWithoutHedge => {
                "the guard has room for several attempts at a time, and its policy does not hedge: add `with_hedge`, or take `Guard`"
            }
            Self::NothingToMeasureWith => {
                "a measured bound was asked for, and the guard's memory is `Unmeasured`: take another memory, or no attempt ceiling, measured base and hedge"
            }
            Self::CeilingNotAdaptive => {
                "an attempt ceiling was asked for, and measuring is switched off: take `with_adaptive(true)` or no ceiling"
            }
            Self::BaseNotAdaptive => {
                "a measured base of the backoff was asked for, and measuring is switched off: take `with_adaptive(true)` or no measured base"
            }
            Self::HedgeNotAdaptive => {
                "a hedge was asked for, and measuring is switched off: take `with_adaptive(true)` or no hedge"
            }
            Self::NoConsecutiveFailures => {
                "the breaker opens after 0 failures in a row, so it would never be closed: make it at least 1"
            }
            Self::FailureRatioOutOfRange => {
                "the breaker's failure ratio is 0 or above 100%, so it would open at once or never: take a share between, such as 50%"
            }
            Self::RelativeMultipleTooSmall => {
                "the breaker's multiple of what is normal is not above 1, so it would open at normal failures: take some such as 5"
            }
            Self::RelativeFloorOutOfRange => {
                "the breaker's floor of relative failures is 0 or above 100%, so it would open at next to none or never: take a share such as 5%"
            }
            Self::NoMinimumBaseline => {
                "the breaker needs 0 attempts to know what is normal, and nothing tells it nothing: make it at least 1, better 100"
            }
            Self::ZeroBaseline => {
                "the breaker's baseline is zero, so it never knows what is normal: give it some minutes"
            }
            Self::BaselineTooShort => {
                "the breaker's baseline is too short, so a slow rise becomes normal before it opens: make it twice the window times the multiple"
            }
            Self::ZeroSlowThreshold => {
                "the breaker calls a success slow from zero on, so all are slow: set the threshold above the normal latency"
            }
            Self::SlowRatioOutOfRange => {
                "the breaker's slow ratio is 0 or above 100%, so it would open at once or never: take a share between, such as 50%"
            }
            Self::NoMinimumCalls => {
                "the breaker's ratios need a minimum of 0 attempts, and nothing has no ratio: make it at least 1, better 20"
            }
            Self::ZeroWindow => {
                "the breaker's window is zero, so its ratios never see an attempt: give it some seconds"
            }
            Self::ZeroBreak => {
                "the breaker's first break is zero, so it would open and let the next attempt through: give it some seconds"
            }
            Self::LongestBreakBelowFirst => {
                "the breaker's longest break is shorter than its first: raise the longest or lower the first"
            }
            Self::ProbesOutOfRange => {
                "the breaker's probes at once must be 1 to 255: with none it would stay open for ever"
            }
            Self::ProbeSuccessesOutOfRange => {
                "the successful probes that close the breaker must be 1 to 255: with none an open breaker proves nothing"
            }
            Self::BudgetFractionOutOfRange => {
                "the budget's fraction is 0 or above 100%: take a share such as 10%, or `Budget::NONE` for no budget"
            }
            Self::NoBudgetBurst => {
                "the budget's burst is 0, so it could never hold a token: make it at least 1, or take `Budget::NONE`"
            }
        }
    }

    /// Its place in a set: two words, as there are more than 64.
    const fn bits(self) -> [u64; 2] {
        let place = self as u32;
        [
            1_u64.unbounded_shl(place),
            match place.checked_sub(64) {
                Some(place) => 1_u64.unbounded_shl(place),
                None => 0,
            },
        ]
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl core::error::Error for Problem {}

/// Everything that makes a policy impossible, found at once.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Policy, Problem};
///
/// let hopeless = Policy::DEFAULT.with_attempts(0).with_deadline(Duration::ZERO);
/// let problems = hopeless.validate().unwrap_err();
/// assert!(problems.iter().eq([Problem::NoAttempts, Problem::ZeroDeadline]));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Problems([u64; 2]);

impl Problems {
    /// No problem.
    pub(crate) const NONE: Self = Self([0; 2]);

    /// Returns the set with one more problem, if that is the case.
    pub(crate) const fn with(self, problem: Problem, is_so: bool) -> Self {
        if is_so { self.or(problem.bits()) } else { self }
    }

    /// Returns the set with the problems of a part.
    pub(crate) const fn and(self, part: Result<(), Self>) -> Self {
        match part {
            Ok(()) => self,
            Err(other) => self.or(other.0),
        }
    }

    const fn or(self, [low, high]: [u64; 2]) -> Self {
        let [own_low, own_high] = self.0;
        Self([own_low | low, own_high | high])
    }

    /// Returns the set as a validation's answer.
    pub(crate) const fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Tells whether there is no problem.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self.0, [0, 0])
    }

    /// Returns how many problems there are.
    #[must_use]
    pub const fn len(self) -> usize {
        let [low, high] = self.0;
        low.count_ones().saturating_add(high.count_ones()) as usize
    }

    /// Tells whether `problem` is one of them.
    #[must_use]
    pub const fn contains(self, problem: Problem) -> bool {
        let ([low, high], [own_low, own_high]) = (problem.bits(), self.0);
        own_low & low != 0 || own_high & high != 0
    }

    /// Returns the problems, in the order a policy is read.
    pub fn iter(self) -> ProblemsIter {
        ProblemsIter {
            found: self,
            all: Problem::ALL.into_iter(),
        }
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = ProblemsIter;

    fn into_iter(self) -> ProblemsIter {
        self.iter()
    }
}

impl IntoIterator for &Problems {
    type Item = Problem;
    type IntoIter = ProblemsIter;

    fn into_iter(self) -> ProblemsIter {
        self.iter()
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The problems of a policy, one after the other.
///
/// ```
/// use steadfast_core::{Policy, Problem};
///
/// let error = Policy::DEFAULT.with_attempts(0).try_checked().unwrap_err();
/// for problem in error.problems() {
///     assert_eq!(problem, Problem::NoAttempts);
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing unless asked"]
pub struct ProblemsIter {
    found: Problems,
    all: core::array::IntoIter<Problem, { Problem::ALL.len() }>,
}

impl Iterator for ProblemsIter {
    type Item = Problem;

    fn next(&mut self) -> Option<Problem> {
        let found = self.found;
        self.all.find(|&problem| found.contains(problem))
    }
}

/// One problem a line, without a line break at the end.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "- {problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}

/// A policy cannot work, and why.
///
/// Its text lists every problem with its remedy and, when anything bounds a
/// call, what a call would do when every attempt hangs. `Debug` gives the same
/// text, for it is what `unwrap` and a failing `main` show.
///
/// ```
/// use steadfast_core::{Policy, Problem};
///
/// let error = Policy::DEFAULT.with_name("search").with_attempts(0).try_checked().unwrap_err();
/// assert_eq!(error.name(), Some("search"));
/// assert!(error.problems().contains(Problem::NoAttempts));
/// assert!(error.to_string().starts_with("policy `search` cannot work: 1 problem\n"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PolicyError {
    name: Option<&'static str>,
    problems: Problems,
    timeline: Timeline,
}

impl PolicyError {
    pub(crate) const fn new(
        name: Option<&'static str>,
        problems: Problems,
        timeline: Timeline,
    ) -> Self {
        Self {
            name,
            problems,
            timeline,
        }
    }

    /// Returns the name of the policy, if it has one.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Returns every problem.
    #[must_use]
    pub const fn problems(&self) -> Problems {
        self.problems
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "policy `{name}`")?,
            None => f.write_str("the policy")?,
        }
        let (count, problems) = (self.problems.len(), self.problems);
        let plural = if count == 1 { "" } else { "s" };
        write!(f, " cannot work: {count} problem{plural}\n{problems}")?;
        if self.timeline.is_bounded() {
            write!(f, "\nwhen every attempt hangs:\n{}", self.timeline)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_bit() {
        for (index, problem) in Problem::ALL.into_iter().enumerate() {
            assert_eq!(problem as usize, index, "{problem:?}");
        }
    }
}
