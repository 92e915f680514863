//! What has to hold of a report.

use std::cmp::Ordering;
use std::fmt;

use steadfast_core::Ratio;
use steadfast_simulation::Report;

use crate::fault::nearest;
use crate::measure::{Measure, Value};
use crate::units::{Scalar, Share, Span};

/// What has to hold of a report: `load_multiplier <= 1.2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assertion {
    pub(crate) measure: Measure,
    relation: Relation,
    bound: Value,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    AtMost,
    AtLeast,
    Is,
    IsNot,
    Below,
    Above,
}

/// The longer ones first: `<` begins two of them.
const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Is),
    ("!=", Relation::IsNot),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl Assertion {
    /// Reads one.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let found = RELATIONS.into_iter().find_map(|(sign, relation)| {
            let (name, bound) = text.split_once(sign)?;
            Some((name.trim(), relation, bound.trim().trim_matches('"')))
        });
        let Some((name, relation, bound)) = found else {
            return Err(format!(
                "`{text}` compares nothing: write for one `load_multiplier <= 1.2`"
            ));
        };
        let Some(measure) = Measure::named(name) else {
            let names = Measure::ALL.map(Measure::name);
            let near = nearest(name, &names);
            let near = near.map(|near| format!("did you mean `{near}`? (there are "));
            return Err(format!(
                "nothing called `{name}` is measured: {}`{}`{}",
                near.as_deref().unwrap_or("there are "),
                names.join("`, `"),
                if near.is_some() { ")" } else { "" },
            ));
        };
        let wrong =
            |look: &str| format!("`{bound}` is not {look}, which `{name}` is compared with");
        let bound = match measure {
            Measure::Calls
            | Measure::Succeeded
            | Measure::Failed
            | Measure::BreakerOpened
            | Measure::RefusedHere => {
                let count = bound.parse().map(Value::Count);
                count.map_err(|_| wrong("a number of things"))?
            }
            Measure::Availability
            | Measure::AvailabilityAt(_)
            | Measure::LoadMultiplier
            | Measure::Amplification => {
                let Share(ratio) = Share::read(bound).ok_or_else(|| wrong(Share::LOOK))?;
                Value::Ratio(ratio)
            }
            Measure::Quantile(_) | Measure::TimeToRecover => {
                let Span(span) = Span::read(bound).ok_or_else(|| wrong(Span::LOOK))?;
                Value::Span(span)
            }
            Measure::Metastable => match (bound, relation) {
                ("true", Relation::Is | Relation::IsNot) => Value::Flag(true),
                ("false", Relation::Is | Relation::IsNot) => Value::Flag(false),
                _ => return Err("write `metastable == false` or `metastable == true`".into()),
            },
        };
        Ok(Self {
            measure,
            relation,
            bound,
            text: text.trim().to_owned(),
        })
    }

    /// Tells what was found instead, if it does not hold.
    pub(crate) fn failure(&self, report: &Report) -> Option<String> {
        let Some(found) = self.measure.of(report) else {
            return Some("cannot be told".into());
        };
        let order = found.cmp(&self.bound);
        let holds = match self.relation {
            Relation::AtMost => order != Ordering::Greater,
            Relation::AtLeast => order != Ordering::Less,
            Relation::Is => order == Ordering::Equal,
            Relation::IsNot => order != Ordering::Equal,
            Relation::Below => order == Ordering::Less,
            Relation::Above => order == Ordering::Greater,
        };
        (!holds).then(|| exact(found))
    }
}

/// A number with all the digits that decided.
fn exact(value: Value) -> String {
    match value {
        Value::Ratio(ratio) => decimals(ratio),
        Value::Span(span) => format!("{span:?}"),
        other => other.to_string(),
    }
}

fn decimals(ratio: Ratio) -> String {
    let ppm = ratio.as_ppm();
    let text = format!("{}.{:06}", ppm / 1_000_000, ppm % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_has_its_own_name() {
        for measure in Measure::ALL {
            assert_eq!(Measure::named(measure.name()), Some(measure));
        }
    }

    #[test]
    fn a_bound_is_what_its_measure_is() {
        for right in [
            "load_multiplier <= 1.2",
            "availability>=99.9%",
            "time_to_recover <= \"30s\"",
            "p99 < 1s",
            "metastable == false",
            "breaker_opened == 0",
        ] {
            assert!(Assertion::read(right).is_ok(), "{right}");
        }
        for wrong in [
            "load_multiplier",
            "load_multiplier <= 1s",
            "p99 <= 3",
            "metastable <= true",
            "calls >= 1.5",
        ] {
            assert!(Assertion::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_name_finds_the_right_one() {
        let wrong = Assertion::read("load_multipler <= 2").expect_err("a slip");
        assert!(wrong.contains("did you mean `load_multiplier`?"), "{wrong}");
    }

    #[test]
    fn never_is_later_than_anything() {
        assert!(Value::Never > Value::Span(std::time::Duration::MAX));
    }
}
