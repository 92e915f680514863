//! Who leaves when somebody new comes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use steadfast_core::Instant;

/// Somebody who has a place.
pub(super) trait Lodger: Sized {
    /// What is left of somebody who has gone.
    type Gone;

    /// Tells whether it was used since the last time this was asked.
    fn take_mark(&self) -> bool;

    /// Tells whether it is to leave last.
    fn is_held(&self, now: Instant) -> bool;

    /// Leaves, unless somebody has come to use it meanwhile.
    fn leave(self) -> Result<Self::Gone, Self>;
}

/// How many of those who leave last are looked at again for each newcomer.
const GLANCES: usize = 4;

/// How often more of them are, when nobody else is left.
const ROUND: Duration = Duration::from_millis(100);

/// How many are then: all in most scopes, and never so many that others wait long.
const LOOKS: usize = 4_096;

/// How long at least who was used stays during a siege.
const STAY: Duration = Duration::from_secs(1);

/// Fewer than that who stand aside are no siege.
const FEW: usize = 16;

/// A bounded number of places, given away by second chance.
///
/// Who comes first leaves first, unless it was used since it was last looked at.
/// Those who leave last stand aside, so that they are not looked at again and again:
/// a newcomer costs a few looks, and one more for each use and each hold before it.
///
/// While half of all stand aside it is a siege: the others are few, so each newcomer
/// would ask all of them, and being used now and then would save nobody. Who was used
/// then stays a second, in which it can be used again. A siege lasts a second longer, as
/// those aside come back into the line all at once.
#[derive(Debug)]
pub(super) struct Ring<E> {
    capacity: usize,
    /// In the order in which they are asked to leave.
    line: VecDeque<Waiting<E>>,
    /// Who leaves last.
    aside: VecDeque<E>,
    /// When those who stand aside were last looked at in vain.
    round: Option<Instant>,
    /// When so many stood aside that it was a siege.
    siege: Option<Instant>,
}

/// Somebody in line.
#[derive(Debug)]
struct Waiting<E> {
    lodger: E,
    /// When it was last spared for having been used.
    spared: Option<Instant>,
}

impl<E: Lodger> Ring<E> {
    /// Tells whether a newcomer would hardly find a place: all are to leave last.
    ///
    /// Looks at a few of them, so that it ends once one of them may leave.
    pub(super) fn is_crowded(&mut self, now: Instant) -> bool {
        if !self.is_full() {
            return false;
        }
        self.glance(now);
        self.line.is_empty() && is_within(ROUND, self.round, now)
    }

    /// Gives a newcomer a place, if it is not [crowded](Self::is_crowded); what is left of whoever had to leave for it, if
    /// anybody had to.
    ///
    /// # Errors
    ///
    /// Gives it back while all are to leave last.
    pub(super) fn move_in(&mut self, newcomer: E, now: Instant) -> Result<Option<E::Gone>, E> {
        let mut gone = None;
        if self.is_full() {
            gone = self.next_in_line(now).or_else(|| self.look_round(now));
            if gone.is_none() {
                return Err(newcomer);
            }
        }
        self.line.push_back(Waiting::new(newcomer));
        Ok(gone)
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
            // It has been here for long, and is spared if it was used.
            self.line.push_front(Waiting::new(lodger));
        }
    }

    /// The first in line that was not used, or after two rounds that is not held.
    fn next_in_line(&mut self, now: Instant) -> Option<E::Gone> {
        let patience = self.line.len();
        let (mut asked, mut stayed) = (0, 0);
        while let Some(mut first) = self.line.pop_front() {
            if first.lodger.is_held(now) {
                self.aside.push_back(first.lodger);
            } else if asked < patience && first.lodger.take_mark() {
                first.spared = Some(now);
                self.line.push_back(first);
            } else if self.is_sieged(now) && is_within(STAY, first.spared, now) {
                self.line.push_back(first);
                stayed += 1;
                if stayed >= GLANCES {
                    return None;
                }
            } else {
                match first.lodger.leave() {
                    Ok(gone) => return Some(gone),
                    Err(stays) => self.aside.push_back(stays),
                }
            }
            asked += 1;
        }
        None
    }

    /// Tells whether so many stand aside, or did of late, that the others are asked
    /// all the time.
    fn is_sieged(&mut self, now: Instant) -> bool {
        if self.aside.len() >= (self.capacity / 2).max(FEW) {
            self.siege = Some(now);
        }
        is_within(STAY, self.siege, now)
    }

    /// Somebody of those aside who may leave after all.
    fn look_round(&mut self, now: Instant) -> Option<E::Gone> {
        if is_within(ROUND, self.round, now) {
            return None;
        }
        for _ in 0..self.aside.len().min(LOOKS) {
            let lodger = self.aside.pop_front()?;
            if lodger.is_held(now) {
                self.aside.push_back(lodger);
                continue;
            }
            match lodger.leave() {
                Ok(gone) => return Some(gone),
                Err(stays) => self.aside.push_back(stays),
            }
        }
        self.round = Some(now);
        None
    }
}

/// Tells whether `then` is less than a span ago; not if the clock stepped back.
fn is_within(span: Duration, then: Option<Instant>, now: Instant) -> bool {
    then.is_some_and(|then| now >= then && now.saturating_since(then) < span)
}

impl<E> Waiting<E> {
    const fn new(lodger: E) -> Self {
        Self {
            lodger,
            spared: None,
        }
    }
}

impl<E> Ring<E> {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            line: VecDeque::new(),
            aside: VecDeque::new(),
            round: None,
            siege: None,
        }
    }

    /// How many have a place.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.aside.len()
    }

    fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Takes out whoever `leaves`.
    pub(super) fn remove(&mut self, leaves: impl Fn(&E) -> bool) -> Vec<E> {
        let mut gone = Vec::new();
        for _ in 0..self.line.len() {
            match self.line.pop_front() {
                Some(first) if leaves(&first.lodger) => gone.push(first.lodger),
                Some(first) => self.line.push_back(first),
                None => {}
            }
        }
        for _ in 0..self.aside.len() {
            match self.aside.pop_front() {
                Some(lodger) if leaves(&lodger) => gone.push(lodger),
                Some(lodger) => self.aside.push_back(lodger),
                None => {}
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests;
