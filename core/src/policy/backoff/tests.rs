use std::vec::Vec;

use super::*;
use crate::math::random::random;
use crate::policy::policy::Policy;
use proptest::prelude::*;

const DRAWS: u64 = 10_000;
const STEADY: Backoff = Backoff::DEFAULT.with_jitter(Jitter::None);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The waits of `backoff` before `attempts`, in milliseconds.
fn waits<const N: usize>(backoff: Backoff, attempts: [u32; N], previous: Verdict) -> [u128; N] {
    attempts.map(|number| match backoff.delay(number, previous, 0) {
        Some(delay) => delay.as_millis(),
        None => u128::MAX,
    })
}

fn drawn(backoff: Backoff, number: u32) -> impl Iterator<Item = Duration> {
    (0..DRAWS).filter_map(move |n| backoff.delay(number, Verdict::TRANSIENT, random(1, n)))
}

// core-05.1
#[test]
fn a_transient_wait_doubles() {
    let waits = waits(STEADY, [2, 3, 4, 5, 6], Verdict::TRANSIENT);
    assert_eq!(waits, [100, 200, 400, 800, 1_600]);
}

// core-05.2
#[test]
fn a_throttled_wait_is_capped() {
    let waits = waits(STEADY, [2, 3, 4, 5, 6, 7], Verdict::THROTTLED);
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
}

// core-05.3
#[test]
fn the_exponent_follows_the_attempt() {
    assert_eq!(waits(STEADY, [2], Verdict::TRANSIENT), [100]);
    assert_eq!(waits(STEADY, [3], Verdict::THROTTLED), [2_000]);
}

// core-05.4
#[test]
fn a_hint_is_obeyed_exactly() {
    let hint = Verdict::throttled_for(ms(7_000));
    for jitter in [Jitter::None, Jitter::Equal, Jitter::Full] {
        let backoff = Backoff::DEFAULT.with_jitter(jitter);
        for (number, draw) in [(2, 0), (3, u32::MAX), (u32::MAX, 5)] {
            assert_eq!(backoff.delay(number, hint, draw), Some(ms(7_000)));
        }
    }
}

// core-05.5
#[test]
fn a_hint_above_the_longest_wait_ends() {
    let hint = Verdict::throttled_for(ms(45_000));
    assert_eq!(STEADY.delay(2, hint, 0), None);
    assert_eq!(
        STEADY.with_maximum(ms(45_000)).delay(2, hint, 0),
        Some(ms(45_000))
    );
    assert_eq!(
        STEADY.with_maximum(Duration::MAX).delay(2, hint, 0),
        Some(ms(45_000))
    );
}

//
#[test]
fn a_day_is_neither_slept_nor_shortened() {
    let day = Verdict::throttled_for(Duration::from_secs(86_400));
    let backoff = Backoff::DEFAULT.with_maximum(ms(1_000));
    assert_eq!(backoff.delay(2, day, 0), None);
    assert_eq!(
        backoff.delay(2, Verdict::throttled_for(Duration::MAX), 0),
        None
    );
}

// core-05.6
#[test]
fn a_hint_of_zero_means_at_once() {
    let hint = Verdict::throttled_for(Duration::ZERO);
    assert_eq!(STEADY.delay(2, hint, 0), Some(Duration::ZERO));
}

// core-05.7
#[test]
fn jitter_keeps_to_its_range() {
    let full = Backoff::DEFAULT;
    assert!(drawn(full, 3).all(|delay| delay < ms(200)));
    assert!(drawn(full, 3).any(|delay| delay < ms(1)));
    assert!(drawn(full, 3).any(|delay| delay > ms(199)));
    let equal = full.with_jitter(Jitter::Equal);
    assert!(drawn(equal, 3).all(|delay| delay >= ms(100) && delay < ms(200)));
    assert!(drawn(equal, 3).any(|delay| delay > ms(199)));
}

// core-05.8
#[test]
fn none_waits_for_nothing() {
    let hint = Verdict::throttled_for(ms(2_000));
    assert_eq!(
        waits(Backoff::NONE, [2, 3, 100], Verdict::TRANSIENT),
        [0, 0, 0]
    );
    assert_eq!(waits(Backoff::NONE, [2, 3, 100], hint), [0, 0, 0]);
    assert_eq!(Backoff::NONE, Backoff::constant(Duration::ZERO));
}

#[test]
fn a_longest_wait_of_zero_never_waits() {
    let hint = Verdict::throttled_for(ms(2_000));
    let backoff = Backoff::exponential(ms(50)).with_maximum(Duration::ZERO);
    assert_eq!(backoff.validate(), Ok(()));
    assert_eq!(waits(backoff, [2, 3, 100], Verdict::TRANSIENT), [0, 0, 0]);
    assert_eq!(waits(backoff, [2, 3, 100], hint), [0, 0, 0]);
}

// core-05.9
#[test]
fn a_constant_wait_bounds_hints() {
    let backoff = Backoff::constant(ms(50)).with_jitter(Jitter::None);
    assert_eq!(
        waits(backoff, [2, 3, u32::MAX], Verdict::TRANSIENT),
        [50, 50, 50]
    );
    assert_eq!(waits(backoff, [2], Verdict::throttled_for(ms(20))), [20]);
    assert_eq!(backoff.delay(2, Verdict::throttled_for(ms(2_000)), 0), None);
}

// core-05.10
#[test]
fn a_constant_wait_is_jittered_too() {
    let backoff = Backoff::constant(ms(1_000));
    assert!(drawn(backoff, 2).all(|delay| delay < ms(1_000)));
    assert!(drawn(backoff, 2).any(|delay| delay < ms(500)));
}

// core-05.18
#[test]
fn a_factor_below_one_shrinks() {
    let backoff = STEADY.with_factor(Ratio::percent(50));
    assert_eq!(waits(backoff, [2, 3, 4], Verdict::TRANSIENT), [100, 50, 25]);
}

// core-05.19, Polly#1866, Polly.Contrib.WaitAndRetry#24
#[test]
fn a_huge_exponent_saturates() {
    let unbounded = STEADY.with_maximum(Duration::MAX);
    let longest = Duration::from_nanos(u64::MAX);
    for number in [200, 2_000, u32::MAX] {
        assert_eq!(unbounded.curve(number, Kind::Transient), longest);
        assert_eq!(STEADY.curve(number, Kind::Transient), ms(30_000));
    }
}

//
#[test]
fn jitter_never_exceeds_the_cap() {
    let capped = Backoff::DEFAULT.with_maximum(ms(2_000));
    for jitter in [Jitter::None, Jitter::Equal, Jitter::Full] {
        let longest = drawn(capped.with_jitter(jitter), 40).max();
        assert!(longest <= Some(ms(2_000)), "{jitter:?} {longest:?}");
    }
}

#[test]
fn callers_that_failed_together_spread() {
    let first = |seed| Backoff::DEFAULT.delay(2, Verdict::TRANSIENT, random(seed, 0));
    let mut waits: Vec<_> = (0..1_000).map(first).collect();
    let again: Vec<_> = (0..1_000).map(first).collect();
    assert_eq!(waits, again);
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() >= 999, "{}", waits.len());
}

//
#[test]
fn a_schedule_of_the_longest_waits_adds_up() {
    let endless = Backoff::exponential(Duration::MAX)
        .with_maximum(Duration::MAX)
        .with_jitter(Jitter::None);
    let policy = Policy::NONE
        .with_attempts(5)
        .with_attempt_timeout(ms(1))
        .with_backoff(endless);
    assert!(policy.explain().worst_case() > Some(Duration::from_nanos(u64::MAX)));
}

//
#[test]
fn a_base_is_not_a_factor() {
    let backoff = Backoff::exponential(ms(500)).with_jitter(Jitter::None);
    let waits = waits(backoff, [2, 3, 4, 50], Verdict::TRANSIENT);
    assert_eq!(waits, [500, 1_000, 2_000, 30_000]);
}

#[test]
fn the_throttled_base_follows_the_transient() {
    let bases = |backoff: Backoff| (backoff.transient_base(), backoff.throttled_base());
    assert_eq!(bases(Backoff::exponential(ms(20))), (ms(20), ms(200)));
    assert_eq!(Backoff::exponential(ms(100)), Backoff::DEFAULT);
    assert_eq!(
        Backoff::exponential(Duration::MAX).throttled_base(),
        Duration::MAX
    );
    let other = Backoff::DEFAULT.with_bases(ms(5), ms(7));
    assert_eq!(bases(other), (ms(5), ms(7)));
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        any::<u64>().prop_map(Duration::from_nanos),
        (0..10_u64).prop_map(Duration::from_nanos),
        Just(Duration::MAX),
    ]
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Equal), Just(Jitter::Full)];
    let bases = (any_duration(), any_duration(), any_duration());
    (bases, any::<u32>(), jitter).prop_map(|((transient, throttled, maximum), ppm, jitter)| {
        Backoff::DEFAULT
            .with_bases(transient, throttled)
            .with_maximum(maximum)
            .with_factor(Ratio::ppm(ppm))
            .with_jitter(jitter)
    })
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Transient), Just(Kind::Throttled)]
}

proptest! {
    // aws-sdk-rust#960, aws-sdk-rust#1133, R-22
    #[test]
    fn no_wait_panics_or_exceeds_the_cap(
        backoff in any_backoff(), number: u32, draw: u32, hint in proptest::option::of(any_duration()),
    ) {
        let verdict = match hint {
            Some(hint) => Verdict::throttled_for(hint),
            None => Verdict::TRANSIENT,
        };
        match backoff.delay(number, verdict, draw) {
            Some(delay) => prop_assert!(delay <= backoff.maximum()),
            None => prop_assert!(hint > Some(backoff.maximum())),
        }
        prop_assert!(backoff.curve(number, verdict.kind()) <= backoff.maximum());
    }

    // Polly.Contrib.WaitAndRetry#24
    #[test]
    fn the_curve_never_turns(backoff in any_backoff(), number: u32, kind in any_kind()) {
        let (now, next) = (backoff.curve(number, kind), backoff.curve(number.saturating_add(1), kind));
        if backoff.factor() >= Ratio::ONE {
            prop_assert!(now <= next);
        } else {
            prop_assert!(now >= next);
        }
    }

    #[test]
    fn jitter_only_shortens(whole in any_duration(), draw: u32) {
        prop_assert_eq!(Jitter::None.apply(whole, draw), whole);
        for jitter in [Jitter::Equal, Jitter::Full] {
            let wait = jitter.apply(whole, draw);
            prop_assert!(wait < whole || whole.is_zero());
            prop_assert!(wait >= jitter.shortest(whole));
        }
    }
}
