//! The circuit breaker: one word, one compare-and-swap, no lock.

use core::fmt;
use core::time::Duration;

use super::control::{Control, Stage};
use crate::breaker_state::BreakerState;
use crate::math::rolling_counts::RollingCounts;
use crate::memory::{Memory, Shared, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;
use crate::verdict::Kind;

/// A live circuit breaker: watches attempts, refuses while a dependency is down.
///
/// Const constructible and shared by reference. Permits carry the generation
/// they were given in and come back when dropped, so a late, lost or panicking
/// attempt can neither close, open nor wedge it. A clock that steps back
/// lengthens a break by at most one nominal break.
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
    /// Open: the end of the break. Half-open: the end of the probes' lease.
    until: M::U64,
    consecutive: M::U32,
    window: RollingCounts<M>,
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
            consecutive: M::U32::ZERO,
            window: RollingCounts::new(settings.window()),
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
    /// Refuses while open, isolated, or with all probes in flight.
    pub fn admit(&self, now: Instant) -> Result<Permit<'_, M>, Refusal> {
        let word = self.word();
        if word.passes() {
            return Ok(self.permit(word));
        }
        self.admit_past_barrier(now)
    }

    #[cold]
    fn admit_past_barrier(&self, now: Instant) -> Result<Permit<'_, M>, Refusal> {
        loop {
            let word = self.word();
            if word.is_busy() {
                return self.refuse(word, None);
            }
            match word.stage() {
                Stage::Closed => return Ok(self.permit(word)),
                Stage::Disabled => return Ok(self.permit(Control::STRANGER)),
                Stage::Isolated => return self.refuse(word, None),
                Stage::Open => {
                    let left = self.left(word, now);
                    if !left.is_zero() {
                        return self.refuse(word, Some(left));
                    }
                    let next = word.turned(Stage::HalfOpen).with_one_more_in_flight();
                    if self.turn(word, next, || self.lease(word, now)) {
                        return Ok(self.permit(next.busy()));
                    }
                }
                Stage::HalfOpen if word.in_flight() < self.settings.probes() => {
                    let next = word.with_one_more_in_flight();
                    if self.swap(word, next) {
                        return Ok(self.permit(next));
                    }
                }
                Stage::HalfOpen => {
                    if !self.left(word, now).is_zero() {
                        return self.refuse(word, None);
                    }
                    // The lease is over: the probes in flight become strangers.
                    let next = word.turned(Stage::HalfOpen).with_one_more_in_flight();
                    if self.turn(word, next, || self.lease(word, now)) {
                        return Ok(self.permit(next));
                    }
                }
            }
        }
    }

    /// Returns what the breaker does at `now`; never changes it.
    ///
    /// Reads half-open once a break is over, although no probe was asked for.
    #[must_use]
    pub fn state(&self, now: Instant) -> BreakerState {
        let word = self.word();
        match word.state() {
            BreakerState::Open if self.left(word, now).is_zero() => BreakerState::HalfOpen,
            state => state,
        }
    }

    /// Returns when to ask again while open; else `None`.
    #[must_use]
    pub fn retry_after(&self, now: Instant) -> Option<Duration> {
        let word = self.word();
        match word.stage() {
            Stage::Open => Some(self.left(word, now)),
            _ => None,
        }
    }

    /// Tells whether it only observes, see [`CircuitBreaker::observe`].
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.word().is_observed()
    }

    /// Refuses everything until [`CircuitBreaker::reset`].
    pub fn isolate(&self) {
        self.control(|word| word.turned(Stage::Isolated).unobserved());
    }

    /// Admits everything and records nothing until [`CircuitBreaker::reset`].
    pub fn disable(&self) {
        self.control(|word| word.turned(Stage::Disabled).unobserved());
    }

    /// Decides and reports as ever but refuses nothing, until
    /// [`CircuitBreaker::reset`].
    ///
    /// For trying settings on real traffic. Leaves isolation and disabling.
    pub fn observe(&self) {
        self.control(|word| match word.stage() {
            Stage::Isolated | Stage::Disabled => word.turned(Stage::Closed).observed(),
            // Whoever was turning it starts over.
            _ => word.idle().observed(),
        });
    }

    /// Closes it, forgets failures and growth, and ends manual control.
    pub fn reset(&self) {
        self.control(|word| word.turned(Stage::Closed).without_opens().unobserved());
        self.forget();
    }

    fn word(&self) -> Control {
        Control(self.control.load())
    }

    const fn permit(&self, word: Control) -> Permit<'_, M> {
        Permit {
            breaker: self,
            word,
        }
    }

    fn refuse(
        &self,
        word: Control,
        retry_after: Option<Duration>,
    ) -> Result<Permit<'_, M>, Refusal> {
        if word.is_observed() {
            return Ok(self.permit(Control::STRANGER));
        }
        Err(Refusal {
            state: word.state(),
            retry_after,
        })
    }

    /// How long the break or the lease still lasts.
    ///
    /// More than one nominal break cannot be: then the clock has stepped back,
    /// and the break is counted anew from here.
    fn left(&self, word: Control, now: Instant) -> Duration {
        let until = self.until.load();
        let left = Instant::from_nanos(until).saturating_since(now);
        let nominal = self.settings.nominal_break(word.opens());
        if left <= nominal {
            return left;
        }
        let anew = now.saturating_add(nominal).as_nanos();
        // Whoever lost to a transition or to another reader reads right next time.
        let _ = self.until.compare_exchange(until, anew);
        nominal
    }

    /// A lost probe blocks its slot for one nominal break at most.
    fn lease(&self, word: Control, now: Instant) {
        let nominal = self.settings.nominal_break(word.opens());
        self.until.store(now.saturating_add(nominal).as_nanos());
    }

    fn swap(&self, from: Control, to: Control) -> bool {
        self.control.compare_exchange(from.0, to.0).is_ok()
    }

    /// Turns to another word, with `prepare` done before anybody can see it.
    ///
    /// Whoever comes meanwhile is refused rather than let through on stale
    /// times. An operator may step in between; then the operator wins.
    fn turn(&self, from: Control, to: Control, prepare: impl FnOnce()) -> bool {
        if !self.swap(from, from.busy()) {
            return false;
        }
        prepare();
        self.swap(from.busy(), to)
    }

    /// Writes what an operator wants, over whoever is in between.
    fn control(&self, to: impl Fn(Control) -> Control) {
        loop {
            let word = self.word();
            if self.swap(word, to(word)) {
                return;
            }
        }
    }

    fn forget(&self) {
        self.consecutive.store(0);
        self.window.clear();
    }

    fn has_window(&self) -> bool {
        self.settings.failure_ratio().is_some() || self.settings.slow_call().is_some()
    }

    fn record(
        &self,
        seen: Control,
        now: Instant,
        kind: Kind,
        took: Duration,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        match seen.stage() {
            Stage::Closed => self.record_closed(seen, now, kind, took, draw),
            Stage::HalfOpen => self.record_probe(seen, now, kind, took, draw),
            Stage::Open | Stage::Isolated | Stage::Disabled => None,
        }
    }

    fn record_closed(
        &self,
        seen: Control,
        now: Instant,
        kind: Kind,
        took: Duration,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        let failed = match kind {
            Kind::Ok => false,
            Kind::Transient => true,
            Kind::Throttled | Kind::Permanent => return None,
        };
        if !self.word().is_same_generation(seen) {
            return None;
        }
        let slow = !failed && self.is_slow(took);
        if self.has_window() {
            self.window.record(now, failed, slow);
        }
        let in_a_row = if failed {
            self.consecutive.fetch_add(1).saturating_add(1)
        } else {
            if self.consecutive.load() != 0 {
                self.consecutive.store(0);
            }
            0
        };
        // A success can complete a window but never raises a share of failures,
        // so only bad outcomes are worth a look.
        let trips = (failed && in_a_row >= self.settings.consecutive_failures())
            || ((failed || slow) && self.has_window() && self.is_window_bad(now));
        if trips {
            self.open(seen, now, draw())
        } else {
            None
        }
    }

    fn record_probe(
        &self,
        seen: Control,
        now: Instant,
        kind: Kind,
        took: Duration,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        let failed = match kind {
            Kind::Ok => self.is_slow(took),
            Kind::Transient => true,
            Kind::Throttled | Kind::Permanent => {
                self.release(seen);
                return None;
            }
        };
        if failed {
            return self.open(seen, now, draw());
        }
        loop {
            let word = self.own(seen)?;
            let counted = word.with_one_less_in_flight().with_one_more_success();
            if counted.successes() < self.settings.probe_successes() {
                if self.swap(word, counted) {
                    return None;
                }
            } else if self.turn(word, word.turned(Stage::Closed).without_opens(), || {
                self.forget();
            }) {
                return Some(Transition::Closed);
            }
        }
    }

    /// The current word, if it still belongs to the permit that saw `seen`.
    fn own(&self, seen: Control) -> Option<Control> {
        let word = self.word();
        (word.is_same_generation(seen) && word.stage() == seen.stage() && !word.is_busy())
            .then_some(word)
    }

    fn release(&self, seen: Control) {
        if seen.stage() != Stage::HalfOpen {
            return;
        }
        while let Some(word) = self.own(seen) {
            if self.swap(word, word.with_one_less_in_flight()) {
                return;
            }
        }
    }

    fn open(&self, seen: Control, now: Instant, draw: u32) -> Option<Transition> {
        loop {
            let word = self.own(seen)?;
            let next = word.with_one_more_open().turned(Stage::Open);
            let nominal = self.settings.nominal_break(next.opens());
            let served = self.settings.jitter().apply(nominal, draw);
            let opened = self.turn(word, next, || {
                self.until.store(now.saturating_add(served).as_nanos());
                self.forget();
            });
            if opened {
                return Some(Transition::Opened);
            }
        }
    }

    fn is_slow(&self, took: Duration) -> bool {
        self.settings
            .slow_call()
            .is_some_and(|threshold| took >= threshold)
    }

    fn is_window_bad(&self, now: Instant) -> bool {
        let counts = self.window.totals(now);
        let total = counts.total();
        if total < u64::from(self.settings.minimum_calls()) {
            return false;
        }
        let failing = self
            .settings
            .failure_ratio()
            .is_some_and(|ratio| ratio.is_reached(counts.failures(), total));
        let slow = self.settings.slow_call().is_some()
            && self.settings.slow_ratio().is_reached(counts.slow(), total);
        failing || slow
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

/// A change of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transition {
    /// It refuses from now on.
    Opened,
    /// It lets probes through.
    HalfOpened,
    /// It lets everything through again.
    Closed,
}

/// A circuit breaker's "no".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    state: BreakerState,
    retry_after: Option<Duration>,
}

impl Refusal {
    /// Returns the state it refused in.
    #[must_use]
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Returns when to ask again, if the breaker knows.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// The admission of one attempt; comes back by itself when dropped.
#[must_use = "a permit that is dropped at once was not needed"]
pub struct Permit<'b, M: Memory = Shared> {
    breaker: &'b CircuitBreaker<M>,
    word: Control,
}

impl<M: Memory> Permit<'_, M> {
    /// Tells whether it is a probe of a half-open breaker.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.word.stage() == Stage::HalfOpen
    }

    /// Returns the transition that this very admission caused.
    #[must_use]
    pub fn transition(&self) -> Option<Transition> {
        self.word.is_busy().then_some(Transition::HalfOpened)
    }

    /// Records what became of the attempt, and returns what it changed.
    ///
    /// `draw` gives the random number for the jitter of a break; it is asked
    /// only when the breaker opens. Throttled and permanent outcomes are
    /// evidence of nothing and only give the permit back.
    pub fn settle(
        self,
        now: Instant,
        kind: Kind,
        took: Duration,
        draw: impl FnOnce() -> u32,
    ) -> Option<Transition> {
        let transition = self.breaker.record(self.word, now, kind, took, draw);
        core::mem::forget(self);
        transition
    }
}

impl<M: Memory> Drop for Permit<'_, M> {
    fn drop(&mut self) {
        self.breaker.release(self.word);
    }
}

impl<M: Memory> fmt::Debug for Permit<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
