//! What the dependency goes through, and when.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A stretch of the dependency's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Answers within 5 ms.
    Healthy,
    /// One of twelve replicas hangs for two seconds, the others take 20 ms.
    Slow,
    /// Answers 503.
    Failing,
    /// Answers 429 and asks to come back after a second.
    Throttling,
    /// Has closed its listener and every connection.
    Down,
    /// Answers within 5 ms again.
    Recovered,
}

impl Phase {
    pub(crate) const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Slow,
        Self::Failing,
        Self::Throttling,
        Self::Down,
        Self::Recovered,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Failing => "503",
            Self::Throttling => "429",
            Self::Down => "refused",
            Self::Recovered => "recovered",
        }
    }

    fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::Slow => 3,
            Self::Recovered => 4,
            _ => 2,
        })
    }
}

/// The phases on the clock; both dependencies follow the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    start: Instant,
}

impl Script {
    pub(crate) fn begin() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the phase right now; `None` when the script is over.
    pub(crate) fn phase(self) -> Option<Phase> {
        let now = Instant::now();
        Phase::ALL
            .into_iter()
            .find(|phase| now < self.start_of(*phase) + phase.length())
    }

    pub(crate) fn start_of(self, phase: Phase) -> Instant {
        let before = Phase::ALL.into_iter().take_while(|other| *other != phase);
        self.start + before.map(Phase::length).sum::<Duration>()
    }

    pub(crate) fn end(self) -> Instant {
        self.start_of(Phase::Recovered) + Phase::Recovered.length()
    }
}

/// A count for each phase.
#[derive(Debug, Default)]
pub(crate) struct Tally([AtomicU32; Phase::ALL.len()]);

impl Tally {
    /// Counts one more, and returns how many there were before.
    pub(crate) fn add(&self, phase: Phase) -> u32 {
        self.0[phase as usize].fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn of(&self, phase: Phase) -> u32 {
        self.0[phase as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn total(&self) -> u32 {
        Phase::ALL.into_iter().map(|phase| self.of(phase)).sum()
    }
}
