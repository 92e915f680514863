//! A dependency at work.

use std::cell::Cell;
use std::rc::Rc;

use steadfast_core::Ratio;
use steadfast_testing::{Fault, Task, World};

use crate::dice::Dice;
use crate::model::Model;
use crate::queueing::{Line, Queueing};
use crate::target::Target;

/// A dependency at work in one run.
pub(crate) struct Server {
    world: World,
    dice: Rc<Dice>,
    door: Door,
    in_flight: Cell<u32>,
}

/// Where attempts arrive.
enum Door {
    Model(Model),
    Line {
        line: Rc<Line>,
        failing: Ratio,
        /// They never end by themselves, and each holds the world it works in.
        _servers: Vec<Task<()>>,
    },
}

impl Server {
    pub(crate) fn open(target: &Target, world: &World, dice: &Rc<Dice>) -> Self {
        Self {
            door: match target {
                Target::Model(model) => Door::Model(model.clone()),
                Target::Queueing(queueing) => Door::of(queueing, world, dice),
            },
            dice: Rc::clone(dice),
            in_flight: Cell::new(0),
            world: world.clone(),
        }
    }

    /// Serves one attempt.
    pub(crate) async fn serve(&self) -> Result<(), Fault> {
        let _place = InFlight::enter(&self.in_flight);
        let fails = match &self.door {
            Door::Model(model) => {
                let fate = model.serve(self.world.now(), self.in_flight.get(), &self.dice);
                if !fate.latency.is_zero() {
                    self.world.sleep(fate.latency).await;
                }
                fate.fails
            }
            Door::Line { line, failing, .. } => {
                line.visit().await;
                self.dice.happens(*failing)
            }
        };
        if fails { Err(Fault::Transient) } else { Ok(()) }
    }
}

impl Door {
    fn of(queueing: &Queueing, world: &World, dice: &Rc<Dice>) -> Self {
        let (line, servers) = Line::open(queueing.clone(), world, dice);
        Self::Line {
            line,
            failing: queueing.failing,
            _servers: servers,
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
