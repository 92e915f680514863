use super::*;
use crate::tally::Call;

fn at(ms: u64) -> Instant {
    Instant::ZERO.saturating_add(Duration::from_millis(ms))
}

/// A report of calls at those times, those named failing.
fn report(span_ms: u64, well_from: u64, starts: &[u64], failing: &[u64]) -> Report {
    let call = |&start: &u64| Call {
        start: at(start),
        took: Duration::from_millis(1),
        level: Criticality::Critical,
        is_ok: !failing.contains(&start),
    };
    let mut counted = crate::tally::Tally::new(0, Duration::ZERO, None).take();
    counted.calls = starts.iter().map(call).collect();
    let span = Duration::from_millis(span_ms);
    Report::new(1, span, Some(at(well_from)), counted)
}

// test-03.12
#[test]
fn recovery_is_the_first_call_of_a_good_second() {
    let starts: Vec<_> = (89_900..93_000).step_by(2).collect();
    let recovered =
        |span, failing: &[u64]| report(span, 90_000, &starts, failing).time_to_recover();
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(recovered(120_000, &[90_400]), ms(402));
    assert_eq!(recovered(120_000, &[]), ms(0));
    assert_eq!(recovered(120_000, &[90_000, 90_998, 91_500]), ms(1_502));
    // Of before the end it says nothing.
    assert_eq!(recovered(120_000, &[89_998]), ms(0));
    // The run ends before a good second does.
    assert_eq!(recovered(90_900, &[90_400]), None);
    assert_eq!(report(120_000, 90_000, &[], &[]).time_to_recover(), None);
}

// test-03.11
#[test]
fn a_second_in_which_nothing_began_amplifies_nothing() {
    let second = |started, reached| Second {
        started,
        reached,
        ..Second::default()
    };
    let mut counted = crate::tally::Tally::new(0, Duration::ZERO, None).take();
    counted.seconds = vec![second(100, 100), second(100, 130), second(0, 5)];
    let report = Report::new(1, Duration::from_secs(3), None, counted);
    assert_eq!(report.amplification(), Ratio::percent(130));
}

// test-03.13
#[test]
fn a_quantile_is_a_value_that_was_there() {
    let mut counted = crate::tally::Tally::new(0, Duration::ZERO, None).take();
    counted.calls = (1..=4)
        .map(|took| Call {
            start: at(0),
            took: Duration::from_millis(took),
            level: Criticality::Critical,
            is_ok: true,
        })
        .collect();
    let report = Report::new(1, Duration::from_secs(1), None, counted);
    let quantile = |percent| report.latency(Ratio::percent(percent)).as_millis();
    assert_eq!([0, 50, 51, 100, 110].map(quantile), [1, 2, 3, 4, 4]);
}

#[test]
fn numbers_are_rounded_to_the_nearest() {
    assert_eq!(Decimals(Ratio::ppm(1_234_565), 4).to_string(), "1.2346");
    assert_eq!(Decimals(Ratio::ppm(999_960), 4).to_string(), "1.0000");
    assert_eq!(Decimals(Ratio::ZERO, 3).to_string(), "0.000");
    assert_eq!(Millis(Duration::from_micros(1_249)).to_string(), "1.2 ms");
    assert_eq!(Millis(Duration::from_micros(1_250)).to_string(), "1.3 ms");
}
