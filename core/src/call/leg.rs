//! One attempt in flight.

use core::time::Duration;

use crate::memory::Memory;
use crate::state::adaptive_throttle::Ticket;
use crate::state::circuit_breaker::permit::Permit;
use crate::state::concurrency_limit::slot::Slot;
use crate::state::scouts::Scout;
use crate::time::Instant;

/// One attempt in flight, or the place of one.
#[derive(Debug)]
pub(super) struct Leg<'g, M: Memory> {
    pub(super) flight: Flight,
    pub(super) permit: Option<Permit<'g, M>>,
    pub(super) ticket: Option<Ticket<'g, M>>,
    pub(super) slot: Option<Slot<'g, M>>,
}

/// What is known of an attempt once it has started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The number of the attempt, the first being 1; zero where nothing flies.
    pub(super) number: u32,
    pub(super) started: Instant,
    /// When it is cut.
    pub(super) give_up: Instant,
    pub(super) cut_by: Bound,
    /// It may take longer than the ceiling.
    pub(super) scout: Option<Scout>,
    pub(super) role: Role,
}

/// What an attempt is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// For an outcome.
    First,
    /// To race another one.
    Hedge,
    /// For a stream: what is accepted goes on, and keeps its place in flight.
    Stream,
    /// For a stream that is opened again: its first item is the next one of a feed,
    /// and says nothing of how long opening takes.
    Resumed,
}

impl Role {
    /// Tells whether what is accepted goes on.
    pub(super) const fn is_lasting(self) -> bool {
        matches!(self, Self::Stream | Self::Resumed)
    }
}

/// What cuts an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The attempt timeout, or nothing.
    Timeout,
    /// The measured ceiling.
    Ceiling,
    /// The deadline.
    Deadline,
}

impl Flight {
    pub(super) fn is_hedge(&self) -> bool {
        self.role == Role::Hedge
    }

    /// How long it may take.
    pub(super) fn bound(&self) -> Duration {
        self.give_up.saturating_since(self.started)
    }
}

impl<M: Memory> Leg<'_, M> {
    /// An empty place.
    pub(super) fn idle() -> Self {
        Self {
            flight: Flight {
                number: 0,
                started: Instant::ZERO,
                give_up: Instant::MAX,
                cut_by: Bound::Timeout,
                scout: None,
                role: Role::First,
            },
            permit: None,
            ticket: None,
            slot: None,
        }
    }

    pub(super) const fn is_flying(&self) -> bool {
        self.flight.number != 0
    }

    /// Ends the flight; what it holds stays for whoever knows what became of it.
    pub(super) const fn land(&mut self) -> Flight {
        self.flight.number = 0;
        self.flight
    }

    /// Empties the place; the times stay readable.
    pub(super) fn clear(&mut self) {
        self.flight.number = 0;
        self.permit = None;
        self.ticket = None;
        self.slot = None;
    }
}
