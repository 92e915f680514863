//! The settings of a circuit breaker.

use core::time::Duration;

use super::backoff::Jitter;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;
use crate::time::nanos;

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
    slow_ratio: Ratio,
    minimum_calls: u32,
    window: Duration,
    first_break: Duration,
    longest_break: Duration,
    jitter: Jitter,
    probes: u32,
    probe_successes: u32,
}

impl Breaker {
    /// Opens after five failed attempts in a row, or at five times the normal
    /// share of failures, for 15 s growing to 2 min.
    ///
    /// Five in a row are rare by chance and come within five attempts of an
    /// outage, which are two calls of three attempts, however little traffic
    /// there is. Given traffic, [`RelativeTrip::DEFAULT`] finds what fails in
    /// part: it measures by the five minutes before, so that it needs no number
    /// of anybody's own; ratios that do are off. 15 s let a restart finish;
    /// doubling to 2 min keeps a long outage cheap. Equal jitter keeps a fleet
    /// from probing in step. Two successes in a row, one probe at a time, tell
    /// recovery from luck.
    pub const DEFAULT: Self = Self {
        consecutive_failures: 5,
        failure_ratio: None,
        // How many recent calls it needs is up to the window.
        relative_failures: Some(RelativeTrip::DEFAULT.with_minimum(0, 100)),
        baseline: None,
        slow_call: None,
        slow_ratio: Ratio::percent(50),
        minimum_calls: 20,
        window: Duration::from_secs(30),
        first_break: Duration::from_secs(15),
        longest_break: Duration::from_secs(120),
        jitter: Jitter::Equal,
        probes: 1,
        probe_successes: 2,
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

    /// Returns the settings with a law of failures measured by what is normal.
    ///
    /// Normal is what the attempts of the `baseline` before the window showed.
    /// It has to be at least twice as long as the window times the multiple, or
    /// a slow rise would become normal before it opens. Where the law and
    /// [`Breaker::with_window`] ask for different minima of recent attempts, the
    /// larger one counts.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Breaker, Ratio, RelativeTrip};
    ///
    /// const CAUTIOUS: Breaker = Breaker::DEFAULT.with_relative_failures(
    ///     RelativeTrip::DEFAULT.with_multiple(Ratio::times(10)),
    ///     Duration::from_secs(600),
    /// );
    /// assert!(CAUTIOUS.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn with_relative_failures(self, law: RelativeTrip, baseline: Duration) -> Self {
        Self {
            relative_failures: Some(law),
            baseline: Some(baseline),
            ..self
        }
    }

    /// Returns the settings with failures not measured by what is normal.
    #[must_use]
    pub const fn without_relative_failures(self) -> Self {
        Self {
            relative_failures: None,
            baseline: None,
            ..self
        }
    }

    /// Returns the settings with slow successes counted: slow from `threshold`
    /// on, opening when `ratio` of the attempts in the window are slow.
    #[must_use]
    pub const fn with_slow_calls(self, threshold: Duration, ratio: Ratio) -> Self {
        Self {
            slow_call: Some(threshold),
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

    /// Returns when failures are too many by what is normal, if that counts.
    ///
    /// Its minimum of recent attempts is at least
    /// [`Breaker::minimum_calls`].
    #[must_use]
    pub const fn relative_failures(&self) -> Option<RelativeTrip> {
        match (self.relative_failures, self.baseline()) {
            (Some(law), Some(_)) => {
                let (own, least) = (law.minimum_calls(), self.minimum_calls);
                let calls = if own > least { own } else { least };
                Some(law.with_minimum(calls, law.minimum_baseline()))
            }
            _ => None,
        }
    }

    /// Returns how long the baseline is before the window, if there is one.
    ///
    /// Unless chosen, 5 min, or as long as a longer window asks for: twice the
    /// window times the multiple, and a second. Where that is above an hour,
    /// nothing is measured by what is normal.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::Breaker;
    ///
    /// let baseline = |window| {
    ///     let breaker = Breaker::DEFAULT.with_window(Duration::from_secs(window), 20);
    ///     breaker.baseline().map(|span| span.as_secs())
    /// };
    /// assert_eq!([30, 60, 420].map(baseline), [Some(300), Some(601), None]);
    /// ```
    #[must_use]
    pub const fn baseline(&self) -> Option<Duration> {
        let Some(law) = self.relative_failures else {
            return None;
        };
        if self.baseline.is_some() {
            return self.baseline;
        }
        let needed = law.multiple().of(nanos(self.window).saturating_mul(2));
        if needed <= nanos(USUAL_BASELINE) {
            Some(USUAL_BASELINE)
        } else if needed <= nanos(LONGEST_BASELINE) {
            Some(Duration::from_nanos(needed).saturating_add(Duration::from_secs(1)))
        } else {
            None
        }
    }

    /// Returns from when on a success is slow, if that counts.
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
            slow_ratio,
            minimum_calls,
            window,
            first_break,
            longest_break,
            jitter,
            probes,
            probe_successes,
        } = *self;
        consecutive_failures == other.consecutive_failures
            && failure_ratio == other.failure_ratio
            && self.relative_failures() == other.relative_failures()
            && self.baseline() == other.baseline()
            && slow_call == other.slow_call
            && slow_ratio == other.slow_ratio
            && minimum_calls == other.minimum_calls
            && window == other.window
            && first_break == other.first_break
            && longest_break == other.longest_break
            && jitter == other.jitter
            && probes == other.probes
            && probe_successes == other.probe_successes
    }
}

impl Eq for Breaker {}

/// Long enough to know a share of 1 % from one call a second, short enough to
/// follow the hours of a day.
const USUAL_BASELINE: Duration = Duration::from_secs(300);
/// What is longer ago says nothing about now.
const LONGEST_BASELINE: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests;
