//! A policy, a dependency, a load, and a run of them.

use std::rc::Rc;
use std::time::Duration;

use steadfast_core::{
    ByError, Criticality, Hedged, Instant, Local, NoListener, NoRules, Policy, PolicyError, Ratio,
    Single,
};
use steadfast_runtime::{Flights, Guard, Plan};
use steadfast_testing::{Fault, VirtualTimer, World};

use crate::arrivals::Arrivals;
use crate::band::Runs;
use crate::crew::Crew;
use crate::dice::{Dice, nanos};
use crate::load::Load;
use crate::mistake::{Mistake, SimulationError, are_seeds_impossible, policy_error};
use crate::report::Report;
use crate::scheduler::{PERIOD, Readings, Scheduler};
use crate::server::Server;
use crate::tally::Tally;
use crate::target::Target;

/// What a policy does to a dependency, and what it gets from it.
///
/// The real guards, on virtual time: nothing of a policy is modelled, only the
/// dependency, the callers and chance. One seed is one course of events, on every
/// machine; judge a policy by several, see [`Simulation::run_all`].
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Policy, Ratio};
/// use steadfast_simulation::{Curve, Load, Model, Simulation};
///
/// let secs = Duration::from_secs;
/// let curve = Curve::through(Duration::from_millis(20), Duration::from_millis(200));
/// let model = Model::new(curve).browned_out(secs(20), Ratio::times(8), secs(20));
///
/// let simulation = Simulation::new(Policy::DEFAULT, model, Load::per_second(100), secs(60));
/// let report = simulation.run(7).unwrap();
/// assert!(report.availability() > Ratio::percent(95), "{report}");
/// assert!(report.load_multiplier() < Ratio::percent(120));
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    policy: Policy,
    target: Target,
    load: Load,
    span: Duration,
    processes: u32,
    scheduler: Option<Scheduler>,
    is_recording: bool,
}

/// A guard of a simulated process.
type Simulated<H> = Guard<VirtualTimer, ByError, NoRules, NoListener, Local, H>;

/// One process: a guard of its own.
struct Process<H: Flights> {
    guard: Simulated<H>,
    site: Rc<Site>,
}

/// What all processes of a run share.
struct Site {
    world: World,
    dice: Rc<Dice>,
    server: Server,
    scheduler: Option<Scheduler>,
    tally: Tally,
}

impl Simulation {
    /// Makes a simulation of one process, for calls that begin within `span`.
    #[must_use]
    pub fn new(policy: Policy, target: impl Into<Target>, load: Load, span: Duration) -> Self {
        Self {
            policy,
            target: target.into(),
            load,
            span,
            processes: 1,
            scheduler: None,
            is_recording: false,
        }
    }

    /// Returns the simulation with so many processes, each with a guard of its own and
    /// the whole load, against the one dependency.
    #[must_use]
    pub fn with_processes(self, processes: u32) -> Self {
        Self { processes, ..self }
    }

    /// Returns the simulation with attempts that wait in the queue of a runtime first.
    #[must_use]
    pub fn with_scheduler(self, scheduler: Scheduler) -> Self {
        Self {
            scheduler: Some(scheduler),
            ..self
        }
    }

    /// Returns the simulation with so many times the load.
    #[must_use]
    pub(crate) fn at_load(&self, times: Ratio) -> Self {
        let mut other = self.clone();
        let mean =
            u128::from(nanos(self.load.mean)) * 1_000_000 / u128::from(times.as_ppm().max(1));
        other.load.mean = Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX));
        other
    }

    /// Returns the simulation with another policy: for a comparison on the same seed.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Returns the simulation with every event kept, see [`Report::timeline`].
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
    pub fn validate(&self) -> Result<(), SimulationError> {
        let is_stuck = self.scheduler.as_ref().is_some_and(|it| !it.is_possible());
        let checks = [
            (self.span.is_zero(), Mistake::NoSpan),
            (self.processes == 0, Mistake::NoProcess),
            (is_stuck, Mistake::Scheduler),
        ];
        let own = checks.into_iter().filter(|(is_one, _)| *is_one);
        let own = own.map(|(_, mistake)| mistake);
        let mistakes: Vec<_> = own
            .chain(self.target.mistakes())
            .chain(self.load.mistakes())
            .collect();
        let policy = policy_error(&self.policy);
        if mistakes.is_empty() && policy.is_none() {
            return Ok(());
        }
        Err(SimulationError {
            mistakes,
            policy: policy.map(Box::new),
        })
    }

    /// Runs it with one seed.
    ///
    /// # Errors
    ///
    /// When a run is impossible, with every problem.
    pub fn run(&self, seed: u64) -> Result<Report, SimulationError> {
        self.validate()?;
        let ran = match self.policy.hedge() {
            Some(_) => self.run_in::<Hedged<2>>(seed),
            None => self.run_in::<Single>(seed),
        };
        ran.map_err(|policy| SimulationError {
            mistakes: Vec::new(),
            policy: Some(Box::new(policy)),
        })
    }

    /// Runs it with several seeds.
    ///
    /// # Errors
    ///
    /// When a run is impossible, with every problem, and for seeds that are none or
    /// come twice, which would make the runs look more alike than they are.
    pub fn run_all(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Runs, SimulationError> {
        let seeds: Vec<_> = seeds.into_iter().collect();
        if are_seeds_impossible(&seeds) {
            return Err(SimulationError {
                mistakes: vec![Mistake::Seeds],
                policy: None,
            });
        }
        let reports = seeds.into_iter().map(|seed| self.run(seed));
        reports.collect::<Result<_, _>>().map(Runs::new)
    }

    fn run_in<H: Flights>(&self, seed: u64) -> Result<Report, PolicyError> {
        let world = World::seeded(seed);
        world.set_patience(u64::MAX);
        let dice = Rc::new(Dice::new(seed));
        let site = Rc::new(Site {
            server: Server::open(&self.target, &world, &dice),
            dice,
            scheduler: self.scheduler.clone(),
            tally: Tally::new(
                self.expected_calls(),
                self.span,
                self.is_recording.then(|| world.timer()),
            ),
            world: world.clone(),
        });
        // Never ends by itself, and holds the world.
        let _reading = self.scheduler.as_ref().map(|scheduler| {
            let read = read_queue(world.clone(), scheduler.clone());
            world.spawn("queue", read)
        });
        let plan = || Plan::of(self.policy, ByError, NoRules, NoListener);
        let process = |_| {
            Ok(Rc::new(Process::<H> {
                guard: Guard::try_on(world.timer(), plan())?,
                site: Rc::clone(&site),
            }))
        };
        let processes = (0..self.processes)
            .map(process)
            .collect::<Result<Vec<_>, PolicyError>>()?;
        world.block_on(self.offer(&site, &processes));
        Ok(Report::new(
            seed,
            self.span,
            self.target.well_from(),
            site.tally.take(),
        ))
    }

    /// How many calls to make room for.
    fn expected_calls(&self) -> usize {
        let calls = match &self.load.trace {
            Some(trace) => trace.len(),
            None => usize::try_from(nanos(self.span) / nanos(self.load.mean).max(1)).unwrap_or(0),
        };
        let all = calls.saturating_mul(self.processes as usize);
        all.saturating_add(all / 8).min(1 << 26)
    }

    /// Starts the calls, and waits until the last one has ended.
    async fn offer<H: Flights>(&self, site: &Rc<Site>, processes: &[Rc<Process<H>>]) {
        let (world, end) = (&site.world, Instant::ZERO.saturating_add(self.span));
        let crew = Crew::new(world);
        let mut arrivals = Arrivals::of(&self.load, self.processes, end);
        while let Some(at) = arrivals.next(&site.dice) {
            world.sleep_until(at).await;
            let chosen = match self.processes {
                1 => 0,
                count => site.dice.below(count.into()),
            };
            let level = self.load.level(&site.dice);
            let process = usize::try_from(chosen)
                .ok()
                .and_then(|at| processes.get(at));
            if let Some(process) = process {
                crew.start(call(Rc::clone(process), level));
            }
        }
        crew.finish().await;
    }
}

/// Tells the world how long its queue is, for ever.
async fn read_queue(world: World, scheduler: Scheduler) {
    let mut readings = Readings::default();
    loop {
        world.sleep(PERIOD).await;
        let reading = readings.read(scheduler.delay(world.now()));
        world.set_queue_delay(Some(reading));
    }
}

/// One call of a process.
async fn call<H: Flights>(process: Rc<Process<H>>, level: Criticality) {
    let Process { guard, site } = &*process;
    let begun = site.tally.begin(site.world.now(), level);
    let call = guard.call(|_| site.serve()).criticality(level);
    let answer = call.listen(&site.tally).await;
    site.tally.end(begun, site.world.now(), answer.is_ok());
}

impl Site {
    /// Serves one attempt.
    async fn serve(&self) -> Result<(), Fault> {
        if let Some(scheduler) = &self.scheduler {
            self.world.sleep(scheduler.delay(self.world.now())).await;
        }
        self.tally.reach(self.world.now());
        self.server.serve().await
    }
}
