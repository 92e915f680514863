//! A policy, a dependency, a load, and a run of them.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use steadfast_core::{
    ByError, Criticality, Hedged, Instant, Local, NoListener, NoRules, Policy, PolicyError, Ratio,
    Single,
};
use steadfast_runtime::{Flights, Guard, Plan};
use steadfast_testing::{Fault, VirtualTimer, World};

use crate::band::Runs;
use crate::crew::Crew;
use crate::dice::{Dice, nanos};
use crate::load::Load;
use crate::model::Model;
use crate::queueing::{Line, Queueing};
use crate::report::Report;
use crate::scheduler::{PERIOD, Readings, Scheduler};
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
    door: Door,
    scheduler: Option<Scheduler>,
    in_flight: Cell<u32>,
    tally: Tally,
}

/// Where attempts arrive.
enum Door {
    Model(Model),
    Line { line: Rc<Line>, failing: Ratio },
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
        let target = &self.target;
        let checks = [
            (self.span.is_zero(), Mistake::NoSpan),
            (self.processes == 0, Mistake::NoProcess),
            (!target.is_curve_possible(), Mistake::Curve),
            (!target.is_failing_possible(), Mistake::FailureRate),
            (!target.is_impairment_possible(), Mistake::Impairment),
            (!target.has_servers(), Mistake::NoServer),
            (
                self.scheduler.as_ref().is_some_and(|it| !it.is_possible()),
                Mistake::Scheduler,
            ),
            (!self.load.is_possible(), Mistake::Load),
            (!self.load.is_mix_possible(), Mistake::Mix),
        ];
        let mistakes = checks.into_iter().filter(|(is_one, _)| *is_one);
        let mistakes: Vec<_> = mistakes.map(|(_, mistake)| mistake).collect();
        let policy = match self.policy.hedge() {
            Some(_) => self.policy.try_checked_for::<Local, Hedged<2>>().err(),
            None => self.policy.try_checked_for::<Local, Single>().err(),
        };
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
        let mut distinct = seeds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.is_empty() || distinct.len() < seeds.len() {
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
            door: match &self.target {
                Target::Model(model) => Door::Model(model.clone()),
                Target::Queueing(queueing) => Door::of(queueing, &world, &dice),
            },
            dice,
            scheduler: self.scheduler.clone(),
            in_flight: Cell::new(0),
            tally: Tally::new(self.expected_calls(), self.span, self.is_recording),
            world: world.clone(),
        });
        if let Some(scheduler) = &self.scheduler {
            let read = read_queue(world.clone(), scheduler.clone());
            world.spawn("queue", read).detach();
        }
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
        drop((world, processes));
        let counted = match Rc::try_unwrap(site) {
            Ok(site) => site.tally.take(),
            Err(site) => Tally::new(0, site.world.elapsed(), false).take(),
        };
        Ok(Report::new(
            seed,
            self.span,
            self.target.well_from(),
            counted,
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
        let mut trace = self.load.trace.iter().flatten().copied();
        let mut at = Instant::ZERO;
        loop {
            let next = if self.load.trace.is_some() {
                trace.next()
            } else {
                let gap = self.load.gap(at, self.processes, &site.dice);
                // A load without gaps would never end.
                Some(at.saturating_add(gap.max(Duration::from_nanos(1))))
            };
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            at = next;
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
        // The last one to be started has not run yet.
        give_way().await;
        while crew.busy() > 0 {
            match world.next_timer() {
                Some(at) => world.sleep_until(at).await,
                None => return,
            }
        }
    }
}

/// Lets everything else that can run do so.
fn give_way() -> impl Future<Output = ()> {
    let mut has_waited = false;
    poll_fn(move |cx| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
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
    site.tally.tick(site.world.now());
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
        let now = self.world.now();
        self.tally.reach(now);
        let _place = InFlight::enter(&self.in_flight);
        let fails = match &self.door {
            Door::Model(model) => {
                let fate = model.serve(now, self.in_flight.get(), &self.dice);
                if !fate.latency.is_zero() {
                    self.world.sleep(fate.latency).await;
                }
                fate.fails
            }
            Door::Line { line, failing } => {
                line.visit().await;
                self.dice.happens(*failing)
            }
        };
        self.tally.tick(self.world.now());
        if fails { Err(Fault::Transient) } else { Ok(()) }
    }
}

impl Door {
    fn of(queueing: &Queueing, world: &World, dice: &Rc<Dice>) -> Self {
        Self::Line {
            line: Line::open(queueing.clone(), world, dice),
            failing: queueing.failing,
        }
    }
}

/// One attempt in flight, until it ends or is dropped.
struct InFlight<'a>(&'a Cell<u32>);

impl<'a> InFlight<'a> {
    fn enter(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Something that makes a simulation impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// It lasts no time.
    NoSpan,
    /// It has no process.
    NoProcess,
    /// Its curve is impossible.
    Curve,
    /// Its failure rate is no share.
    FailureRate,
    /// One of its impairments is impossible.
    Impairment,
    /// Its load is impossible.
    Load,
    /// Its mix of levels is impossible.
    Mix,
    /// Its scheduler is impossible.
    Scheduler,
    /// Its dependency has no server.
    NoServer,
    /// Its seeds are none, or one comes twice.
    Seeds,
}

impl Mistake {
    /// Says what is wrong, and what to do about it.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoSpan => "it lasts no time: give it some seconds",
            Self::NoProcess => "it has no process: 1 is one program with its guard",
            Self::Curve => {
                "the curve is impossible: its times are above zero, and its p99 is not below its p50"
            }
            Self::FailureRate => "the failure rate is above 100%",
            Self::Impairment => {
                "an impairment is impossible: it lasts some time, and makes nothing faster"
            }
            Self::Load => {
                "the load is impossible: its mean gap, its ramp and its spikes are above zero"
            }
            Self::Scheduler => {
                "the scheduler is impossible: its delays are above zero, and a stall lasts some time"
            }
            Self::NoServer => "its dependency has no server, so nobody is ever served",
            Self::Seeds => {
                "seeds are distinct, and at least one: one that comes twice says nothing new"
            }
            Self::Mix => {
                "the mix is impossible: each level once, not critical, which is what is left, and 100% in all at most"
            }
        }
    }
}

/// A simulation that cannot run, and all that is wrong with it.
#[derive(Clone, PartialEq, Eq)]
pub struct SimulationError {
    mistakes: Vec<Mistake>,
    policy: Option<Box<PolicyError>>,
}

impl SimulationError {
    /// Returns what is wrong with the scenario.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Returns what is wrong with the policy.
    #[must_use]
    pub fn policy(&self) -> Option<&PolicyError> {
        self.policy.as_deref()
    }
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulation cannot run")?;
        for mistake in &self.mistakes {
            write!(f, "\n- {}", mistake.message())?;
        }
        match &self.policy {
            Some(policy) => write!(f, "\n- {policy}"),
            None => Ok(()),
        }
    }
}

/// As its text, which is what `unwrap` shows.
impl fmt::Debug for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SimulationError {}
