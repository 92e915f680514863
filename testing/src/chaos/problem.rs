//! What cannot be injected.

use std::error::Error;
use std::fmt;

/// One reason why faults cannot be injected as asked for.
///
/// ```
/// use steadfast_testing::ChaosProblem;
///
/// assert!(ChaosProblem::NoLatency.to_string().starts_with("calls are to be slowed by nothing"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChaosProblem {
    /// More calls are to fail than there are.
    FaultRate,
    /// More calls are to be slowed than there are.
    LatencyRate,
    /// Calls are to be slowed by nothing.
    NoLatency,
    /// A burst takes nothing with it.
    EmptyBurst,
}

impl ChaosProblem {
    const ALL: [Self; 4] = [
        Self::FaultRate,
        Self::LatencyRate,
        Self::NoLatency,
        Self::EmptyBurst,
    ];

    const fn message(self) -> &'static str {
        match self {
            Self::FaultRate => {
                "the rate of faults is above 100 %: there are no more calls than all"
            }
            Self::LatencyRate => {
                "the rate of latency is above 100 %: there are no more calls than all"
            }
            Self::NoLatency => {
                "calls are to be slowed by nothing: give a latency above zero, or a rate of zero"
            }
            Self::EmptyBurst => {
                "a burst of no calls or no time is none: leave it out, or make it longer"
            }
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for ChaosProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// Everything that is wrong with a [`Chaos`](crate::Chaos), found at once.
///
/// ```
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Chaos, ChaosProblem};
///
/// let error = Chaos::OFF.with_faults(Ratio::percent(150)).validate().unwrap_err();
/// assert!(error.contains(ChaosProblem::FaultRate));
/// assert_eq!(error.problems().count(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChaosError(u8);

impl ChaosError {
    pub(super) const NONE: Self = Self(0);

    pub(super) const fn with(self, problem: ChaosProblem, is_so: bool) -> Self {
        if is_so {
            Self(self.0 | problem.bit())
        } else {
            self
        }
    }

    pub(super) const fn into_result(self) -> Result<(), Self> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }

    /// Tells whether `problem` is one of them.
    #[must_use]
    pub const fn contains(self, problem: ChaosProblem) -> bool {
        self.0 & problem.bit() != 0
    }

    /// Returns the problems, in the order a value is read.
    pub fn problems(self) -> impl Iterator<Item = ChaosProblem> {
        let all = ChaosProblem::ALL.into_iter();
        all.filter(move |&problem| self.contains(problem))
    }

    /// Panics with the list: a constant cannot format one.
    #[cold]
    #[track_caller]
    #[expect(
        clippy::panic,
        reason = "documented by its callers; at compile time it is the error message"
    )]
    pub(super) const fn refuse(self) -> ! {
        let text = Text::of(self);
        panic!("{}", text.as_str());
    }
}

impl fmt::Display for ChaosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Text::of(*self).as_str())
    }
}

impl fmt::Debug for ChaosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ChaosError {}

/// A text that a constant can build; what does not fit is left out.
struct Text {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl Text {
    /// Holds every problem at once, which a test makes sure of.
    const ROOM: usize = 400;

    const fn of(error: ChaosError) -> Self {
        let mut text = Self {
            bytes: [0; Self::ROOM],
            len: 0,
        };
        text.push("this chaos cannot be:");
        let mut rest = ChaosProblem::ALL.as_slice();
        while let Some((&problem, others)) = rest.split_first() {
            rest = others;
            if error.contains(problem) {
                text.push("\n- ");
                text.push(problem.message());
            }
        }
        text
    }

    const fn push(&mut self, part: &str) {
        let mut part = part.as_bytes();
        while let Some((&byte, others)) = part.split_first()
            && self.len < Self::ROOM
        {
            self.bytes[self.len] = byte;
            self.len += 1;
            part = others;
        }
    }

    const fn as_str(&self) -> &str {
        // The messages are ASCII, so they may be cut anywhere.
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "this chaos cannot be",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_fits_at_once() {
        let all = ChaosProblem::ALL;
        let error = all.iter().fold(ChaosError::NONE, |error, &problem| {
            error.with(problem, true)
        });
        assert!(error.problems().eq(all));
        let lines: Vec<_> = all.iter().map(|problem| format!("- {problem}")).collect();
        assert_eq!(
            error.to_string(),
            format!("this chaos cannot be:\n{}", lines.join("\n"))
        );
    }
}
