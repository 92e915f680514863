//! The refusal to hang.

use std::error::Error;
use std::fmt;

use steadfast_core::Instant;

use crate::timer::Since;

/// A world that does not come to an end: who waits, since when, what to do.
///
/// ```
/// use std::future::pending;
/// use steadfast_testing::World;
///
/// let stuck = World::new().run(pending::<()>()).expect_err("nothing comes");
/// assert_eq!(stuck.waiting()[0].name(), "main");
/// assert!(!stuck.is_spinning());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    at: Instant,
    waiting: Vec<Waiting>,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing can run, and nothing will.
    Idle,
    /// The one that waits was polled so often at one instant.
    Spins { polls: u32 },
    /// So many sleeps fired, and the root future was not woken.
    Ignored { fired: u64 },
    /// So many sleeps fired, and more are to come.
    Endless { fired: u64 },
}

/// A future that waits for what never comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    name: String,
    since: Instant,
}

impl Stuck {
    pub(crate) fn new(at: Instant, waiting: Vec<Waiting>, cause: Cause) -> Self {
        Self { at, waiting, cause }
    }

    /// Returns when it happened.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Returns who waits, the root future as `main`; the one that spins, alone.
    #[must_use]
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Tells whether a future woke itself too often at one instant.
    #[must_use]
    pub fn is_spinning(&self) -> bool {
        matches!(self.cause, Cause::Spins { .. })
    }
}

impl Waiting {
    pub(crate) fn new(name: &str, since: Instant) -> Self {
        Self {
            name: name.to_owned(),
            since,
        }
    }

    /// Returns the name it was spawned under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns when it was last polled.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.since
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stuck at {}: ", Since(self.at))?;
        match self.cause {
            Cause::Spins { polls } => {
                let name = self.waiting.first().map_or("", Waiting::name);
                return write!(
                    f,
                    "`{name}` was polled {polls} times and time did not move; \
                     let it wait for something, a sleep for example"
                );
            }
            Cause::Idle => f.write_str("nothing can run and no timer is armed; waiting:")?,
            Cause::Ignored { fired } => {
                write!(f, "{fired} sleeps fired and none woke `main`; waiting:")?;
            }
            Cause::Endless { fired } => {
                write!(
                    f,
                    "{fired} sleeps fired and there is no end to it; waiting:"
                )?;
            }
        }
        for Waiting { name, since } in &self.waiting {
            write!(f, "\n  `{name}` since {}", Since(*since))?;
        }
        f.write_str(match self.cause {
            Cause::Endless { .. } => {
                "\nbound the loop that sleeps, or allow for more with `World::set_patience`"
            }
            _ => {
                "\nspawn the task that wakes them, or bound the wait; \
                 a wake from another thread is not waited for"
            }
        })
    }
}

impl Error for Stuck {}
