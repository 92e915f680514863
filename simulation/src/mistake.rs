//! What makes a simulation impossible.

use std::fmt;

use steadfast_core::{Hedged, Local, Policy, PolicyError, Single};

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
                "the curve is impossible: it has a time, none is zero, and its p99 is not below its p50"
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
    pub(crate) mistakes: Vec<Mistake>,
    pub(crate) policy: Option<Box<PolicyError>>,
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

/// What is wrong with a policy.
pub(crate) fn policy_error(policy: &Policy) -> Option<PolicyError> {
    match policy.hedge() {
        Some(_) => policy.try_checked_for::<Local, Hedged<2>>().err(),
        None => policy.try_checked_for::<Local, Single>().err(),
    }
}

/// Tells whether seeds are none, or one comes twice.
pub(crate) fn are_seeds_impossible(seeds: &[u64]) -> bool {
    let mut distinct = seeds.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.is_empty() || distinct.len() < seeds.len()
}
