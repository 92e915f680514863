use super::*;

// core-14.14
#[test]
fn text_reads_as_specified() {
    let attempt = Event::new(EventKind::Attempt, 1)
        .with_policy("api")
        .with_duration(Duration::from_micros(100));
    assert_eq!(attempt.to_string(), "[api] Attempt #1 Ok (0.1ms)");

    let retry = Event::new(EventKind::Retrying, 2)
        .with_verdict(Verdict::TRANSIENT)
        .with_error("std::io::error::Error")
        .with_duration(Duration::from_micros(12_340))
        .with_delay(Duration::from_millis(200));
    assert_eq!(
        retry.to_string(),
        "Retrying #2 Transient Error (12.3ms) +200ms"
    );
}

// core-14.15
#[test]
fn an_unnamed_policy_has_no_bracket() {
    let text = Event::new(EventKind::Succeeded, 1).to_string();
    assert_eq!(text, "Succeeded #1 Ok (0ms)");
}

#[test]
fn a_refusal_names_its_limit() {
    let event = Event::new(EventKind::Attempt, 1)
        .with_verdict(Verdict::SELF_IMPOSED)
        .with_limit(Limit::Rate);
    assert_eq!(event.limit(), Some(Limit::Rate));
    let text = "Attempt #1 Throttled by the rate limit (0ms)";
    assert_eq!(event.to_string(), text);
}

#[test]
fn zero_delay_is_not_no_delay() {
    let event = Event::new(EventKind::Retrying, 2);
    assert_eq!(event.delay(), None);
    assert_eq!(
        event.with_delay(Duration::ZERO).delay(),
        Some(Duration::ZERO)
    );
    assert!(event.with_delay(Duration::MAX).delay().is_some());
}

#[test]
fn it_fits_a_cache_line() {
    assert!(size_of::<Event>() <= 64, "{}", size_of::<Event>());
}
