//! The waits between attempts: curve, cap, jitter, hints.

use core::time::Duration;

use super::measured_base::MeasuredBase;
use crate::math::growth::grown;
use crate::math::random::scale_span;
use crate::math::ratio::Ratio;
use crate::time::nanos;
use crate::verdict::{Kind, Verdict};

/// How much of a wait is left to chance; it only shortens.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Jitter, random};
///
/// let whole = Duration::from_secs(2);
/// let wait = Jitter::Equal.apply(whole, random(42, 0));
/// assert!(wait >= whole / 2 && wait < whole);
/// assert_eq!(Jitter::None.apply(whole, 7), whole);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jitter {
    /// All of the wait: callers that failed together come back together.
    None,
    /// Half of the wait, and chance for the other half.
    Equal,
    /// Anything from nothing to the wait; spreads callers best.
    Full,
}

impl Jitter {
    /// Applies a draw to a wait.
    ///
    /// [`Jitter::Equal`] and [`Jitter::Full`] stay below `whole`. A draw is any
    /// word of a random stream, such as [`random`](crate::random()).
    #[must_use]
    pub const fn apply(self, whole: Duration, draw: u32) -> Duration {
        let sure = self.shortest(whole);
        sure.saturating_add(scale_span(draw, whole.saturating_sub(sure)))
    }

    /// Returns the shortest wait that a draw can leave of `whole`.
    #[must_use]
    pub const fn shortest(self, whole: Duration) -> Duration {
        match self {
            Self::None => whole,
            Self::Equal => Duration::from_nanos(nanos(whole) >> 1),
            Self::Full => Duration::ZERO,
        }
    }
}

/// How long to wait before another attempt.
///
/// A wait grows by a factor from attempt to attempt, from a base that depends
/// on how the last attempt failed, up to a longest wait; jitter then shortens
/// it. A dependency that says when to come back is taken at its word, unless
/// that is longer than the longest wait: then the call ends.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Backoff, Jitter, Kind, Ratio};
///
/// const SLOWER: Backoff = Backoff::exponential(Duration::from_millis(500))
///     .with_factor(Ratio::percent(150))
///     .with_maximum(Duration::from_secs(5))
///     .with_jitter(Jitter::Equal);
///
/// // Before attempts 2, 3, 4 and 20, jitter aside:
/// let wait = |number| SLOWER.curve(number, Kind::Transient).as_millis();
/// assert_eq!([wait(2), wait(3), wait(4), wait(20)], [500, 750, 1_125, 5_000]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    // In nanoseconds, which keeps a policy and its error small.
    transient_base: u64,
    throttled_base: u64,
    maximum: u64,
    factor: Ratio,
    jitter: Jitter,
    // An option of it would be a word larger.
    measured_base: MeasuredBase,
    is_measured: bool,
}

impl Backoff {
    /// Never waits and ignores hints; what [`Backoff::constant`] makes of zero.
    pub const NONE: Self = Self::constant(Duration::ZERO);

    /// Waits up to 100 ms, doubling to at most 30 s; ten times that if throttled.
    ///
    /// 100 ms outlasts a lost packet or a failover and is hardly felt. Who
    /// throttles has said that it is busy, hence 1 s. Doubling clears an
    /// overload in few steps. Nobody waits 30 s on purpose, so a longer wait is
    /// an outage's and belongs to a breaker. Full jitter, since only that
    /// takes callers apart that failed at the same moment.
    pub const DEFAULT: Self = Self {
        transient_base: nanos(Duration::from_millis(100)),
        throttled_base: nanos(Duration::from_secs(1)),
        maximum: nanos(Duration::from_secs(30)),
        factor: Ratio::times(2),
        jitter: Jitter::Full,
        measured_base: MeasuredBase::DEFAULT,
        is_measured: false,
    };

    /// Makes a wait that doubles from `transient_base`, ten times that if
    /// throttled.
    ///
    /// Longest wait and jitter are those of [`Backoff::DEFAULT`].
    #[must_use]
    pub const fn exponential(transient_base: Duration) -> Self {
        Self {
            transient_base: nanos(transient_base),
            throttled_base: ten_times(nanos(transient_base)),
            ..Self::DEFAULT
        }
    }

    /// Makes a wait of up to `delay` before every attempt, drawn each time.
    ///
    /// **The wait is not `delay` itself:** the jitter is full, as in
    /// [`Backoff::DEFAULT`], so it is anything from zero to `delay`. For
    /// exactly `delay` take [`with_jitter`](Self::with_jitter) of
    /// [`Jitter::None`].
    ///
    /// **`delay` is also the longest hint accepted:** a dependency that asks
    /// for a longer wait ends the call.
    /// [`with_maximum`](Self::with_maximum) raises that bound.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Backoff, Jitter, Verdict};
    ///
    /// let second = Duration::from_secs(1);
    /// let wait = |backoff: Backoff, verdict| backoff.delay(2, verdict, u32::MAX / 2);
    ///
    /// let drawn = Backoff::constant(second);
    /// assert!(wait(drawn, Verdict::TRANSIENT) < Some(second));
    /// let fixed = drawn.with_jitter(Jitter::None);
    /// assert_eq!(wait(fixed, Verdict::TRANSIENT), Some(second));
    ///
    /// let asked = Verdict::throttled_for(Duration::from_secs(5));
    /// assert_eq!(wait(fixed, asked), None);
    /// let patient = fixed.with_maximum(Duration::from_secs(30));
    /// assert_eq!(wait(patient, asked), Some(Duration::from_secs(5)));
    /// ```
    #[must_use]
    pub const fn constant(delay: Duration) -> Self {
        Self {
            transient_base: nanos(delay),
            throttled_base: nanos(delay),
            maximum: nanos(delay),
            factor: Ratio::ONE,
            ..Self::DEFAULT
        }
    }

    /// Returns the rule with other first waits: after a transient failure, and
    /// after a throttled one.
    #[must_use]
    pub const fn with_bases(self, transient: Duration, throttled: Duration) -> Self {
        Self {
            transient_base: nanos(transient),
            throttled_base: nanos(throttled),
            ..self
        }
    }

    /// Returns the rule with another growth from attempt to attempt.
    ///
    /// [`Ratio::ONE`] keeps the wait; less than that lets it shrink.
    #[must_use]
    pub const fn with_factor(self, factor: Ratio) -> Self {
        Self { factor, ..self }
    }

    /// Returns the rule with another longest wait, which bounds hints too.
    ///
    /// Zero means never wait, whatever the first waits are, and ignores hints;
    /// [`Duration::MAX`] is no bound.
    #[must_use]
    pub const fn with_maximum(self, maximum: Duration) -> Self {
        Self {
            maximum: nanos(maximum),
            ..self
        }
    }

    /// Returns the rule with another jitter.
    #[must_use]
    pub const fn with_jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// Returns the rule with the first wait after a transient failure measured.
    ///
    /// Until enough is known the constant holds. What was throttled waits as
    /// before.
    #[must_use]
    pub const fn with_measured_base(self, law: MeasuredBase) -> Self {
        Self {
            measured_base: law,
            is_measured: true,
            ..self
        }
    }

    /// Returns how the first wait after a transient failure is measured, if so.
    #[must_use]
    pub const fn measured_base(&self) -> Option<MeasuredBase> {
        if self.is_measured {
            Some(self.measured_base)
        } else {
            None
        }
    }

    /// Returns the rule as it is where a normal call takes `normal`.
    ///
    /// The same rule where nothing is measured.
    #[must_use]
    pub const fn measured(self, normal: Duration) -> Self {
        match self.measured_base() {
            Some(law) => Self {
                transient_base: nanos(law.base(normal, self.transient_base())),
                ..self
            },
            None => self,
        }
    }

    /// Returns the first wait after a transient failure.
    #[must_use]
    pub const fn transient_base(&self) -> Duration {
        span(self.transient_base)
    }

    /// Returns the first wait after a throttled failure.
    #[must_use]
    pub const fn throttled_base(&self) -> Duration {
        span(self.throttled_base)
    }

    /// Returns the growth from attempt to attempt.
    #[must_use]
    pub const fn factor(&self) -> Ratio {
        self.factor
    }

    /// Returns the longest wait; [`Duration::MAX`] is no bound.
    #[must_use]
    pub const fn maximum(&self) -> Duration {
        span(self.maximum)
    }

    /// Returns the jitter.
    #[must_use]
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// Returns the wait before attempt `number` without jitter.
    ///
    /// The first retry is attempt 2. `previous` is how the attempt before it
    /// failed. Saturates at 584 years.
    ///
    /// ```
    /// use steadfast_core::{Backoff, Kind};
    ///
    /// let secs = |number| Backoff::DEFAULT.curve(number, Kind::Throttled).as_secs();
    /// assert_eq!([secs(2), secs(3), secs(4), secs(1_000)], [1, 2, 4, 30]);
    /// ```
    #[must_use]
    pub const fn curve(&self, number: u32, previous: Kind) -> Duration {
        let base = match previous {
            Kind::Throttled => self.throttled_base,
            _ => self.transient_base,
        };
        let wait = grown(base, self.factor, number.saturating_sub(2));
        let longest = self.maximum;
        Duration::from_nanos(if wait < longest { wait } else { longest })
    }

    /// Returns the wait before attempt `number`, at most the longest.
    ///
    /// A hint is obeyed to the letter, without jitter. `None` when it is longer
    /// than the longest wait: to come back earlier would break it, so the call
    /// has to end and pass it on.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Backoff, Verdict, random};
    ///
    /// let after = |secs| Verdict::throttled_for(Duration::from_secs(secs));
    /// let wait = |verdict| Backoff::DEFAULT.delay(2, verdict, random(42, 0));
    ///
    /// assert!(wait(Verdict::TRANSIENT) < Some(Duration::from_millis(100)));
    /// assert_eq!(wait(after(7)), Some(Duration::from_secs(7)));
    /// assert_eq!(wait(after(86_400)), None);
    /// ```
    #[must_use]
    pub const fn delay(&self, number: u32, previous: Verdict, draw: u32) -> Option<Duration> {
        let longest = self.maximum;
        if longest == 0 {
            return Some(Duration::ZERO);
        }
        match previous.pushback() {
            Some(hint) if nanos(hint) > longest => None,
            Some(hint) => Some(hint),
            None => Some(self.jitter.apply(self.curve(number, previous.kind()), draw)),
        }
    }

    /// Tells whether the throttled base is the one its constructor chose.
    pub(crate) const fn throttled_follows_transient(&self) -> bool {
        self.throttled_base == self.transient_base
            || self.throttled_base == ten_times(self.transient_base)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is above 584 years is for ever.
const fn span(nanos: u64) -> Duration {
    match nanos {
        u64::MAX => Duration::MAX,
        nanos => Duration::from_nanos(nanos),
    }
}

const fn ten_times(base: u64) -> u64 {
    base.saturating_mul(10)
}

#[cfg(test)]
mod tests;
