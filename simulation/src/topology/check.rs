//! What makes a topology impossible.

use crate::mistake::policy_error;

use super::problem::TopologyProblem as Problem;
use super::{Link, Topology};

/// Everything that makes a run impossible.
pub(super) fn problems(topology: &Topology) -> Vec<Problem> {
    let mut problems = Vec::new();
    if topology.span.is_zero() {
        problems.push(Problem::NoSpan);
    }
    if topology.links.is_empty() {
        problems.push(Problem::NoCalls);
    }
    if topology.entries.is_empty() {
        problems.push(Problem::NoLoad);
    }
    leaves(topology, &mut problems);
    links(topology, &mut problems);
    entries(topology, &mut problems);
    let mut search = Search::default();
    for link in &topology.links {
        search.visit(topology, &link.caller);
    }
    problems.extend(search.cycles.into_iter().map(Problem::Cycle));
    problems
}

fn leaves(topology: &Topology, problems: &mut Vec<Problem>) {
    for (index, leaf) in topology.leaves.iter().enumerate() {
        let name = &leaf.name;
        let mut earlier = topology.leaves.iter().take(index);
        if earlier.any(|other| other.name == *name) {
            problems.push(Problem::LeafTwice(name.clone()));
        } else if topology.links_of(name).next().is_some() {
            problems.push(Problem::LeafCalls(name.clone()));
        }
        problems.extend((leaf.target.mistakes()).map(|mistake| Problem::Leaf {
            name: name.clone(),
            mistake,
        }));
    }
}

fn links(topology: &Topology, problems: &mut Vec<Problem>) {
    for (index, link) in topology.links.iter().enumerate() {
        let Link { caller, callee, .. } = link;
        let is_leaf = topology.leaves.iter().any(|leaf| leaf.name == *callee);
        let mut earlier = topology.links.iter().take(index);
        if caller == callee {
            problems.push(Problem::CallsItself(caller.clone()));
        } else if !is_leaf && topology.links_of(callee).next().is_none() {
            problems.push(Problem::NoCallee {
                caller: caller.clone(),
                callee: callee.clone(),
            });
        }
        if earlier.any(|other| other.caller == *caller && other.callee == *callee) {
            problems.push(Problem::CallTwice {
                caller: caller.clone(),
                callee: callee.clone(),
            });
        }
        if let Some(error) = policy_error(&link.policy) {
            problems.push(Problem::policy(link, error));
        }
    }
}

fn entries(topology: &Topology, problems: &mut Vec<Problem>) {
    for entry in &topology.entries {
        let at = &entry.at;
        if topology.links_of(at).next().is_none() {
            problems.push(Problem::LoadAtNoCaller(at.clone()));
        }
        problems.extend((entry.load.mistakes()).map(|mistake| Problem::Load {
            at: at.clone(),
            mistake,
        }));
    }
}

/// A search for cycles, depth first.
#[derive(Default)]
struct Search<'t> {
    /// Whence it came to where it is.
    path: Vec<&'t str>,
    done: Vec<&'t str>,
    cycles: Vec<Vec<String>>,
}

impl<'t> Search<'t> {
    fn visit(&mut self, topology: &'t Topology, name: &'t str) {
        if self.done.contains(&name) {
            return;
        }
        if let Some(from) = self.path.iter().position(|step| *step == name) {
            let cycle = self.path.iter().skip(from).chain([&name]);
            let cycle: Vec<_> = cycle.map(|step| (*step).to_owned()).collect();
            if !self.cycles.contains(&cycle) {
                self.cycles.push(cycle);
            }
            return;
        }
        self.path.push(name);
        for link in topology.links_of(name) {
            // A problem of its own.
            if link.callee != name {
                self.visit(topology, &link.callee);
            }
        }
        self.path.pop();
        self.done.push(name);
    }
}

impl Topology {
    /// The calls that a service makes, in their order.
    pub(super) fn links_of<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t Link> {
        self.links.iter().filter(move |link| link.caller == name)
    }

    /// Every service once, in the order in which they were said.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let links = self.links.iter();
        let linked = links.flat_map(|link| [&link.caller, &link.callee]);
        for name in linked.chain(self.leaves.iter().map(|leaf| &leaf.name)) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}
