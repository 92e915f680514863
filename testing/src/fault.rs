//! Errors for tests, one for every meaning.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use steadfast_core::{Meaning, Verdict};

/// An error that means what its name says.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Meaning, Verdict};
/// use steadfast_testing::Fault;
///
/// let busy = Fault::Throttled(Some(Duration::from_secs(2)));
/// assert_eq!(busy.verdict(), Verdict::throttled_for(Duration::from_secs(2)));
/// assert_eq!(busy.to_string(), "a throttled fault, retry after 2s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It may not happen again.
    Transient,
    /// The dependency defends itself, and may say for how long.
    Throttled(Option<Duration>),
    /// This process refused, and may say for how long.
    SelfImposed(Option<Duration>),
    /// It will happen again.
    Permanent,
}

impl Meaning for Fault {
    fn verdict(&self) -> Verdict {
        match *self {
            Self::Transient => Verdict::TRANSIENT,
            Self::Throttled(None) => Verdict::THROTTLED,
            Self::Throttled(Some(after)) => Verdict::throttled_for(after),
            Self::SelfImposed(None) => Verdict::SELF_IMPOSED,
            Self::SelfImposed(Some(after)) => Verdict::self_imposed_for(after),
            Self::Permanent => Verdict::PERMANENT,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, after) = match *self {
            Self::Transient => ("transient", None),
            Self::Throttled(after) => ("throttled", after),
            Self::SelfImposed(after) => ("self-imposed", after),
            Self::Permanent => ("permanent", None),
        };
        write!(f, "a {name} fault")?;
        match after {
            Some(after) => write!(f, ", retry after {after:?}"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {}

/// What a fault looks like on a socket; an I/O error cannot tell throttling, so that
/// is a busy resource, which is transient.
impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        // A kind alone: an error around a fault would be allocated.
        Self::from(match fault {
            Fault::Transient => io::ErrorKind::ConnectionReset,
            Fault::Throttled(_) | Fault::SelfImposed(_) => io::ErrorKind::ResourceBusy,
            Fault::Permanent => io::ErrorKind::PermissionDenied,
        })
    }
}
