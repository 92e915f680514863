//! The armed sleeps of a world, in the order they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

use steadfast_core::Instant;

/// How many dead entries may pile up beyond the living before a sweep.
const SLACK: usize = 1_024;

/// Names one armed sleep; what it named may be gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    slot: usize,
    order: u64,
}

/// Armed sleeps: equal instants come in the order they were armed.
///
/// Disarming leaves the entry in the heap and takes only its waker, so it costs
/// no search. Nothing allocates once the room of the busiest moment is there.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    heap: BinaryHeap<Reverse<Entry>>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    armed: u64,
    live: usize,
}

/// The order is unique, so it also tells a slot's tenants apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    order: u64,
    slot: usize,
}

#[derive(Debug)]
struct Slot {
    order: u64,
    waker: Option<Waker>,
}

impl Alarms {
    pub(crate) fn arm(&mut self, at: Instant, waker: Waker) -> Ticket {
        self.armed += 1;
        self.live += 1;
        let order = self.armed;
        let tenant = Slot {
            order,
            waker: Some(waker),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot] = tenant;
            slot
        } else {
            self.slots.push(tenant);
            self.slots.len() - 1
        };
        self.heap.push(Reverse(Entry { at, order, slot }));
        Ticket { slot, order }
    }

    /// Hands out the waker's place while the sleep is armed.
    ///
    /// Whoever replaces the waker drops the old one after the borrow: a drop
    /// may run foreign code that comes back here.
    pub(crate) fn waker(&mut self, ticket: Ticket) -> Option<&mut Waker> {
        self.slots
            .get_mut(ticket.slot)
            .filter(|slot| slot.order == ticket.order)?
            .waker
            .as_mut()
    }

    /// Takes a sleep out, if it is still in.
    pub(crate) fn disarm(&mut self, ticket: Ticket) -> Option<Waker> {
        let waker = self.vacate(ticket.slot, ticket.order)?;
        if self.heap.len() > 2 * self.live + SLACK {
            let Self { heap, slots, .. } = self;
            heap.retain(|Reverse(entry)| is_live(slots, entry));
        }
        Some(waker)
    }

    /// Takes out the first sleep that is due by `limit`.
    pub(crate) fn take_due(&mut self, limit: Instant) -> Option<(Instant, Waker)> {
        let at = self.next().filter(|&at| at <= limit)?;
        let Reverse(entry) = self.heap.pop()?;
        let waker = self.vacate(entry.slot, entry.order)?;
        Some((at, waker))
    }

    /// Returns when the first sleep is due.
    pub(crate) fn next(&mut self) -> Option<Instant> {
        while let Some(Reverse(entry)) = self.heap.peek() {
            if is_live(&self.slots, entry) {
                return Some(entry.at);
            }
            self.heap.pop();
        }
        None
    }

    /// Returns how many sleeps are armed now.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Returns how often a sleep was armed.
    pub(crate) fn armed(&self) -> u64 {
        self.armed
    }

    fn vacate(&mut self, slot: usize, order: u64) -> Option<Waker> {
        let tenant = self.slots.get_mut(slot)?;
        if tenant.order != order {
            return None;
        }
        let waker = tenant.waker.take()?;
        self.free.push(slot);
        self.live -= 1;
        Some(waker)
    }
}

fn is_live(slots: &[Slot], entry: &Entry) -> bool {
    slots
        .get(entry.slot)
        .is_some_and(|slot| slot.order == entry.order && slot.waker.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(alarms: &mut Alarms, at: u64) -> Ticket {
        alarms.arm(Instant::from_nanos(at), Waker::noop().clone())
    }

    fn drain(alarms: &mut Alarms, limit: u64) -> Vec<u64> {
        std::iter::from_fn(|| alarms.take_due(Instant::from_nanos(limit)))
            .map(|(at, _)| at.as_nanos())
            .collect()
    }

    #[test]
    fn the_due_come_in_order() {
        let mut alarms = Alarms::default();
        for at in [5, 1, 3, 9] {
            arm(&mut alarms, at);
        }
        assert_eq!(drain(&mut alarms, 5), [1, 3, 5]);
        assert_eq!(alarms.live(), 1);
        assert_eq!(alarms.next(), Some(Instant::from_nanos(9)));
    }

    // S4
    #[test]
    fn an_old_ticket_spares_the_new_tenant() {
        let mut alarms = Alarms::default();
        let old = arm(&mut alarms, 1);
        assert!(alarms.disarm(old).is_some());
        let new = arm(&mut alarms, 2);
        assert_eq!(old.slot, new.slot);
        assert!(alarms.disarm(old).is_none());
        assert!(alarms.waker(old).is_none());
        assert!(alarms.waker(new).is_some());
        assert_eq!(drain(&mut alarms, 9), [2]);
        assert!(alarms.disarm(new).is_none());
    }

    // S5
    #[test]
    fn a_warm_clock_takes_no_more_room() {
        let mut alarms = Alarms::default();
        let room = |alarms: &Alarms| {
            let Alarms {
                heap, slots, free, ..
            } = alarms;
            (heap.capacity(), slots.capacity(), free.capacity())
        };
        let mut work = |rounds: u64| {
            for round in 0..rounds {
                let tickets: Vec<_> = (0..8).map(|n| arm(&mut alarms, round + n)).collect();
                for ticket in tickets.into_iter().skip(1) {
                    alarms.disarm(ticket);
                }
                assert_eq!(drain(&mut alarms, round), [round]);
            }
            room(&alarms)
        };
        let warm = work(2_000);
        assert_eq!(work(20_000), warm);
    }
}
