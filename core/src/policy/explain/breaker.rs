//! When a breaker opens, for how long, and how it closes.

use core::fmt;

use super::{Count, Times};
use crate::policy::breaker::Breaker;
use crate::policy::span::{Compact, Drawn};

pub(super) fn write(f: &mut fmt::Formatter<'_>, breaker: &Breaker) -> fmt::Result {
    match breaker.consecutive_failures() {
        1 => f.write_str("Opens when an attempt fails")?,
        failures => write!(f, "Opens when {failures} attempts in a row fail")?,
    }
    if let Some(ratio) = breaker.failure_ratio() {
        write!(f, ",\n  or when {ratio} of the attempts fail")?;
    }
    let relative = breaker.relative_failures();
    if let Some(law) = relative {
        let (floor, multiple) = (law.floor(), Times(law.multiple()));
        write!(
            f,
            ",\n  or when {floor} or more of the attempts fail, {multiple} what is normal"
        )?;
        if law.deviations() > 0 {
            f.write_str(" and more than chance")?;
        }
    }
    if let Some(slow) = breaker.slow_call() {
        let (ratio, slow) = (breaker.slow_ratio(), Compact(slow));
        write!(
            f,
            ",\n  or when {ratio} of the attempts succeed after {slow} or more"
        )?;
    }
    f.write_str(".")?;
    if breaker.failure_ratio().is_some() || relative.is_some() || breaker.slow_call().is_some() {
        let attempts = Count(breaker.minimum_calls(), "attempt");
        let window = Compact(breaker.window());
        write!(
            f,
            "\n  Percentages are of the last {window}, and need {attempts} in it."
        )?;
    }
    if let (Some(law), Some(baseline)) = (relative, breaker.baseline()) {
        let attempts = Count(law.minimum_baseline(), "attempt");
        let baseline = Compact(baseline);
        write!(
            f,
            "\n  Normal is what the {baseline} before showed, given {attempts} in it"
        )?;
        let recent = law.minimum_calls();
        if recent > breaker.minimum_calls() {
            write!(f, ";\n  it is compared with no fewer than {recent}")?;
        }
        f.write_str(".")?;
    }
    let (first, longest) = (breaker.first_break(), breaker.longest_break());
    write!(f, "\n  Breaks for {}", Drawn(first, breaker.jitter()))?;
    if first < longest {
        write!(f, ", doubling up to {}", Compact(longest))?;
    }
    let probes = Count(breaker.probes(), "probe");
    write!(f, ".\n  Then lets {probes} through at a time; ")?;
    match breaker.probe_successes() {
        1 => f.write_str("one that succeeds closes it."),
        successes => write!(f, "{successes} successes in a row close it."),
    }
}
