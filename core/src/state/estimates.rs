//! What a guard has learnt from the latencies of its successes.

use core::fmt;
use core::time::Duration;

use super::scouts::{Scout, Scouts};
use crate::math::latency_window::LatencyWindow;
use crate::math::quantile::Quantile;
use crate::memory::{Memory, Shared, Word};
use crate::policy::ceiling::AttemptCeiling;
use crate::policy::measured_base::MeasuredBase;
use crate::policy::policy::Policy;
use crate::time::{Instant, nanos};

/// What a guard has learnt from the latencies of its successes.
///
/// **The way out of a ceiling that cuts too much.** Successes alone would never
/// show that the dependency became slower than the ceiling.
///
/// When *everything* is slower: three attempts that are cut with no success
/// between, and each further one that is cut by the ceiling as it then is, double
/// it, up to the attempt timeout. Only a success within the ceiling as it was before
/// ends this: one that took longer proves that the doubling is right.
///
/// When *some* of it is slower: after four cuts one attempt gets four times the
/// ceiling, and if it succeeds late it counts for all that were cut. If it is cut as
/// well, the next one gets 16 times after 16 cuts, then 64, then 256, and then it
/// begins anew. So what hangs does not raise the ceiling, and what is slow does.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Estimates, Instant, Policy};
///
/// static LEARNT: Estimates = Estimates::new(&Policy::DEFAULT);
///
/// let now = Instant::from_nanos(1);
/// for _ in 0..20 {
///     LEARNT.learn_success(now, Duration::from_millis(40));
/// }
/// let ceiling = |now| LEARNT.ceiling(now, None).map(|bound| bound.as_millis());
/// assert_eq!(ceiling(now), Some(130));
///
/// for _ in 0..3 {
///     LEARNT.learn_cut(now, Duration::from_millis(130), None);
/// }
/// assert!(ceiling(now) >= Some(260));
/// ```
pub struct Estimates<M: Memory = Shared> {
    law: Option<AttemptCeiling>,
    successes: LatencyWindow<M, M::Profile>,
    tail: Quantile<M>,
    normal: Quantile<M>,
    /// How many attempts the ceiling cut in a row.
    cuts: M::U32,
    scouts: Scouts<M>,
    told_ceiling: M::U64,
    told_base: M::U64,
}

impl<M: Memory> Estimates<M> {
    /// Makes estimates that know nothing yet.
    #[must_use]
    pub const fn new(policy: &Policy) -> Self {
        let ceiling = match policy.attempt_ceiling() {
            Some(law) => law,
            None => AttemptCeiling::DEFAULT,
        };
        let base = match policy.backoff().measured_base() {
            Some(law) => law,
            None => MeasuredBase::DEFAULT,
        };
        Self {
            law: policy.attempt_ceiling(),
            successes: LatencyWindow::new(policy.history()),
            tail: Quantile::new(ceiling.quantile(), ceiling.minimum_samples()),
            normal: Quantile::new(base.quantile(), base.minimum_samples()),
            cuts: M::U32::ZERO,
            scouts: Scouts::new(),
            told_ceiling: M::U64::ZERO,
            told_base: M::U64::ZERO,
        }
    }

    /// Counts a success.
    pub fn learn_success(&self, now: Instant, took: Duration) {
        self.count_success(now, nanos(took));
    }

    pub(crate) fn count_success(&self, now: Instant, took: u64) {
        self.successes.record_nanos(now, took);
        // In health this is one load.
        if self.cuts.load() != 0 && self.plain(now).is_none_or(|bound| took <= bound) {
            self.cuts.store(0);
        }
    }

    /// Counts an attempt that was cut by the ceiling, which was at `bound` when
    /// the attempt began.
    ///
    /// Many that run side by side are cut at once: they double it once. `hedge` is
    /// as in [`ceiling`](Self::ceiling).
    pub fn learn_cut(&self, now: Instant, bound: Duration, hedge: Option<Duration>) {
        let cuts = self.cuts.load();
        let in_force = self.ceiling_after(cuts, now, hedge.map(nanos));
        self.scouts.owe();
        // One that began before the last doubling says nothing new.
        let twice = nanos(bound).saturating_mul(2);
        let is_new = in_force.is_some_and(|ceiling| twice > ceiling);
        if is_new && cuts < MOST_CUTS {
            let _counted = self.cuts.compare_exchange(cuts, cuts.saturating_add(1));
        }
    }

    /// Sends an attempt to see what the ceiling cuts off, if it is time.
    pub(crate) fn send_scout(&self) -> Option<Scout> {
        self.scouts.send()
    }

    /// Counts a scout that succeeded: late, for all the cuts it stands for.
    pub(crate) fn learn_scout(&self, now: Instant, took: u64, scout: Scout) {
        if self.plain(now).is_none_or(|bound| took <= bound) {
            return self.scouts.call_back(scout);
        }
        self.scouts.find();
        for _ in 0..scout.cuts() {
            self.successes.record_nanos(now, took);
        }
    }

    /// A scout that was cut has seen none of what it stands for.
    pub(crate) fn lose_scout(&self) {
        self.scouts.lose();
    }

    /// A scout that failed by itself, or lost a race, has seen nothing.
    pub(crate) fn call_scout_back(&self, scout: Scout) {
        self.scouts.call_back(scout);
    }

    /// Returns how long an attempt may take; `None` while too little is known, or
    /// without a law.
    ///
    /// With a hedge that is armed after `hedge`, the first copy outlives that
    /// moment as many times as the law's multiple says. At most
    /// [`Duration::MAX`]; the caller lowers it to the constant.
    #[must_use]
    pub fn ceiling(&self, now: Instant, hedge: Option<Duration>) -> Option<Duration> {
        self.ceiling_nanos(now, hedge.map(nanos))
            .map(Duration::from_nanos)
    }

    pub(crate) fn ceiling_nanos(&self, now: Instant, hedge: Option<u64>) -> Option<u64> {
        self.ceiling_after(self.cuts.load(), now, hedge)
    }

    fn ceiling_after(&self, cuts: u32, now: Instant, hedge: Option<u64>) -> Option<u64> {
        let plain = self.plain(now)?;
        let bound = match (hedge, &self.law) {
            (Some(armed), Some(law)) => plain.max(law.bound_nanos(armed)),
            _ => plain,
        };
        Some(doubled(bound, cuts))
    }

    /// The least that a ceiling may be with a hedge that is armed after `hedge`.
    pub(crate) fn beyond(&self, hedge: u64) -> u64 {
        match &self.law {
            Some(law) => doubled(law.bound_nanos(hedge), self.cuts.load()),
            None => 0,
        }
    }

    /// Returns the ceiling before any doubling.
    fn plain(&self, now: Instant) -> Option<u64> {
        let law = self.law.as_ref()?;
        let tail = self.successes.quantile(now, &self.tail)?;
        Some(law.bound_nanos(tail.upper_nanos()))
    }

    /// Returns what a normal success takes; `None` while too little is known.
    #[must_use]
    pub fn normal(&self, now: Instant) -> Option<Duration> {
        let normal = self.successes.quantile(now, &self.normal)?;
        Some(normal.middle())
    }

    /// Returns how many recent successes it knows.
    #[must_use]
    pub fn samples(&self, now: Instant) -> u64 {
        self.successes.samples(now)
    }

    /// Tells whether this ceiling differs from the last one that was told.
    pub(crate) fn is_new_ceiling(&self, bound: Duration) -> bool {
        is_new::<M>(&self.told_ceiling, bound)
    }

    /// Tells whether this base differs from the last one that was told.
    pub(crate) fn is_new_base(&self, base: Duration) -> bool {
        is_new::<M>(&self.told_base, base)
    }

    /// Forgets everything.
    pub fn reset(&self) {
        self.successes.reset();
        self.tail.forget();
        self.normal.forget();
        self.cuts.store(0);
        self.scouts.reset();
        self.told_ceiling.store(0);
        self.told_base.store(0);
    }
}

impl<M: Memory> fmt::Debug for Estimates<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimates")
            .field("tail", &self.tail)
            .field("normal", &self.normal)
            .field("cuts", &self.cuts.load())
            .field("scouts", &self.scouts)
            .finish_non_exhaustive()
    }
}

/// The word holds nanoseconds and one more, as zero is "nothing was told".
fn is_new<M: Memory>(told: &M::U64, value: Duration) -> bool {
    let value = nanos(value).saturating_add(1);
    told.load() != value && told.swap(value) != value
}

/// From how many cuts in a row on the ceiling doubles.
const PATIENCE: u32 = 3;
/// Doubling a nanosecond more often passes the end of time.
const MOST_CUTS: u32 = 70;

/// A ceiling after so many cuts in a row.
fn doubled(bound: u64, cuts: u32) -> u64 {
    match cuts.checked_sub(PATIENCE) {
        None => bound,
        Some(more) => {
            let factor = 1_u64.unbounded_shl(more.saturating_add(1).min(63));
            bound.saturating_mul(factor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;

    const NOW: Instant = Instant::from_nanos(1);

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn warm(took: Duration, samples: u32) -> Estimates<Local> {
        let learnt = Estimates::new(&Policy::DEFAULT);
        for _ in 0..samples {
            learnt.learn_success(NOW, took);
        }
        learnt
    }

    fn ceiling(learnt: &Estimates<Local>) -> Option<Duration> {
        learnt.ceiling(NOW, None)
    }

    /// The upper edges of the cells of 40 ms, 100 ms, 0.3 ms, 2 s and 10 ms.
    const FORTY: Duration = Duration::from_nanos(43_515_904);
    const HUNDRED: Duration = Duration::from_nanos(103_809_024);

    // core-04.2, core-04.3, core-04.4
    #[test]
    fn three_times_the_tail_once_warm() {
        assert_eq!(ceiling(&warm(ms(40), 19)), None);
        assert_eq!(ceiling(&warm(ms(40), 20)), Some(FORTY * 3));
        assert_eq!(ceiling(&warm(ms(100), 50)), Some(HUNDRED * 3));
        let fast = warm(Duration::from_micros(300), 20);
        assert_eq!(ceiling(&fast), Some(ms(50)));
    }

    // core-04.7
    #[test]
    fn the_tail_is_a_rank() {
        let mixed = |fast: u32, slow: u32| {
            let learnt = warm(ms(10), fast);
            for _ in 0..slow {
                learnt.learn_success(NOW, ms(2_000));
            }
            ceiling(&learnt)
        };
        assert_eq!(mixed(95, 5), Some(ms(50)));
        let two_seconds = mixed(94, 6).expect("it is warm");
        assert!(two_seconds > ms(6_000) && two_seconds < ms(6_600));
    }

    // core-04.12
    #[test]
    fn a_hedge_lifts_the_ceiling() {
        let learnt = warm(ms(40), 20);
        assert_eq!(learnt.ceiling(NOW, Some(HUNDRED)), Some(HUNDRED * 3));
        assert_eq!(learnt.ceiling(NOW, Some(ms(10))), Some(FORTY * 3));
    }

    #[test]
    fn a_run_of_cuts_doubles_it() {
        let learnt = warm(ms(10), 1_000);
        let mut seen = [Duration::ZERO; 6];
        let mut bound = ms(50);
        for seen in &mut seen {
            learnt.learn_cut(NOW, bound, None);
            bound = ceiling(&learnt).expect("it is warm");
            *seen = bound;
        }
        assert_eq!(seen, [50, 50, 100, 200, 400, 800].map(ms));
    }

    // Attempts side by side are cut at once; that is one piece of news.
    #[test]
    fn cuts_at_once_double_once() {
        let learnt = warm(ms(10), 1_000);
        for _ in 0..100 {
            learnt.learn_cut(NOW, ms(50), None);
        }
        assert_eq!(ceiling(&learnt), Some(ms(100)));
        for _ in 0..100 {
            learnt.learn_cut(NOW, ms(100), None);
        }
        assert_eq!(ceiling(&learnt), Some(ms(200)));
    }

    #[test]
    fn only_a_success_within_it_ends_the_doubling() {
        let learnt = warm(ms(10), 1_000);
        for bound in [50, 50, 50, 100] {
            learnt.learn_cut(NOW, ms(bound), None);
        }
        learnt.learn_success(NOW, ms(150));
        assert_eq!(ceiling(&learnt), Some(ms(200)));
        learnt.learn_success(NOW, ms(10));
        assert_eq!(ceiling(&learnt), Some(ms(50)));
    }

    #[test]
    fn it_saturates() {
        let learnt = warm(ms(10), 20);
        for _ in 0..1_000 {
            learnt.learn_cut(NOW, Duration::MAX, None);
        }
        let most = Duration::from_nanos(u64::MAX);
        assert_eq!(ceiling(&learnt), Some(most));
        assert_eq!(learnt.ceiling(NOW, Some(Duration::MAX)), Some(most));
        let years_later = Instant::from_nanos(u64::MAX / 2);
        assert_eq!(learnt.ceiling(years_later, None), None);
    }

    #[test]
    fn a_reset_forgets() {
        let learnt = warm(ms(10), 100);
        for _ in 0..9 {
            learnt.learn_cut(NOW, ms(50), None);
        }
        assert!(learnt.is_new_ceiling(ms(50)) && !learnt.is_new_ceiling(ms(50)));
        learnt.reset();
        assert_eq!(ceiling(&learnt), None);
        assert_eq!(learnt.normal(NOW), None);
        assert!(learnt.is_new_ceiling(ms(50)));
    }
}
