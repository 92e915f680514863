//! The law of a retry budget.

use core::time::Duration;

use crate::math::ratio::Ratio;

/// How many retries a guard may add to the load.
///
/// A success deposits a fraction of a token, a retry takes a whole one. Three
/// things let quiet programs retry at all: a burst, tokens that are there before
/// anything succeeded; a floor of tokens per second; and a spare retry, when none
/// was funded for a while.
///
/// **What it bounds.** In any span of time `t` in which `S` calls succeed, the
/// retries are at most `burst + fraction * S + per_second * t`, and with a spare
/// `1 + t / wait` more; while nothing succeeds only `1 + log2(1 + t / wait)`
/// more. With a half-life, `burst` is no more than what the successes of late have
/// paid, or 1 if that is more.
///
/// Why: a retry takes a whole token from the bucket or the spare. The bucket holds
/// at most `burst` at the start of the span and gains by successes and by time
/// alone; two spares are a wait apart, and each one doubles the wait until
/// something succeeds. A token that is given back was taken before.
///
/// **Fleets.** Every process has a budget of its own, and none knows how many
/// there are. When a dependency has collapsed, so that nothing succeeds, a floor
/// goes on paying: 200 processes under [`Budget::REFERENCE`] may add 600 calls a
/// second for as long as it lasts, and so it lasts. [`Budget::FLEET`] has no floor:
/// in a collapse it retries for a tenth of what succeeded in the seconds before,
/// or once a process, and then ever less. So a collapse ends, whatever the number
/// of processes.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Budget, Ratio};
///
/// // One retry for five successes, ten a second when quiet.
/// let budget = Budget::new(Ratio::percent(20), 10);
/// assert_eq!(budget.burst(), 100);
///
/// // Safe for a fleet, yet with more room for its single calls.
/// let roomy = Budget::FLEET.with_spare(Duration::from_secs(10));
/// assert_eq!(roomy.per_second(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    fraction: Ratio,
    per_second: u32,
    burst: u32,
    half_life: Option<Duration>,
    spare: Option<Duration>,
    limited: bool,
}

impl Budget {
    /// No budget: every retry is funded.
    pub const NONE: Self = Self {
        fraction: Ratio::ZERO,
        per_second: 0,
        burst: 0,
        half_life: None,
        spare: None,
        limited: false,
    };

    /// One retry for ten successes of late, at most 30 at once, and a spare one.
    ///
    /// A tenth more load is what a dependency near its limit can still bear, and
    /// 30 at once are lost in the traffic of any process that earns so many.
    ///
    /// With a half-life of 3 s a process holds what the successes of 4.3 s have
    /// paid. So when all calls of a fleet begin to fail, it retries less than half
    /// of those of one second; at 10 s it would send all of them twice, into a
    /// dependency that is breaking down.
    ///
    /// Before its first success a process may retry twice, so that its first call
    /// has the three attempts that others have.
    ///
    /// The spare comes back after 30 s: a process that makes two calls a minute
    /// can retry each one, and 1000 such processes add 33 calls a second. It takes
    /// a minute, two, four and so on while nothing succeeds.
    ///
    /// In a model of 400 calls a second, a fifth of that for 10 s, and up to four
    /// resends at once, a fleet of 200 processes at 85 % load works off what piled
    /// up within 35 s, where 27 s would do without any retry. In its worst second
    /// it sends 1.39 attempts a call, 1.53 in the worst of 60 runs; at 50 % load,
    /// where one retry each is more, 1.57 and 1.89. 1000 processes take some 40 s,
    /// 10 000 that make two calls a minute 13 minutes, or 7 with a spare each two
    /// minutes: those that never succeeded yet retry twice. The reference never recovers from 50
    /// processes on.
    pub const FLEET: Self = Self::new(Ratio::percent(10), 0)
        .with_burst(30)
        .with_half_life(Duration::from_secs(3))
        .with_spare(Duration::from_secs(30));

    /// One retry for ten successes, three a second when quiet, 30 at once.
    ///
    /// A tenth more load is what a dependency near its limit can still bear;
    /// three a second let a process with little traffic retry at all. Not safe
    /// for a fleet of many small clients: see [`Budget::FLEET`].
    pub const REFERENCE: Self = Self::new(Ratio::percent(10), 3);

    /// What [`Policy::DEFAULT`](crate::Policy::DEFAULT) uses: [`Budget::FLEET`].
    pub const DEFAULT: Self = Self::FLEET;

    /// Makes a law: what a success deposits, and tokens per second.
    ///
    /// The burst is ten seconds of the floor, at least 1.
    #[must_use]
    pub const fn new(fraction: Ratio, per_second: u32) -> Self {
        let burst = per_second.saturating_mul(10);
        Self {
            fraction,
            per_second,
            burst: if burst == 0 { 1 } else { burst },
            half_life: None,
            spare: None,
            limited: true,
        }
    }

    /// Returns the law with another size of the bucket, in tokens.
    #[must_use]
    pub const fn with_burst(self, tokens: u32) -> Self {
        Self {
            burst: tokens,
            ..self
        }
    }

    /// Returns the law with a bucket that holds no more than recent successes
    /// paid for, and at least 1.
    ///
    /// What a success paid counts half after `half_life`, a quarter after twice
    /// that. The burst is still the most it can hold. Counted in milliseconds.
    #[must_use]
    pub const fn with_half_life(self, half_life: Duration) -> Self {
        Self {
            half_life: Some(half_life),
            ..self
        }
    }

    /// Returns the law with a bucket that holds the burst, whatever succeeded.
    #[must_use]
    pub const fn without_half_life(self) -> Self {
        Self {
            half_life: None,
            ..self
        }
    }

    /// Returns the law with a spare retry, for when the bucket is empty.
    ///
    /// It is funded when no retry was for the time `after`. If nothing has
    /// succeeded since the last one, it takes twice as long, and twice as long
    /// again after each spare. Sheddable work has no spare.
    #[must_use]
    pub const fn with_spare(self, after: Duration) -> Self {
        Self {
            spare: Some(after),
            ..self
        }
    }

    /// Returns the law without a spare retry.
    #[must_use]
    pub const fn without_spare(self) -> Self {
        Self {
            spare: None,
            ..self
        }
    }

    /// Tells whether there is a budget at all.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Returns what a success deposits, in tokens.
    #[must_use]
    pub const fn fraction(&self) -> Ratio {
        self.fraction
    }

    /// Returns the floor, in tokens per second.
    #[must_use]
    pub const fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Returns the size of the bucket, in tokens.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns how long a payment counts until it counts half, if it fades.
    #[must_use]
    pub const fn half_life(&self) -> Option<Duration> {
        self.half_life
    }

    /// Returns after how long a spare retry is funded, if there is one.
    #[must_use]
    pub const fn spare(&self) -> Option<Duration> {
        self.spare
    }
}
