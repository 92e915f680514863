//! What a guard has learnt about racing slow attempts.

use core::fmt;
use core::time::Duration;

use super::win_loop::WinLoop;
use crate::math::latency_window::LatencyWindow;
use crate::math::quantile::Quantile;
use crate::memory::{Memory, Shared};
use crate::policy::hedge::Hedge;
use crate::time::{Instant, nanos};

/// What a guard has learnt about racing slow attempts.
///
/// **Only attempts that race nobody are samples**, each with how long it ran, be
/// it to its end or until it lost. So the share that outlives the threshold is
/// what the quantile says, and with it the extra load. To leave losers out, the
/// slowest of all, and take the copies that beat them in, would lower the
/// threshold by its own doing: with a long tail a p95 makes 10 % of copies, and a
/// p99 makes 3 %. The price: a tail that became longer is seen only as far as
/// it was let run, so the threshold climbs to it in steps.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Hedge, Hedging, Instant};
///
/// static RACES: Hedging = Hedging::new(&Hedge::DEFAULT);
///
/// let now = Instant::from_nanos(1);
/// assert_eq!(RACES.threshold(now), None);
/// for _ in 0..20 {
///     RACES.record(now, Duration::from_millis(40));
/// }
/// let threshold = RACES.threshold(now).unwrap();
/// assert!(threshold >= Duration::from_millis(40) && threshold < Duration::from_millis(44));
/// ```
pub struct Hedging<M: Memory = Shared> {
    law: Hedge,
    attempts: LatencyWindow<M, M::Profile>,
    slow: Quantile<M>,
    wins: WinLoop<M>,
}

impl<M: Memory> Hedging<M> {
    /// Makes a state that knows nothing yet, so hedges nothing.
    #[must_use]
    pub const fn new(law: &Hedge) -> Self {
        Self {
            law: *law,
            attempts: LatencyWindow::new(law.window()),
            slow: Quantile::new(law.quantile(), law.minimum_samples()),
            wins: WinLoop::new(law.win_rate()),
        }
    }

    /// Counts an attempt that raced nobody: how long it ran, whatever came of it.
    pub fn record(&self, now: Instant, took: Duration) {
        self.count(now, nanos(took));
    }

    pub(crate) fn count(&self, now: Instant, took: u64) {
        self.attempts.record_nanos(now, took);
    }

    /// Returns after how long an attempt is slow; `None` while too little is
    /// known.
    #[must_use]
    pub fn threshold(&self, now: Instant) -> Option<Duration> {
        self.threshold_nanos(now).map(Duration::from_nanos)
    }

    pub(crate) fn threshold_nanos(&self, now: Instant) -> Option<u64> {
        let slow = self.attempts.quantile(now, &self.slow)?;
        Some(slow.upper_nanos().max(nanos(self.law.minimum_delay())))
    }

    /// Returns how many recent attempts it knows.
    #[must_use]
    pub fn samples(&self, now: Instant) -> u64 {
        self.attempts.samples(now)
    }

    /// Tells whether enough hedges win for one more; asking counts.
    pub fn is_worth_it(&self, now: Instant) -> bool {
        self.wins.admits(now)
    }

    /// Counts a hedge that has started.
    pub fn start(&self, now: Instant) {
        self.wins.start(now);
    }

    /// Counts a hedge that has won.
    pub fn win(&self, now: Instant) {
        self.wins.win(now);
    }

    /// Forgets everything.
    pub fn reset(&self) {
        self.attempts.reset();
        self.slow.forget();
        self.wins.reset();
    }
}

impl<M: Memory> fmt::Debug for Hedging<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hedging")
            .field("slow", &self.slow)
            .field("wins", &self.wins)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Local, Nowhere};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000 + 1)
    }

    fn warm(took: Duration, samples: u64) -> Hedging<Local> {
        let races = Hedging::new(&Hedge::DEFAULT);
        for _ in 0..samples {
            races.record(at(0), took);
        }
        races
    }

    // core-08.1, core-08.2
    #[test]
    fn a_threshold_needs_samples_and_has_a_floor() {
        assert_eq!(warm(ms(40), 19).threshold(at(0)), None);
        let forty = Some(Duration::from_nanos(43_515_904));
        assert_eq!(warm(ms(40), 20).threshold(at(0)), forty);
        let fast = warm(Duration::from_micros(300), 20);
        assert_eq!(fast.threshold(at(0)), Some(ms(10)));
    }

    // core-08.19
    #[test]
    fn what_is_slow_for_all_is_not_slow() {
        let races = warm(ms(10), 600);
        for second in 1..=24 {
            for _ in 0..20 {
                races.record(at(second * 1_000), ms(500));
            }
        }
        let threshold = races.threshold(at(24_000)).expect("it is warm");
        assert!(threshold > ms(500), "{threshold:?}");
    }

    #[test]
    fn without_memory_nothing_is_slow() {
        let races = Hedging::<Nowhere>::new(&Hedge::DEFAULT);
        for _ in 0..100 {
            races.record(at(0), ms(40));
        }
        assert_eq!(races.threshold(at(0)), None);
        assert!(size_of_val(&races) <= 192, "{}", size_of_val(&races));
    }

    #[test]
    fn a_reset_forgets() {
        let races = warm(ms(40), 100);
        races.reset();
        assert_eq!(races.threshold(at(0)), None);
    }
}
