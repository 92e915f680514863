//! Models of the latency window.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{Instant, Latency, LatencyWindow, Memory, Profile, Quantile, Ratio, Wide};

use crate::memory::{LoomMemory, check};

/// Two slices of two cells: each word costs many orders.
#[derive(Debug)]
struct Small;

impl Profile for Small {
    type Cells<M: Memory> = [[Wide<M>; 2]; 2];
    const FIRST: u8 = 0;
}

struct Model {
    window: LatencyWindow<LoomMemory, Small>,
    median: Quantile<LoomMemory>,
}

/// A window of two slices of a second, one short call in the first of them.
fn started() -> Arc<Model> {
    let model = Arc::new(Model {
        window: LatencyWindow::new(Duration::from_secs(2)),
        median: tracked(50, u32::MAX),
    });
    model.window.record_nanos(at(0), SHORT);
    // Touches every word.
    model.median.forget();
    assert_eq!(counts(&model.window, at(0)), (1, 0));
    model
}

const SHORT: u64 = 0;
const LONG: u64 = 1_000_000;

const SHORT_UPPER: u64 = 1_120;
const LONG_UPPER: u64 = 1_216;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn tracked(percent: u32, minimum: u32) -> Quantile<LoomMemory> {
    Quantile::new(Ratio::percent(percent), minimum)
}

/// Returns how many short calls a window holds, and how many long ones.
fn counts(window: &LatencyWindow<LoomMemory, Small>, now: Instant) -> (u32, u32) {
    let holds = |samples: &u32| {
        let tracked = tracked(50, *samples);
        window.quantile(now, &tracked).is_some()
    };
    let all = (1..9).take_while(holds).last().unwrap_or(0);
    let is_short = |rank: &u32| {
        let tracked = Quantile::new(Ratio::ppm(rank * 1_000_000 / all), 1);
        let latency = window.quantile(now, &tracked);
        latency.is_some_and(|latency| latency.upper_nanos() == SHORT_UPPER)
    };
    let short = (1..=all).take_while(is_short).last().unwrap_or(0);
    (short, all - short)
}

fn race<T: 'static>(model: &Arc<Model>, act: fn(&Model) -> T) -> JoinHandle<T> {
    let model = Arc::clone(model);
    thread::spawn(move || act(&model))
}

fn record(model: &Model, now: Instant, took: u64) {
    model.window.record_nanos(now, took);
}

#[test]
fn a_rotation_loses_no_latency() {
    check(|| {
        let model = started();
        // Both see that the slice is over; one rotates.
        let one = race(&model, |model| record(model, at(1_000), LONG));
        let other = race(&model, |model| record(model, at(1_000), SHORT));
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(counts(&model.window, at(1_000)), (2, 1));
        assert_eq!(counts(&model.window, at(3_000)), (0, 0));
    });
}

#[test]
fn two_rotators_of_latencies_move_on_once() {
    check(|| {
        let model = started();
        let rotate = |model: &Model| model.window.quantile(at(1_000), &model.median);
        let one = race(&model, rotate);
        let other = race(&model, |model| record(model, at(1_900), LONG));
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(counts(&model.window, at(1_999)), (1, 1));
        assert_eq!(counts(&model.window, at(4_000)), (0, 0));
    });
}

#[test]
fn a_query_races_a_rotation() {
    check(|| {
        let model = started();
        let query = race(&model, |model| {
            let all = tracked(100, 1);
            let found = model.window.quantile(at(999), &all);
            found.map(Latency::upper_nanos)
        });
        let rotator = race(&model, |model| {
            record(model, at(1_000), SHORT);
            record(model, at(1_000), LONG);
        });
        // Nothing, where the rotator was busy; never a count that nobody made.
        let found = query.join().unwrap();
        rotator.join().unwrap();
        assert!(
            [None, Some(SHORT_UPPER), Some(LONG_UPPER)].contains(&found),
            "{found:?}"
        );
        assert_eq!(counts(&model.window, at(1_000)), (2, 1));
    });
}

#[test]
fn a_reset_beats_a_rotation() {
    check(|| {
        let model = started();
        let resets = race(&model, |model| model.window.reset());
        let records = race(&model, |model| record(model, at(1_000), LONG));
        resets.join().unwrap();
        records.join().unwrap();
        let (short, long) = counts(&model.window, at(1_000));
        assert!(short == 0 && long <= 1, "{short} {long}");
    });
}
