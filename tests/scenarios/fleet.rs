//! Budgets of a whole fleet: which lets a collapsed dependency recover.
//!
//! A dependency loses most of its capacity for ten seconds. Meanwhile a backlog
//! builds up that makes every answer too late, and that alone keeps all calls
//! failing until it is worked off. Retries can keep it from that for ever.

mod model;

use core::time::Duration;

use model::play;
use steadfast::{Budget, Ratio};

const SMALL: Budget = Budget::new(Ratio::percent(10), 0).with_burst(5);

/// Seconds that a fleet is watched after the trigger.
const WATCHED: u32 = 120;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Plays each seed; returns the mean seconds to recovery, if all recovered,
/// none if none did, and the mean peak.
fn mean(law: Budget, processes: u32, load: f64) -> (Option<f64>, f64) {
    let (mut seconds, mut peak, mut recovered) = (0.0, 0.0, 0);
    let runs = SEEDS.count();
    for seed in SEEDS {
        let course = play(law, processes, load, WATCHED, seed);
        peak += course.peak / runs as f64;
        if let Some(after) = course.recovered {
            seconds += f64::from(after) / runs as f64;
            recovered += 1;
        }
    }
    assert!(
        [0, runs].contains(&recovered),
        "{recovered} of {runs} recovered"
    );
    ((recovered > 0).then_some(seconds), peak)
}

/// Holds a law against a row of the table: seconds and peak at loads of .5, .7
/// and .85.
///
/// What recovers does so within 15 %, and a second or two, of the table: at .85
/// the backlog that is left varies by 100 attempts, and those take 2 to 4 s. The
/// peak is the greatest of 150 seconds and within 15 %: the table does not say
/// how long its bins are.
#[track_caller]
fn assert_row(law: Budget, processes: u32, row: [(Option<f64>, Option<f64>); 3]) {
    for (load, (seconds, peak)) in [0.5, 0.7, 0.85].into_iter().zip(row) {
        let found = mean(law, processes, load);
        let what = format!("{processes} processes at {load}: {found:?}");
        match (found.0, seconds) {
            (Some(found), Some(seconds)) => {
                assert!((found - seconds).abs() <= seconds * 0.15 + 1.5, "{what}");
            }
            (found, seconds) => assert_eq!(found, seconds, "{what}"),
        }
        if let Some(peak) = peak {
            assert!((found.1 - peak).abs() <= peak * 0.15, "{what}");
        }
    }
}

#[test]
fn no_budget_never_recovers() {
    let row = [5.3, 5.4, 5.2].map(|peak| (None, Some(peak)));
    assert_row(Budget::NONE, 50, row);
}

#[test]
fn a_floor_holds_a_fleet_down() {
    let some = |seconds, peak| (Some(seconds), Some(peak));
    let row = [some(3.0, 1.2), some(11.0, 1.12), some(28.0, 1.13)];
    assert_row(Budget::REFERENCE, 1, row);
    let row = [some(6.0, 2.0), some(18.0, 1.9), some(65.0, 1.9)];
    assert_row(Budget::REFERENCE, 10, row);
    let row = [some(48.0, 4.0), (None, Some(3.1)), (None, Some(3.1))];
    assert_row(Budget::REFERENCE, 50, row);
    assert_row(Budget::REFERENCE, 200, [(None, None); 3]);
}

#[test]
fn without_a_floor_a_fleet_recovers() {
    let some = |seconds, peak| (Some(seconds), Some(peak));
    let row = [some(4.0, 2.0), some(12.0, 1.9), some(31.0, 1.6)];
    assert_row(SMALL, 50, row);
}

// The backlog alone takes 3, 10 and 27 s. The peak is the worst second of the
// worst seed: for 200 processes it is 1.57, 1.49 and 1.39 on average.
#[test]
fn a_fleet_of_any_size_recovers() {
    for (processes, bounds) in [
        (1, [(4.0, 1.2), (12.0, 1.15), (33.0, 1.15)]),
        (10, [(4.0, 1.3), (12.0, 1.25), (33.0, 1.25)]),
        (50, [(4.0, 1.3), (12.0, 1.25), (33.0, 1.25)]),
        // One retry each, and less than two calls a second to make it for.
        (200, [(5.0, 1.7), (13.0, 1.6), (35.0, 1.5)]),
        (1_000, [(8.0, 2.1), (20.0, 2.0), (48.0, 2.0)]),
    ] {
        for (load, (seconds, peak)) in [0.5, 0.7, 0.85].into_iter().zip(bounds) {
            for seed in SEEDS {
                let course = play(Budget::FLEET, processes, load, WATCHED, seed);
                let what = format!("{processes} processes at {load}: {course:?}");
                let recovered = course.recovered.map_or(f64::MAX, f64::from);
                assert!(recovered <= seconds, "{what}");
                assert!(course.peak <= peak, "{what}");
            }
        }
    }
}

// Two calls a minute each: a fixed spare of one in 30 s would be 333 a second
// for ever, while the dependency has room for 60.
#[test]
fn spares_that_fade_let_a_huge_fleet_recover() {
    let course = play(Budget::FLEET, 10_000, 0.85, 900, 1);
    assert!(
        course.recovered.is_some_and(|seconds| seconds > 120),
        "{course:?}"
    );
    let rarer = Budget::FLEET.with_spare(Duration::from_secs(120));
    let course = play(rarer, 10_000, 0.85, 900, 1);
    assert!(
        course.recovered.is_some_and(|seconds| seconds < 400),
        "{course:?}"
    );
}
