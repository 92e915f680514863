//! What is switched while the program runs, in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use steadfast_core::Ratio;

use crate::chaos::Chaos;

/// Zero while nothing was switched, so that a profile is all that a `static` needs.
#[derive(Debug)]
pub(super) struct Switch(AtomicU64);

impl Switch {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn apply(&self, profile: &Chaos) -> Chaos {
        decoded(self.0.load(Ordering::Acquire), profile)
    }

    /// Changes what is in force; of two at once none is lost.
    pub(super) fn change(&self, profile: &Chaos, change: impl Fn(Chaos) -> Chaos) {
        let changed = |word| Some(encoded(&change(decoded(word, profile))));
        let _changed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
    }

    pub(super) fn restore(&self) {
        self.0.store(0, Ordering::Release);
    }
}

fn encoded(chaos: &Chaos) -> u64 {
    let faults = u64::from(chaos.fault_rate().as_ppm());
    let latencies = u64::from(chaos.latency_rate().as_ppm());
    let on = if chaos.is_on() { ON } else { 0 };
    SWITCHED | on | latencies << WIDTH | faults
}

fn decoded(word: u64, profile: &Chaos) -> Chaos {
    if word & SWITCHED == 0 {
        return *profile;
    }
    profile
        .switched(word & ON != 0)
        .with_faults(rate(word))
        .with_latency(rate(word >> WIDTH), profile.latency())
}

const fn rate(word: u64) -> Ratio {
    Ratio::ppm((word & RATE) as u32)
}

const SWITCHED: u64 = 1 << 63;
const ON: u64 = 1 << 62;

/// The whole is a million parts, which fit.
const WIDTH: u32 = 20;
const RATE: u64 = (1 << WIDTH) - 1;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_word_holds_every_rate() {
        let profile = Chaos::OFF.with_seed(7);
        for ppm in [0, 1, 999_999, 1_000_000] {
            let chaos = profile
                .on()
                .with_faults(Ratio::ppm(ppm))
                .with_latency(Ratio::ppm(1_000_000 - ppm), Duration::ZERO);
            assert_eq!(decoded(encoded(&chaos), &profile), chaos);
        }
        assert_eq!(decoded(0, &profile), profile);
    }
}
