//! Faults on purpose, live: one random stream, counters, and a switch.

mod switch;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use steadfast_core::{Attempt, Instant, Ratio, random};
use steadfast_runtime::Timer;

use super::burst::{Burst, Length};
use super::injected::Injected;
use super::only::Only;
use super::problem::ChaosError;
use super::{Chaos, wrap};
use crate::fault::Fault;

use switch::Switch;

/// A [`Chaos`] that callers share, and that is switched while the program runs.
///
/// All that it wraps draw from one stream. Which of several callers gets which draw
/// is up to the scheduler; drive them one after the other for exact counts. It is a
/// plain `static`, read and switched from any thread without a lock.
///
/// ```
/// use std::io;
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Chaos, FaultInjector, INSTANT, World};
///
/// static GAME_DAY: FaultInjector = FaultInjector::new(
///     Chaos::OFF.with_faults(Ratio::percent(5)).with_seed(7),
/// );
///
/// async fn fetch() -> io::Result<u32> {
///     Ok(42)
/// }
///
/// let world = World::new();
/// let guard = world.guard(INSTANT);
/// let call = || world.block_on(guard.call(GAME_DAY.wrap(world.timer(), |_| fetch())));
/// assert!((0..1000).all(|_| call().is_ok()));
/// assert_eq!(GAME_DAY.injected(), 0);
///
/// GAME_DAY.turn_on();
/// GAME_DAY.set_fault_rate(Ratio::ONE).expect("a rate");
/// assert!(call().is_err());
/// assert_eq!(GAME_DAY.injected(), 3);
///
/// GAME_DAY.turn_off();
/// assert!(call().is_ok());
/// ```
pub struct FaultInjector {
    profile: Chaos,
    switch: Switch,
    // Zero until it is known.
    seed: AtomicU64,
    drawn: AtomicU64,
    // Calls left, or the instant of the end.
    burst: AtomicU64,
    injected: AtomicU64,
    slowed: AtomicU64,
}

/// What is injected into one call.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Chaos, FaultInjector, World};
///
/// let slow = Chaos::OFF.on().with_latency(Ratio::ONE, Duration::from_secs(1));
/// let injection = FaultInjector::new(slow).decide(&World::new().timer());
/// assert_eq!(injection.latency(), Some(Duration::from_secs(1)));
/// assert!(!injection.fails());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "a decision injects nothing by itself"]
pub struct Injection {
    latency: Option<Duration>,
    fails: bool,
}

impl Injection {
    pub(super) const NONE: Self = Self {
        latency: None,
        fails: false,
    };

    /// Returns by how much the call is slowed, before anything else.
    #[must_use]
    pub const fn latency(&self) -> Option<Duration> {
        self.latency
    }

    /// Tells whether it then fails.
    #[must_use]
    pub const fn fails(&self) -> bool {
        self.fails
    }
}

impl FaultInjector {
    /// Makes an injector.
    ///
    /// # Panics
    ///
    /// As [`Chaos::checked`]; in a `static` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn new(chaos: Chaos) -> Self {
        Self {
            profile: chaos.checked(),
            switch: Switch::new(),
            seed: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
            burst: AtomicU64::new(0),
            injected: AtomicU64::new(0),
            slowed: AtomicU64::new(0),
        }
    }

    /// Makes an injector of what is known at run time only.
    ///
    /// # Errors
    ///
    /// Returns every problem.
    pub const fn try_new(chaos: Chaos) -> Result<Self, ChaosError> {
        match chaos.validate() {
            Ok(()) => Ok(Self::new(chaos)),
            Err(error) => Err(error),
        }
    }

    /// Wraps an operation whose error can be made of a [`Fault`].
    ///
    /// A call that is slowed waits before its future is first polled; one that fails
    /// does not make it. While off, a call costs one load and one branch.
    pub fn wrap<T, F, Fut, V, E>(
        &self,
        timer: T,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, Fut, Result<V, E>>
    where
        T: Timer,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
        E: From<Fault>,
    {
        let fault = self.profile.fault();
        self.wrap_with(timer, move || Err(E::from(fault)), operation)
    }

    /// Wraps an operation, or what opens a stream, and says what a failing call
    /// ends with, as [`Chaos::wrap_with`].
    pub fn wrap_with<T, O, F, W, V>(
        &self,
        timer: T,
        outcome: O,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, W, V>
    where
        T: Timer,
        O: FnMut() -> V,
        F: FnMut(Attempt) -> W,
    {
        let decide = move |timer: &T, _| self.decide(timer);
        wrap::composed(decide, timer, outcome, operation)
    }

    /// Injects only where `gate` says so: one key, one region, one hour.
    ///
    /// It is asked while the injector is on, before anything is drawn; calls that it
    /// leaves alone neither draw nor count, nor use up a burst.
    ///
    /// ```
    /// use steadfast_core::Ratio;
    /// use steadfast_testing::{Chaos, Fault, FaultInjector, INSTANT, World};
    ///
    /// static CHAOS: FaultInjector =
    ///     FaultInjector::new(Chaos::OFF.on().with_faults(Ratio::ONE));
    ///
    /// let world = World::new();
    /// let guard = world.guard(INSTANT);
    /// let call = |tenant: &str| {
    ///     let chaos = CHAOS.only(|_| tenant == "blue");
    ///     world.block_on(guard.call(chaos.wrap(world.timer(), async |_| Ok::<_, Fault>(1))))
    /// };
    /// assert!(call("red").is_ok());
    /// assert!(call("blue").is_err());
    /// ```
    pub const fn only<G: FnMut(Attempt) -> bool>(&self, gate: G) -> Only<'_, G> {
        Only::new(self, gate)
    }

    /// Decides what is injected into the next call, for those who do it by hand.
    ///
    /// First whether it is slow, then whether it fails, each a number of the stream;
    /// a rate of zero draws none.
    pub fn decide<T: Timer>(&self, timer: &T) -> Injection {
        self.decide_if(timer, || true)
    }

    pub(super) fn decide_if<T: Timer>(&self, timer: &T, gate: impl FnOnce() -> bool) -> Injection {
        let chaos = self.chaos();
        if !chaos.is_on() || !gate() {
            return Injection::NONE;
        }
        let is_slow = self.is_drawn(timer, chaos.latency_rate());
        let fails = self.fails(timer, chaos.fault_rate());
        if is_slow {
            self.slowed.fetch_add(1, Ordering::Relaxed);
        }
        if fails {
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
        Injection {
            latency: is_slow.then(|| chaos.latency()),
            fails,
        }
    }

    fn fails<T: Timer>(&self, timer: &T, rate: Ratio) -> bool {
        if rate == Ratio::ZERO {
            return false;
        }
        let begins = self.is_drawn(timer, rate);
        match self.profile.burst() {
            None => begins,
            Some(Burst(Length::Calls(count))) => {
                if begins {
                    self.burst.store(count.into(), Ordering::Relaxed);
                }
                begins || self.takes_one()
            }
            Some(Burst(Length::Span(span))) => {
                let now = timer.now();
                if begins {
                    let end = now.saturating_add(span);
                    self.burst.store(end.as_nanos(), Ordering::Relaxed);
                }
                begins || self.lasts(now, span)
            }
        }
    }

    /// Takes one of the calls that a burst has left.
    fn takes_one(&self) -> bool {
        let rest = |left: u64| left.checked_sub(1);
        let taken = self
            .burst
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        taken.is_ok()
    }

    /// Tells whether a burst goes on; one that began in the future does not.
    fn lasts(&self, now: Instant, span: Duration) -> bool {
        let left = Instant::from_nanos(self.burst.load(Ordering::Relaxed)).saturating_since(now);
        !left.is_zero() && left <= span
    }

    fn is_drawn<T: Timer>(&self, timer: &T, rate: Ratio) -> bool {
        if rate == Ratio::ZERO {
            return false;
        }
        let draw = random(self.seed(timer), self.drawn.fetch_add(1, Ordering::Relaxed));
        (u64::from(draw) * MILLION) >> 32 < u64::from(rate.as_ppm())
    }

    fn seed<T: Timer>(&self, timer: &T) -> u64 {
        if let Some(seed) = self.profile.seed() {
            return seed ^ SALT;
        }
        match self.seed.load(Ordering::Relaxed) {
            0 => {
                let seed = timer.seed().max(1);
                let kept =
                    self.seed
                        .compare_exchange(0, seed, Ordering::Relaxed, Ordering::Relaxed);
                kept.map_or_else(|other| other, |_| seed) ^ SALT
            }
            seed => seed ^ SALT,
        }
    }

    /// Switches it on, whatever was said when it was made.
    pub fn turn_on(&self) {
        self.switch.change(&self.profile, Chaos::on);
    }

    /// Switches it off; what a burst has left is forgotten.
    ///
    /// Calls that are being slowed or about to fail go on.
    pub fn turn_off(&self) {
        self.switch.change(&self.profile, Chaos::off);
        self.burst.store(0, Ordering::Relaxed);
    }

    /// Changes the share of the calls that fail.
    ///
    /// # Errors
    ///
    /// When it is above the whole; then nothing changes.
    pub fn set_fault_rate(&self, rate: Ratio) -> Result<(), ChaosError> {
        self.profile.with_faults(rate).validate()?;
        self.switch
            .change(&self.profile, |chaos| chaos.with_faults(rate));
        Ok(())
    }

    /// Changes the share of the calls that are slowed.
    ///
    /// # Errors
    ///
    /// When it is above the whole, or above zero while the latency is not; then
    /// nothing changes.
    pub fn set_latency_rate(&self, rate: Ratio) -> Result<(), ChaosError> {
        let latency = self.profile.latency();
        self.profile.with_latency(rate, latency).validate()?;
        self.switch
            .change(&self.profile, |chaos| chaos.with_latency(rate, latency));
        Ok(())
    }

    /// Goes back to what it was made of.
    pub fn restore(&self) {
        self.switch.restore();
        self.burst.store(0, Ordering::Relaxed);
    }

    /// Tells whether it is on right now.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.chaos().is_on()
    }

    /// Returns what is in force right now.
    #[must_use]
    pub fn chaos(&self) -> Chaos {
        self.switch.apply(&self.profile)
    }

    /// Returns what it was made of.
    #[must_use]
    pub const fn profile(&self) -> &Chaos {
        &self.profile
    }

    /// Returns how many calls were made to fail, cut ones included.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// Returns how many calls were slowed, cut ones included.
    #[must_use]
    pub fn slowed(&self) -> u64 {
        self.slowed.load(Ordering::Relaxed)
    }

    /// Returns how many numbers were drawn.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for FaultInjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultInjector")
            .field("chaos", &self.chaos())
            .field("injected", &self.injected())
            .field("slowed", &self.slowed())
            .finish_non_exhaustive()
    }
}

const MILLION: u64 = 1_000_000;

/// Keeps the stream apart from the jitter of a guard with the same seed.
const SALT: u64 = u64::from_be_bytes(*b"\0\0\0chaos");
