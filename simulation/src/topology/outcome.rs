//! What came of a run of a topology.

use std::fmt;

use crate::band::Runs;
use crate::report::Report;

/// What came of a run of a topology: for each call, and for each service.
///
/// Its text is the same for a seed on every machine.
#[derive(Clone, Debug)]
pub struct TopologyReport {
    seed: u64,
    edges: Vec<Edge>,
    services: Vec<(String, Report)>,
}

/// What came of the calls from one service to another one.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) caller: String,
    pub(super) callee: String,
    pub(super) report: Report,
}

impl TopologyReport {
    pub(super) const fn new(seed: u64, edges: Vec<Edge>, services: Vec<(String, Report)>) -> Self {
        Self {
            seed,
            edges,
            services,
        }
    }

    /// Returns the seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns what came of the calls from one service to another one; `None` if it
    /// makes none.
    ///
    /// What reached the callee are attempts, and its callers recover from the callee's
    /// own impairments: a callee that makes calls has none.
    #[must_use]
    pub fn on(&self, from: &str, to: &str) -> Option<&Report> {
        let mut edges = self.edges.iter();
        edges
            .find(|edge| edge.caller == from && edge.callee == to)
            .map(|edge| &edge.report)
    }

    /// Returns what came of the requests to a service; `None` if there is no such one.
    ///
    /// Its calls are the requests that it got, and what reached are the attempts that
    /// it sent, over all its calls: the load multiplier counts fan-out and retries. Its
    /// events are those of all its calls. A leaf sends nothing: what it got reached it.
    #[must_use]
    pub fn at(&self, service: &str) -> Option<&Report> {
        let mut services = self.services.iter();
        services
            .find(|(name, _)| name == service)
            .map(|(_, report)| report)
    }

    /// Returns every call with its caller, its callee and its report, in the order of
    /// declaration.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, &Report)> {
        let edges = self.edges.iter();
        edges.map(|edge| (edge.caller.as_str(), edge.callee.as_str(), &edge.report))
    }

    /// Returns every service with its report.
    pub fn services(&self) -> impl Iterator<Item = (&str, &Report)> {
        let services = self.services.iter();
        services.map(|(name, report)| (name.as_str(), report))
    }
}

/// A block for each call.
impl fmt::Display for TopologyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (caller, callee, report)) in self.edges().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{caller} -> {callee}\n{report}")?;
        }
        Ok(())
    }
}

/// The reports of one topology over several seeds.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Policy, Ratio};
/// use steadfast_simulation::{Curve, Load, Model, Topology};
///
/// let stock = Model::new(Curve::constant(Duration::from_millis(5))).failing(Ratio::percent(2));
/// let runs = Topology::new(Duration::from_secs(10))
///     .calls("shop", "stock", Policy::DEFAULT)
///     .leaf("stock", stock)
///     .under(Load::per_second(50), "shop")
///     .run_all(1..=3)
///     .unwrap();
/// let multiplier = runs.on("shop", "stock").unwrap().band(|report| report.load_multiplier());
/// assert!(multiplier.unwrap().maximum < Ratio::percent(110));
/// ```
#[derive(Clone, Debug)]
pub struct TopologyRuns {
    reports: Vec<TopologyReport>,
}

impl TopologyRuns {
    pub(super) const fn new(reports: Vec<TopologyReport>) -> Self {
        Self { reports }
    }

    /// Returns the reports, in the order of the seeds.
    #[must_use]
    pub fn reports(&self) -> &[TopologyReport] {
        &self.reports
    }

    /// Returns what came of the calls from one service to another one, a copy; `None`
    /// if it makes none.
    #[must_use]
    pub fn on(&self, from: &str, to: &str) -> Option<Runs> {
        self.each(|report| report.on(from, to))
    }

    /// Returns what came of the requests to a service, a copy; `None` if there is no
    /// such one.
    #[must_use]
    pub fn at(&self, service: &str) -> Option<Runs> {
        self.each(|report| report.at(service))
    }

    fn each<'r>(&'r self, of: impl Fn(&'r TopologyReport) -> Option<&'r Report>) -> Option<Runs> {
        let reports = self.reports.iter().map(|report| of(report).cloned());
        reports.collect::<Option<_>>().map(Runs::new)
    }
}
