//! The circuit breaker: one word, one compare-and-swap, no lock.
//!
//! `control` holds everything that decides (see [`Control`]); `until` goes with
//! it. Whoever wants to change both sets the busy bit first, and nobody waits
//! for it: meanwhile everybody else is refused. Operators do not care for the
//! bit; whoever set it then finds another generation, and has lost.

mod control;
mod evidence;
pub(crate) mod permit;
mod ramp;
mod settle;
mod speed;
mod times;

use core::fmt;
use core::time::Duration;

use control::Control;
use evidence::Evidence;
use permit::{Permit, Refusal};
use ramp::Ramp;

use crate::breaker_state::BreakerState;
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;

/// A live circuit breaker: watches attempts, refuses while a dependency is down.
///
/// Const constructible and shared by reference. Permits carry the generation
/// they were given in and come back when dropped, so a late, lost or panicking
/// attempt can neither close, open nor wedge it.
///
/// **Lost probes.** A probe that neither ends nor is dropped holds its slot for
/// one nominal break, its lease. When all slots are held and the last lease is
/// over, one more probe is let through, and those before hold no slot any more.
/// They keep their voice: as long as the breaker stays half-open, a late success
/// counts and a late failure opens, so that a slow dependency can recover. Keep
/// the attempt timeout below the break, and no more probes than allowed are ever
/// on their way.
///
/// **Clocks.** Nobody is asked to wait longer than a nominal break, and after
/// that wait the break is over, unless the clock has stepped back meanwhile. Then
/// it is counted anew from the next attempt refused: each step back lengthens a
/// break by at most one nominal break. All who share a breaker must read the
/// same clock.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Breaker, BreakerState, CircuitBreaker, Instant, Kind};
///
/// static SEARCH: CircuitBreaker =
///     CircuitBreaker::new(Breaker::DEFAULT.with_consecutive_failures(1));
///
/// let now = Instant::ZERO;
/// let permit = SEARCH.admit(now).unwrap();
/// permit.settle(now, Kind::Transient, Duration::ZERO, || 0);
///
/// let refusal = SEARCH.admit(now).unwrap_err();
/// assert_eq!(refusal.state(), BreakerState::Open);
/// assert_eq!(refusal.retry_after(), Some(Duration::from_millis(7_500)));
/// ```
pub struct CircuitBreaker<M: Memory = Shared> {
    settings: Breaker,
    control: M::U64,
    /// Open: the end of the break. Half-open: the end of the last probe's lease.
    /// Recovering: the end of the ramp.
    until: M::U64,
    /// Open and half-open: how long the break was. Recovering: how long the ramp.
    span: M::U64,
    ramp: Ramp<M>,
    evidence: Evidence<M>,
}

impl<M: Memory> CircuitBreaker<M> {
    /// Makes a closed breaker.
    ///
    /// # Panics
    ///
    /// When the settings cannot work; in a `static` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn new(settings: Breaker) -> Self {
        Self {
            settings: settings.checked(),
            control: M::U64::ZERO,
            until: M::U64::ZERO,
            span: M::U64::ZERO,
            ramp: Ramp::new(),
            evidence: Evidence::new(&settings),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &Breaker {
        &self.settings
    }

    /// Asks whether an attempt may be made.
    ///
    /// # Errors
    ///
    /// Refuses while open, isolated, with all probes in flight, or, while
    /// recovering, the share that is not let through yet.
    pub fn admit(&self, now: Instant) -> Result<Permit<'_, M>, Refusal> {
        let word = self.word();
        if word.passes() {
            return Ok(Permit::new(self, word));
        }
        self.admit_past_barrier(now)
    }

    #[cold]
    fn admit_past_barrier(&self, now: Instant) -> Result<Permit<'_, M>, Refusal> {
        loop {
            let (word, left) = self.snapshot(now);
            if word.is_busy() {
                return self.refuse(word, None);
            }
            match word.state() {
                BreakerState::Closed => return Ok(Permit::new(self, word)),
                BreakerState::Disabled => return Ok(Permit::new(self, Control::STRANGER)),
                BreakerState::Isolated => return self.refuse(word, None),
                BreakerState::Open => {
                    if !left.is_zero() {
                        return self.refuse(word, Some(self.possible(word, left, now)));
                    }
                    let next = word.half_opened();
                    if self.turn(word, next, |busy| self.lease(busy, now)) {
                        return Ok(Permit::new(self, next.busy()));
                    }
                }
                BreakerState::HalfOpen if word.in_flight() < self.settings.probes() => {
                    let next = word.with_one_more_in_flight();
                    // Before the probe shows, or the next one takes its slot.
                    self.lease(word, now);
                    if self.swap(word, next) {
                        return Ok(Permit::new(self, next));
                    }
                }
                BreakerState::HalfOpen => {
                    if !left.is_zero() {
                        self.possible(word, left, now);
                        return self.refuse(word, None);
                    }
                    // Before the slot shows, or the next one takes it.
                    self.lease(word, now);
                    if let Some(next) = self.lease_anew(word) {
                        return Ok(Permit::new(self, next));
                    }
                }
                BreakerState::Recovering => {
                    let Some(share) = self.share(word, left) else {
                        continue;
                    };
                    if share < Ratio::ONE {
                        self.shorten_ramp(word, left, now);
                        return if self.ramp.is_due(share) {
                            Ok(Permit::new(self, word))
                        } else {
                            self.refuse(word, None)
                        };
                    }
                    let next = word.closed();
                    if self.turn(word, next, |_| self.forget()) {
                        return Ok(Permit::new(self, next));
                    }
                }
            }
        }
    }

    /// Returns what the breaker does at `now`; never changes it.
    ///
    /// Reads half-open once a break is over, although no probe was asked for, and
    /// closed once a ramp is.
    #[must_use]
    pub fn state(&self, now: Instant) -> BreakerState {
        loop {
            let (word, left) = self.snapshot(now);
            return match word.state() {
                BreakerState::Open if left.is_zero() || word.is_busy() => BreakerState::HalfOpen,
                BreakerState::Recovering => match self.share(word, left) {
                    Some(share) if share < Ratio::ONE => BreakerState::Recovering,
                    Some(_) => BreakerState::Closed,
                    None => continue,
                },
                state => state,
            };
        }
    }

    /// Returns when to ask again while open; else `None`.
    ///
    /// At most the nominal break; never changes anything.
    #[must_use]
    pub fn retry_after(&self, now: Instant) -> Option<Duration> {
        let (word, left) = self.snapshot(now);
        (word.state() == BreakerState::Open && !word.is_busy())
            .then(|| left.min(self.nominal(word)))
    }

    /// Returns the share of failures that is normal, once that is known.
    ///
    /// It is that of the baseline before the window, whatever the breaker did
    /// meanwhile; `None` without [`Breaker::relative_failures`], as long as
    /// that has seen too few attempts, and after a pause as long as the baseline.
    #[must_use]
    pub fn normal_failure_rate(&self, now: Instant) -> Option<Ratio> {
        self.evidence.normal_failure_rate(now)
    }

    /// Returns what successes normally take, once that is known; at most 4.82 %
    /// off.
    ///
    /// It is the quantile of the baseline, whatever the breaker did meanwhile;
    /// `None` without [`Breaker::relative_slow_calls`] or memory to measure in,
    /// as long as there are too few successes, and after a pause as long as the
    /// baseline.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Breaker, CircuitBreaker, Instant, Kind};
    ///
    /// static API: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
    ///
    /// let now = Instant::ZERO;
    /// for _ in 0..20 {
    ///     assert_eq!(API.normal_latency(now), None);
    ///     let permit = API.admit(now).unwrap();
    ///     permit.settle(now, Kind::Ok, Duration::from_millis(10), || 0);
    /// }
    /// assert_eq!(API.normal_latency(now).unwrap().as_millis(), 10);
    /// ```
    #[must_use]
    pub fn normal_latency(&self, now: Instant) -> Option<Duration> {
        self.evidence.normal_latency(now)
    }

    /// Tells whether failures are at least this share of what opens.
    ///
    /// For what adds load, such as a hedge, and should stop before the breaker
    /// has to. Takes two failures and the minimum of attempts in the window, as
    /// opening does, but not that chance is ruled out. False without a ratio that
    /// opens, and where that is relative, as long as what is normal is not known.
    ///
    /// ```
    /// use core::time::Duration;
    /// use steadfast_core::{Breaker, CircuitBreaker, Instant, Kind, Ratio};
    ///
    /// static API: CircuitBreaker =
    ///     CircuitBreaker::new(Breaker::DEFAULT.with_failure_ratio(Ratio::percent(50)));
    ///
    /// let now = Instant::ZERO;
    /// for call in 0..20 {
    ///     let kind = if call % 4 == 0 { Kind::Transient } else { Kind::Ok };
    ///     let permit = API.admit(now).unwrap();
    ///     permit.settle(now, kind, Duration::ZERO, || 0);
    /// }
    /// assert!(API.is_elevated(now, Ratio::percent(50)));
    /// assert!(!API.is_elevated(now, Ratio::percent(60)));
    /// ```
    #[must_use]
    pub fn is_elevated(&self, now: Instant, share: Ratio) -> bool {
        self.evidence.is_elevated(&self.settings, now, share)
    }

    /// Tells whether it only observes, see [`CircuitBreaker::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.word().is_observed()
    }

    /// Refuses everything until [`CircuitBreaker::reset`].
    pub fn isolate(&self) {
        self.command(|word| word.turned(BreakerState::Isolated).unobserved());
        self.forget();
    }

    /// Admits everything and records nothing until [`CircuitBreaker::reset`].
    pub fn disable(&self) {
        self.command(|word| word.turned(BreakerState::Disabled).unobserved());
        self.forget();
    }

    /// Decides and reports as ever but refuses nothing, until
    /// [`CircuitBreaker::reset`].
    ///
    /// For trying settings on real traffic. Attempts that it would have refused
    /// are not recorded, so that it decides as it would have; their permits say
    /// so, see [`Permit::would_be_refused_in`]. Closes an isolated or disabled
    /// breaker.
    pub fn observe(&self) {
        self.command(|word| match word.state() {
            BreakerState::Isolated | BreakerState::Disabled => word.closed().observed(),
            // Whoever is turning it just now goes on.
            _ => word.observed(),
        });
    }

    /// Closes it without a ramp, forgets failures and growth, and ends manual
    /// control.
    ///
    /// What is normal it still knows.
    pub fn reset(&self) {
        // First: nobody may open a closed breaker on failures before the reset.
        self.forget();
        self.command(|word| word.closed().unobserved());
    }

    /// As [`CircuitBreaker::reset`], and forgets what is normal.
    pub(in crate::state) fn start_afresh(&self) {
        self.evidence.forget_all();
        self.reset();
    }

    fn word(&self) -> Control {
        Control(self.control.load())
    }

    fn refuse(
        &self,
        word: Control,
        retry_after: Option<Duration>,
    ) -> Result<Permit<'_, M>, Refusal> {
        let state = match word.state() {
            // Busy with opening, as nothing else ends a closed breaker.
            BreakerState::Closed => BreakerState::Open,
            state => state,
        };
        if word.is_observed() {
            return Ok(Permit::new(self, Control::overruled(state)));
        }
        Err(Refusal::new(state, retry_after))
    }

    fn swap(&self, from: Control, to: Control) -> bool {
        self.control.compare_exchange(from.0, to.0).is_ok()
    }

    /// Turns to another word, with `prepare` done before anybody can see it.
    ///
    /// False when somebody else was first, or an operator stepped in between.
    fn turn(&self, from: Control, to: Control, prepare: impl FnOnce(Control)) -> bool {
        let busy = from.busy();
        if !self.swap(from, busy) {
            return false;
        }
        prepare(busy);
        self.swap(busy, to) || self.swap(busy.observed(), to.observed())
    }

    /// Writes what an operator wants, over whoever is in between.
    fn command(&self, to: impl Fn(Control) -> Control) {
        loop {
            let word = self.word();
            if self.swap(word, to(word)) {
                return;
            }
        }
    }

    fn forget(&self) {
        self.evidence.forget();
    }
}

impl<M: Memory> fmt::Debug for CircuitBreaker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        f.debug_struct("CircuitBreaker")
            .field("state", &word.state())
            .field("opens", &word.opens())
            .field("probes_in_flight", &word.in_flight())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
