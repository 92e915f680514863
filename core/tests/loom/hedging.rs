//! Models of what a guard learns about races.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Hedge, Hedging, Instant, WinRate};

use crate::memory::{LoomMemory, check};

type Races = Hedging<LoomMemory>;

/// Quarters of a second; two copies say something.
const LAW: Hedge =
    Hedge::DEFAULT.with_win_rate(WinRate::DEFAULT.with_window(Duration::from_secs(4), 2));

/// Two copies were admitted in the first quarter, and both lost.
fn losing() -> Arc<Races> {
    let races = Arc::new(Races::new(&LAW));
    for _ in 0..2 {
        assert!(races.is_worth_it(at(0)));
        races.start(at(0));
    }
    races
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000 + 1)
}

fn race<T: 'static>(races: &Arc<Races>, act: fn(&Races) -> T) -> JoinHandle<T> {
    let races = Arc::clone(races);
    thread::spawn(move || act(&races))
}

/// How many of four copies are admitted.
fn admitted(races: &Races, now: Instant) -> usize {
    (0..4).filter(|_| races.is_worth_it(now)).count()
}

#[test]
fn a_decision_is_taken_once() {
    check(|| {
        let races = losing();
        // Both see that the quarter is over. One decides; the other asks before or
        // after that.
        let one = race(&races, |races| races.is_worth_it(at(1_000)));
        let other = race(&races, |races| races.is_worth_it(at(1_000)));
        let (one, other) = (one.join().unwrap(), other.join().unwrap());
        assert!(one || other);
        assert_eq!(admitted(&races, at(1_000)), 2);
    });
}

#[test]
fn a_win_at_a_decision_counts_now_or_later() {
    check(|| {
        let races = losing();
        let win = race(&races, |races| races.win(at(999)));
        let ask = race(&races, |races| races.is_worth_it(at(1_000)));
        win.join().unwrap();
        ask.join().unwrap();
        let seen = [1_000, 2_000, 3_000].map(|ms| admitted(&races, at(ms)));
        // A win that came too late for this decision is seen by the next.
        assert!([[4, 4, 4], [2, 3, 4]].contains(&seen), "{seen:?}");
    });
}
