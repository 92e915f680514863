//! What came of a run.

use std::fmt;
use std::time::Duration;

use steadfast_core::{Criticality, Event, EventKind, Instant, Ratio};

use crate::tally::{Counted, Second};

/// What came of a run.
///
/// Its text is the same for a seed on every machine.
#[derive(Clone, Debug)]
pub struct Report {
    seed: u64,
    span: Duration,
    /// When the dependency was well again for good.
    well_from: Option<Instant>,
    counted: Counted,
    /// What all calls took, the shortest first.
    sorted: Vec<Duration>,
}

impl Report {
    pub(crate) fn new(
        seed: u64,
        span: Duration,
        well_from: Option<Instant>,
        counted: Counted,
    ) -> Self {
        let mut sorted: Vec<_> = counted.calls.iter().map(|call| call.took).collect();
        sorted.sort_unstable();
        Self {
            seed,
            span,
            well_from,
            counted,
            sorted,
        }
    }

    /// Returns the seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns for how long calls began.
    #[must_use]
    pub const fn span(&self) -> Duration {
        self.span
    }

    /// Returns how many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.counted.calls.len() as u64
    }

    /// Returns how many calls succeeded.
    #[must_use]
    pub fn succeeded(&self) -> u64 {
        self.counted.calls.iter().filter(|call| call.is_ok).count() as u64
    }

    /// Returns how many calls failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.calls() - self.succeeded()
    }

    /// Returns how many attempts reached the dependency.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.counted.reached
    }

    /// Returns how many attempts a limit of the policy refused.
    #[must_use]
    pub fn refused_by_limits(&self) -> u64 {
        self.counted.refused
    }

    /// Returns the share of calls that succeeded; none if there were no calls.
    #[must_use]
    pub fn availability(&self) -> Ratio {
        share(self.succeeded(), self.calls())
    }

    /// Returns how many attempts a call sent on average.
    #[must_use]
    pub fn load_multiplier(&self) -> Ratio {
        share(self.reached(), self.calls())
    }

    /// Returns the most attempts a second for each call that began in it.
    #[must_use]
    pub fn amplification(&self) -> Ratio {
        let seconds = self.counted.seconds.iter();
        let busy = seconds.filter(|second| second.started > 0);
        let ratios = busy.map(|second| share(second.reached.into(), second.started.into()));
        ratios.max().unwrap_or(Ratio::ZERO)
    }

    /// Returns what a share of the calls did not exceed; zero if there were none.
    ///
    /// By the nearest rank, failures included; more than all is all.
    #[must_use]
    pub fn latency(&self, quantile: Ratio) -> Duration {
        let count = self.sorted.len() as u64;
        let rank = (u64::from(quantile.as_ppm()) * count).div_ceil(1_000_000);
        let index = usize::try_from(rank.saturating_sub(1)).unwrap_or(usize::MAX);
        let last = self.sorted.len().saturating_sub(1);
        let found = self.sorted.get(index.min(last));
        found.copied().unwrap_or(Duration::ZERO)
    }

    /// Returns what all calls took together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.sorted.iter().sum()
    }

    /// Returns how many events of a kind there were.
    #[must_use]
    pub fn count_of(&self, kind: EventKind) -> u64 {
        let kinds = self.counted.kinds.get(kind as usize);
        kinds.copied().unwrap_or(0)
    }

    /// Returns how often a breaker opened.
    #[must_use]
    pub fn breaker_opens(&self) -> u64 {
        self.count_of(EventKind::BreakerOpened)
    }

    /// Returns how many calls of a level were made.
    #[must_use]
    pub fn calls_at(&self, level: Criticality) -> u64 {
        self.at(level).0
    }

    /// Returns the share of the calls of a level that succeeded.
    #[must_use]
    pub fn availability_at(&self, level: Criticality) -> Ratio {
        let (all, ok) = self.at(level);
        share(ok, all)
    }

    fn at(&self, level: Criticality) -> (u64, u64) {
        let calls = self.counted.calls.iter();
        calls
            .filter(|call| call.level == level)
            .fold((0, 0), |(all, ok), call| {
                (all + 1, ok + u64::from(call.is_ok))
            })
    }

    /// Returns how long after its last impairment the dependency's callers were well:
    /// the first call from which on none failed that began within a second.
    ///
    /// `None` without an impairment, or if that never came.
    #[must_use]
    pub fn time_to_recover(&self) -> Option<Duration> {
        let well = self.well_from?;
        let calls = &self.counted.calls;
        let first = calls.partition_point(|call| call.start < well);
        let later = calls.get(first..)?;
        let end = Instant::ZERO.saturating_add(self.span);
        // Each failure pushes the answer behind itself.
        let mut from = 0;
        let mut failure = 0;
        while let Some(call) = later.get(from) {
            let until = call.start.saturating_add(Duration::from_secs(1));
            if until > end {
                return None;
            }
            failure = failure.max(from);
            while later
                .get(failure)
                .is_some_and(|call| call.is_ok && call.start < until)
            {
                failure += 1;
            }
            match later.get(failure) {
                Some(call) if call.start < until => from = failure + 1,
                _ => return Some(call.start.saturating_since(well)),
            }
        }
        None
    }

    /// Tells whether callers stay unwell by themselves: two minutes after the last
    /// impairment less than four fifths of what is offered ends well.
    ///
    /// Judged over the ten seconds that follow. `None` without an impairment, or if
    /// the run ends before. The numbers are those of the published experiment; others
    /// by [`Report::metastable_by`].
    #[must_use]
    pub fn metastable(&self) -> Option<bool> {
        self.metastable_by(Duration::from_secs(120), Ratio::percent(80))
    }

    /// Tells the same, so long after the last impairment and by that share.
    #[must_use]
    pub fn metastable_by(&self, after: Duration, goodput: Ratio) -> Option<bool> {
        let from = self.well_from?.saturating_add(after);
        let from = from.saturating_since(Instant::ZERO).as_secs();
        let from = usize::try_from(from).ok()?;
        let last = usize::try_from(self.span.as_secs()).ok()?;
        if from.checked_add(10)? > last {
            return None;
        }
        let seconds = self.counted.seconds.get(from..from + 10)?;
        let sum =
            |of: fn(&Second) -> u32| -> u64 { seconds.iter().map(|s| u64::from(of(s))).sum() };
        Some(share(sum(|s| s.succeeded), sum(|s| s.started)) < goodput)
    }

    /// Returns the run second by second.
    #[must_use]
    pub fn seconds(&self) -> &[Second] {
        &self.counted.seconds
    }

    /// Returns every event with its time since the start, if that was asked for.
    #[must_use]
    pub fn timeline(&self) -> Option<&[(Duration, Event)]> {
        self.counted.timeline.as_deref()
    }

    fn is_mixed(&self) -> bool {
        let mut calls = self.counted.calls.iter();
        calls.any(|call| call.level != Criticality::Critical)
    }
}

/// A quotient in parts per million; nothing of nothing is nothing.
fn share(part: u64, whole: u64) -> Ratio {
    let ppm = u128::from(part) * 1_000_000;
    let ppm = ppm.checked_div(u128::from(whole)).unwrap_or(0);
    Ratio::ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}

/// A line for each number.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "calls            {}", self.calls())?;
        writeln!(f, "succeeded        {}", self.succeeded())?;
        writeln!(f, "failed           {}", self.failed())?;
        writeln!(f, "availability     {}", Decimals(self.availability(), 4))?;
        writeln!(
            f,
            "load multiplier  {}",
            Decimals(self.load_multiplier(), 3)
        )?;
        writeln!(f, "amplification    {}", Decimals(self.amplification(), 3))?;
        writeln!(
            f,
            "p50              {}",
            Millis(self.latency(Ratio::percent(50)))
        )?;
        writeln!(
            f,
            "p99              {}",
            Millis(self.latency(Ratio::percent(99)))
        )?;
        writeln!(f, "breaker opened   {}", self.breaker_opens())?;
        if self.refused_by_limits() > 0 {
            writeln!(f, "refused here     {}", self.refused_by_limits())?;
        }
        match self.time_to_recover() {
            Some(span) => write!(f, "time to recover  {}", Millis(span))?,
            None if self.well_from.is_some() => f.write_str("time to recover  never")?,
            None => f.write_str("time to recover  -")?,
        }
        if self.metastable() == Some(true) {
            f.write_str("\nmetastable       yes")?;
        }
        if self.is_mixed() {
            for level in [
                Criticality::Sheddable,
                Criticality::SheddablePlus,
                Criticality::Critical,
                Criticality::CriticalPlus,
            ] {
                if self.calls_at(level) > 0 {
                    let part = Decimals(self.availability_at(level), 4);
                    write!(
                        f,
                        "\n{:<16} {part} of {}",
                        level.name(),
                        self.calls_at(level)
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// A ratio with so many decimals, rounded to the nearest.
struct Decimals(Ratio, u32);

impl fmt::Display for Decimals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(6 - self.1);
        let rounded = (u64::from(self.0.as_ppm()) + unit / 2) / unit;
        let scale = 10_u64.pow(self.1);
        let width = self.1 as usize;
        write!(f, "{}.{:0width$}", rounded / scale, rounded % scale)
    }
}

/// Milliseconds with one decimal, rounded to the nearest.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0.as_nanos() + 50_000) / 100_000;
        write!(f, "{}.{} ms", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests;
