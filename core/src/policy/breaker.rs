//! The settings of a circuit breaker.

mod relative;

use core::time::Duration;

use super::backoff::Jitter;
use super::recovery::Recovery;
use super::slow_trip::SlowTrip;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;

/// When a circuit breaker opens, for how long, and how it closes again.
///
/// It samples attempts, not calls: a call that fails three attempts counts three
/// times.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, Ratio};
///
/// const SEARCH: Breaker = Breaker::DEFAULT
///     .with_failure_ratio(Ratio::percent(50))
///     .with_break(Duration::from_secs(5), Duration::from_secs(60));
///
/// assert_eq!(SEARCH.consecutive_failures(), 5);
/// ```
///
/// Two are equal when they do the same, whether a number was chosen or follows
/// from others.
#[derive(Clone, Copy, Debug)]
pub struct Breaker {
    consecutive_failures: u32,
    failure_ratio: Option<Ratio>,
    relative_failures: Option<RelativeTrip>,
    /// How long the baseline is; without it, as long as the window asks for.
    baseline: Option<Duration>,
    slow_call: Option<Duration>,
    relative_slow_calls: Option<SlowTrip>,
    /// How long the window of latencies is; without it, as the other one.
    slow_baseline: Option<Duration>,
    slow_ratio: Ratio,
    adaptive: bool,
    minimum_calls: u32,
    window: Duration,
    first_break: Duration,
    longest_break: Duration,
    jitter: Jitter,
    probes: u32,
    probe_successes: u32,
    recovery: Option<Recovery>,
}

impl Breaker {
    /// Opens after five failed attempts in a row, at five times the normal share
    /// of failures, or when half of the attempts succeed after three times the
    /// normal latency, for 15 s growing to 2 min.
    ///
    /// Five in a row are rare by chance and come within five attempts of an
    /// outage, which are two calls of three attempts, however little traffic
    /// there is. Given traffic, [`RelativeTrip::DEFAULT`] finds what fails in
    /// part and [`SlowTrip::DEFAULT`] what is slow: they measure by the last five
    /// minutes, so that they need no number of anybody's own; ratios and
    /// thresholds that do are off. 15 s let a restart finish; doubling to 2 min
    /// keeps a long outage cheap. Equal jitter keeps a fleet from probing in
    /// step. Two successes in a row, one probe at a time, tell recovery from
    /// luck. A ramp refuses calls in health, so it is off until asked for.
    pub const DEFAULT: Self = Self {
        consecutive_failures: 5,
        failure_ratio: None,
        // How many recent calls it needs is up to the window.
        relative_failures: Some(RelativeTrip::DEFAULT.with_minimum(0, 100)),
        baseline: None,
        slow_call: None,
        relative_slow_calls: Some(SlowTrip::DEFAULT),
        slow_baseline: None,
        slow_ratio: Ratio::percent(50),
        adaptive: true,
        minimum_calls: 20,
        window: Duration::from_secs(30),
        first_break: Duration::from_secs(15),
        longest_break: Duration::from_secs(120),
        jitter: Jitter::Equal,
        probes: 1,
        probe_successes: 2,
        recovery: None,
    };

    /// The defaults, with chance taken for a relative rise of failures, too.
    ///
    /// Two failures in 20 attempts are enough, as in the design that this
    /// library follows; with little traffic that opens often for nothing.
    pub const REFERENCE: Self = Self {
        relative_failures: Some(
            RelativeTrip::DEFAULT
                .with_minimum(0, 100)
                .with_deviations(0),
        ),
        ..Self::DEFAULT
    };

    /// Returns the settings with another number of failures in a row.
    ///
    /// Counts failed attempts, retries included, not failed calls.
    #[must_use]
    pub const fn with_consecutive_failures(self, failures: u32) -> Self {
        Self {
            consecutive_failures: failures,
            ..self
        }
    }

    /// Returns the settings with a share of failures that opens.
    ///
    /// Counts over the window, from the minimum of attempts on.
    #[must_use]
    pub const fn with_failure_ratio(self, ratio: Ratio) -> Self {
        Self {
            failure_ratio: Some(ratio),
            ..self
        }
    }

    /// Returns the settings with slow successes counted: slow from `threshold`
    /// on, opening when `ratio` of the attempts in the window are slow.
    ///
    /// Where what is normal asks for a shorter threshold, that one counts, see
    /// [`Breaker::with_relative_slow_calls`].
    #[must_use]
    pub const fn with_slow_calls(self, threshold: Duration, ratio: Ratio) -> Self {
        Self {
            slow_call: Some(threshold),
            slow_ratio: ratio,
            ..self
        }
    }

    /// Returns the settings with another share of slow attempts that opens.
    #[must_use]
    pub const fn with_slow_ratio(self, ratio: Ratio) -> Self {
        Self {
            slow_ratio: ratio,
            ..self
        }
    }

    /// Returns the settings with the window of the ratios, and how many attempts
    /// it must hold before a ratio counts.
    #[must_use]
    pub const fn with_window(self, window: Duration, minimum_calls: u32) -> Self {
        Self {
            minimum_calls,
            window,
            ..self
        }
    }

    /// Returns the settings with the first and the longest break; each failed
    /// recovery doubles the break.
    #[must_use]
    pub const fn with_break(self, first: Duration, longest: Duration) -> Self {
        Self {
            first_break: first,
            longest_break: longest,
            ..self
        }
    }

    /// Returns the settings with another jitter of the break; it only shortens.
    #[must_use]
    pub const fn with_jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// Returns the settings with the probes allowed at once, at most 255, and
    /// the successes that close, at most 255.
    #[must_use]
    pub const fn with_probes(self, at_once: u32, successes: u32) -> Self {
        Self {
            probes: at_once,
            probe_successes: successes,
            ..self
        }
    }

    /// Returns the settings with a ramp after each break.
    ///
    /// Enough successful probes then begin the ramp, which is told as closing.
    /// The break grows on until the ramp is over.
    #[must_use]
    pub const fn with_recovery(self, recovery: Recovery) -> Self {
        Self {
            recovery: Some(recovery),
            ..self
        }
    }

    /// Returns the settings without a ramp: probes that succeed close at once.
    #[must_use]
    pub const fn without_recovery(self) -> Self {
        Self {
            recovery: None,
            ..self
        }
    }

    /// Returns how many failed attempts in a row open.
    #[must_use]
    pub const fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// Returns the share of failures that opens, if one does.
    #[must_use]
    pub const fn failure_ratio(&self) -> Option<Ratio> {
        self.failure_ratio
    }

    /// Returns from when on a success is slow whatever is normal, if that counts.
    #[must_use]
    pub const fn slow_call(&self) -> Option<Duration> {
        self.slow_call
    }

    /// Returns the share of slow attempts that opens.
    #[must_use]
    pub const fn slow_ratio(&self) -> Ratio {
        self.slow_ratio
    }

    /// Returns how many attempts the window must hold before a ratio counts.
    #[must_use]
    pub const fn minimum_calls(&self) -> u32 {
        self.minimum_calls
    }

    /// Returns the window of the ratios.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// Returns the first break.
    #[must_use]
    pub const fn first_break(&self) -> Duration {
        self.first_break
    }

    /// Returns the longest break.
    #[must_use]
    pub const fn longest_break(&self) -> Duration {
        self.longest_break
    }

    /// Returns the jitter of the break.
    #[must_use]
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// Returns how many probes may be in flight at once.
    #[must_use]
    pub const fn probes(&self) -> u32 {
        self.probes
    }

    /// Returns how many successful probes close.
    #[must_use]
    pub const fn probe_successes(&self) -> u32 {
        self.probe_successes
    }

    /// Returns the ramp after a break, if there is one.
    #[must_use]
    pub const fn recovery(&self) -> Option<Recovery> {
        self.recovery
    }

    /// Returns the break of the `opens`th opening in a row, before jitter.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::Breaker;
    ///
    /// let secs = |opens| Breaker::DEFAULT.nominal_break(opens).as_secs();
    /// assert_eq!([secs(1), secs(2), secs(3), secs(4), secs(5)], [15, 30, 60, 120, 120]);
    /// ```
    #[must_use]
    pub const fn nominal_break(&self, opens: u32) -> Duration {
        let longest = self.longest_break.as_nanos();
        // Every duration is less than 2^94 ns.
        let mut doublings = match opens.saturating_sub(1) {
            n if n > 94 => 94,
            n => n,
        };
        let mut grown = self.first_break;
        while doublings > 0 && grown.as_nanos() < longest {
            grown = grown.saturating_add(grown);
            doublings = doublings.saturating_sub(1);
        }
        if grown.as_nanos() < longest {
            grown
        } else {
            self.longest_break
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PartialEq for Breaker {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            consecutive_failures,
            failure_ratio,
            relative_failures: _,
            baseline: _,
            slow_call,
            relative_slow_calls: _,
            slow_baseline: _,
            slow_ratio,
            adaptive: _,
            minimum_calls,
            window,
            first_break,
            longest_break,
            jitter,
            probes,
            probe_successes,
            recovery,
        } = *self;
        consecutive_failures == other.consecutive_failures
            && failure_ratio == other.failure_ratio
            && self.relative_failures() == other.relative_failures()
            && self.baseline() == other.baseline()
            && slow_call == other.slow_call
            && self.relative_slow_calls() == other.relative_slow_calls()
            && self.slow_baseline() == other.slow_baseline()
            && self.contradictions() == other.contradictions()
            && slow_ratio == other.slow_ratio
            && minimum_calls == other.minimum_calls
            && window == other.window
            && first_break == other.first_break
            && longest_break == other.longest_break
            && jitter == other.jitter
            && probes == other.probes
            && probe_successes == other.probe_successes
            && recovery == other.recovery
    }
}

impl Eq for Breaker {}

#[cfg(test)]
mod tests;
