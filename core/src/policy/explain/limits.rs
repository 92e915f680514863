//! The limits on what leaves the process, a row for each.

use core::fmt;

use super::{Count, Explanation, Times};
use crate::math::ratio::Ratio;
use crate::policy::concurrency::{Baseline, Concurrency};
use crate::policy::rate::Rate;
use crate::policy::span::{Compact, Drawn};
use crate::policy::throttle::Throttle;
use crate::verdict::Kind;

impl Explanation<'_> {
    /// The section, if there is any limit.
    pub(super) fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy;
        let has_limits = policy.concurrency().is_some()
            || policy.rate().is_some()
            || policy.throttle().is_some();
        if !has_limits {
            return Ok(());
        }
        f.write_str("\n\nLimits")?;
        if let Some(limit) = policy.concurrency() {
            self.concurrency_row(f, limit)?;
        }
        if let Some(rate) = policy.rate() {
            self.rate_row(f, rate)?;
        }
        if let Some(throttle) = policy.throttle() {
            self.throttle_row(f, throttle)?;
        }
        f.write_str("\n  An attempt that one of them refuses is not sent")?;
        if policy.attempts() < 2 {
            return f.write_str(", and the call ends.");
        }
        f.write_str(". It counts as one of the attempts,\n  and costs no token of the budget; ")?;
        self.next_wait(f)
    }

    /// What a call waits for after a refusal.
    fn next_wait(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy;
        let backoff = policy.backoff();
        if backoff.maximum().is_zero() {
            return f.write_str("the next one follows at once.");
        }
        let wait = Drawn(backoff.curve(2, Kind::Throttled), backoff.jitter());
        let has_others = policy.concurrency().is_some() || policy.throttle().is_some();
        match (policy.rate(), has_others) {
            (Some(_), false) => f.write_str("the next one waits until there is a permit."),
            (Some(_), true) => write!(f, "the next one waits {wait}, or until there is a permit."),
            (None, _) => write!(f, "the next one waits {wait}."),
        }
    }

    fn concurrency_row(&self, f: &mut fmt::Formatter<'_>, limit: &Concurrency) -> fmt::Result {
        f.write_str("\n  concurrency  ")?;
        if limit.is_fixed() {
            let attempts = Count(limit.maximum(), "attempt");
            write!(f, "at most {attempts} in flight")?;
        } else {
            let (least, first, most) = (limit.minimum(), limit.initial(), limit.maximum());
            write!(
                f,
                "{least} to {most} attempts in flight, {first} at first: less when they take {} what one\n    takes unloaded, ",
                Times(limit.multiple())
            )?;
            f.write_str(match limit.baseline() {
                Baseline::Probed => "which short probes find out",
                Baseline::Tracked => "which is the best of five minutes",
            })?;
        }
        let Some(now) = self.standing.concurrency else {
            return f.write_str(".");
        };
        write!(f, ". Now {} of {}", now.in_flight, now.allowed)?;
        if let Some(unloaded) = now.unloaded {
            write!(f, ", unloaded {}", Compact(unloaded))?;
        }
        f.write_str(".")?;
        notes(f, now.is_observing, now.is_shared)
    }

    fn rate_row(&self, f: &mut fmt::Formatter<'_>, rate: &Rate) -> fmt::Result {
        let attempts = Count(rate.permits(), "attempt");
        match rate.window() {
            Some(window) => write!(
                f,
                "\n  rate         at most {attempts} in {}",
                Compact(window)
            )?,
            None => write!(
                f,
                "\n  rate         {attempts} a second, {} at once",
                rate.burst()
            )?,
        }
        let Some(now) = self.standing.rate else {
            return f.write_str(".");
        };
        write!(f, ". Now {} free.", now.free)?;
        notes(f, now.is_observing, now.is_shared)
    }

    fn throttle_row(&self, f: &mut fmt::Formatter<'_>, throttle: &Throttle) -> fmt::Result {
        let (times, window) = (Times(throttle.multiple()), Compact(throttle.window()));
        write!(
            f,
            "\n  throttle     sends {times} what the dependency took in {window}, and at least {} of the calls;\n    the rest it refuses by chance, the less critical first",
            Ratio::ppm(Ratio::ONE.as_ppm().saturating_sub(throttle.cap().as_ppm()))
        )?;
        let Some(now) = self.standing.throttle else {
            return f.write_str(".");
        };
        write!(f, ". Now it refuses {}.", now.chance)?;
        notes(f, now.is_observing, now.is_shared)
    }
}

fn notes(f: &mut fmt::Formatter<'_>, is_observing: bool, is_shared: bool) -> fmt::Result {
    if is_observing {
        f.write_str(" It only observes.")?;
    }
    if is_shared {
        f.write_str(" Shared with other guards.")?;
    }
    Ok(())
}
