//! Models of the rolling counts.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Counts, Instant, RollingCounts};

use crate::memory::{LoomMemory, check};

type Window = RollingCounts<LoomMemory, 2>;

/// A window of two slices of a second, one failure in the first of them.
fn started() -> Arc<Window> {
    let window = Arc::new(Window::new(Duration::from_secs(2)));
    window.record(at(0), true, false);
    // Touches the words of both slices.
    assert_eq!(window.totals(at(0)).total(), 1);
    window
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn race<T: 'static>(window: &Arc<Window>, act: fn(&Window) -> T) -> JoinHandle<T> {
    let window = Arc::clone(window);
    thread::spawn(move || act(&window))
}

fn expired(window: &Window, now: Instant) -> Counts {
    window.advance(now)
}

#[test]
fn a_record_at_a_boundary_counts_once() {
    check(|| {
        let window = started();
        // Both see that the slice is over; one rotates.
        let one = race(&window, |window| window.record(at(1_000), true, true));
        let other = race(&window, |window| window.record(at(1_000), false, false));
        one.join().unwrap();
        other.join().unwrap();
        let counts = window.totals(at(1_000));
        assert_eq!(
            (counts.total(), counts.failures(), counts.slow()),
            (3, 2, 1)
        );
    });
}

#[test]
fn a_stalled_writer_is_never_lost() {
    check(|| {
        let window = started();
        let writer = race(&window, |window| window.record(at(0), false, false));
        // Twice: the slice that the writer chose comes up again.
        let rotator = race(&window, |window| {
            expired(window, at(1_000)).plus(expired(window, at(2_000)))
        });
        writer.join().unwrap();
        let gone = rotator.join().unwrap().plus(expired(&window, at(2_000)));
        let all = gone.plus(window.totals(at(2_000)));
        assert_eq!((all.total(), all.failures()), (2, 1));
    });
}

#[test]
fn two_rotators_move_on_once() {
    check(|| {
        let window = started();
        let one = race(&window, |window| expired(window, at(1_000)));
        let other = race(&window, |window| expired(window, at(1_900)));
        let gone = one.join().unwrap().plus(other.join().unwrap());
        assert_eq!(gone.total(), 0);
        assert_eq!(window.totals(at(1_999)).total(), 1);
        assert_eq!(window.totals(at(2_000)).total(), 0);
    });
}
