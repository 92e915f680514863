//! The services of one run.

use std::rc::Rc;

use steadfast_core::{
    Attempt, ByError, Clock, Criticality, Hedged, Kind, Local, Meaning, NoListener, NoRules,
    Policy, PolicyError, Single,
};
use steadfast_runtime::{Guard, Plan, ambient};
use steadfast_testing::{Fault, VirtualTimer, World};

use crate::dice::Dice;
use crate::report::Report;
use crate::server::Server;
use crate::tally::{Begun, Tally};

use super::outcome::{Edge, TopologyReport};
use super::{Topology, TopologyProblem};

/// The services of one run, and the calls between them.
pub(super) struct Graph {
    /// Those that call nobody first, then each after all it calls.
    services: Vec<(String, Rc<Service>)>,
}

/// A service.
pub(super) struct Service {
    clock: VirtualTimer,
    tally: Tally,
    work: Work,
}

/// What a service does for a request.
enum Work {
    Serve(Server),
    Call(Vec<Client>),
}

/// How one service calls another one.
struct Client {
    clock: VirtualTimer,
    tally: Tally,
    guard: Guarded,
    callee: Rc<Service>,
}

type Simulated<H> = Guard<VirtualTimer, ByError, NoRules, NoListener, Local, H>;

/// A guard with a second attempt at once, or without.
enum Guarded {
    Single(Box<Simulated<Single>>),
    Hedged(Box<Simulated<Hedged<2>>>),
}

impl Graph {
    /// Builds a topology without a cycle.
    pub(super) fn open(
        topology: &Topology,
        world: &World,
        dice: &Rc<Dice>,
    ) -> Result<Self, TopologyProblem> {
        let clock = world.timer();
        let tally = || {
            let clock = topology.is_recording.then(|| clock.clone());
            Tally::new(0, topology.span, clock)
        };
        let service = |work| Service {
            clock: clock.clone(),
            tally: tally(),
            work,
        };
        let mut graph = Self {
            services: Vec::new(),
        };
        for leaf in &topology.leaves {
            let server = Server::open(&leaf.target, world, dice);
            graph.add(&leaf.name, service(Work::Serve(server)));
        }
        // Each round adds the callers whose callees are all there.
        loop {
            let callers = topology.links.iter().map(|link| &link.caller);
            let mut missing = callers.filter(|name| graph.service(name).is_none());
            let next = missing.find(|name| {
                let mut links = topology.links_of(name);
                links.all(|link| graph.service(&link.callee).is_some())
            });
            let Some(name) = next else {
                return Ok(graph);
            };
            let mut clients = Vec::new();
            for link in topology.links_of(name) {
                let guard = Guarded::open(link.policy, clock.clone())
                    .map_err(|error| TopologyProblem::policy(link, error))?;
                if let Some(callee) = graph.service(&link.callee) {
                    clients.push(Client {
                        clock: clock.clone(),
                        tally: tally(),
                        guard,
                        callee: Rc::clone(callee),
                    });
                }
            }
            graph.add(name, service(Work::Call(clients)));
        }
    }

    fn add(&mut self, name: &str, service: Service) {
        self.services.push((name.to_owned(), Rc::new(service)));
    }

    pub(super) fn service(&self, name: &str) -> Option<&Rc<Service>> {
        let mut services = self.services.iter();
        services
            .find(|(own, _)| own == name)
            .map(|(_, service)| service)
    }

    /// Takes what was counted.
    pub(super) fn report(&self, topology: &Topology, seed: u64) -> TopologyReport {
        let well_from = |name: &str| {
            let leaf = topology.leaves.iter().find(|leaf| leaf.name == name)?;
            leaf.target.well_from()
        };
        let report = |name: &str, tally: &Tally| {
            Report::new(seed, topology.span, well_from(name), tally.take())
        };
        let edges = topology.links.iter().filter_map(|link| {
            let Work::Call(clients) = &self.service(&link.caller)?.work else {
                return None;
            };
            let mut links = topology.links_of(&link.caller);
            let index = links.position(|own| own.callee == link.callee)?;
            Some(Edge {
                caller: link.caller.clone(),
                callee: link.callee.clone(),
                report: report(&link.callee, &clients.get(index)?.tally),
            })
        });
        let edges = edges.collect();
        let services = topology.names().into_iter().filter_map(|name| {
            let service = self.service(name)?;
            Some((name.to_owned(), report(name, &service.tally)))
        });
        TopologyReport::new(seed, edges, services.collect())
    }
}

/// One request from outside.
pub(super) async fn enter(service: Rc<Service>, level: Criticality) {
    // How it went is counted; nobody else asks.
    let _ = service.serve(level).await;
}

impl Service {
    /// Serves one request.
    async fn serve(&self, level: Criticality) -> Result<(), Fault> {
        let running = Running::begin(&self.tally, &self.clock, level);
        let answer = match &self.work {
            Work::Serve(server) => {
                self.tally.reach(self.clock.now());
                server.serve().await
            }
            // A future of a kind that contains itself.
            Work::Call(clients) => Box::pin(self.call(clients, level)).await,
        };
        running.end(answer.is_ok());
        answer
    }

    /// Makes all calls, up to the first that fails.
    async fn call(&self, clients: &[Client], level: Criticality) -> Result<(), Fault> {
        for client in clients {
            client.call(&self.tally, level).await?;
        }
        Ok(())
    }
}

impl Client {
    /// Makes one call for a service that counts it, too.
    async fn call(&self, service: &Tally, level: Criticality) -> Result<(), Fault> {
        let running = Running::begin(&self.tally, &self.clock, level);
        let attempt = |attempt: Attempt| {
            let facts = attempt.ambient().and(ambient::current());
            ambient::follow(facts, self.attempt(service, level))
        };
        let heard = (&self.tally, service);
        let answer = match &self.guard {
            Guarded::Single(guard) => {
                let call = guard.call(attempt).criticality(level);
                call.listen(heard).await
            }
            Guarded::Hedged(guard) => {
                let call = guard.call(attempt).criticality(level);
                call.listen(heard).await
            }
        };
        running.end(answer.is_ok());
        answer.map_err(|error| across(&error))
    }

    async fn attempt(&self, service: &Tally, level: Criticality) -> Result<(), Fault> {
        let now = self.clock.now();
        self.tally.reach(now);
        service.reach(now);
        self.callee.serve(level).await
    }
}

/// What an error of one service is to another one that called it.
fn across(error: &impl Meaning) -> Fault {
    let verdict = error.verdict();
    match verdict.kind() {
        // Whoever refused down there, up here the callee did.
        Kind::Throttled => Fault::Throttled(verdict.pushback()),
        Kind::Permanent => Fault::Permanent,
        Kind::Transient | Kind::Ok => Fault::Transient,
    }
}

impl Guarded {
    fn open(policy: Policy, timer: VirtualTimer) -> Result<Self, PolicyError> {
        let plan = Plan::of(policy, ByError, NoRules, NoListener);
        Ok(match policy.hedge() {
            Some(_) => Self::Hedged(Box::new(Guard::try_on(timer, plan)?)),
            None => Self::Single(Box::new(Guard::try_on(timer, plan)?)),
        })
    }
}

/// A call or a request, until it ends or is dropped, which is a failure.
struct Running<'t> {
    tally: &'t Tally,
    clock: &'t VirtualTimer,
    begun: Begun,
    is_ok: bool,
}

impl<'t> Running<'t> {
    fn begin(tally: &'t Tally, clock: &'t VirtualTimer, level: Criticality) -> Self {
        Self {
            begun: tally.begin(clock.now(), level),
            tally,
            clock,
            is_ok: false,
        }
    }

    fn end(mut self, is_ok: bool) {
        self.is_ok = is_ok;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let now = self.clock.now();
        self.tally.end(self.begun, now, self.is_ok);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_below_is_a_busy_callee() {
        let after = Some(std::time::Duration::from_secs(2));
        for (below, above) in [
            (Fault::SelfImposed(after), Fault::Throttled(after)),
            (Fault::Throttled(None), Fault::Throttled(None)),
            (Fault::Permanent, Fault::Permanent),
            (Fault::Transient, Fault::Transient),
        ] {
            assert_eq!(across(&below), above);
        }
    }
}
