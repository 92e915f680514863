//! The circuit breaker: one word, one compare-and-swap, no lock.
//!
//! `control` holds everything that decides (see [`Control`]); `until` goes with
//! it. Whoever wants to change both sets the busy bit first, and nobody waits
//! for it: meanwhile everybody else is refused. Operators do not care for the
//! bit; whoever set it then finds another generation, and has lost.

mod control;
mod evidence;
pub(crate) mod permit;

use core::fmt;
use core::time::Duration;

use control::Control;
use evidence::{Evidence, is_slow};
use permit::{Permit, Refusal, Transition};

use crate::breaker_state::BreakerState;
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Shared, Word};
use crate::policy::breaker::Breaker;
use crate::time::Instant;
use crate::verdict::Kind;

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
    until: M::U64,
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
    /// Refuses while open, isolated, or with all probes in flight.
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
            }
        }
    }

    /// Returns what the breaker does at `now`; never changes it.
    ///
    /// Reads half-open once a break is over, although no probe was asked for.
    #[must_use]
    pub fn state(&self, now: Instant) -> BreakerState {
        let (word, left) = self.snapshot(now);
        match word.state() {
            BreakerState::Open if left.is_zero() || word.is_busy() => BreakerState::HalfOpen,
            state => state,
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
    /// are not recorded, so that it decides as it would have. Closes an isolated
    /// or disabled breaker.
    pub fn observe(&self) {
        self.command(|word| match word.state() {
            BreakerState::Isolated | BreakerState::Disabled => word.closed().observed(),
            // Whoever is turning it just now goes on.
            _ => word.observed(),
        });
    }

    /// Closes it, forgets failures and growth, and ends manual control.
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

    /// Reads the word and how long until the end that belongs to it.
    fn snapshot(&self, now: Instant) -> (Control, Duration) {
        loop {
            let word = self.word();
            let until = Instant::from_nanos(self.until.load());
            if self.word().is_same_turn(word) {
                return (word, until.saturating_since(now));
            }
        }
    }

    fn nominal(&self, word: Control) -> Duration {
        self.settings.nominal_break(word.opens())
    }

    /// Cuts a wait that cannot be, since the clock has stepped back.
    fn possible(&self, word: Control, left: Duration, now: Instant) -> Duration {
        let nominal = self.nominal(word);
        if left > nominal {
            self.end_at(word, now.saturating_add(nominal));
        }
        left.min(nominal)
    }

    fn lease(&self, word: Control, now: Instant) {
        self.end_at(word, now.saturating_add(self.nominal(word)));
    }

    /// Takes the slots from probes whose leases are over, and one for another.
    ///
    /// Not busy meanwhile, or an outcome that comes just then would be lost. It
    /// changes the word, but only a slot that it gives back makes this needless.
    fn lease_anew(&self, seen: Control) -> Option<Control> {
        loop {
            let word = self.word();
            if !word.is_same_turn(seen) || word.in_flight() < self.settings.probes() {
                return None;
            }
            let next = word.leased_anew();
            if self.swap(word, next) {
                return Some(next);
            }
        }
    }

    /// Writes the end of a break or lease, unless somebody has turned `word`.
    ///
    /// Whoever turned it writes another end, so either the exchange fails here
    /// or the other one is the last to write. A lease is written before its
    /// probe shows: who is held up here for as long as a lease can cut the next
    /// one short, which lets one probe more through.
    fn end_at(&self, word: Control, end: Instant) {
        let mut seen = self.until.load();
        while self.word().is_same_turn(word) {
            match self.until.compare_exchange(seen, end.as_nanos()) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    fn refuse(
        &self,
        word: Control,
        retry_after: Option<Duration>,
    ) -> Result<Permit<'_, M>, Refusal> {
        if word.is_observed() {
            return Ok(Permit::new(self, Control::STRANGER));
        }
        let state = match word.state() {
            // Busy with opening.
            BreakerState::Closed => BreakerState::Open,
            state => state,
        };
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
        self.evidence.forget(&self.settings);
    }

    /// Records the outcome of an attempt admitted at `seen`.
    fn record(
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
            Kind::Throttled | Kind::Permanent => {
                self.release(seen);
                return None;
            }
        };
        let slow = !failed && is_slow(&self.settings, took);
        let opens = match seen.state() {
            BreakerState::Closed => {
                self.word().is_same_generation(seen)
                    && self.evidence.convicts(&self.settings, now, failed, slow)
            }
            BreakerState::HalfOpen if failed || slow => true,
            BreakerState::HalfOpen => return self.approve(seen),
            BreakerState::Open | BreakerState::Isolated | BreakerState::Disabled => false,
        };
        if opens {
            self.open(seen, now, draw())
        } else {
            None
        }
    }

    /// Counts a successful probe, and closes when it is the last one needed.
    fn approve(&self, seen: Control) -> Option<Transition> {
        loop {
            let word = self.own(seen)?;
            let counted = word.with_slot_back(seen).with_one_more_success();
            if counted.successes() < self.settings.probe_successes() {
                if self.swap(word, counted) {
                    return None;
                }
            } else if self.turn(word, word.closed(), |_| self.forget()) {
                return Some(Transition::Closed);
            }
        }
    }

    /// Gives the slot of a probe back, if it still has one.
    fn release(&self, seen: Control) {
        if seen.state() != BreakerState::HalfOpen {
            return;
        }
        while let Some(word) = self.own(seen) {
            if self.swap(word, word.with_slot_back(seen)) {
                return;
            }
        }
    }

    fn open(&self, seen: Control, now: Instant, draw: u32) -> Option<Transition> {
        loop {
            let word = self.own(seen)?;
            let next = word.with_one_more_open().turned(BreakerState::Open);
            let served = self.settings.jitter().apply(self.nominal(next), draw);
            let opened = self.turn(word, next, |busy| {
                self.end_at(busy, now.saturating_add(served));
                self.forget();
            });
            if opened {
                return Some(Transition::Opened);
            }
        }
    }

    /// The current word, if it still belongs to the permit that saw `seen`.
    fn own(&self, seen: Control) -> Option<Control> {
        let word = self.word();
        (word.is_same_generation(seen) && !word.is_busy()).then_some(word)
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
