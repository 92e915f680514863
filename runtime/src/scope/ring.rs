//! Who leaves when somebody new comes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use steadfast_core::Instant;

/// Somebody who has a place.
pub(super) trait Lodger: Clone {
    /// Tells whether it was used since the last time this was asked.
    fn take_mark(&self) -> bool;

    /// Tells whether it is to leave last.
    fn is_held(&self, now: Instant) -> bool;
}

/// How many of those who leave last are looked at again for each newcomer.
const GLANCES: usize = 4;

/// How often all of them are, when nobody else is left.
const ROUND: Duration = Duration::from_millis(100);

/// A bounded number of places, given away by second chance.
///
/// Who comes first leaves first, unless it was used since it was last looked at.
/// Those who leave last stand aside, so that they are not looked at again and again:
/// a newcomer costs a few looks, and one more for each use and each hold before it.
#[derive(Debug)]
pub(super) struct Ring<E> {
    capacity: usize,
    /// In the order in which they are asked to leave.
    line: VecDeque<E>,
    /// Who leaves last.
    aside: VecDeque<E>,
    /// Places given out to who has not moved in yet.
    reserved: usize,
    /// When all who stand aside were last looked at in vain.
    round: Option<Instant>,
}

/// What a newcomer gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Room<E> {
    /// A free place.
    Free,
    /// The place of somebody who has to leave.
    Of(E),
    /// None: all are to leave last.
    None,
}

impl<E: Lodger> Ring<E> {
    /// Finds a place, which is reserved until [`move_in`](Self::move_in) or
    /// [`give_up`](Self::give_up).
    pub(super) fn reserve(&mut self, now: Instant) -> Room<E> {
        let taken = self.line.len() + self.aside.len() + self.reserved;
        if taken < self.capacity {
            self.reserved += 1;
            return Room::Free;
        }
        self.glance(now);
        match self.next_in_line(now).or_else(|| self.look_round(now)) {
            Some(leaver) => {
                self.reserved += 1;
                Room::Of(leaver)
            }
            None => Room::None,
        }
    }

    /// Lets some of those who stand aside back into the line.
    fn glance(&mut self, now: Instant) {
        for _ in 0..GLANCES.min(self.aside.len()) {
            if let Some(lodger) = self.aside.pop_front() {
                self.put(lodger, now);
            }
        }
    }

    fn put(&mut self, lodger: E, now: Instant) {
        if lodger.is_held(now) {
            self.aside.push_back(lodger);
        } else {
            self.line.push_back(lodger);
        }
    }

    /// The first in line that was not used, or after two rounds that is not held.
    fn next_in_line(&mut self, now: Instant) -> Option<E> {
        let patience = self.line.len();
        let mut asked = 0;
        while let Some(lodger) = self.line.pop_front() {
            if lodger.is_held(now) {
                self.aside.push_back(lodger);
            } else if asked < patience && lodger.take_mark() {
                self.line.push_back(lodger);
            } else {
                return Some(lodger);
            }
            asked += 1;
        }
        None
    }

    /// Somebody of those aside who may leave after all.
    fn look_round(&mut self, now: Instant) -> Option<E> {
        if let Some(last) = self.round
            && now >= last
            && now.saturating_since(last) < ROUND
        {
            return None;
        }
        for _ in 0..self.aside.len() {
            let lodger = self.aside.pop_front()?;
            if !lodger.is_held(now) {
                return Some(lodger);
            }
            self.aside.push_back(lodger);
        }
        self.round = Some(now);
        None
    }
}

impl<E> Ring<E> {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            line: VecDeque::new(),
            aside: VecDeque::new(),
            reserved: 0,
            round: None,
        }
    }

    /// Puts a newcomer into its place.
    pub(super) fn move_in(&mut self, lodger: E) {
        self.give_up();
        self.line.push_back(lodger);
    }

    /// Gives a place back that nobody moved into.
    pub(super) fn give_up(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Takes out whoever `leaves`.
    pub(super) fn remove(&mut self, leaves: impl Fn(&E) -> bool) -> Vec<E> {
        let mut gone = Vec::new();
        for places in [&mut self.line, &mut self.aside] {
            for _ in 0..places.len() {
                if let Some(lodger) = places.pop_front() {
                    if leaves(&lodger) {
                        gone.push(lodger);
                    } else {
                        places.push_back(lodger);
                    }
                }
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests;
