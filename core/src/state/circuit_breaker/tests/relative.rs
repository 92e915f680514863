//! Failures measured by what is normal.

use super::*;
use crate::math::random::random;
use crate::math::ratio::Ratio;
use crate::math::significance::RelativeTrip;
use Kind::{Ok as Fine, Transient};
use std::vec::Vec;

/// Opens on what is not normal only.
const RELATIVE: Breaker = PATIENT;
/// The same, without significance.
const REFERENCE: Breaker = Breaker::REFERENCE
    .with_jitter(Jitter::None)
    .with_consecutive_failures(1_000_000);

/// A breaker that at 300 s has seen so many attempts spread over 270 s, of
/// which the given share failed. All of them are normal by then.
fn experienced(settings: Breaker, attempts: u64, failed: Ratio) -> Alone {
    let breaker = Alone::new(settings);
    for number in 1..=attempts {
        let fails = failed.of(number) > failed.of(number - 1);
        let now = ms(number * 270_000 / attempts);
        let kind = if fails { Transient } else { Fine };
        assert_eq!(attempt(&breaker, now, kind), None);
    }
    breaker
}

/// Makes attempts at 300 s until one opens, and returns how many that took.
fn opens_after(breaker: &Alone, kinds: impl IntoIterator<Item = Kind>) -> Option<usize> {
    let mut kinds = kinds.into_iter();
    let at = kinds.position(|kind| attempt(breaker, secs(300), kind).is_some())?;
    Some(at + 1)
}

fn after(fine: usize) -> impl Iterator<Item = Kind> {
    (0..100).map(move |at| if at < fine { Fine } else { Transient })
}

// core-07.11
#[test]
fn two_failures_are_chance_unless_asked() {
    let reference = || experienced(REFERENCE, 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&reference(), after(18)), Some(20));
    assert_eq!(opens_after(&reference(), after(18).take(19)), None);
    assert_eq!(opens_after(&reference(), after(19).take(20)), None);
    // Five deviations above none, which may be luck, are a little over five.
    let breaker = experienced(RELATIVE, 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(18)), Some(24));
}

// core-07.12
#[test]
fn a_bad_dependency_has_to_fail_wholly() {
    for settings in [RELATIVE, REFERENCE] {
        let bad = || experienced(settings, 1_000, Ratio::percent(30));
        assert_eq!(
            bad().normal_failure_rate(secs(300)),
            Some(Ratio::percent(30))
        );
        assert_eq!(opens_after(&bad(), after(0)), Some(20));
        assert_eq!(opens_after(&bad(), after(1)), None);
    }
    let both = RELATIVE.with_failure_ratio(Ratio::percent(50));
    let breaker = experienced(both, 1_000, Ratio::percent(30));
    assert_eq!(opens_after(&breaker, after(10)), Some(20));
}

// core-07.13
#[test]
fn what_is_normal_takes_a_hundred() {
    for (attempts, opens) in [(98, None), (99, None), (100, Some(20))] {
        let breaker = experienced(RELATIVE, attempts, Ratio::ZERO);
        assert_eq!(
            breaker.normal_failure_rate(secs(300)).is_some(),
            opens.is_some()
        );
        assert_eq!(opens_after(&breaker, after(0)), opens);
    }
    // The window is no part of it: 98 and 20 in there are not enough.
    let breaker = experienced(REFERENCE, 98, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(18)), None);
}

// core-07.25
#[test]
fn a_long_window_measures_by_nothing() {
    let breaker = Alone::new(RELATIVE.with_window(span(420), 20));
    for second in 0..3_000 {
        assert_eq!(attempt(&breaker, secs(second), Fine), None);
    }
    for second in 3_000..6_000 {
        assert_eq!(attempt(&breaker, secs(second), Transient), None);
    }
    assert_eq!(breaker.normal_failure_rate(secs(6_000)), None);
}

#[test]
fn each_rule_can_be_alone() {
    let settings = RELATIVE.without_relative_failures();
    let breaker = experienced(settings, 1_000, Ratio::ZERO);
    assert_eq!(breaker.normal_failure_rate(secs(300)), None);
    assert_eq!(opens_after(&breaker, after(0)), None);
    // A law of one's own may ask for more than the window does.
    let law = RelativeTrip::DEFAULT.with_minimum(50, 100);
    let breaker = experienced(
        RELATIVE.with_relative_failures(law, span(300)),
        1_000,
        Ratio::ZERO,
    );
    assert_eq!(opens_after(&breaker, after(0)), Some(50));
    // The usual one follows the window.
    let breaker = experienced(RELATIVE.with_window(span(30), 7), 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(0)), Some(7));
}

#[test]
fn a_slow_success_can_complete_the_window() {
    let slow = RELATIVE.with_slow_calls(span(1), Ratio::ONE);
    let breaker = experienced(slow, 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(0).take(19)), None);
    let permit = breaker.admit(secs(300)).expect("it is closed");
    assert_eq!(
        permit.settle(secs(300), Fine, span(1), || 0),
        Some(Transition::Opened)
    );
}

// W6
#[test]
fn no_transition_changes_what_is_normal() {
    let [breaker, untouched] = [(); 2].map(|()| experienced(PLAIN, 1_000, Ratio::permille(3)));
    let is_kept = |now| {
        let normal = untouched.normal_failure_rate(now);
        assert!(normal.is_some());
        assert_eq!(breaker.normal_failure_rate(now), normal);
    };
    is_kept(secs(300));
    opened(&breaker, secs(300));
    is_kept(secs(300));
    assert_eq!(attempt(&breaker, secs(315), Fine), None);
    assert_eq!(
        attempt(&breaker, secs(315), Transient),
        Some(Transition::Opened)
    );
    is_kept(secs(315));
    assert_eq!(attempt(&breaker, secs(345), Fine), None);
    assert_eq!(attempt(&breaker, secs(345), Fine), Some(Transition::Closed));
    is_kept(secs(345));
    let operators: [fn(&Alone); 4] = [Alone::isolate, Alone::disable, Alone::observe, Alone::reset];
    for act in operators {
        act(&breaker);
        is_kept(secs(345));
    }
    // What opened it never gets there.
    is_kept(secs(400));
    assert_eq!(breaker.normal_failure_rate(secs(1_000)), None);
}

// K10
#[test]
fn a_trip_begins_its_window_anew() {
    let breaker = experienced(RELATIVE.with_probes(1, 1), 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(0)), Some(20));
    assert_eq!(attempt(&breaker, secs(315), Fine), Some(Transition::Closed));
    for _ in 0..19 {
        assert_eq!(attempt(&breaker, secs(315), Transient), None);
    }
    assert_eq!(
        attempt(&breaker, secs(315), Transient),
        Some(Transition::Opened)
    );
}

#[test]
fn a_fresh_start_knows_nothing() {
    let breaker = experienced(RELATIVE, 1_000, Ratio::ZERO);
    breaker.start_afresh();
    assert_eq!(breaker.normal_failure_rate(secs(300)), None);
    // Another clock, too.
    assert_eq!(attempt(&breaker, secs(1), Fine), None);
    assert_eq!(breaker.normal_failure_rate(secs(1)), None);
}

/// Makes 50 attempts a second, the given share of which fails, and returns the
/// milliseconds until it opens.
fn run(breaker: &Alone, seed: u64, from: u64, to: u64, failing: Ratio) -> Option<u64> {
    (from * 50..to * 50).find_map(|call| {
        let fails = failing.of(1 << 32) > random(seed, call).into();
        let kind = if fails { Transient } else { Fine };
        attempt(breaker, ms(call * 20), kind).map(|_| call * 20 - from * 1_000)
    })
}

/// How long a step takes to open, in the middle of many runs.
#[test]
fn a_step_opens_in_seconds() {
    let (none, percent) = (Ratio::ppm(200), Ratio::percent);
    // From, to, after so many seconds, opens in about so many milliseconds.
    let steps = [
        (none, percent(100), 60, 1_400),
        (none, percent(50), 120, 3_000),
        (percent(1), percent(50), 120, 2_600),
        (percent(1), percent(8), 400, 17_200),
        (percent(1), percent(12), 400, 11_100),
        (percent(5), percent(35), 400, 20_000),
        (percent(10), percent(100), 400, 13_000),
    ];
    for (normal, failing, age, expected) in steps {
        let mut opened: Vec<u64> = (0..9)
            .map(|seed| {
                let breaker = Alone::new(RELATIVE);
                assert_eq!(run(&breaker, seed, 0, age, normal), None);
                run(&breaker, seed, age, age + 60, failing).expect("it opens")
            })
            .collect();
        opened.sort_unstable();
        let middle = opened[4];
        assert!(
            middle.abs_diff(expected) <= expected / 10,
            "{normal} to {failing} after {age} s opens in {middle} ms"
        );
    }
}

/// How many seconds pass with nothing refused: fifty attempts a second, of which
/// 12 % fail in place of 1 %.
fn unrefused(breaker: &Alone, from: u64, to: u64) -> u64 {
    let mut quiet = 0;
    for second in from..to {
        let mut refused = 0;
        for call in second * 50..(second + 1) * 50 {
            let now = ms(call * 20);
            let Ok(permit) = breaker.admit(now) else {
                refused += 1;
                continue;
            };
            let fails = Ratio::percent(12).of(1 << 32) > random(7, call).into();
            finish(permit, now, if fails { Transient } else { Fine });
        }
        quiet += u64::from(refused == 0);
    }
    quiet
}

/// When five minutes of relief have mended nothing, more of it will not.
#[test]
fn what_relief_does_not_mend_becomes_normal() {
    let breaker = Alone::new(RELATIVE);
    assert_eq!(run(&breaker, 1, 0, 400, Ratio::percent(1)), None);
    assert!(unrefused(&breaker, 400, 600) < 50);
    assert!(breaker.normal_failure_rate(secs(600)) < Some(Ratio::percent(2)));
    unrefused(&breaker, 600, 800);
    assert_eq!(unrefused(&breaker, 800, 1_200), 400);
    assert!(breaker.normal_failure_rate(secs(1_200)) > Some(Ratio::percent(10)));
}

// core-07.27
#[test]
fn failures_are_elevated_before_it_opens() {
    let breaker = experienced(RELATIVE, 1_000, Ratio::ZERO);
    let is_elevated = |percent| breaker.is_elevated(secs(300), Ratio::percent(percent));
    assert_eq!(opens_after(&breaker, [Transient, Transient]), None);
    assert_eq!(opens_after(&breaker, after(8).take(8)), None);
    assert!(!is_elevated(50), "too few");
    assert_eq!(opens_after(&breaker, after(30).take(30)), None);
    // Two of 40 are 5 %, the floor.
    assert!(is_elevated(50) && is_elevated(100) && !is_elevated(101));

    let breaker = experienced(RELATIVE, 1_000, Ratio::ZERO);
    assert_eq!(opens_after(&breaker, after(39).take(40)), None);
    assert!(
        !breaker.is_elevated(secs(300), Ratio::percent(50)),
        "one is chance"
    );
}

#[test]
fn the_lower_ratio_says_what_is_elevated() {
    let is_elevated = |settings: Breaker, normal, percent| {
        let breaker = experienced(settings, 1_000, normal);
        assert_eq!(opens_after(&breaker, after(36).take(40)), None);
        breaker.is_elevated(secs(300), Ratio::percent(percent))
    };
    // 4 of 40 fail, 10 %; five times normal are 20 %.
    let two = Ratio::percent(4);
    assert!(is_elevated(RELATIVE, two, 50) && !is_elevated(RELATIVE, two, 51));
    let both = RELATIVE.with_failure_ratio(Ratio::percent(16));
    assert!(is_elevated(both, two, 62) && !is_elevated(both, two, 63));
    let constant = both.with_adaptive(false);
    assert!(is_elevated(constant, Ratio::percent(1), 62));
    let neither = RELATIVE.with_adaptive(false);
    assert!(!is_elevated(neither, Ratio::percent(1), 1));
    // More than all cannot fail.
    assert!(is_elevated(RELATIVE, Ratio::percent(90), 10));
    let unknown = Alone::new(RELATIVE);
    assert_eq!(opens_after(&unknown, after(10).take(30)), None);
    assert!(!unknown.is_elevated(secs(300), Ratio::percent(1)));
}
