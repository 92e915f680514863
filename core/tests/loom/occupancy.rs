//! Models of places that change hands.

use loom::sync::Arc;
use loom::thread;
use steadfast_core::{Memory, Occupancy, Word};

use crate::memory::{LoomMemory, check};

/// A place, and whose it is.
#[derive(Debug)]
struct Seat {
    occupancy: Occupancy<LoomMemory>,
    owner: <LoomMemory as Memory>::U32,
}

impl Seat {
    /// Touches every word.
    fn of(owner: u32) -> Arc<Self> {
        let seat = Self {
            occupancy: Occupancy::new(),
            owner: <LoomMemory as Memory>::U32::ZERO,
        };
        seat.owner.store(owner);
        assert_eq!(seat.occupancy.occupants(), Some(0));
        Arc::new(seat)
    }

    /// Enters as `owner`; who is in it sees no other owner until it leaves.
    fn visit(&self, owner: u32) -> bool {
        if !self.occupancy.enter() {
            return false;
        }
        let is_mine = self.owner.load() == owner;
        if is_mine {
            assert_eq!(
                self.owner.load(),
                owner,
                "it changed hands with somebody inside"
            );
        }
        self.occupancy.leave();
        is_mine
    }

    fn take_over(&self, owner: u32) -> bool {
        let is_closed = self.occupancy.close();
        if is_closed {
            self.owner.store(owner);
            self.occupancy.open(1);
        }
        is_closed
    }
}

fn on(seat: &Arc<Seat>, run: fn(&Seat) -> bool) -> thread::JoinHandle<bool> {
    let seat = Arc::clone(seat);
    thread::spawn(move || run(&seat))
}

#[test]
fn nobody_is_inside_when_a_place_changes_hands() {
    check(|| {
        let seat = Seat::of(1);
        let visit = on(&seat, |seat| seat.visit(1));
        let taken = on(&seat, |seat| seat.take_over(2));
        let (_visited, taken) = (visit.join().unwrap(), taken.join().unwrap());
        // Its new owner is in it, whoever came and went.
        let inside = u32::from(taken);
        assert_eq!(seat.occupancy.occupants(), Some(inside));
        assert_eq!(seat.owner.load(), 1 + inside);
    });
}

#[test]
fn one_of_two_takes_a_place_over() {
    check(|| {
        let seat = Seat::of(1);
        let two = on(&seat, |seat| seat.take_over(2));
        let three = on(&seat, |seat| seat.take_over(3));
        let (two, three) = (two.join().unwrap(), three.join().unwrap());
        assert!(two ^ three);
        assert_eq!(seat.owner.load(), if two { 2 } else { 3 });
        assert_eq!(seat.occupancy.occupants(), Some(1));
    });
}

#[test]
fn one_of_two_takes_a_mark_and_nobody_is_lost() {
    check(|| {
        let seat = Seat::of(1);
        assert!(seat.visit(1));
        let take = |seat: &Seat| seat.occupancy.take_mark();
        let (one, other) = (on(&seat, take), on(&seat, take));
        assert!(seat.occupancy.enter());
        // One mark before, one by who has just entered.
        let taken = u32::from(one.join().unwrap()) + u32::from(other.join().unwrap());
        assert!((1..=2).contains(&taken), "{taken}");
        assert_eq!(seat.occupancy.occupants(), Some(1));
    });
}
