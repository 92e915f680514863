//! How an adaptive limit learns.
//!
//! Samples are gathered in rounds. A round whose signal exceeds a multiple of the
//! baseline lowers the limit; one that used the limit up and does not raises it by
//! one.
//!
//! A probe finds the baseline: the limit falls to its minimum, and when no more
//! than that are in flight, 16 attempts admitted from then on tell what one takes
//! unloaded. Epochs keep the samples of these times apart.
//!
//! All words but the gate are written by the holder of the busy bit only.

use core::time::Duration;

use super::ConcurrencyLimit;
use super::gate::Gate;
use super::round::{Finished, Round, Sample, Signals};
use crate::math::ring::Ring;
use crate::memory::{Memory, Word};
use crate::policy::concurrency::Baseline;
use crate::time::{Instant, nanos};

/// What an adaptive limit has learnt; a fixed one touches none of it.
#[derive(Debug)]
pub(super) struct Law<M: Memory> {
    busy: M::U32,
    /// In 256ths; zero stands for the first limit.
    limit: M::U32,
    /// A [`Phase`].
    phase: M::U32,
    /// When the next probe is due, or this one to be given up.
    due: M::U64,
    /// When the last probe ended, and the limit it found.
    probed_at: M::U64,
    probed_limit: M::U32,
    /// In nanoseconds; zero while unknown.
    baseline: M::U64,
    round: Round<M>,
    /// Signals of the last minutes, each slice a [`Signals`].
    history: Ring<M, 8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No probe: rounds move the limit.
    Steady = 0,
    /// A probe waits until its minimum is in flight.
    Draining = 1,
    /// A probe takes its samples.
    Sampling = 2,
}

impl<M: Memory> Law<M> {
    pub(super) const fn new() -> Self {
        Self {
            busy: M::U32::ZERO,
            limit: M::U32::ZERO,
            phase: M::U32::ZERO,
            due: M::U64::ZERO,
            probed_at: M::U64::ZERO,
            probed_limit: M::U32::ZERO,
            baseline: M::U64::ZERO,
            round: Round::new(),
            history: Ring::new(HISTORY),
        }
    }

    /// Returns the baseline of probes.
    pub(super) fn probed(&self) -> Option<u64> {
        match self.baseline.load() {
            0 => None,
            nanos => Some(nanos),
        }
    }

    /// Returns the baseline of the history: its best slice.
    pub(super) fn tracked(&self) -> Option<u64> {
        let slices = self.history.payloads();
        slices.filter_map(|sum| Signals(sum).mean()).min()
    }

    fn phase(&self) -> Phase {
        match self.phase.load() {
            0 => Phase::Steady,
            1 => Phase::Draining,
            _ => Phase::Sampling,
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u32);
        self.round.clear();
    }

    /// Moves the baseline half the way to a signal.
    fn approach(&self, signal: u64) {
        let known = self.probed().unwrap_or(signal);
        self.baseline.store(known.midpoint(signal).max(1));
    }

    /// Returns the time between two probes.
    fn interval(&self) -> u64 {
        nanos(INTERVAL).max(self.baseline.load().saturating_mul(256))
    }

    /// Tells whether `due` is reached, or further ahead than it was ever set.
    fn is_due(&self, now: Instant, furthest: u64) -> bool {
        let (due, now) = (self.due.load(), now.as_nanos());
        due <= now || due.saturating_sub(now) > furthest
    }

    fn put_off(&self, now: Instant, span: u64) {
        self.due.store(now.as_nanos().saturating_add(span));
    }

    fn forget(&self, now: Instant) {
        self.limit.store(0);
        self.enter(Phase::Steady);
        self.due.store(0);
        self.probed_limit.store(0);
        self.baseline.store(0);
        self.history.clear();
        let _vacated = self.history.advance(now);
    }
}

impl<M: Memory> ConcurrencyLimit<M> {
    /// Learns from a sample, unless another thread does just then, and returns
    /// the limit if that changed it.
    pub(super) fn learn(&self, sample: &Sample) -> Option<u32> {
        if self.concurrency.is_fixed() || !self.lock() {
            return None;
        }
        let gate = self.forget_if_reset(sample.now);
        let change = self.step(gate, sample);
        self.law.busy.store(0);
        change
    }

    /// Tells whether a probe lasts too long, without a lock.
    pub(super) fn is_probe_overdue(&self, now: Instant) -> bool {
        self.law.phase() != Phase::Steady && self.law.is_due(now, self.patience())
    }

    /// Gives up a probe that lasts too long; false if another thread was faster.
    ///
    /// Its attempts may hang, and then nobody else would be let in to end it.
    #[cold]
    pub(super) fn end_overdue_probe(&self, now: Instant) -> bool {
        if !self.lock() {
            return false;
        }
        let gate = self.forget_if_reset(now);
        let is_overdue = self.is_probe_overdue(now);
        if is_overdue {
            self.resume(gate, now);
        }
        self.law.busy.store(0);
        is_overdue
    }

    fn lock(&self) -> bool {
        self.law.busy.compare_exchange(0, 1).is_ok()
    }

    fn forget_if_reset(&self, now: Instant) -> Gate {
        let mut gate = self.gate();
        while gate.is_stale() {
            self.law.forget(now);
            match self.swap(gate, gate.forgotten()) {
                Ok(()) => return gate.forgotten(),
                Err(other) => gate = other,
            }
        }
        gate
    }

    fn step(&self, gate: Gate, sample: &Sample) -> Option<u32> {
        if self.is_probe_overdue(sample.now) {
            return self.resume(gate, sample.now);
        }
        let is_current = sample.epoch == gate.epoch();
        match self.law.phase() {
            Phase::Draining if gate.in_flight() <= self.concurrency.minimum() => {
                self.law.enter(Phase::Sampling);
                self.publish(gate, self.concurrency.minimum(), true)
            }
            Phase::Steady if is_current => {
                let needed = self.whole().max(self.shortest_round());
                let result = self.law.round.take(sample, needed)?;
                match self.concurrency.baseline() {
                    Baseline::Probed => self.end_round_probed(gate, sample.now, &result),
                    Baseline::Tracked => self.end_round_tracked(gate, sample.now, &result),
                }
            }
            Phase::Sampling if is_current => {
                let result = self.law.round.take(sample, PROBE)?;
                self.law.approach(result.signal);
                self.resume(gate, sample.now)
            }
            _ => None,
        }
    }

    fn end_round_probed(&self, gate: Gate, now: Instant, round: &Finished) -> Option<u32> {
        let law = &self.law;
        let limit = self.whole();
        let is_used_up = round.peak >= limit;
        let is_due = law.is_due(now, law.interval());
        // Nothing lower to try: this is what an attempt takes unloaded. While it
        // only observes, more is in flight than it counts.
        let is_lowest = limit <= self.concurrency.minimum();
        let is_probe = is_lowest && !gate.is_observed();
        let can_probe = is_used_up && !is_lowest && !gate.is_observed();
        let Some(baseline) = law.probed() else {
            if can_probe && is_due {
                return self.probe(gate, now);
            }
            if is_probe || !is_used_up {
                law.approach(round.signal);
                law.put_off(now, law.interval());
            }
            return None;
        };
        self.adjust(baseline, round.signal, is_used_up);
        if can_probe && (is_due || self.is_probe_urgent(now)) {
            return self.probe(gate, now);
        }
        if is_probe && round.signal > baseline {
            law.approach(round.signal);
        }
        if is_due && !can_probe {
            if round.signal < baseline && (is_probe || !is_used_up) {
                law.approach(round.signal);
            }
            law.put_off(now, law.interval());
        }
        self.publish(gate, self.whole(), false)
    }

    fn end_round_tracked(&self, gate: Gate, now: Instant, round: &Finished) -> Option<u32> {
        let _vacated = self.law.history.advance(now);
        let baseline = self.law.tracked().unwrap_or(round.signal);
        let signal = round.signal;
        let history = &self.law.history;
        let _full = history.count(|sum| Signals(sum).with(signal));
        // Three quarters of the limit, which is in 256ths.
        let used = u64::from(round.peak).saturating_mul(4 * 256);
        let is_used_up = used >= u64::from(self.fine()).saturating_mul(3);
        self.adjust(baseline, signal, is_used_up);
        self.publish(gate, self.whole(), false)
    }

    /// Moves the limit by one round.
    fn adjust(&self, baseline: u64, signal: u64, is_used_up: bool) {
        let limit = self.fine();
        let next = if signal > self.concurrency.multiple().of(baseline) {
            let less = self.concurrency.decrease().of(limit.into());
            u32::try_from(less).unwrap_or(limit)
        } else if is_used_up {
            limit.saturating_add(WHOLE)
        } else {
            limit
        };
        let floor = self.concurrency.minimum().saturating_mul(WHOLE);
        let ceiling = self.concurrency.maximum().saturating_mul(WHOLE);
        self.law.limit.store(next.min(ceiling).max(floor));
    }

    /// Tells whether the limit has halved since the last probe, so that the
    /// baseline is in doubt before its time.
    fn is_probe_urgent(&self, now: Instant) -> bool {
        let law = &self.law;
        let since = now.as_nanos().saturating_sub(law.probed_at.load());
        let soonest = (law.interval() / 32).max(law.baseline.load().saturating_mul(32));
        self.whole() <= law.probed_limit.load() / 2 && since >= soonest
    }

    fn probe(&self, gate: Gate, now: Instant) -> Option<u32> {
        self.law.enter(Phase::Draining);
        self.law.put_off(now, self.patience());
        self.publish(gate, self.concurrency.minimum(), true)
    }

    /// Ends a probe: goes on with the limit from before.
    fn resume(&self, gate: Gate, now: Instant) -> Option<u32> {
        self.law.enter(Phase::Steady);
        self.law.probed_at.store(now.as_nanos());
        self.law.probed_limit.store(self.whole());
        self.law.put_off(now, self.law.interval());
        self.publish(gate, self.whole(), true)
    }

    /// Makes a limit that of the gate, unless it was reset meanwhile.
    fn publish(&self, seen: Gate, limit: u32, is_new_epoch: bool) -> Option<u32> {
        let mut gate = self.gate();
        while gate.epoch() == seen.epoch() {
            let limited = gate.limited(limit);
            let next = if is_new_epoch {
                limited.next_epoch()
            } else {
                limited
            };
            match self.swap(gate, next) {
                Ok(()) => return (self.allowed(gate) != limit).then_some(limit),
                Err(other) => gate = other,
            }
        }
        None
    }

    /// Returns how long a probe may last.
    fn patience(&self) -> u64 {
        self.law.interval() / 8
    }

    /// Returns the limit in 256ths.
    fn fine(&self) -> u32 {
        match self.law.limit.load() {
            0 => self.concurrency.initial().saturating_mul(WHOLE),
            limit => limit,
        }
    }

    fn whole(&self) -> u32 {
        self.fine() / WHOLE
    }

    const fn shortest_round(&self) -> u32 {
        match self.concurrency.baseline() {
            Baseline::Probed => PROBE,
            Baseline::Tracked => 20,
        }
    }
}

/// How many samples a probe takes, and a round at least.
const PROBE: u32 = 16;

/// One of the limit, in 256ths.
const WHOLE: u32 = 256;

/// The least time between two probes, if the limit has not halved.
///
/// A probe takes some six round trips, and lets little through: of half a minute
/// that is two percent where a round trip takes 100 ms, and less where it takes
/// less. Where it takes more, the interval is 256 of them.
const INTERVAL: Duration = Duration::from_secs(30);

/// How long a baseline without probes remembers.
const HISTORY: Duration = Duration::from_secs(300);
