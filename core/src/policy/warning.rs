//! What is legal in a policy, yet hardly meant.

use core::fmt;
use core::time::Duration;

use super::backoff::Jitter;
use super::breaker::Breaker;
use super::budget::Budget;
use super::concurrency::Concurrency;
use super::policy::Policy;
use crate::verdict::Kind;

/// Something legal in a policy that is hardly meant.
///
/// [`Explanation::warnings`](crate::Explanation::warnings) finds them.
///
/// ```
/// use steadfast_core::{Jitter, Policy, Warning};
///
/// let backoff = Policy::DEFAULT.backoff().with_jitter(Jitter::None);
/// let herd = Policy::DEFAULT.with_backoff(backoff);
/// assert!(herd.explain().warnings().eq([Warning::RetriesInStep]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// The attempt timeout is not below the deadline.
    TimeoutNotBelowDeadline,
    /// Attempts are retried but have no timeout.
    RetriesWithoutTimeout,
    /// The waits alone use up the deadline.
    WaitsUseUpDeadline,
    /// Retries follow at once.
    RetriesWithoutWait,
    /// Retries wait without jitter.
    RetriesInStep,
    /// Neither a budget nor a breaker limits the retries in an outage.
    UnlimitedRetries,
    /// The budget has no retry to hold back.
    IdleBudget,
    /// The budget gives nothing more until a first attempt succeeds.
    BudgetLocksOut,
    /// The breaker breaks without jitter.
    ProbesInStep,
    /// The breaker's threshold of slow calls is never reached.
    SlowCallsNeverCount,
    /// The breaker's window is too long to measure failures by what is normal.
    FailuresNotMeasured,
    /// The breaker's window is too long to measure latency by what is normal.
    LatencyNotMeasured,
    /// The breaker needs more attempts than there will be.
    TooManyAttemptsNeeded,
    /// The waits after a refusal by a limit use up the deadline.
    RefusalsUseUpDeadline,
    /// One call's attempts use up the rate limit.
    RateBelowAttempts,
    /// The concurrency limit has no room for a second copy.
    NoRoomForHedges,
    /// No attempt may run as long as a second copy waits.
    HedgesNeverDue,
    /// The concurrency limit is told how to adapt, but cannot move.
    FixedConcurrencyAdapts,
    /// Nobody has handed over a seed for the jitter.
    Unseeded,
}

impl Warning {
    pub(super) const ALL: [Self; 19] = [
        Self::TimeoutNotBelowDeadline,
        Self::RetriesWithoutTimeout,
        Self::WaitsUseUpDeadline,
        Self::RetriesWithoutWait,
        Self::RetriesInStep,
        Self::UnlimitedRetries,
        Self::IdleBudget,
        Self::BudgetLocksOut,
        Self::ProbesInStep,
        Self::SlowCallsNeverCount,
        Self::FailuresNotMeasured,
        Self::LatencyNotMeasured,
        Self::TooManyAttemptsNeeded,
        Self::RefusalsUseUpDeadline,
        Self::RateBelowAttempts,
        Self::NoRoomForHedges,
        Self::HedgesNeverDue,
        Self::FixedConcurrencyAdapts,
        Self::Unseeded,
    ];

    /// Says what is odd, and what to do about it.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::TimeoutNotBelowDeadline => {
                "the attempt timeout is not below the deadline, so one hanging attempt uses up the call: lower it"
            }
            Self::RetriesWithoutTimeout => {
                "attempts have no timeout, so one that hangs is never retried: give them one, below the deadline"
            }
            Self::WaitsUseUpDeadline => {
                "the waits alone use up the deadline, so the last attempts hardly ever start: make them shorter or fewer"
            }
            Self::RetriesWithoutWait => {
                "retries follow at once, so a dependency that fails fast is called in a tight loop: let them wait"
            }
            Self::RetriesInStep => {
                "retries have no jitter, so callers that failed together come back together: take `Jitter::Full`"
            }
            Self::UnlimitedRetries => {
                "neither a budget nor a breaker limits the retries, so an outage multiplies the load: take `Budget::DEFAULT`"
            }
            Self::IdleBudget => {
                "one attempt is never retried, so the budget holds nothing back: allow two attempts or drop it"
            }
            Self::BudgetLocksOut => {
                "the budget has neither floor nor spare, so where first attempts always fail nothing is ever retried: give it `with_spare`"
            }
            Self::ProbesInStep => {
                "breaks have no jitter, so a fleet probes in step: take `Jitter::Equal`"
            }
            Self::SlowCallsNeverCount => {
                "a success is cut before it counts as slow: lower the slow threshold below the attempt timeout"
            }
            Self::FailuresNotMeasured => {
                "the breaker's window is too long, so failures are not measured by what is normal: shorten it, or ask for a baseline with `with_relative_failures`"
            }
            Self::LatencyNotMeasured => {
                "the breaker's window is too long, so latency is not measured by what is normal: shorten it, or ask for a baseline with `with_relative_slow_calls`"
            }
            Self::TooManyAttemptsNeeded => {
                "the breaker needs more attempts than its windows will hold, so a law of it never counts: lower its minimum"
            }
            Self::RefusalsUseUpDeadline => {
                "an attempt that a limit refuses waits as if throttled, which mostly uses up the deadline, so the call ends there: shorten that wait with `Backoff::with_bases`"
            }
            Self::RateBelowAttempts => {
                "the rate limit lets fewer attempts out at once than a call may make, so one call that fails uses it up: raise its burst"
            }
            Self::NoRoomForHedges => {
                "the concurrency limit lets one attempt fly, so none is ever raced: raise it or drop the hedge"
            }
            Self::HedgesNeverDue => {
                "an attempt is over before a second copy may start, so none is ever raced: lower the hedge's least delay or raise the attempt timeout"
            }
            Self::FixedConcurrencyAdapts => {
                "the concurrency limit's minimum is its maximum, so it never adapts: spread them, or take `Concurrency::fixed`"
            }
            Self::Unseeded => {
                "jitter has no seed, so every device that starts together waits alike: hand over one that differs"
            }
        }
    }

    /// Tells whether it is to be said about `policy`.
    pub(super) fn is_due(self, policy: &Policy, unseeded: bool) -> bool {
        let retries = policy.attempts() > 1;
        let wait = policy.backoff().curve(2, Kind::Transient);
        let jitter = policy.backoff().jitter();
        let attempt = policy.attempt_timeout().unwrap_or(Duration::MAX);
        let deadline = policy.deadline().unwrap_or(Duration::MAX);
        let bounded = deadline < Duration::MAX;
        match self {
            Self::TimeoutNotBelowDeadline => {
                bounded && attempt < Duration::MAX && attempt >= deadline
            }
            Self::RetriesWithoutTimeout => {
                retries && attempt == Duration::MAX && policy.attempt_ceiling().is_none()
            }
            Self::WaitsUseUpDeadline => {
                retries && bounded && (wait >= deadline || shortest_waits(policy) >= deadline)
            }
            Self::RetriesWithoutWait => retries && wait.is_zero(),
            Self::RetriesInStep => retries && !wait.is_zero() && jitter == Jitter::None,
            Self::UnlimitedRetries => {
                retries && !policy.budget().is_limited() && policy.breaker().is_none()
            }
            Self::IdleBudget => {
                let budget = policy.budget();
                !retries && budget.is_limited() && *budget != Budget::DEFAULT
            }
            Self::BudgetLocksOut => {
                let budget = policy.budget();
                let is_paid_by_time = budget.per_second() > 0 || budget.spare().is_some();
                retries && budget.is_limited() && !is_paid_by_time
            }
            Self::ProbesInStep => policy
                .breaker()
                .is_some_and(|breaker| breaker.jitter() == Jitter::None),
            Self::SlowCallsNeverCount => policy
                .breaker()
                .and_then(Breaker::slow_call)
                .is_some_and(|slow| slow >= attempt.min(deadline)),
            Self::FailuresNotMeasured => {
                policy.breaker().is_some_and(|breaker| breaker.outgrown().0)
            }
            Self::LatencyNotMeasured => {
                policy.breaker().is_some_and(|breaker| breaker.outgrown().1)
            }
            Self::TooManyAttemptsNeeded => policy.breaker().is_some_and(needs_too_many),
            Self::RefusalsUseUpDeadline => {
                // Under full jitter the wait is half of it on average.
                let throttled = policy.backoff().curve(2, Kind::Throttled);
                let has_no_hint = policy.concurrency().is_some() || policy.throttle().is_some();
                retries && bounded && has_no_hint && throttled >= deadline.saturating_mul(2)
            }
            Self::RateBelowAttempts => policy
                .rate()
                .is_some_and(|rate| rate.burst() < policy.attempts()),
            Self::NoRoomForHedges => {
                let is_alone = policy
                    .concurrency()
                    .is_some_and(|limit| limit.maximum() < 2);
                is_alone && policy.hedge().is_some()
            }
            Self::HedgesNeverDue => match (policy.hedge(), policy.attempt_timeout()) {
                (Some(hedge), Some(timeout)) => hedge.minimum_delay() >= timeout,
                _ => false,
            },
            Self::FixedConcurrencyAdapts => policy.concurrency().is_some_and(|limit| {
                limit.is_fixed() && *limit != Concurrency::fixed(limit.maximum())
            }),
            Self::Unseeded => {
                let draws = retries && !wait.is_zero() && jitter != Jitter::None;
                let breaks = policy
                    .breaker()
                    .is_some_and(|breaker| breaker.jitter() != Jitter::None);
                unseeded && (draws || breaks || policy.throttle().is_some())
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// Adds up the least that the first thousand waits can take.
fn shortest_waits(policy: &Policy) -> Duration {
    let backoff = policy.backoff();
    (2..=policy.attempts().min(1_000))
        .map(|number| {
            backoff
                .jitter()
                .shortest(backoff.curve(number, Kind::Transient))
        })
        .fold(Duration::ZERO, Duration::saturating_add)
}

/// Tells whether a law of the breaker waits for what never comes.
fn needs_too_many(breaker: &Breaker) -> bool {
    let exceeds = |minimum: u32, span: Duration| {
        !span.is_zero()
            && u128::from(minimum).saturating_mul(1_000_000_000)
                > span.as_nanos().saturating_mul(MOST_A_SECOND)
    };
    let window = breaker.window();
    let relative = breaker.relative_failures();
    let has_ratio = breaker.failure_ratio().is_some()
        || breaker.slow_call().is_some()
        || breaker.relative_slow_calls().is_some();
    let of_ratios = has_ratio && exceeds(breaker.minimum_calls(), window);
    let of_failures = relative.is_some_and(|law| {
        let baseline = breaker.baseline().unwrap_or(Duration::MAX);
        exceeds(law.minimum_calls(), window) || exceeds(law.minimum_baseline(), baseline)
    });
    let of_latency = breaker
        .relative_slow_calls()
        .is_some_and(|law| law.minimum() > MOST_SAMPLES);
    of_ratios || of_failures || of_latency
}

/// No process makes a million attempts a second at one dependency.
const MOST_A_SECOND: u128 = 1_000_000;
/// What a window of latencies surely keeps of a heavy load: an eighth of 4096 in
/// each of three slices, when all calls take alike.
const MOST_SAMPLES: u32 = 1_500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_every_warning() {
        for (index, warning) in Warning::ALL.into_iter().enumerate() {
            assert_eq!(warning as usize, index, "{warning:?}");
        }
    }
}
