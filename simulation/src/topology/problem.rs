//! The words for what makes a topology impossible.

use std::fmt;

use steadfast_core::PolicyError;

use crate::mistake::Mistake;

use super::Link;

/// Something that makes a topology impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyProblem {
    /// It lasts no time.
    NoSpan,
    /// Nobody calls anybody.
    NoCalls,
    /// No request comes in.
    NoLoad,
    /// A leaf was said twice.
    LeafTwice(String),
    /// A leaf makes calls.
    LeafCalls(String),
    /// A leaf's target is impossible.
    Leaf {
        /// The leaf.
        name: String,
        /// What is wrong with it.
        mistake: Mistake,
    },
    /// A service calls itself.
    CallsItself(String),
    /// A service calls another one twice.
    CallTwice {
        /// Who calls.
        caller: String,
        /// Who is called.
        callee: String,
    },
    /// A service calls one that is neither a leaf nor makes calls.
    NoCallee {
        /// Who calls.
        caller: String,
        /// Who is called.
        callee: String,
    },
    /// The policy of a call is impossible.
    Policy {
        /// Who calls.
        caller: String,
        /// Who is called.
        callee: String,
        /// What is wrong with it.
        error: Box<PolicyError>,
    },
    /// Requests come in at a service that makes no calls.
    LoadAtNoCaller(String),
    /// A load is impossible.
    Load {
        /// Where it comes in.
        at: String,
        /// What is wrong with it.
        mistake: Mistake,
    },
    /// Calls come back to where they began: the way, its start at both ends.
    Cycle(Vec<String>),
    /// Its seeds are none, or one comes twice.
    Seeds,
}

impl TopologyProblem {
    pub(super) fn policy(link: &Link, error: PolicyError) -> Self {
        Self::Policy {
            caller: link.caller.clone(),
            callee: link.callee.clone(),
            error: Box::new(error),
        }
    }
}

impl fmt::Display for TopologyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpan => f.write_str(Mistake::NoSpan.message()),
            Self::NoCalls => f.write_str("nobody calls anybody: say who calls whom"),
            Self::NoLoad => f.write_str("no request comes in: put a load on a service"),
            Self::LeafTwice(name) => write!(f, "the leaf {name} was said twice"),
            Self::LeafCalls(name) => {
                write!(f, "{name} is a leaf and makes calls: it can be only one")
            }
            Self::Leaf { name, mistake } => write!(f, "the leaf {name}: {}", mistake.message()),
            Self::CallsItself(name) => write!(f, "{name} calls itself"),
            Self::CallTwice { caller, callee } => {
                write!(f, "{caller} calls {callee} twice: one call has one policy")
            }
            Self::NoCallee { caller, callee } => write!(
                f,
                "{caller} calls {callee}, which is neither a leaf nor makes calls"
            ),
            Self::Policy {
                caller,
                callee,
                error,
            } => write!(f, "{caller} -> {callee}: {error}"),
            Self::LoadAtNoCaller(at) => {
                write!(f, "there is a load at {at}, which makes no calls")
            }
            Self::Load { at, mistake } => write!(f, "the load at {at}: {}", mistake.message()),
            Self::Cycle(path) => write!(f, "calls go in a circle: {}", path.join(" -> ")),
            Self::Seeds => f.write_str(Mistake::Seeds.message()),
        }
    }
}

/// A topology that cannot run, and all that is wrong with it.
#[derive(Clone, PartialEq, Eq)]
pub struct TopologyError {
    problems: Vec<TopologyProblem>,
}

impl TopologyError {
    pub(super) const fn new(problems: Vec<TopologyProblem>) -> Self {
        Self { problems }
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn problems(&self) -> &[TopologyProblem] {
        &self.problems
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the topology cannot run")?;
        let mut problems = self.problems.iter();
        problems.try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

/// As its text, which is what `unwrap` shows.
impl fmt::Debug for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TopologyError {}
