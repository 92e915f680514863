use core::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

/// Somebody with a name who counts how often it was looked at.
#[derive(Clone, Debug)]
struct Guest(Rc<State>);

#[derive(Debug)]
struct State {
    name: u32,
    used: Cell<bool>,
    held: Cell<bool>,
    /// Somebody comes to use it just as it is about to leave.
    wanted: Cell<bool>,
    looks: Rc<Cell<u64>>,
}

/// What a newcomer got.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Free,
    Of(u32),
    None,
}

impl PartialEq for Guest {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Lodger for Guest {
    type Gone = Self;

    fn leave(self) -> Result<Self, Self> {
        if self.0.wanted.take() {
            Err(self)
        } else {
            Ok(self)
        }
    }

    fn take_mark(&self) -> bool {
        self.0.used.take()
    }

    fn is_held(&self, _: Instant) -> bool {
        self.0.looks.set(self.0.looks.get() + 1);
        self.0.held.get()
    }
}

/// A ring, and who lives in it.
struct House {
    ring: Ring<Guest>,
    inside: Vec<Guest>,
    looks: Rc<Cell<u64>>,
    next: u32,
}

impl House {
    fn new(capacity: usize) -> Self {
        Self {
            ring: Ring::new(capacity),
            inside: Vec::new(),
            looks: Rc::default(),
            next: 0,
        }
    }

    /// Somebody new comes.
    fn come(&mut self, ms: u64, held: bool) -> Room {
        if self.ring.is_crowded(at(ms)) {
            return Room::None;
        }
        let guest = Guest(Rc::new(State {
            name: self.next,
            used: Cell::new(false),
            held: Cell::new(held),
            wanted: Cell::new(false),
            looks: Rc::clone(&self.looks),
        }));
        let room = match self.ring.move_in(guest.clone(), at(ms)) {
            Err(_) => return Room::None,
            Ok(None) => Room::Free,
            Ok(Some(leaver)) => {
                let before = self.inside.len();
                self.inside.retain(|guest| *guest != leaver);
                assert_eq!(self.inside.len() + 1, before);
                Room::Of(leaver.0.name)
            }
        };
        self.next += 1;
        self.inside.push(guest);
        room
    }

    fn filled(capacity: usize, held: bool) -> Self {
        let mut house = Self::new(capacity);
        for _ in 0..capacity {
            assert_eq!(house.come(0, held), Room::Free);
        }
        house
    }

    fn guest(&self, name: u32) -> &State {
        let mut inside = self.inside.iter();
        &inside.find(|guest| guest.0.name == name).expect("inside").0
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO.saturating_add(Duration::from_millis(ms))
}

// core-10.7
#[test]
fn who_came_first_leaves_first() {
    let mut house = House::filled(64, false);
    assert_eq!(house.come(0, false), Room::Of(0));
    assert_eq!(house.come(0, false), Room::Of(1));
    assert_eq!(house.inside.len(), 64);
}

// core-10.8
#[test]
fn who_was_used_is_spared_once() {
    let mut house = House::filled(4, false);
    house.guest(0).used.set(true);
    house.guest(1).used.set(true);
    assert_eq!(house.come(0, false), Room::Of(2));
    assert_eq!(house.come(0, false), Room::Of(3));
    assert_eq!(house.come(0, false), Room::Of(0));
    assert_eq!(house.come(0, false), Room::Of(1));
}

// core-10.9, core-10.10
#[test]
fn when_all_were_used_the_first_leaves() {
    let mut house = House::filled(4, false);
    for guest in &house.inside {
        guest.0.used.set(true);
    }
    assert_eq!(house.come(0, false), Room::Of(0));
}

#[test]
fn who_is_held_leaves_last() {
    let mut house = House::filled(4, true);
    house.guest(2).held.set(false);
    house.guest(2).used.set(true);
    assert_eq!(house.come(0, true), Room::Of(2));
    assert_eq!(house.come(0, true), Room::None);
    // Known for a while, as a look at all of them costs.
    house.guest(0).held.set(false);
    house.guest(1).held.set(false);
    let leavers = [(); 2].map(|()| house.come(50, true));
    assert!(leavers == [Room::Of(0), Room::Of(1)] || leavers == [Room::Of(1), Room::Of(0)]);
}

#[test]
fn in_a_large_house_a_free_place_is_found_in_time() {
    let mut house = House::filled(1_000, true);
    assert_eq!(house.come(0, false), Room::None);
    house.guest(500).held.set(false);
    // At once by chance only, but after a while by looking at all.
    assert_eq!(house.come(100, false), Room::Of(500));
    // And by a few looks at a time before that.
    let mut house = House::filled(1_000, true);
    assert_eq!(house.come(0, false), Room::None);
    house.guest(500).held.set(false);
    let tries = (1..=250).find(|_| house.come(1, false) != Room::None);
    assert!(tries.is_some());
}

/// A house of 32 in which the first 24 are held and the rest have just been used.
fn sieged() -> House {
    let mut house = House::filled(32, false);
    for guest in &house.inside {
        let is_held = guest.0.name < 24;
        guest.0.held.set(is_held);
        guest.0.used.set(!is_held);
    }
    assert_eq!(house.come(0, true), Room::None);
    house
}

#[test]
fn in_a_siege_who_was_used_stays_a_second() {
    let mut house = sieged();
    for ms in (0..1_000).step_by(20) {
        assert_eq!(house.come(ms, true), Room::None);
        // One of them is used again.
        house.guest(30).used.set(ms == 500);
    }
    for name in (24..32).filter(|&name| name != 30) {
        assert!(
            matches!(house.come(1_000, true), Room::Of(leaver) if leaver != 30),
            "{name}"
        );
    }
    assert_eq!(house.come(1_000, true), Room::None);
    assert_eq!(house.come(2_000, true), Room::Of(30));
}

// Those who are held no longer go before those who were used.
#[test]
fn a_siege_outlasts_its_holds() {
    let mut house = sieged();
    for guest in &house.inside {
        guest.0.held.set(false);
    }
    for _ in 0..24 {
        assert!(matches!(house.come(900, true), Room::Of(0..24)));
    }
    assert!((24..32).all(|name| house.inside.iter().any(|guest| guest.0.name == name)));
}

#[test]
fn a_few_who_are_held_are_no_siege() {
    let mut house = House::filled(16, false);
    for guest in &house.inside {
        guest.0.held.set(guest.0.name > 0);
        guest.0.used.set(true);
    }
    assert_eq!(house.come(0, false), Room::Of(0));
}

// A clock that stands still, and one that steps back.
#[test]
fn a_siege_ends_with_its_holds_whatever_the_clock_does() {
    let mut house = sieged();
    for guest in &house.inside {
        guest.0.held.set(false);
    }
    let newcomers = (0..200).filter(|_| house.come(0, false) != Room::None);
    assert!(newcomers.count() > 150);
    let mut house = sieged();
    house.ring.siege = Some(at(900_000));
    assert!(matches!(house.come(1, false), Room::Of(24..)) || house.come(1, false) == Room::None);
    assert!(house.inside.len() <= 32);
}

#[test]
fn a_clock_that_steps_back_hides_nobody() {
    let mut house = House::filled(100, true);
    assert_eq!(house.come(1_000_000, false), Room::None);
    house.guest(99).held.set(false);
    assert_eq!(house.come(5, false), Room::Of(99));
}

// A flood costs each newcomer a bounded number of looks, whoever is inside.
#[test]
fn a_flood_costs_a_few_looks_each() {
    const FLOOD: u64 = 100_000;
    for (held, coming_held) in [
        (0, false),
        (1_023, false),
        (1_024, false),
        (512, true),
        (0, true),
    ] {
        let mut house = House::filled(1_024, false);
        for guest in house.inside.iter().take(held) {
            guest.0.held.set(true);
        }
        house.looks.set(0);
        for n in 0..FLOOD {
            // Some of those inside are in use all along.
            for guest in house.inside.iter().rev().take(4) {
                guest.0.used.set(true);
            }
            // A thousand a millisecond.
            house.come(n / 1_000, coming_held);
        }
        let looks = house.looks.get() / FLOOD;
        assert!(looks <= 10, "{looks} looks each with {held} held");
        assert_eq!(house.inside.len(), 1_024);
    }
}

#[test]
fn who_is_wanted_at_the_last_moment_stays() {
    let mut house = House::filled(2, false);
    house.guest(0).wanted.set(true);
    assert_eq!(house.come(0, false), Room::Of(1));
    assert_eq!(house.inside.len(), 2);
}

#[test]
fn who_is_taken_out_leaves_a_free_place() {
    let mut house = House::filled(3, false);
    house.guest(1).held.set(true);
    house.come(0, false);
    let gone = house.ring.remove(|guest| guest.0.name == 1);
    assert_eq!(gone.len(), 1);
    house.inside.retain(|guest| guest.0.name != 1);
    assert_eq!(house.come(0, false), Room::Free);
    assert_eq!(house.ring.remove(|_| true).len(), 3);
}

proptest! {
    // Against the rule in words: nobody who is held leaves while another can, nobody
    // used since the last newcomer leaves while one who was not can be seen to be able
    // to, and the number is kept.
    #[test]
    fn the_rule_holds(
        capacity in 1..12_usize,
        steps in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<bool>()), 1..80),
    ) {
        let mut house = House::new(capacity);
        let mut now = 0;
        for (used, held, coming_held) in steps {
            for (guest, bit) in house.inside.iter().zip(0..) {
                guest.0.used.set(used >> bit & 1 == 1);
                guest.0.held.set(held >> bit & 1 == 1);
            }
            // Long enough for a look at all.
            now += 100;
            let names = |pick: &dyn Fn(&State) -> bool| -> HashSet<u32> {
                let inside = house.inside.iter().filter(|guest| pick(&guest.0));
                inside.map(|guest| guest.0.name).collect()
            };
            let free = names(&|guest| !guest.held.get());
            let unused = names(&|guest| !guest.held.get() && !guest.used.get());
            let is_full = house.inside.len() == capacity;
            match house.come(now, coming_held) {
                Room::None => prop_assert!(is_full && free.is_empty()),
                Room::Free => prop_assert!(!is_full),
                Room::Of(leaver) => {
                    prop_assert!(free.contains(&leaver));
                    // In a small house all who stand aside are seen.
                    let sees_all = capacity <= GLANCES;
                    prop_assert!(!sees_all || unused.is_empty() || unused.contains(&leaver));
                }
            }
            prop_assert!(house.inside.len() <= capacity);
        }
    }
}
