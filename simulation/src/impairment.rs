//! When a dependency is unwell.

use std::time::Duration;

use steadfast_core::{Instant, Ratio};

/// Full speed, in millionths.
pub(crate) const NORMAL: u64 = 1_000_000;

/// When a dependency is unwell; half-open stretches of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Impairments {
    slow: Vec<(Stretch, Ratio)>,
    down: Vec<Stretch>,
}

/// From an instant up to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl Stretch {
    pub(crate) const fn new(after: Duration, lasting: Duration) -> Self {
        let from = Instant::ZERO.saturating_add(after);
        Self {
            from,
            to: from.saturating_add(lasting),
        }
    }

    pub(crate) fn holds(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }

    fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

impl Impairments {
    pub(crate) const NONE: Self = Self {
        slow: Vec::new(),
        down: Vec::new(),
    };

    pub(crate) fn slow(&mut self, after: Duration, slower: Ratio, lasting: Duration) {
        self.slow.push((Stretch::new(after, lasting), slower));
    }

    pub(crate) fn down(&mut self, after: Duration, lasting: Duration) {
        self.down.push(Stretch::new(after, lasting));
    }

    pub(crate) fn is_down(&self, now: Instant) -> bool {
        self.down.iter().any(|stretch| stretch.holds(now))
    }

    /// How many times as long it takes, in millionths.
    pub(crate) fn slowness(&self, now: Instant) -> u64 {
        let active = self.slow.iter().filter(|(stretch, _)| stretch.holds(now));
        active.fold(NORMAL, |slower, (_, times)| {
            slower.saturating_mul(times.as_ppm().into()) / NORMAL
        })
    }

    /// When the last of them is over.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.stretches().map(|stretch| stretch.to).max()
    }

    /// When it is unwell, in the order they were said.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = Stretch> + '_ {
        let slow = self.slow.iter().map(|(stretch, _)| *stretch);
        slow.chain(self.down.iter().copied())
    }

    /// Whether one lasts no time, or makes it faster.
    pub(crate) fn is_possible(&self) -> bool {
        !self.stretches().any(|stretch| stretch.is_empty())
            && self.slow.iter().all(|(_, times)| *times >= Ratio::ONE)
    }
}
