//! Models of the rate window.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Instant, RateWindow};

use crate::memory::{LoomMemory, check};

type Window = RateWindow<LoomMemory, 2>;

/// A recent window of two slices of a second, one failure in the first of
/// them, and a baseline that nothing leaves.
fn started() -> Arc<Window> {
    let window = Window::new(Duration::from_secs(2), Duration::from_secs(1_000));
    window.record(at(0), true, false);
    // Touches the words of both.
    assert_eq!(all(&window, 0), (1, 0));
    Arc::new(window)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Returns the calls of the recent window and of the baseline.
fn all(window: &Window, ms: u64) -> (u64, u64) {
    (window.trip(at(ms)).total(), window.baseline(at(ms)).total())
}

fn race<T: 'static>(window: &Arc<Window>, act: fn(&Window) -> T) -> JoinHandle<T> {
    let window = Arc::clone(window);
    thread::spawn(move || act(&window))
}

#[test]
fn a_cascade_counts_each_outcome_once() {
    check(|| {
        let window = started();
        window.record(at(1_000), false, false);
        let one = race(&window, |window| window.record(at(2_000), true, false));
        let other = race(&window, |window| window.record(at(2_000), false, false));
        one.join().unwrap();
        other.join().unwrap();
        // One of them may have gone to the slice before.
        assert_eq!(all(&window, 2_000), (3, 1));
        assert_eq!(window.baseline(at(2_000)).failures(), 1);
        assert_eq!(all(&window, 4_000), (0, 4));
        assert_eq!(window.baseline(at(4_000)).failures(), 2);
    });
}

#[test]
fn two_cascades_add_up() {
    check(|| {
        let window = started();
        window.record(at(1_000), false, false);
        // Each may empty a slice of its own, and both fill one of the baseline.
        let early = race(&window, |window| window.record(at(2_000), false, false));
        let late = race(&window, |window| window.record(at(3_000), false, false));
        early.join().unwrap();
        late.join().unwrap();
        let (trip, baseline) = all(&window, 3_000);
        assert_eq!(trip + baseline, 4);
        assert_eq!(all(&window, 9_000), (0, 4));
        assert_eq!(window.baseline(at(9_000)).failures(), 1);
    });
}

#[test]
fn a_stalled_outcome_is_never_lost() {
    check(|| {
        let window = started();
        let writer = race(&window, |window| window.record(at(0), false, false));
        // Twice: the slice that the writer chose comes up again.
        let rotator = race(&window, |window| {
            all(window, 1_000);
            all(window, 2_000);
        });
        writer.join().unwrap();
        rotator.join().unwrap();
        let (trip, baseline) = all(&window, 2_000);
        assert_eq!(trip + baseline, 2);
        assert_eq!(all(&window, 9_000), (0, 2));
    });
}

#[test]
fn a_forgotten_trip_never_becomes_normal() {
    check(|| {
        let window = started();
        let trips = race(&window, |window| {
            window.record(at(1_000), true, false);
            window.forget_trip();
        });
        let records = race(&window, |window| window.record(at(1_000), false, false));
        trips.join().unwrap();
        records.join().unwrap();
        let (trip, baseline) = all(&window, 9_000);
        assert_eq!(trip, 0);
        assert_eq!(window.baseline(at(9_000)).failures(), 0);
        assert!(baseline <= 1);
    });
}
