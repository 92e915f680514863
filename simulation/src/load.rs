//! What is asked of a dependency.

use std::time::Duration;

use steadfast_core::{Criticality, Instant, Ratio};

use crate::dice::{Dice, nanos};
use crate::impairment::{NORMAL, Stretch};
use crate::mistake::Mistake;

/// What one process asks of a dependency.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Criticality, Ratio};
/// use steadfast_simulation::Load;
///
/// let load = Load::per_second(500)
///     .with_mix(Criticality::Sheddable, Ratio::percent(30))
///     .spiking(Duration::from_secs(60), Ratio::times(3), Duration::from_secs(10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    pub(crate) mean: Duration,
    arrival: Arrival,
    spikes: Vec<(Stretch, Ratio)>,
    ramp: Option<(Ratio, Duration)>,
    pub(crate) mix: Vec<(Criticality, Ratio)>,
    pub(crate) trace: Option<Vec<Instant>>,
}

/// How calls follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// Any gap up to twice the mean.
    Even,
    /// Without memory, as from many callers who know nothing of each other.
    Poisson,
    /// Always the mean.
    Steady,
}

impl Load {
    /// Makes a load of so many calls a second on average, with gaps up to twice the
    /// mean.
    #[must_use]
    pub fn per_second(calls: u32) -> Self {
        let second = Duration::from_secs(1);
        Self::every(second.checked_div(calls).unwrap_or(Duration::ZERO))
    }

    /// Makes a load of a call in that time on average, with gaps up to twice that.
    #[must_use]
    pub const fn every(mean: Duration) -> Self {
        Self {
            mean,
            arrival: Arrival::Even,
            spikes: Vec::new(),
            ramp: None,
            mix: Vec::new(),
            trace: None,
        }
    }

    /// Makes a load of calls at those times since the start, as they were recorded.
    #[must_use]
    pub fn replaying(times: impl IntoIterator<Item = Duration>) -> Self {
        let at = |time| Instant::ZERO.saturating_add(time);
        let mut trace: Vec<_> = times.into_iter().map(at).collect();
        trace.sort_unstable();
        Self {
            trace: Some(trace),
            ..Self::every(Duration::from_secs(1))
        }
    }

    /// Returns the load with calls of many callers who know nothing of each other.
    #[must_use]
    pub fn poisson(self) -> Self {
        Self {
            arrival: Arrival::Poisson,
            ..self
        }
    }

    /// Returns the load with all gaps alike.
    #[must_use]
    pub fn steady(self) -> Self {
        Self {
            arrival: Arrival::Steady,
            ..self
        }
    }

    /// Returns the load with a rate that grows, or falls, to so many times itself over
    /// that time, and stays there.
    #[must_use]
    pub fn ramping(self, to: Ratio, over: Duration) -> Self {
        Self {
            ramp: Some((to, over)),
            ..self
        }
    }

    /// Returns the load with a time in which there are so many times as many calls.
    #[must_use]
    pub fn spiking(mut self, after: Duration, times: Ratio, lasting: Duration) -> Self {
        self.spikes.push((Stretch::new(after, lasting), times));
        self
    }

    /// Returns the load with a share of calls that matter more or less; what is left is
    /// critical.
    #[must_use]
    pub fn with_mix(mut self, level: Criticality, share: Ratio) -> Self {
        self.mix.push((level, share));
        self
    }

    /// How often calls come, in millionths of the usual.
    fn pace(&self, now: Instant) -> u64 {
        let mut pace = NORMAL;
        if let Some((to, over)) = self.ramp {
            let (to, over) = (u64::from(to.as_ppm()), nanos(over).max(1));
            let done = now.as_nanos().min(over);
            let part = |number: u64, of: u64| {
                u64::try_from(u128::from(number) * u128::from(of) / u128::from(over))
                    .unwrap_or(u64::MAX)
            };
            pace = part(NORMAL, over - done).saturating_add(part(to, done));
        }
        let spikes = self.spikes.iter().filter(|(stretch, _)| stretch.holds(now));
        spikes.fold(pace, |pace, (_, times)| {
            pace.saturating_mul(times.as_ppm().into()) / NORMAL
        })
    }

    /// The wait for the next call of so many processes; one number.
    pub(crate) fn gap(&self, now: Instant, processes: u32, dice: &Dice) -> Duration {
        let pace = self.pace(now).max(1);
        let mean = u128::from(nanos(self.mean)) * u128::from(NORMAL)
            / u128::from(pace)
            / u128::from(processes.max(1));
        let mean = Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX));
        match self.arrival {
            Arrival::Even => dice.even(mean),
            Arrival::Poisson => dice.exponential(mean),
            Arrival::Steady => mean,
        }
    }

    /// How much the next call matters; no number unless it is a mix.
    pub(crate) fn level(&self, dice: &Dice) -> Criticality {
        if self.mix.is_empty() {
            return Criticality::Critical;
        }
        let mut draw = dice.below(NORMAL);
        for (level, share) in &self.mix {
            let share = u64::from(share.as_ppm());
            if draw < share {
                return *level;
            }
            draw -= share;
        }
        Criticality::Critical
    }

    /// All that makes it impossible.
    pub(crate) fn mistakes(&self) -> impl Iterator<Item = Mistake> + use<> {
        let checks = [
            (!self.is_possible(), Mistake::Load),
            (!self.is_mix_possible(), Mistake::Mix),
        ];
        let found = checks.into_iter().filter(|(is_one, _)| *is_one);
        found.map(|(_, mistake)| mistake)
    }

    fn is_possible(&self) -> bool {
        !self.mean.is_zero()
            && !self
                .ramp
                .is_some_and(|(to, over)| to == Ratio::ZERO || over.is_zero())
            && self.spikes.iter().all(|(_, times)| *times > Ratio::ZERO)
    }

    fn is_mix_possible(&self) -> bool {
        let sum: u64 = self
            .mix
            .iter()
            .map(|(_, share)| u64::from(share.as_ppm()))
            .sum();
        let mut levels: Vec<_> = self.mix.iter().map(|(level, _)| *level).collect();
        levels.sort_unstable();
        levels.dedup();
        sum <= NORMAL && levels.len() == self.mix.len() && !levels.contains(&Criticality::Critical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Calls in each of the first seconds.
    fn counts(load: &Load, seconds: usize) -> Vec<u32> {
        let dice = Dice::new(11);
        let mut counts = vec![0; seconds];
        let mut now = Instant::ZERO;
        loop {
            now = now.saturating_add(load.gap(now, 1, &dice));
            let second = now.saturating_since(Instant::ZERO).as_secs();
            match counts.get_mut(usize::try_from(second).unwrap_or(usize::MAX)) {
                Some(count) => *count += 1,
                None => return counts,
            }
        }
    }

    #[test]
    fn a_load_has_its_rate() {
        for load in [
            Load::per_second(500),
            Load::per_second(500).poisson(),
            Load::per_second(500).steady(),
        ] {
            let sum: u32 = counts(&load, 100).iter().sum();
            assert!((49_000..51_000).contains(&sum), "{sum} of {load:?}");
        }
    }

    #[test]
    fn a_ramp_grows_and_a_spike_passes() {
        let load = Load::per_second(1_000).ramping(Ratio::times(3), 10 * SECOND);
        let ramp = counts(&load.steady(), 20);
        assert!(ramp[0] > 1_050 && ramp[0] < 1_150, "{ramp:?}");
        assert!(ramp[5] > 2_050 && ramp[5] < 2_150, "{ramp:?}");
        assert!(ramp[15].abs_diff(3_000) <= 1, "{ramp:?}");

        let load = Load::per_second(1_000).spiking(2 * SECOND, Ratio::times(4), SECOND);
        let spike = counts(&load.steady(), 5);
        assert!(spike[1].abs_diff(1_000) <= 2 && spike[3].abs_diff(1_000) <= 2);
        assert!(spike[2].abs_diff(4_000) <= 4, "{spike:?}");
    }

    #[test]
    fn a_mix_has_its_shares() {
        let load = Load::per_second(1)
            .with_mix(Criticality::Sheddable, Ratio::percent(30))
            .with_mix(Criticality::CriticalPlus, Ratio::percent(10));
        let dice = Dice::new(5);
        let levels: Vec<_> = (0..10_000).map(|_| load.level(&dice)).collect();
        let count = |wanted| levels.iter().filter(|level| **level == wanted).count();
        assert!(count(Criticality::Sheddable).abs_diff(3_000) < 150);
        assert!(count(Criticality::CriticalPlus).abs_diff(1_000) < 100);
        assert_eq!(count(Criticality::SheddablePlus), 0);
    }

    // test-03.21
    #[test]
    fn what_is_left_is_critical_and_not_said() {
        let mixed = |level, percent| Load::per_second(1).with_mix(level, Ratio::percent(percent));
        assert!(!mixed(Criticality::Critical, 20).is_mix_possible());
        assert!(!mixed(Criticality::Sheddable, 101).is_mix_possible());
        let twice = mixed(Criticality::Sheddable, 20).with_mix(Criticality::Sheddable, Ratio::ZERO);
        assert!(!twice.is_mix_possible());
        assert!(mixed(Criticality::Sheddable, 100).is_mix_possible());
    }

    // test-03.22: who draws no levels draws the same arrivals as before.
    #[test]
    fn an_unmixed_load_draws_no_levels() {
        let dice = Dice::new(1);
        assert_eq!(Load::per_second(1).level(&dice), Criticality::Critical);
        assert_eq!(dice.draw(), Dice::new(1).draw());
    }

    // test-03.5: the first arrivals of our own stream.
    #[test]
    fn the_first_arrivals_are_pinned() {
        let (load, dice) = (Load::per_second(10), Dice::new(1));
        let mut now = Instant::ZERO;
        let arrivals = [(); 3].map(|()| {
            now = now.saturating_add(load.gap(now, 1, &dice));
            now.as_nanos()
        });
        assert_eq!(arrivals, [69_498_556, 196_501_846, 252_553_835]);
    }
}
