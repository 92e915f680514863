//! What is measured, a row for each.

use core::fmt;
use core::time::Duration;

use super::{Explanation, Times};
use crate::math::ratio::{Percents, Ratio};
use crate::policy::backoff::Backoff;
use crate::policy::ceiling::AttemptCeiling;
use crate::policy::hedge::Hedge;
use crate::policy::measured_base::MeasuredBase;
use crate::policy::saturation::Saturation;
use crate::policy::span::Compact;

impl Explanation<'_> {
    pub(super) fn measurements(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.policy.validate().is_err() {
            return f.write_str("Nothing: the policy cannot work.");
        }
        if !self.policy.is_adaptive() {
            return f.write_str("Nothing: the policy is not adaptive, its constants hold.");
        }
        if self.is_unmeasured() {
            return f
                .write_str("Nothing: the guard's memory is `Unmeasured`, so the constants hold.");
        }
        self.ceiling_row(f)?;
        self.base_row(f)?;
        self.hedge_row(f)?;
        self.delay_row(f)?;
        if let Some(normal) = self.measured.and_then(|now| now.normal_latency) {
            let normal = Compact(normal);
            write!(
                f,
                "\n  normal latency   {normal}: what the breaker compares with"
            )?;
        }
        if self.is_cold() {
            f.write_str("\n  Until enough is known the constants hold. A guard learns for as ")?;
            f.write_str("long as it lives:\n  make it once and keep it, best in a `static`. ")?;
            f.write_str("One made for each request never learns.")?;
        }
        Ok(())
    }

    /// How long an attempt may take right now, where that is less than its
    /// timeout.
    pub(super) fn ceiling_now(&self) -> Option<Duration> {
        let timeout = self.policy.attempt_timeout().unwrap_or(Duration::MAX);
        let ceiling = self.measured?.attempt_ceiling?;
        (self.policy.is_adaptive() && ceiling < timeout).then_some(ceiling)
    }

    /// The measured first wait right now.
    pub(super) fn base_now(&self) -> Option<Duration> {
        self.measured?.backoff_base
    }

    /// The rule for waits, with its base as it is right now.
    pub(super) fn backoff_now(&self) -> Backoff {
        let backoff = *self.policy.backoff();
        match self.base_now() {
            Some(base) => backoff.with_bases(base, backoff.throttled_base()),
            None => backoff,
        }
    }

    /// The guard takes nothing down that the policy could learn from.
    fn is_unmeasured(&self) -> bool {
        let learns = self.policy.is_learning();
        learns && self.measured.is_some_and(|now| now.successes.is_none())
    }

    /// Something is to be measured, and too little is known.
    fn is_cold(&self) -> bool {
        self.measured.is_some_and(|now| {
            let policy = self.policy;
            policy.attempt_ceiling().is_some() && now.attempt_ceiling.is_none()
                || policy.backoff().measured_base().is_some() && now.backoff_base.is_none()
                || policy.hedge().is_some() && now.hedge_threshold.is_none()
        })
    }

    fn ceiling_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attempt ceiling  ")?;
        let Some(law) = self.policy.attempt_ceiling() else {
            return f.write_str(OFF);
        };
        let ceiling = self.measured.and_then(|now| now.attempt_ceiling);
        let law = CeilingLaw(law, self.policy.history(), self.policy.hedge().is_some());
        match ceiling {
            None => self.cold(f, law.0.minimum_samples(), Sample::Success, &law),
            Some(value) if self.ceiling_now() == ceiling => {
                write!(f, "{}: {law}", Compact(value))
            }
            Some(value) => {
                write!(f, "{}, so the attempt timeout holds: {law}", Compact(value))
            }
        }
    }

    fn base_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\n  backoff base     ")?;
        let backoff = self.policy.backoff();
        let Some(law) = backoff.measured_base() else {
            return f.write_str(OFF);
        };
        let samples = law.minimum_samples();
        let law = BaseLaw(law, self.policy.history(), backoff.transient_base());
        match self.base_now() {
            None => self.cold(f, samples, Sample::Success, &law),
            Some(value) => write!(f, "{}: {law}", Compact(value)),
        }
    }

    fn hedge_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\n  hedge threshold  ")?;
        let Some(hedge) = self.policy.hedge() else {
            return f.write_str(OFF);
        };
        let law = HedgeLaw(*hedge);
        match self.measured.and_then(|now| now.hedge_threshold) {
            None => self.cold(f, hedge.minimum_samples(), Sample::Attempt, &law),
            Some(value) => write!(f, "{}: {law}", Compact(value)),
        }
    }

    fn delay_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\n  queue delay      ")?;
        let Some(rule) = self.policy.saturation() else {
            return f.write_str(OFF);
        };
        let (probes, law) = (rule.minimum_samples(), SaturationLaw(*rule));
        match self.measured.map(|now| now.queue_delay) {
            None => write!(f, "{law}, from {probes} probes on"),
            Some(None) => write!(f, "cold, fewer than {probes} probes: {law}"),
            Some(Some(value)) => write!(f, "{}: {law}", Compact(value)),
        }
    }

    /// Without a guard the law alone, else how far the samples are.
    fn cold(
        &self,
        f: &mut fmt::Formatter<'_>,
        needed: u32,
        sample: Sample,
        law: &dyn fmt::Display,
    ) -> fmt::Result {
        let what = sample.name(needed);
        let Some(now) = self.measured else {
            return write!(f, "{law}, from {needed} {what} on");
        };
        let known = match sample {
            Sample::Success => now.successes,
            Sample::Attempt => now.attempts,
        };
        let known = known.unwrap_or(0);
        write!(f, "cold, {known} of {needed} {what}: {law}")
    }
}

const OFF: &str = "not configured";

/// What an estimate counts.
#[derive(Clone, Copy)]
enum Sample {
    Success,
    Attempt,
}

impl Sample {
    const fn name(self, number: u32) -> &'static str {
        match (self, number) {
            (Self::Success, 1) => "success",
            (Self::Success, _) => "successes",
            (Self::Attempt, 1) => "attempt",
            (Self::Attempt, _) => "attempts",
        }
    }
}

/// `3x the p95 of the last 5m, at least 50ms`.
struct CeilingLaw(AttemptCeiling, Duration, bool);

impl fmt::Display for CeilingLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(law, history, is_hedged) = self;
        let (times, floor) = (Times(law.multiple()), Compact(law.floor()));
        let tail = Quantile(law.quantile());
        write!(f, "{times} the {tail} of the last {}", Compact(*history))?;
        write!(f, ", at least {floor}")?;
        if *is_hedged {
            write!(f, " and {times} the hedge threshold")?;
        }
        Ok(())
    }
}

/// `the p50 of the last 5m, from 10ms to 1s`.
struct BaseLaw(MeasuredBase, Duration, Duration);

impl fmt::Display for BaseLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(law, history, constant) = self;
        if law.multiple() != Ratio::ONE {
            write!(f, "{} ", Times(law.multiple()))?;
        }
        let normal = Quantile(law.quantile());
        write!(f, "the {normal} of the last {}", Compact(*history))?;
        let least = Compact(law.base(Duration::ZERO, *constant));
        let most = Compact(law.base(Duration::MAX, *constant));
        write!(f, ", from {least} to {most}")
    }
}

/// `the p95 of the last 30s, at least 10ms`.
struct HedgeLaw(Hedge);

impl fmt::Display for HedgeLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slow, window) = (Quantile(self.0.quantile()), Compact(self.0.window()));
        write!(f, "the {slow} of the last {window}")?;
        match self.0.minimum_delay() {
            Duration::ZERO => Ok(()),
            least => write!(f, ", at least {}", Compact(least)),
        }
    }
}

/// `learning stops at 5x what is normal, at least 20ms`.
struct SaturationLaw(Saturation);

impl fmt::Display for SaturationLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, floor) = (Times(self.0.multiple()), Compact(self.0.floor()));
        write!(
            f,
            "learning stops at {times} what is normal, at least {floor}"
        )
    }
}

/// A quantile as the field writes it: `p95`, `p99.9`.
struct Quantile(Ratio);

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", Percents(self.0))
    }
}
