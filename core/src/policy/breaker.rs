//! The settings of a circuit breaker.

use core::time::Duration;

use super::backoff::Jitter;
use crate::math::ratio::Ratio;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    consecutive_failures: u32,
    failure_ratio: Option<Ratio>,
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
    /// Opens after five failed attempts in a row, for 15 s growing to 2 min.
    ///
    /// Five in a row are rare by chance and come within five attempts of an
    /// outage, which are two calls of three attempts, however little traffic
    /// there is; the ratios need traffic and are off. 15 s let a restart
    /// finish; doubling to 2 min keeps a long outage cheap. Equal jitter keeps
    /// a fleet from probing in step. Two successes in a row, one probe at a
    /// time, tell recovery from luck.
    pub const DEFAULT: Self = Self {
        consecutive_failures: 5,
        failure_ratio: None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn nominal(first: Duration, longest: Duration, opens: u32) -> Duration {
        Breaker::DEFAULT
            .with_break(first, longest)
            .nominal_break(opens)
    }

    fn duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            any::<u64>().prop_map(Duration::from_nanos),
            (0..100_u64).prop_map(Duration::from_nanos),
            (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, sub)| Duration::new(secs, sub)),
        ]
    }

    proptest! {
        #[test]
        fn a_break_doubles_up_to_the_longest(
            first in duration(),
            longest in duration(),
            opens in prop_oneof![0..100_u32, any::<u32>()],
        ) {
            let mut exact = first.as_nanos();
            for _ in 1..opens.min(128) {
                exact = exact.saturating_mul(2);
            }
            let exact = exact.min(longest.as_nanos());
            prop_assert_eq!(nominal(first, longest, opens).as_nanos(), exact);
        }
    }

    #[test]
    fn even_a_nanosecond_reaches_the_longest() {
        let (tiny, hour) = (Duration::from_nanos(1), Duration::from_secs(3_600));
        assert_eq!(nominal(tiny, hour, 33), Duration::from_nanos(1 << 32));
        assert_eq!(nominal(tiny, hour, 42), Duration::from_nanos(1 << 41));
        assert_eq!(nominal(tiny, hour, 43), hour);
        assert_eq!(nominal(tiny, hour, 64), hour);
        assert!(nominal(tiny, Duration::MAX, 94) < Duration::MAX);
        for opens in [95, 96, u32::MAX] {
            assert_eq!(nominal(tiny, Duration::MAX, opens), Duration::MAX);
        }
        const { assert!(nominal(Duration::ZERO, Duration::MAX, u32::MAX).is_zero()) };
    }
}
