//! Reports side by side.

use std::fmt::Write;

use steadfast_simulation::{Band, Report};

use crate::measure::{Measure, Value};

/// The width of the names in the text of a report.
const NAME: usize = 17;

const METASTABLE: &str = Measure::Metastable.name();

/// The rows of a table: a name, and a number of each policy.
type Rows = Vec<(String, Vec<String>)>;

/// Returns reports side by side, one for each policy.
pub(crate) fn of_reports(names: &[&str], reports: &[&Report]) -> String {
    let mut rows = Rows::new();
    for (column, report) in reports.iter().enumerate() {
        for line in report.to_string().lines() {
            let (name, number) = line.split_at_checked(NAME).unwrap_or((line, ""));
            let at = rows.iter().position(|(known, _)| known == name);
            let at = at.unwrap_or_else(|| {
                rows.push((name.to_owned(), vec!["-".to_owned(); reports.len()]));
                rows.len() - 1
            });
            if let Some(place) = rows.get_mut(at).and_then(|(_, row)| row.get_mut(column)) {
                number.clone_into(place);
            }
        }
    }
    // A report says it only where it is so.
    if let Some((_, row)) = rows
        .iter_mut()
        .find(|(name, _)| name.starts_with(METASTABLE))
    {
        for (cell, report) in row.iter_mut().zip(reports) {
            if report.metastable() == Some(false) {
                "no".clone_into(cell);
            }
        }
    }
    drawn(names, &rows)
}

/// Returns the bands of several seeds side by side: median, least and most.
pub(crate) fn of_bands(names: &[&str], runs: &[Vec<Report>]) -> String {
    let shown = |measure: &Measure| {
        let mut reports = runs.iter().flatten();
        match measure {
            Measure::AvailabilityAt(level) => reports.any(|report| report.calls_at(*level) > 0),
            Measure::RefusedHere => reports.any(|report| report.refused_by_limits() > 0),
            Measure::Metastable => reports.any(|report| report.metastable().is_some()),
            _ => true,
        }
    };
    let row = |measure: Measure| {
        let cells = runs.iter().map(|reports| cell(measure, reports)).collect();
        (measure.name().replace('_', " "), cells)
    };
    let rows: Rows = Measure::ALL.into_iter().filter(shown).map(row).collect();
    drawn(names, &rows)
}

fn cell(measure: Measure, reports: &[Report]) -> String {
    let values = reports.iter().filter_map(|report| measure.of(report));
    if measure == Measure::Metastable {
        let values: Vec<_> = values.collect();
        let down = values.iter().filter(|value| **value == Value::Flag(true));
        return format!("{} of {}", down.count(), values.len());
    }
    match Band::of(values) {
        Some(band) if band.minimum == band.maximum => band.median.to_string(),
        Some(band) => format!("{} ({} to {})", band.median, band.minimum, band.maximum),
        None => "-".into(),
    }
}

/// Lays out a table; a single column needs no head.
fn drawn(names: &[&str], rows: &Rows) -> String {
    let longest = rows.iter().map(|(name, _)| name.trim_end().len());
    let first = longest.max().unwrap_or(0).max(NAME - 2);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(column));
        let cells = cells.map(String::len);
        let name = names.get(column).map_or(0, |name| name.chars().count());
        cells.max().unwrap_or(0).max(name)
    };
    let widths: Vec<_> = (0..names.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let mut line = format!("{name:first$}");
        for (cell, width) in cells.zip(&widths) {
            // Writing to a string does not fail.
            let _ = write!(line, "  {cell:width$}");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    if names.len() > 1 {
        line("", &mut names.iter().copied());
    }
    for (name, cells) in rows {
        line(name.trim_end(), &mut cells.iter().map(String::as_str));
    }
    text
}
