//! The times that go with a breaker's word, and clocks that step back.

use core::time::Duration;

use super::CircuitBreaker;
use super::control::Control;
use crate::math::ratio::Ratio;
use crate::memory::{Memory, Word};
use crate::time::Instant;

impl<M: Memory> CircuitBreaker<M> {
    /// Reads the word and how long until the end that belongs to it.
    pub(super) fn snapshot(&self, now: Instant) -> (Control, Duration) {
        loop {
            let word = self.word();
            let until = Instant::from_nanos(self.until.load());
            if self.word().is_same_turn(word) {
                return (word, until.saturating_since(now));
            }
        }
    }

    pub(super) fn nominal(&self, word: Control) -> Duration {
        self.settings.nominal_break(word.opens())
    }

    /// Cuts a wait that cannot be, since the clock has stepped back.
    pub(super) fn possible(&self, word: Control, left: Duration, now: Instant) -> Duration {
        let nominal = self.nominal(word);
        if left > nominal {
            self.end_at(word, now.saturating_add(nominal));
        }
        left.min(nominal)
    }

    /// Returns the share that a ramp lets through with so much of it left.
    ///
    /// `None` when somebody has turned it meanwhile: the times are another one's.
    pub(super) fn share(&self, word: Control, left: Duration) -> Option<Ratio> {
        let span = Duration::from_nanos(self.span.load());
        let cap = self.ramp.cap(word);
        if !self.word().is_same_turn(word) {
            return None;
        }
        let clock = match self.settings.recovery() {
            Some(recovery) => recovery.share(left, span),
            None => Ratio::ONE,
        };
        Some(clock.min(cap))
    }

    /// Begins a ramp anew that is longer than it can be, since the clock has
    /// stepped back.
    pub(super) fn shorten_ramp(&self, word: Control, left: Duration, now: Instant) {
        let span = Duration::from_nanos(self.span.load());
        if left > span {
            self.end_at(word, now.saturating_add(span));
        }
    }

    pub(super) fn lease(&self, word: Control, now: Instant) {
        self.end_at(word, now.saturating_add(self.nominal(word)));
    }

    /// Takes the slots from probes whose leases are over, and one for another.
    ///
    /// Not busy meanwhile, or an outcome that comes just then would be lost. It
    /// changes the word, but only a slot that it gives back makes this needless.
    pub(super) fn lease_anew(&self, seen: Control) -> Option<Control> {
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
    pub(super) fn end_at(&self, word: Control, end: Instant) {
        self.write(&self.until, word, end.as_nanos());
    }

    pub(super) fn write(&self, time: &M::U64, word: Control, nanos: u64) {
        let mut seen = time.load();
        while self.word().is_same_turn(word) {
            match time.compare_exchange(seen, nanos) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }
}
