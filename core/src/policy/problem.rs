//! What makes a policy impossible.

use core::fmt;

/// Declares the problems: what each is, and what its message says.
macro_rules! problems {
    ($(#[doc = $doc:literal] $name:ident = $message:literal,)*) => {
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
            $(#[doc = $doc] $name,)*
        }

        impl Problem {
            /// Every problem, in the order of reports.
            pub(crate) const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// Says what is wrong, why, and what to do about it.
            #[must_use]
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$name => $message,)*
                }
            }
        }
    };
}

// In the order of reports.
problems! {
    /// Attempts is 0.
    NoAttempts = "attempts is 0, so nothing would ever be called: the first attempt counts, make it at least 1",
    /// The deadline is zero.
    ZeroDeadline = "the deadline is zero, so a call is over before it begins: give it time, or none with `without_deadline`",
    /// The attempt timeout is zero.
    ZeroAttemptTimeout = "the attempt timeout is zero, so no attempt can finish: give it time, or none with `without_attempt_timeout`",
    /// The factor of the backoff is 0.
    ZeroFactor = "the backoff's factor is 0, so every wait after the first would vanish: 1 keeps the wait, 2 doubles it",
    /// The backoff's first wait after a transient failure is above its longest.
    TransientBaseAboveMaximum = "the backoff's first wait after a transient failure is above its longest wait: lower the base or raise `with_maximum`",
    /// The backoff's first wait after a throttled failure is above its longest.
    ThrottledBaseAboveMaximum = "the backoff's first wait after a throttled failure is above its longest wait: lower the base or raise `with_maximum`",
    /// The history is zero.
    ZeroHistory = "the history is zero, so nothing is ever recent and the measured bounds never hold: give it some minutes",
    /// The attempt ceiling's multiple is not above 1.
    CeilingMultipleTooSmall = "the attempt ceiling's multiple is not above 1, so it would cut what is normal: take some such as 3",
    /// The attempt ceiling's quantile is not within 50 % and 99 %.
    CeilingQuantileOutOfRange = "the attempt ceiling's quantile must be from 50% to 99%: below, half of what is normal would count as its end; above, it hangs on single calls",
    /// The attempt ceiling needs no samples.
    NoCeilingSamples = "the attempt ceiling needs 0 samples, and nothing measures nothing: make it at least 1, better 20",
    /// The attempt ceiling's floor is zero.
    ZeroCeilingFloor = "the attempt ceiling's floor is zero, so a very fast dependency would be cut at its first hiccup: give it some milliseconds",
    /// The attempt ceiling's floor is not below the attempt timeout.
    CeilingFloorAboveTimeout = "the attempt ceiling's floor is not below the attempt timeout, so the ceiling could never lower it: lower the floor, raise the timeout, or take `without_attempt_ceiling`",
    /// The measured base's multiple is 0.
    ZeroBaseMultiple = "the measured base's multiple is 0, so the wait would always be the shortest it may be: take some such as 1",
    /// The measured base's quantile is 0 or above 50 %.
    BaseQuantileOutOfRange = "the measured base's quantile is 0 or above 50%, and what most calls exceed or few reach is not normal: take 50% or less",
    /// The measured base needs no samples.
    NoBaseSamples = "the measured base needs 0 samples, and nothing measures nothing: make it at least 1, better 20",
    /// The measured base's spread is not above 1.
    BaseSpreadTooSmall = "the measured base's spread is not above 1, so it could not move from the constant: take some such as 10, or no measured base",
    /// The first wait of a constant backoff is measured.
    MeasuredConstant = "the backoff is constant, and its first wait is to be measured: take `Backoff::exponential` or `with_factor`, or no measured base",
    /// A scope has room for no key.
    NoKeys = "the scope has room for 0 keys, so all would share one guard: give it more than are in use at once",
    /// The gap between two items of a stream is zero.
    ZeroGap = "the gap between two items of a stream is zero, so each would stall: give it time, or none with `without_gap`",
    /// A stream counts as healthy at once.
    ZeroHealthyStretch = "a stream is healthy after no time at all, so one that breaks at once would be resumed for ever: give it some seconds",
    /// The hedge's quantile is not within 50 % and below 100 %.
    HedgeQuantileOutOfRange = "the hedge's quantile must be from 50% to below 100%: what is missing to 100% is about the extra load",
    /// The hedge needs no samples.
    NoHedgeSamples = "the hedge needs 0 samples, and nothing measures nothing: make it at least 1, better 20",
    /// The hedge's window is zero.
    ZeroHedgeWindow = "the hedge's window is zero, so it never knows what is slow: give it some seconds",
    /// The hedge's suppression is 0 or above 1.
    HedgeSuppressionOutOfRange = "the hedge's suppression is 0 or above 100% of the breaker's limit, so it would never hedge or never stop: take a share such as 50%",
    /// The share of hedges that have to win is 0 or not below 1.
    WinRateOutOfRange = "the share of hedges that have to win is 0 or 100%, so all or none would do: take a share between, such as 20%",
    /// The window of the win rate is zero.
    ZeroWinWindow = "the window of the win rate is zero, so it never sees a hedge: give it a minute",
    /// The win rate needs no hedges.
    NoWinSamples = "the win rate needs 0 hedges, and nothing has no rate: make it at least 1, better 10",
    /// The least share of hedges admitted is 1 or more.
    WinAllowanceTooLarge = "the least share of hedges admitted is 100% or more, so the win rate could hold nothing back: take a share such as 5%",
    /// A hedged policy allows no second attempt.
    HedgeWithoutRetry = "a hedge is another attempt, and the policy allows no second one: make attempts at least 2",
    /// A hedged policy stands in a guard with one lane.
    HedgeWithoutLanes = "the policy hedges, and this guard has room for one attempt at a time: take `HedgedGuard`, or `without_hedge`",
    /// A guard with several lanes has a policy that does not hedge.
    LanesWithoutHedge = "the guard has room for several attempts at a time, and its policy does not hedge: add `with_hedge`, or take `Guard`",
    /// A measured bound was asked for where nothing is measured.
    NothingToMeasureWith = "a measured bound was asked for, and the guard's memory is `Unmeasured`: take another memory, or no attempt ceiling, measured base and hedge",
    /// An attempt ceiling was asked for without measuring.
    CeilingNotAdaptive = "an attempt ceiling was asked for, and measuring is switched off: take `with_adaptive(true)` or no ceiling",
    /// A measured base was asked for without measuring.
    BaseNotAdaptive = "a measured base of the backoff was asked for, and measuring is switched off: take `with_adaptive(true)` or no measured base",
    /// A hedge was asked for without measuring.
    HedgeNotAdaptive = "a hedge was asked for, and measuring is switched off: take `with_adaptive(true)` or no hedge",
    /// Criticality is followed where nothing depends on it.
    CriticalityGatesNothing = "criticality is followed, and nothing depends on it: allow a retry within a budget, or a hedge, or take a throttle, or do not follow it",
    /// The breaker opens after 0 failures in a row.
    NoConsecutiveFailures = "the breaker opens after 0 failures in a row, so it would never be closed: make it at least 1",
    /// The breaker's failure ratio is 0 or above 1.
    FailureRatioOutOfRange = "the breaker's failure ratio is 0 or above 100%, so it would open at once or never: take a share between, such as 50%",
    /// The breaker's multiple of what is normal is not above 1.
    RelativeMultipleTooSmall = "the breaker's multiple of what is normal is not above 1, so it would open at normal failures: take some such as 5",
    /// The breaker's floor of relative failures is 0 or above 1.
    RelativeFloorOutOfRange = "the breaker's floor of relative failures is 0 or above 100%, so it would open at next to none or never: take a share such as 5%",
    /// The breaker needs no attempts to know what is normal.
    NoMinimumBaseline = "the breaker needs 0 attempts to know what is normal, and nothing tells it nothing: make it at least 1, better 100",
    /// The breaker's baseline is zero.
    ZeroBaseline = "the breaker's baseline is zero, so it never knows what is normal: give it some minutes",
    /// The breaker's baseline is short of twice its window times the multiple.
    BaselineTooShort = "the breaker's baseline is too short, so a slow rise becomes normal before it opens: make it twice the window times the multiple",
    /// Relative failures were asked for in a breaker that does not measure.
    RelativeFailuresNotAdaptive = "the breaker's failures are to be measured by what is normal, and measuring is switched off: take `with_adaptive(true)` or no relative failures",
    /// The breaker calls every success slow.
    ZeroSlowThreshold = "the breaker calls a success slow from zero on, so all are slow: set the threshold above the normal latency",
    /// The breaker's slow ratio is 0 or above 1.
    SlowRatioOutOfRange = "the breaker's slow ratio is 0 or above 100%, so it would open at once or never: take a share between, such as 50%",
    /// The breaker's multiple of the normal latency is not above 1.
    SlowMultipleTooSmall = "the breaker's multiple of the normal latency is not above 1, so it would call normal successes slow: take some such as 3",
    /// The breaker's quantile of the normal latency is 0 or above 50 %.
    SlowQuantileOutOfRange = "the breaker's quantile of the normal latency is 0 or above 50%, so slow calls would soon be normal: take the median or less",
    /// The breaker needs no successes to know the normal latency.
    NoMinimumSuccesses = "the breaker needs 0 successes to know the normal latency, and nothing tells it nothing: make it at least 1, better 20",
    /// The breaker's baseline of the normal latency is zero.
    ZeroSlowBaseline = "the breaker's baseline of the normal latency is zero, so it never knows it: give it some minutes",
    /// The breaker's baseline of the normal latency is short for its window.
    SlowBaselineTooShort = "the breaker's baseline of the normal latency is too short, so slow calls become normal before it opens: make its share of the quantile twice the slow ratio of the window",
    /// Relative slow calls were asked for in a breaker that does not measure.
    RelativeSlowCallsNotAdaptive = "the breaker's slow calls are to be measured by the normal latency, and measuring is switched off: take `with_adaptive(true)` or no relative slow calls",
    /// The breaker's ratios need no attempts.
    NoMinimumCalls = "the breaker's ratios need a minimum of 0 attempts, and nothing has no ratio: make it at least 1, better 20",
    /// The breaker's window is zero.
    ZeroWindow = "the breaker's window is zero, so its ratios never see an attempt: give it some seconds",
    /// The breaker's first break is zero.
    ZeroBreak = "the breaker's first break is zero, so it would open and let the next attempt through: give it some seconds",
    /// The breaker's longest break is shorter than its first.
    LongestBreakBelowFirst = "the breaker's longest break is shorter than its first: raise the longest or lower the first",
    /// The breaker's probes are 0 or above 255.
    ProbesOutOfRange = "the breaker's probes at once must be 1 to 255: with none it would stay open for ever",
    /// The breaker's probe successes are 0 or above 255.
    ProbeSuccessesOutOfRange = "the successful probes that close the breaker must be 1 to 255: with none an open breaker proves nothing",
    /// The recovery's length is 0.
    NoRecoveryLength = "the recovery's length is 0, so every ramp would be the shortest: take a share of the break such as 25%, or `without_recovery`",
    /// The recovery's shortest ramp is zero.
    ZeroRecovery = "the recovery's shortest ramp is zero, so it would be over before it begins: give it a second",
    /// The recovery's longest ramp is shorter than its shortest.
    LongestRecoveryBelowShortest = "the recovery's longest ramp is shorter than its shortest: raise the longest or lower the shortest",
    /// The recovery's first share is 0 or not below 1.
    RecoveryInitialOutOfRange = "the recovery's first share is 0 or not below 100%, so a ramp would let nothing through or all: take a share such as 5%",
    /// The budget's fraction is 0 or above 1.
    BudgetFractionOutOfRange = "the budget's fraction is 0 or above 100%: take a share such as 10%, or `Budget::NONE` for no budget",
    /// The budget's burst is 0.
    NoBudgetBurst = "the budget's burst is 0, so it could never hold a token: make it at least 1, or take `Budget::NONE`",
    /// Saturation was asked for without measuring.
    SaturationNotAdaptive = "saturation was asked for, and measuring is switched off: take `with_adaptive(true)` or no saturation",
    /// Saturation was asked for where no bound is measured.
    SaturationGuardsNothing = "saturation was asked for, and nothing is measured that it could protect: keep the attempt ceiling, or measure the backoff's base, or hedge",
    /// The budget's half-life is zero.
    ZeroBudgetHalfLife = "the budget's half-life is zero, so nothing is ever recent: give it some seconds, or none with `without_half_life`",
    /// The budget's spare retry comes after zero.
    ZeroBudgetSpare = "the budget's spare retry comes after zero, so it would refuse nothing: give it some seconds, or take `Budget::NONE`",
    /// Saturation's multiple of the normal queue delay is not above 1.
    SaturationMultipleTooSmall = "saturation's multiple of the normal queue delay is not above 1, so a normal delay would stop all learning: take some such as 5",
    /// Saturation's floor is zero.
    ZeroSaturationFloor = "saturation's floor is zero, so microseconds of delay would stop all learning: take some milliseconds, such as 20",
    /// Saturation needs 0 samples, or more than 180.
    SaturationSamplesOutOfRange = "the samples that saturation needs must be 1 to 180: nothing tells none what is normal, and a minute has no more",
    /// A queue has no permits.
    NoQueuePermits = "the queue has 0 permits, so nobody would ever get in: make it at least 1",
    /// The concurrency limit may become 0, or more than can be counted.
    ConcurrencyOutOfRange = "the concurrency limit may become 0, which lets nothing through, or exceed 16777215, which is more than it can count: take a number between, or no limit at all",
    /// The concurrency limit begins below its minimum or above its maximum.
    InitialConcurrencyOutOfRange = "the concurrency limit begins outside of its minimum and maximum: raise the one or lower the other",
    /// The concurrency limit's multiple of the unloaded time is not above 1.
    ConcurrencyMultipleTooSmall = "the concurrency limit takes the unloaded time itself for queueing, so it would only shrink: make its multiple more than 1, such as 2",
    /// The concurrency limit's decrease is not between 0 and 1.
    ConcurrencyDecreaseOutOfRange = "the concurrency limit's decrease is not a share between 0 and 100%, so it would collapse or never shrink: take one such as 90%",
    /// The rate limit lets nothing out.
    NoRate = "the rate limit lets 0 out, so nothing would ever be called: make it at least 1, or take no limit at all",
    /// The rate limit lets nothing out at once.
    NoRateBurst = "the rate limit's burst is 0, so it could never hold a token: make it at least 1",
    /// The rate limit's window cannot be divided by eight.
    RateWindowTooShort = "the rate limit's window is below 8 ns, which cannot be divided: give it some milliseconds or more",
    /// The throttle's multiple of the accepts is not above 1.
    ThrottleMultipleTooSmall = "the throttle's multiple is not above 1, so one rejection would hold it back for good: take some such as 110%",
    /// The throttle's window is zero.
    ZeroThrottleWindow = "the throttle's window is zero, so it never sees a request: give it some seconds",
    /// The throttle's cap is 0 or above 1.
    ThrottleCapOutOfRange = "the throttle's cap is 0 or above 100%, so it would refuse nothing or promise too much: take a share such as 90%",
}

impl Problem {
    /// Its place in a set: two words, as there are more than 64.
    pub(super) const fn bits(self) -> [u64; 2] {
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
