//! What a scripted operation fails with.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use steadfast_core::{Meaning, Verdict};

use crate::fault::Fault;

/// What a scripted operation fails with.
///
/// ```
/// use steadfast_core::{Meaning, Verdict};
/// use steadfast_testing::{Script, World};
///
/// let world = World::new();
/// let script: Script<u32> = Script::on(world.timer()).returns(1);
/// assert_eq!(world.block_on(script.next()), Ok(1));
///
/// let over = world.block_on(script.next()).expect_err("one step only");
/// assert_eq!(over.verdict(), Verdict::PERMANENT);
/// assert_eq!(over.to_string(), "the script of length 1 has no step for call 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted<E = Fault> {
    /// The script said so; means what the error means.
    Failed(E),
    /// The script was over; permanent.
    Exhausted {
        /// How many steps it had.
        steps: usize,
        /// Which call found no step, the first being 1.
        call: usize,
        /// A delay at the end that no step follows, most likely a mistake.
        trailing_delay: Option<Duration>,
    },
}

impl<E> Scripted<E> {
    /// Returns the scripted error.
    pub fn failed(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Exhausted { .. } => None,
        }
    }

    /// Tells whether the script was over.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }
}

/// As if the script had said so.
impl From<Fault> for Scripted {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl<E: Meaning> Meaning for Scripted<E> {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Failed(error) => error.verdict(),
            Self::Exhausted { .. } => Verdict::PERMANENT,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Scripted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Exhausted {
                steps,
                call,
                trailing_delay,
            } => {
                write!(
                    f,
                    "the script of length {steps} has no step for call {call}"
                )?;
                match trailing_delay {
                    Some(delay) => write!(f, "; the {delay:?} at its end delay no step"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl<E: Error> Error for Scripted<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            Self::Exhausted { .. } => None,
        }
    }
}
