//! A page of reports.

use steadfast_simulation::Report;

/// Returns a page that needs no other file, with a report of each policy.
pub(crate) fn page(title: &str, reports: &[(&str, &Report)]) -> String {
    let title = escaped(title);
    let report = |(name, report): &(&str, &Report)| {
        let (name, text) = (escaped(name), escaped(&report.to_string()));
        format!("<h2>{name}</h2>\n<pre>{text}</pre>\n")
    };
    let reports: String = reports.iter().map(report).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <h1>{title}</h1>\n{reports}</html>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
