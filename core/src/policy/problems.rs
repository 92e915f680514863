//! All that is wrong with a policy, as a set and as an error.

use core::fmt;

use super::problem::Problem;
use super::timeline::Timeline;

/// Everything that makes a policy impossible, found at once.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Policy, Problem};
///
/// let hopeless = Policy::DEFAULT.with_attempts(0).with_deadline(Duration::ZERO);
/// let problems = hopeless.validate().unwrap_err();
/// assert!(problems.iter().eq([Problem::NoAttempts, Problem::ZeroDeadline]));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Problems([u64; 2]);

impl Problems {
    /// No problem.
    pub(crate) const NONE: Self = Self([0; 2]);

    /// Returns the set with one more problem, if that is the case.
    pub(crate) const fn with(self, problem: Problem, is_so: bool) -> Self {
        if is_so { self.or(problem.bits()) } else { self }
    }

    /// Returns the set with the problems of a part.
    pub(crate) const fn and(self, part: Result<(), Self>) -> Self {
        match part {
            Ok(()) => self,
            Err(other) => self.or(other.0),
        }
    }

    const fn or(self, [low, high]: [u64; 2]) -> Self {
        let [own_low, own_high] = self.0;
        Self([own_low | low, own_high | high])
    }

    /// Returns the set as a validation's answer.
    pub(crate) const fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Tells whether there is no problem.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self.0, [0, 0])
    }

    /// Returns how many problems there are.
    #[must_use]
    pub const fn len(self) -> usize {
        let [low, high] = self.0;
        low.count_ones().saturating_add(high.count_ones()) as usize
    }

    /// Tells whether `problem` is one of them.
    #[must_use]
    pub const fn contains(self, problem: Problem) -> bool {
        let ([low, high], [own_low, own_high]) = (problem.bits(), self.0);
        own_low & low != 0 || own_high & high != 0
    }

    /// Returns the problems, in the order a policy is read.
    pub fn iter(self) -> ProblemsIter {
        ProblemsIter {
            found: self,
            all: Problem::ALL.into_iter(),
        }
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = ProblemsIter;

    fn into_iter(self) -> ProblemsIter {
        self.iter()
    }
}

impl IntoIterator for &Problems {
    type Item = Problem;
    type IntoIter = ProblemsIter;

    fn into_iter(self) -> ProblemsIter {
        self.iter()
    }
}

impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The problems of a policy, one after the other.
///
/// ```
/// use steadfast_core::{Policy, Problem};
///
/// let error = Policy::DEFAULT.with_attempts(0).try_checked().unwrap_err();
/// for problem in error.problems() {
///     assert_eq!(problem, Problem::NoAttempts);
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing unless asked"]
pub struct ProblemsIter {
    found: Problems,
    all: core::array::IntoIter<Problem, { Problem::ALL.len() }>,
}

impl Iterator for ProblemsIter {
    type Item = Problem;

    fn next(&mut self) -> Option<Problem> {
        let found = self.found;
        self.all.find(|&problem| found.contains(problem))
    }
}

/// One problem a line, without a line break at the end.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "- {problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}

/// A policy cannot work, and why.
///
/// Its text lists every problem with its remedy and, when anything bounds a
/// call, what a call would do when every attempt hangs. `Debug` gives the same
/// text, for it is what `unwrap` and a failing `main` show.
///
/// ```
/// use steadfast_core::{Policy, Problem};
///
/// let error = Policy::DEFAULT.with_name("search").with_attempts(0).try_checked().unwrap_err();
/// assert_eq!(error.name(), Some("search"));
/// assert!(error.problems().contains(Problem::NoAttempts));
/// assert!(error.to_string().starts_with("policy `search` cannot work: 1 problem\n"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PolicyError {
    name: Option<&'static str>,
    problems: Problems,
    timeline: Timeline,
}

impl PolicyError {
    pub(crate) const fn new(
        name: Option<&'static str>,
        problems: Problems,
        timeline: Timeline,
    ) -> Self {
        Self {
            name,
            problems,
            timeline,
        }
    }

    /// Returns the name of the policy, if it has one.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Returns every problem.
    #[must_use]
    pub const fn problems(&self) -> Problems {
        self.problems
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "policy `{name}`")?,
            None => f.write_str("the policy")?,
        }
        let (count, problems) = (self.problems.len(), self.problems);
        let plural = if count == 1 { "" } else { "s" };
        write!(f, " cannot work: {count} problem{plural}\n{problems}")?;
        if self.timeline.is_bounded() {
            write!(f, "\nwhen every attempt hangs:\n{}", self.timeline)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for PolicyError {}
