use super::*;
use crate::memory::Local;
use proptest::prelude::*;
use std::vec::Vec;

type Window = RateWindow<Local>;

const TRIP: Duration = Duration::from_secs(30);
const BASELINE: Duration = Duration::from_secs(300);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Steps of a clock in milliseconds: within, between and beyond the windows.
fn step() -> impl Strategy<Value = u64> {
    prop_oneof![16 => 0..3_000_u64, 2 => 0..40_000_u64, 1 => 0..400_000_u64]
}

fn clock() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0..600_000_000_000_u64,
        1 => any::<u64>(),
        1 => u64::MAX - 10..=u64::MAX,
    ]
}

proptest! {
    // W1
    #[test]
    fn nothing_is_lost_or_doubled(
        calls in proptest::collection::vec((any::<bool>(), any::<bool>(), clock()), 0..200),
    ) {
        let window = Window::new(TRIP, BASELINE);
        let mut recorded = [0; 3];
        let mut expired = Counts::default();
        for (failed, slow, now) in calls {
            let now = Instant::from_nanos(now);
            expired = expired.plus(window.advance(now));
            window.record(now, failed, slow);
            for (count, one) in recorded.iter_mut().zip([true, failed, slow]) {
                *count += u64::from(one);
            }
            let all = window.trip.sum().plus(window.baseline.sum()).plus(expired);
            prop_assert_eq!([all.total(), all.failures(), all.slow()], recorded);
        }
    }

    // W2, W3
    #[test]
    fn a_call_is_recent_or_normal(steps in proptest::collection::vec(step(), 1..200)) {
        let window = Window::new(TRIP, BASELINE);
        let mut seen = Vec::new();
        let mut now = 0;
        for step in steps {
            now += step;
            window.record(at(now), false, false);
            seen.push(now);
            let aged = |from, to| {
                let ages = seen.iter().map(|then| now - then);
                ages.filter(|age| (from..to).contains(age)).count() as u64
            };
            let trip = window.trip(at(now)).total();
            prop_assert!(trip <= aged(0, 30_000) && trip >= aged(0, 27_000));
            let both = trip + window.baseline(at(now)).total();
            prop_assert!(both <= aged(0, 330_000), "{both} of {seen:?}");
            prop_assert!(both >= aged(0, 270_000), "{both} of {seen:?}");
        }
    }

    // T1
    #[test]
    fn no_clock_panics(
        trip: u64,
        baseline: u64,
        clocks in proptest::collection::vec(any::<u64>(), 0..50),
    ) {
        let window = Window::new(Duration::from_nanos(trip), Duration::from_nanos(baseline));
        for now in clocks {
            let now = Instant::from_nanos(now);
            window.record(now, true, true);
            for counts in [window.trip(now), window.baseline(now)] {
                prop_assert!(counts.failures() <= counts.total());
                prop_assert!(counts.slow() <= counts.total());
            }
        }
    }
}

// W3
#[test]
fn slices_cascade_one_by_one() {
    let window = Window::new(TRIP, BASELINE);
    for second in 0..30 {
        window.record(at(second * 1_000), second < 3, false);
    }
    let both = |ms| [window.trip(at(ms)).total(), window.baseline(at(ms)).total()];
    assert_eq!(
        [29_999, 30_000, 32_999, 33_000, 56_999].map(both),
        [[30, 0], [27, 3], [27, 3], [24, 6], [3, 27]]
    );
    assert_eq!(window.baseline(at(60_000)).failures(), 3);
    // The last of them left the recent window at a minute.
    assert_eq!(window.baseline(at(329_999)).total(), 30);
    assert_eq!(window.baseline(at(360_000)).total(), 0);
}

#[test]
fn what_a_pause_left_is_as_old_as_it_is() {
    let window = Window::new(TRIP, BASELINE);
    window.record(at(0), true, false);
    window.record(at(290_000), false, false);
    assert_eq!(window.baseline(at(290_000)).total(), 1);
    window.record(at(320_000), false, false);
    assert_eq!(window.baseline(at(320_000)).failures(), 0);
    assert_eq!(window.baseline(at(320_000)).total(), 1);
}

// W6
#[test]
fn a_trip_leaves_the_baseline_alone() {
    let window = Window::new(TRIP, BASELINE);
    for second in 0..90 {
        window.record(at(second * 1_000), second % 2 == 0, second % 3 == 0);
    }
    let normal = window.baseline(at(89_000));
    assert_eq!(
        (normal.total(), normal.failures(), normal.slow()),
        (60, 30, 20)
    );
    window.forget_trip();
    assert_eq!(window.trip(at(89_000)), Counts::default());
    assert_eq!(window.baseline(at(89_000)), normal);
    assert_eq!(window.baseline(at(119_000)), normal);
    window.forget();
    assert_eq!(window.baseline(at(119_000)), Counts::default());
}

#[test]
fn a_full_baseline_keeps_its_share() {
    let window = Window::new(TRIP, BASELINE);
    let mut half = Counts::default();
    for _ in 0..2 {
        window.record(at(0), true, false);
        window.record(at(0), false, false);
    }
    while half.total() < 1 << 30 {
        half = half.plus(half).plus(window.trip.sum());
    }
    for _ in 0..5 {
        let _expired = window.baseline.merge(at(0), half);
    }
    let full = window.baseline.sum();
    assert!(full.total() > 1 << 30 && full.total() <= 1 << 31);
    assert_eq!(full.total(), full.failures() * 2);
}

#[test]
fn a_rate_window_has_a_size() {
    assert_eq!(size_of::<RateWindow>(), 288);
}
