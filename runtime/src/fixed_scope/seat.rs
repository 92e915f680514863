//! A guard that keys have one after the other.

use core::cell::Cell;
use core::mem;

use critical_section::Mutex;
use steadfast_core::{Instant, Lanes, Memory, Occupancy};

use super::keyed::FixedKeyed;
use crate::guard::Guard;

/// A guard that keys have one after the other.
///
/// Its key changes only while it is closed, that is, with nobody in it.
pub(super) struct Seat<K, G> {
    /// Always there; an array of guards cannot be filled in a constant otherwise.
    guard: Option<G>,
    pub(super) occupancy: Occupancy,
    key: Mutex<Cell<Option<K>>>,
}

impl<K, G> Seat<K, G> {
    pub(super) const fn new() -> Self {
        Self {
            guard: None,
            occupancy: Occupancy::new(),
            key: Mutex::new(Cell::new(None)),
        }
    }

    pub(super) const fn with(guard: G) -> Self {
        Self {
            guard: Some(guard),
            occupancy: Occupancy::new(),
            key: Mutex::new(Cell::new(None)),
        }
    }

    pub(super) const fn guard(&self) -> Option<&G> {
        self.guard.as_ref()
    }

    /// Closes it, if nobody is in it and it is not marked.
    pub(super) fn claim(&self) -> Option<Claim<'_, K, G>> {
        let guard = self.guard()?;
        // Made only then: who drops a claim opens the seat.
        self.occupancy.close().then(|| Claim { seat: self, guard })
    }
}

impl<K: Copy, G> Seat<K, G> {
    pub(super) fn key(&self) -> Option<K> {
        critical_section::with(|section| self.key.borrow(section).get())
    }

    /// Its key and how many handles it has; `None` where nobody has it.
    pub(super) fn lodger(&self) -> Option<(K, u32)> {
        critical_section::with(|section| {
            let key = self.key.borrow(section).get()?;
            Some((key, self.occupancy.occupants()?))
        })
    }
}

impl<K: Copy + Eq, G> Seat<K, G> {
    /// Enters, if it is that key's.
    pub(super) fn find(&self, key: K) -> Option<FixedKeyed<'_, K, G>> {
        let is_mine = || self.key() == Some(key);
        // Only who is in it knows whose it is; the first look is to leave others alone.
        if !is_mine() || !self.occupancy.enter() {
            return None;
        }
        let Some(guard) = self.guard() else {
            self.occupancy.leave();
            return None;
        };
        let inside = FixedKeyed::own(key, guard, &self.occupancy);
        is_mine().then_some(inside)
    }
}

impl<K, T, C, R, L, M: Memory, H: Lanes> Seat<K, Guard<T, C, R, L, M, H>> {
    /// Tells whether its key is to stay.
    pub(super) fn is_held(&self, now: Instant) -> bool {
        self.occupancy.occupants() != Some(0)
            || self.guard().is_none_or(|guard| guard.is_refusing(now))
    }
}

/// A seat that is closed: nobody enters until it is handed over or given back free.
///
/// Given back when dropped, also when a key panics as it is compared.
pub(super) struct Claim<'s, K, G> {
    seat: &'s Seat<K, G>,
    guard: &'s G,
}

impl<'s, K, G> Claim<'s, K, G> {
    pub(super) const fn guard(&self) -> &'s G {
        self.guard
    }

    /// Gives it to a key, unless somebody has moved in anywhere since `seen`.
    ///
    /// # Errors
    ///
    /// Hands itself back.
    pub(super) fn hand_over(
        self,
        key: K,
        moves: &Mutex<Cell<u32>>,
        seen: u32,
    ) -> Result<FixedKeyed<'s, K, G>, Self>
    where
        K: Copy,
    {
        let is_first = critical_section::with(|section| {
            let moves = moves.borrow(section);
            if moves.get() != seen {
                return false;
            }
            moves.set(seen.wrapping_add(1));
            self.seat.key.borrow(section).set(Some(key));
            // Now, so that whoever sees the key can enter.
            self.seat.occupancy.open(1);
            true
        });
        if !is_first {
            return Err(self);
        }
        let handle = FixedKeyed::own(key, self.guard, &self.seat.occupancy);
        mem::forget(self);
        Ok(handle)
    }

    /// Gives it back free if it is that key's, else as it was; true if it was.
    pub(super) fn vacate(self, key: K) -> bool
    where
        K: Copy + Eq,
    {
        let is_its = self.seat.key() == Some(key);
        if !is_its {
            self.seat.occupancy.open(0);
            mem::forget(self);
        }
        is_its
    }
}

impl<K, G> Drop for Claim<'_, K, G> {
    fn drop(&mut self) {
        critical_section::with(|section| {
            self.seat.key.borrow(section).set(None);
            self.seat.occupancy.open(0);
        });
    }
}
