//! When a breaker opens, for how long, and how it closes.

use core::fmt;
use core::time::Duration;

use super::{Count, Times};
use crate::policy::breaker::Breaker;
use crate::policy::slow_trip::SlowTrip;
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
    let latency = breaker.relative_slow_calls();
    let from = SlowFrom(breaker.slow_call(), latency);
    if from.is_some() {
        let ratio = breaker.slow_ratio();
        write!(
            f,
            ",\n  or when {ratio} of the attempts succeed after {from}"
        )?;
    }
    f.write_str(".")?;
    if breaker.failure_ratio().is_some() || relative.is_some() || from.is_some() {
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
    if let (Some(law), Some(baseline)) = (latency, breaker.slow_baseline()) {
        let (baseline, quantile, minimum) = (Compact(baseline), law.quantile(), law.minimum());
        write!(
            f,
            "\n  The normal latency is what {quantile} of the successes of the last {baseline} keep to, given {minimum}"
        )?;
        if law.allows_usual_share() {
            f.write_str(";\n  what is usually slow opens nothing")?;
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
    let recovery = breaker.recovery();
    let (closes, close) = match recovery {
        Some(_) => ("lets it recover", "let it recover"),
        None => ("closes it", "close it"),
    };
    match breaker.probe_successes() {
        1 => write!(f, "one that succeeds {closes}.")?,
        successes => write!(f, "{successes} successes in a row {close}.")?,
    }
    let Some(recovery) = recovery else {
        return Ok(());
    };
    let (initial, length) = (recovery.initial(), recovery.length());
    let (shortest, longest) = (Compact(recovery.shortest()), Compact(recovery.longest()));
    write!(
        f,
        "\n  Recovering, it lets {initial} of the attempts through at first, and all after {length} of the break,\n  but no sooner than {shortest} and no later than {longest}; slow successes hold that back."
    )
}

/// From when on a success is slow.
struct SlowFrom(Option<Duration>, Option<SlowTrip>);

impl SlowFrom {
    const fn is_some(&self) -> bool {
        self.0.is_some() || self.1.is_some()
    }
}

impl fmt::Display for SlowFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let multiple = |law: SlowTrip| Times(law.multiple());
        match (self.0.map(Compact), self.1.map(multiple)) {
            (Some(constant), Some(times)) => {
                write!(f, "{constant}, or {times} the normal latency, or more")
            }
            (Some(constant), None) => write!(f, "{constant} or more"),
            (None, Some(times)) => write!(f, "{times} the normal latency or more"),
            (None, None) => f.write_str("no latency"),
        }
    }
}
