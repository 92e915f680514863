use super::relative::USUAL_BASELINE;
use super::*;
use proptest::prelude::*;

const fn nominal(first: Duration, longest: Duration, opens: u32) -> Duration {
    Breaker::DEFAULT
        .with_break(first, longest)
        .nominal_break(opens)
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<u64>().prop_map(Duration::from_nanos),
        (0..100_u64).prop_map(Duration::from_nanos),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, sub)| Duration::new(secs, sub)),
    ]
}

proptest! {
    #[test]
    fn a_break_doubles_up_to_the_longest(
        first in duration(),
        longest in duration(),
        opens in prop_oneof![0..100_u32, any::<u32>()],
    ) {
        let mut exact = first.as_nanos();
        for _ in 1..opens.min(128) {
            exact = exact.saturating_mul(2);
        }
        let exact = exact.min(longest.as_nanos());
        prop_assert_eq!(nominal(first, longest, opens).as_nanos(), exact);
    }
}

const fn window(secs: u64) -> Breaker {
    Breaker::DEFAULT.with_window(Duration::from_secs(secs), 20)
}

// core-07.25
#[test]
fn a_longer_window_lengthens_the_baseline() {
    let secs = |window: Breaker| window.baseline().map(|baseline| baseline.as_secs());
    let lengths = [1, 30, 31, 60, 360, 361, 420].map(|length| secs(window(length)));
    let (short, long) = (Some(300), Some(3_601));
    assert_eq!(
        lengths,
        [short, short, Some(311), Some(601), long, None, None]
    );
    assert_eq!(window(361).relative_failures(), None);
    assert_eq!(window(361), window(361).without_relative_failures());
    let forever = Breaker::DEFAULT.with_window(Duration::MAX, 20);
    assert_eq!(forever.baseline(), None);
}

// core-07.25
#[test]
fn a_longer_window_lengthens_the_latency_baseline() {
    let secs = |window: Breaker| window.slow_baseline().map(|baseline| baseline.as_secs());
    let lengths = [1, 60, 150, 151, 420, 1_800, 1_801].map(|length| secs(window(length)));
    let (short, long) = (Some(300), Some(3_601));
    assert_eq!(
        lengths,
        [short, short, short, Some(303), Some(841), long, None]
    );
    assert_eq!(window(1_801).relative_slow_calls(), None);
    // The more slow ones it takes, the longer has to be known what is normal.
    assert_eq!(secs(window(420).with_slow_ratio(Ratio::ONE)), Some(1_681));
    assert_eq!(secs(window(420).with_slow_ratio(Ratio::ppm(1))), short);
}

#[test]
fn nothing_relative_is_left_when_off() {
    let off = Breaker::DEFAULT.with_adaptive(false);
    assert_eq!(
        (off.relative_failures(), off.relative_slow_calls()),
        (None, None)
    );
    assert_eq!((off.baseline(), off.slow_baseline()), (None, None));
    let apart = Breaker::DEFAULT
        .without_relative_failures()
        .without_relative_slow_calls();
    assert_eq!(off, apart);
    assert_ne!(off, Breaker::DEFAULT);
    assert_eq!(off, Breaker::REFERENCE.with_adaptive(false));
    // A law that was asked for contradicts it.
    let law =
        |breaker: Breaker| breaker.with_relative_slow_calls(SlowTrip::DEFAULT, USUAL_BASELINE);
    assert_ne!(law(off), law(apart));
    assert_eq!(law(Breaker::DEFAULT), Breaker::DEFAULT);
}

#[test]
fn equal_is_what_does_the_same() {
    let usual = Breaker::DEFAULT;
    let chosen = usual.with_relative_failures(RelativeTrip::DEFAULT, USUAL_BASELINE);
    assert_eq!(usual, chosen);
    assert_ne!(usual, usual.without_relative_failures());
    assert_ne!(usual, Breaker::REFERENCE);
    let longer = usual.with_relative_failures(RelativeTrip::DEFAULT, Duration::from_secs(301));
    assert_ne!(usual, longer);
    // One follows the window, the other one stays.
    let wide = |breaker: Breaker| breaker.with_window(Duration::from_secs(60), 20);
    assert_ne!(wide(usual), wide(chosen));
    assert_eq!(usual.without_relative_failures().baseline(), None);
}

#[test]
fn the_larger_minimum_counts() {
    let minimum = |breaker: Breaker| breaker.relative_failures().map(|law| law.minimum_calls());
    let few = window(30).with_window(Duration::from_secs(30), 5);
    assert_eq!(minimum(few), Some(5));
    let law = RelativeTrip::DEFAULT.with_minimum(50, 100);
    assert_eq!(
        minimum(few.with_relative_failures(law, USUAL_BASELINE)),
        Some(50)
    );
}

#[test]
fn even_a_nanosecond_reaches_the_longest() {
    let (tiny, hour) = (Duration::from_nanos(1), Duration::from_secs(3_600));
    assert_eq!(nominal(tiny, hour, 33), Duration::from_nanos(1 << 32));
    assert_eq!(nominal(tiny, hour, 42), Duration::from_nanos(1 << 41));
    assert_eq!(nominal(tiny, hour, 43), hour);
    assert_eq!(nominal(tiny, hour, 64), hour);
    assert!(nominal(tiny, Duration::MAX, 94) < Duration::MAX);
    for opens in [95, 96, u32::MAX] {
        assert_eq!(nominal(tiny, Duration::MAX, opens), Duration::MAX);
    }
    const { assert!(nominal(Duration::ZERO, Duration::MAX, u32::MAX).is_zero()) };
}
