use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

fn written(facts: &Ambient, now: Instant) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    write(facts, now, |name, value| {
        headers.push((name, value.to_string()));
    });
    headers
}

// core-13.6
#[test]
fn only_plain_milliseconds_are_a_deadline() {
    let ms = |text| parse_deadline(text).map(|left| left.as_millis());
    assert_eq!(ms("250"), Some(250));
    assert_eq!(ms("1"), Some(1));
    assert_eq!(ms("2147483647"), Some(2_147_483_647));
    let not = [
        "0",
        "000",
        "-5",
        "+5",
        " 5",
        "5 ",
        "5ms",
        "",
        "2147483648",
        "4294967296",
        "18446744073709551617",
        "1.5",
        "1e3",
        "\u{0665}",
        "5\0",
    ];
    for text in not {
        assert_eq!(ms(text), None, "{text:?}");
    }
}

// core-13.7
#[test]
fn a_deadline_is_written_in_whole_milliseconds() {
    let text = |left| Millis::of(left).map(|millis| millis.to_string());
    let micros = |micros| text(Duration::from_micros(micros));
    assert_eq!(micros(1_500_900).as_deref(), Some("1500"));
    assert_eq!(micros(400).as_deref(), Some("1"));
    assert_eq!(text(Duration::from_nanos(1)).as_deref(), Some("1"));
    assert_eq!(micros(0), None);
    assert_eq!(text(Duration::MAX), None);
    let year = Duration::from_secs(365 * 86_400);
    assert_eq!(text(year).as_deref(), Some("2147483647"));

    assert!(written(&Ambient::NONE.without_deadline(), Instant::ZERO).is_empty());
    let over = Ambient::NONE.with_deadline(Instant::ZERO);
    // Without a header the next process would have no deadline at all.
    assert_eq!(
        written(&over, Instant::from_nanos(1)),
        [(DEADLINE, "1".to_owned())]
    );
}

// core-13.11
#[test]
fn nobody_outside_claims_the_most() {
    use Criticality::{Critical, Sheddable, SheddablePlus};
    let level = parse_criticality;
    assert_eq!(level("sheddable"), Some(Sheddable));
    assert_eq!(level("SheddablePlus"), Some(SheddablePlus));
    assert_eq!(level("critical"), Some(Critical));
    assert_eq!(level("CRITICALPLUS"), Some(Critical));
    for text in ["0", "high", "", "Critical ", "Sheddable,Critical"] {
        assert_eq!(level(text), None, "{text:?}");
        assert_eq!(level(text).unwrap_or_default(), Critical);
    }
}

#[test]
fn only_a_one_is_a_mark() {
    let marked = |value: &str| {
        let read = read(Instant::ZERO, |name| (name == RETRIED).then_some(value));
        read.retried()
    };
    assert_eq!(marked("1"), Some(true));
    for value in ["", "0", "true", " 1", "11"] {
        assert_eq!(marked(value), None, "{value:?}");
    }
    let unmarked = Ambient::NONE.with_retried(false);
    assert!(written(&unmarked, Instant::ZERO).is_empty());
}

#[test]
fn names_are_in_lower_case() {
    for name in [DEADLINE, CRITICALITY, RETRIED] {
        assert_eq!(name, name.to_lowercase());
    }
}

proptest! {
    #[test]
    fn any_value_is_read_without_panic(text: String) {
        let _ = (parse_deadline(&text), parse_criticality(&text));
        let _ = read(Instant::MAX, |_| Some(&text));
    }

    // it loses less than a millisecond on the way.
    #[test]
    fn what_is_written_is_read(now in 0..1_u64 << 40, left in 1..1_u64 << 40) {
        let now = Instant::from_nanos(now);
        let facts = Ambient::NONE
            .with_deadline(now.saturating_add(Duration::from_nanos(left)))
            .with_criticality(Criticality::SheddablePlus)
            .with_retried(true);
        let headers = written(&facts, now);
        let read = read(now, |name| {
            headers.iter().find(|header| header.0 == name).map(|header| &header.1)
        });
        let again = read.left(now).expect("a deadline");
        let millisecond = Duration::from_millis(1);
        prop_assert_eq!(again, Duration::from_millis(left / 1_000_000).max(millisecond));
        prop_assert_eq!(read.criticality(), facts.criticality());
        prop_assert!(read.is_retried());
    }
}
