//! A dependency with a real queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use steadfast_core::Ratio;
use steadfast_testing::{Task, World};

use crate::curve::Curve;
use crate::dice::Dice;
use crate::impairment::Impairments;
use crate::model::times;

/// A dependency with a queue: so many servers, one line.
///
/// What a [`Model`](crate::Model) does not have: a backlog that outlives its cause, and
/// work for callers who have left. Together they keep a dependency down after what
/// brought it down is over.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Ratio;
/// use steadfast_simulation::{Curve, Queueing};
///
/// // 100 a second; ten seconds at a fifth of that.
/// let server = Queueing::new(1, Curve::constant(Duration::from_millis(10))).browned_out(
///     Duration::from_secs(60),
///     Ratio::times(5),
///     Duration::from_secs(10),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queueing {
    pub(crate) servers: u32,
    pub(crate) service: Curve,
    pub(crate) failing: Ratio,
    pub(crate) impairments: Impairments,
    is_last_first: bool,
    drops_abandoned: bool,
}

impl Queueing {
    /// Makes a dependency of so many servers, who serve in the order of arrival and
    /// finish what they have, whether anybody still waits for it or not.
    #[must_use]
    pub const fn new(servers: u32, service: Curve) -> Self {
        Self {
            servers,
            service,
            failing: Ratio::ZERO,
            impairments: Impairments::NONE,
            is_last_first: false,
            drops_abandoned: false,
        }
    }

    /// Returns the dependency with whoever came last served first.
    #[must_use]
    pub fn last_first(self) -> Self {
        Self {
            is_last_first: true,
            ..self
        }
    }

    /// Returns the dependency with no work begun for callers who have left.
    #[must_use]
    pub fn dropping_abandoned(self) -> Self {
        Self {
            drops_abandoned: true,
            ..self
        }
    }

    /// Returns the dependency with a share of attempts that fail after their service.
    #[must_use]
    pub fn failing(self, share: Ratio) -> Self {
        Self {
            failing: share,
            ..self
        }
    }

    /// Returns the dependency with a time in which service takes so many times as long.
    #[must_use]
    pub fn browned_out(mut self, after: Duration, slower: Ratio, lasting: Duration) -> Self {
        self.impairments.slow(after, slower, lasting);
        self
    }
}

/// The line before the servers of one run.
#[derive(Debug)]
pub(crate) struct Line {
    queueing: Queueing,
    waiting: RefCell<VecDeque<Place>>,
    jobs: RefCell<Vec<Job>>,
    free: RefCell<Vec<usize>>,
    idle: RefCell<Vec<Waker>>,
    generation: Cell<u64>,
}

/// Names one job; what it named may be over.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: usize,
    generation: u64,
}

#[derive(Debug)]
struct Job {
    generation: u64,
    state: State,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Waiting, and its caller has left.
    Abandoned,
    Served,
}

impl Line {
    /// Opens the line, and lets the servers of a world work for as long as they are kept.
    pub(crate) fn open(
        queueing: Queueing,
        world: &World,
        dice: &Rc<Dice>,
    ) -> (Rc<Self>, Vec<Task<()>>) {
        let line = Rc::new(Self {
            waiting: RefCell::default(),
            jobs: RefCell::default(),
            free: RefCell::default(),
            idle: RefCell::default(),
            generation: Cell::new(0),
            queueing,
        });
        let servers = (0..line.queueing.servers).map(|_| {
            let served = serve(Rc::clone(&line), world.clone(), Rc::clone(dice));
            world.spawn("server", served)
        });
        let servers = servers.collect();
        (line, servers)
    }

    /// Waits in line and for the service.
    pub(crate) fn visit(&self) -> Visit<'_> {
        let generation = self.generation.get() + 1;
        self.generation.set(generation);
        let job = Job {
            generation,
            state: State::Waiting,
            waker: None,
        };
        let mut jobs = self.jobs.borrow_mut();
        let free = self.free.borrow_mut().pop();
        let slot = if let Some(slot) = free {
            if let Some(place) = jobs.get_mut(slot) {
                *place = job;
            }
            slot
        } else {
            jobs.push(job);
            jobs.len() - 1
        };
        let place = Place { slot, generation };
        self.waiting.borrow_mut().push_back(place);
        drop(jobs);
        let server = self.idle.borrow_mut().pop();
        if let Some(server) = server {
            server.wake();
        }
        Visit { line: self, place }
    }

    /// The next job to be served.
    fn next(&self) -> Option<Place> {
        loop {
            let place = {
                let mut waiting = self.waiting.borrow_mut();
                if self.queueing.is_last_first {
                    waiting.pop_back()
                } else {
                    waiting.pop_front()
                }
            }?;
            let state = self.state(place);
            if state == Some(State::Abandoned) && self.queueing.drops_abandoned {
                self.vacate(place);
                continue;
            }
            return Some(place);
        }
    }

    fn state(&self, place: Place) -> Option<State> {
        let jobs = self.jobs.borrow();
        let job = jobs.get(place.slot)?;
        (job.generation == place.generation).then_some(job.state)
    }

    /// Marks a job as served; one whose caller has left is gone.
    fn finish(&self, place: Place) {
        match self.state(place) {
            Some(State::Abandoned) => self.vacate(place),
            Some(State::Waiting) => {
                let waker = self.jobs.borrow_mut().get_mut(place.slot).and_then(|job| {
                    job.state = State::Served;
                    job.waker.take()
                });
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Some(State::Served) | None => {}
        }
    }

    fn vacate(&self, place: Place) {
        let mut jobs = self.jobs.borrow_mut();
        if let Some(job) = jobs.get_mut(place.slot)
            && job.generation == place.generation
        {
            job.generation = 0;
            job.waker = None;
            self.free.borrow_mut().push(place.slot);
        }
    }
}

/// One server, for ever.
async fn serve(line: Rc<Line>, world: World, dice: Rc<Dice>) {
    loop {
        let place = poll_fn(|cx| {
            let next = line.next();
            if next.is_none() {
                line.idle.borrow_mut().push(cx.waker().clone());
            }
            next.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        let slower = line.queueing.impairments.slowness(world.now());
        let took = times(line.queueing.service.draw(&dice), slower);
        if !took.is_zero() {
            world.sleep(took).await;
        }
        line.finish(place);
    }
}

/// One caller in line; whoever drops it has left.
#[derive(Debug)]
pub(crate) struct Visit<'l> {
    line: &'l Line,
    place: Place,
}

impl Future for Visit<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut jobs = self.line.jobs.borrow_mut();
        match jobs.get_mut(self.place.slot) {
            Some(job) if job.state == State::Waiting => {
                job.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        match self.line.state(self.place) {
            Some(State::Served) => self.line.vacate(self.place),
            Some(State::Waiting) => {
                if let Some(job) = self.line.jobs.borrow_mut().get_mut(self.place.slot) {
                    job.state = State::Abandoned;
                    job.waker = None;
                }
            }
            Some(State::Abandoned) | None => {}
        }
    }
}
