//! Services that call services, and a run of them.

mod check;
mod graph;
mod outcome;
mod problem;

use std::rc::Rc;
use std::time::Duration;

use steadfast_core::{Instant, Policy};
use steadfast_testing::World;

use crate::arrivals::Arrivals;
use crate::crew::Crew;
use crate::dice::Dice;
use crate::load::Load;
use crate::mistake::are_seeds_impossible;
use crate::target::Target;

use graph::{Graph, Service};

pub use outcome::{TopologyReport, TopologyRuns};
pub use problem::{TopologyError, TopologyProblem};

/// Services that call services, and what each call costs.
///
/// The real guards, one for each caller and callee, in one world. A service that gets a
/// request makes its calls one after the other, in the order in which they were
/// declared; the first that fails ends it, and is the service's own error to its
/// caller: what the [error](steadfast_core::CallError) of a guard means, but a refusal
/// that never left the service is a throttled answer to those above.
///
/// What an attempt [knows](steadfast_core::Attempt::ambient) goes down with it: how much
/// the request matters, which every call below says for itself; when it ends, no later
/// than the request around it; and that it is made again when it fails. A policy that
/// [follows the deadline](Policy::with_ambient_deadline) ends its calls by it, and
/// tells where retries multiply.
///
/// An attempt that is dropped, be it by its timeout, its deadline or a won race,
/// drops all that it made below, down to the work at the leaf. Calls that are dropped
/// so count as failed, and took until then. Each attempt that reaches a service
/// allocates once.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Policy, Ratio};
/// use steadfast_simulation::{Curve, Load, Model, Topology};
///
/// let curve = Curve::through(Duration::from_millis(5), Duration::from_millis(50));
/// let bank = Model::new(curve).failing(Ratio::percent(5));
///
/// let report = Topology::new(Duration::from_secs(30))
///     .calls("checkout", "payments", Policy::DEFAULT)
///     .calls("payments", "bank", Policy::DEFAULT)
///     .leaf("bank", bank)
///     .under(Load::per_second(100), "checkout")
///     .run(7)
///     .unwrap();
/// let upper = report.on("checkout", "payments").unwrap();
/// let lower = report.on("payments", "bank").unwrap();
/// assert_eq!(upper.reached(), lower.calls());
/// assert!(lower.load_multiplier() > upper.load_multiplier());
/// ```
#[derive(Clone, Debug)]
pub struct Topology {
    span: Duration,
    links: Vec<Link>,
    leaves: Vec<Leaf>,
    entries: Vec<Entry>,
    is_recording: bool,
}

/// One service calls another one.
#[derive(Clone, Debug)]
struct Link {
    caller: String,
    callee: String,
    policy: Policy,
}

/// A service that calls nobody.
#[derive(Clone, Debug)]
struct Leaf {
    name: String,
    target: Target,
}

/// Where calls come in.
#[derive(Clone, Debug)]
struct Entry {
    load: Load,
    at: String,
}

impl Topology {
    /// Makes an empty topology, for requests that begin within `span`.
    #[must_use]
    pub const fn new(span: Duration) -> Self {
        Self {
            span,
            links: Vec::new(),
            leaves: Vec::new(),
            entries: Vec::new(),
            is_recording: false,
        }
    }

    /// Returns the topology with a service that calls another one by a guard of its
    /// own.
    #[must_use]
    pub fn calls(mut self, from: impl Into<String>, to: impl Into<String>, policy: Policy) -> Self {
        self.links.push(Link {
            caller: from.into(),
            callee: to.into(),
            policy,
        });
        self
    }

    /// Returns the topology with a service that calls nobody.
    #[must_use]
    pub fn leaf(mut self, name: impl Into<String>, target: impl Into<Target>) -> Self {
        self.leaves.push(Leaf {
            name: name.into(),
            target: target.into(),
        });
        self
    }

    /// Returns the topology with requests to a service from outside.
    ///
    /// Several loads come independently of each other.
    #[must_use]
    pub fn under(mut self, load: Load, at: impl Into<String>) -> Self {
        let at = at.into();
        self.entries.push(Entry { load, at });
        self
    }

    /// Returns the topology with every event kept, see
    /// [`Report::timeline`](crate::Report::timeline).
    #[must_use]
    pub fn recording(self) -> Self {
        Self {
            is_recording: true,
            ..self
        }
    }

    /// Finds everything that makes a run impossible.
    ///
    /// # Errors
    ///
    /// With every problem.
    pub fn validate(&self) -> Result<(), TopologyError> {
        let problems = check::problems(self);
        if problems.is_empty() {
            return Ok(());
        }
        Err(TopologyError::new(problems))
    }

    /// Runs it with one seed.
    ///
    /// # Errors
    ///
    /// When a run is impossible, with every problem.
    pub fn run(&self, seed: u64) -> Result<TopologyReport, TopologyError> {
        self.validate()?;
        let world = World::seeded(seed);
        world.set_patience(u64::MAX);
        let dice = Rc::new(Dice::new(seed));
        let graph = Graph::open(self, &world, &dice)
            .map_err(|problem| TopologyError::new(vec![problem]))?;
        world.block_on(self.offer(&world, &dice, &graph));
        drop(world);
        Ok(graph.report(self, seed))
    }

    /// Runs it with several seeds.
    ///
    /// # Errors
    ///
    /// When a run is impossible, with every problem, and for seeds that are none or
    /// come twice, which would make the runs look more alike than they are.
    pub fn run_all(
        &self,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<TopologyRuns, TopologyError> {
        let seeds: Vec<_> = seeds.into_iter().collect();
        if are_seeds_impossible(&seeds) {
            return Err(TopologyError::new(vec![TopologyProblem::Seeds]));
        }
        let reports = seeds.into_iter().map(|seed| self.run(seed));
        reports.collect::<Result<_, _>>().map(TopologyRuns::new)
    }

    /// Starts the requests, and waits until the last one has ended.
    async fn offer(&self, world: &World, dice: &Dice, graph: &Graph) {
        let end = Instant::ZERO.saturating_add(self.span);
        let crew = Crew::new(world);
        let mut gates: Vec<_> = (self.entries.iter())
            .filter_map(|entry| {
                let mut arrivals = Arrivals::of(&entry.load, 1, end);
                let next = arrivals.next(dice);
                let service = Rc::clone(graph.service(&entry.at)?);
                Some(Gate {
                    arrivals,
                    next,
                    load: &entry.load,
                    service,
                })
            })
            .collect();
        loop {
            // Of those at one instant the one declared first.
            let open = gates.iter_mut().filter(|gate| gate.next.is_some());
            let Some(gate) = open.min_by_key(|gate| gate.next) else {
                break;
            };
            if let Some(at) = gate.next {
                world.sleep_until(at).await;
            }
            let level = gate.load.level(dice);
            crew.start(graph::enter(Rc::clone(&gate.service), level));
            gate.next = gate.arrivals.next(dice);
        }
        crew.finish().await;
    }
}

/// Where calls come in, and when the next one does.
struct Gate<'t> {
    load: &'t Load,
    arrivals: Arrivals<'t>,
    next: Option<Instant>,
    service: Rc<Service>,
}
