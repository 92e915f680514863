//! The numbers of a report by their names.

use std::fmt;
use std::time::Duration;

use steadfast_core::{Criticality, Ratio};
use steadfast_simulation::Report;

/// A number of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Calls,
    Succeeded,
    Failed,
    Availability,
    AvailabilityAt(Criticality),
    LoadMultiplier,
    Amplification,
    /// What a share of the calls did not exceed, in parts per thousand.
    Quantile(u32),
    BreakerOpened,
    RefusedHere,
    TimeToRecover,
    Metastable,
}

/// What a measure was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Count(u64),
    Ratio(Ratio),
    Span(Duration),
    /// Later than any span.
    Never,
    Flag(bool),
}

impl Measure {
    /// Every measure.
    pub(crate) const ALL: [Self; 17] = [
        Self::Calls,
        Self::Succeeded,
        Self::Failed,
        Self::Availability,
        Self::LoadMultiplier,
        Self::Amplification,
        Self::Quantile(500),
        Self::Quantile(900),
        Self::Quantile(990),
        Self::Quantile(999),
        Self::BreakerOpened,
        Self::RefusedHere,
        Self::TimeToRecover,
        Self::Metastable,
        Self::AvailabilityAt(Criticality::Sheddable),
        Self::AvailabilityAt(Criticality::SheddablePlus),
        Self::AvailabilityAt(Criticality::CriticalPlus),
    ];

    /// Returns the measure of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Returns the name that a file uses.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Availability => "availability",
            Self::AvailabilityAt(Criticality::Sheddable) => "availability_sheddable",
            Self::AvailabilityAt(Criticality::SheddablePlus) => "availability_sheddable_plus",
            Self::AvailabilityAt(Criticality::CriticalPlus) => "availability_critical_plus",
            Self::AvailabilityAt(_) => "availability_critical",
            Self::LoadMultiplier => "load_multiplier",
            Self::Amplification => "amplification",
            Self::Quantile(500) => "p50",
            Self::Quantile(900) => "p90",
            Self::Quantile(990) => "p99",
            Self::Quantile(_) => "p999",
            Self::BreakerOpened => "breaker_opened",
            Self::RefusedHere => "refused_here",
            Self::TimeToRecover => "time_to_recover",
            Self::Metastable => "metastable",
        }
    }

    /// Tells whether it says something of what comes after an impairment.
    pub(crate) const fn is_of_recovery(self) -> bool {
        matches!(self, Self::TimeToRecover | Self::Metastable)
    }

    /// Measures a report; `None` where that says nothing of it.
    pub(crate) fn of(self, report: &Report) -> Option<Value> {
        Some(match self {
            Self::Calls => Value::Count(report.calls()),
            Self::Succeeded => Value::Count(report.succeeded()),
            Self::Failed => Value::Count(report.failed()),
            Self::Availability => Value::Ratio(report.availability()),
            Self::AvailabilityAt(level) => Value::Ratio(report.availability_at(level)),
            Self::LoadMultiplier => Value::Ratio(report.load_multiplier()),
            Self::Amplification => Value::Ratio(report.amplification()),
            Self::Quantile(share) => Value::Span(report.latency(Ratio::permille(share))),
            Self::BreakerOpened => Value::Count(report.breaker_opens()),
            Self::RefusedHere => Value::Count(report.refused_by_limits()),
            Self::TimeToRecover => report.time_to_recover().map_or(Value::Never, Value::Span),
            Self::Metastable => Value::Flag(report.metastable()?),
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Ratio(ratio) => {
                let tenths = (u64::from(ratio.as_ppm()) + 50) / 100;
                write!(f, "{}.{:04}", tenths / 10_000, tenths % 10_000)
            }
            Self::Span(span) => {
                let tenths = (span.as_nanos() + 50_000) / 100_000;
                write!(f, "{}.{} ms", tenths / 10, tenths % 10)
            }
            Self::Never => f.write_str("never"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}
