use core::cell::Cell;

use proptest::prelude::*;

use super::*;
use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn at(millis: u64) -> Instant {
    Instant::ZERO.saturating_add(ms(millis))
}

fn ambient() -> impl Strategy<Value = Ambient> {
    let level = prop_oneof![
        Just(Sheddable),
        Just(SheddablePlus),
        Just(Critical),
        Just(CriticalPlus)
    ];
    let due = prop_oneof![
        Just(None),
        Just(Some(Instant::MAX)),
        any::<u64>().prop_map(|nanos| Some(Instant::from_nanos(nanos))),
    ];
    let level = proptest::option::of(level);
    let retried = proptest::option::of(any::<bool>());
    (due, level, retried).prop_map(|(deadline, criticality, retried)| Ambient {
        deadline,
        criticality,
        retried,
    })
}

proptest! {
    #[test]
    fn merging_is_associative(inner in ambient(), middle in ambient(), outer in ambient()) {
        let left = inner.over(middle).over(outer);
        prop_assert_eq!(left, inner.over(middle.over(outer)));
        prop_assert_eq!(inner.over(Ambient::NONE), inner);
        prop_assert_eq!(Ambient::NONE.over(inner), inner);
        prop_assert_eq!(inner.over(inner), inner);
    }

    #[test]
    fn what_is_left_only_decays(facts in ambient(), one: u64, other: u64) {
        let (early, late) = (one.min(other), one.max(other));
        let left = |nanos| facts.left(Instant::from_nanos(nanos));
        prop_assert!(left(late) <= left(early));
        prop_assert_eq!(left(late).is_some(), left(early).is_some());
    }
}

#[test]
fn nothing_is_said_at_first() {
    assert_eq!(Ambient::default(), Ambient::NONE);
    assert!(Ambient::NONE.is_none());
    assert_eq!(Ambient::NONE.left(Instant::ZERO), None);
    assert!(!Ambient::NONE.with_retried(false).is_none());
}

// core-13.2: it is an instant, so it decays, also for whoever reads it late.
#[test]
fn a_deadline_decays_and_stays_at_zero() {
    let facts = Ambient::NONE.with_deadline(at(200));
    let left = [0, 150, 200, 10_000].map(|now| facts.left(at(now)));
    assert_eq!(left, [ms(200), ms(50), ms(0), ms(0)].map(Some));
}

// core-13.4
#[test]
fn none_hides_an_outer_deadline() {
    let outer = Ambient::NONE.with_deadline(at(200));
    let inner = Ambient::NONE.without_deadline().over(outer);
    assert_eq!(inner.left(Instant::ZERO), None);
    assert_eq!(inner.deadline(), Some(Instant::MAX));
}

#[test]
fn an_inner_deadline_may_be_later() {
    let outer = Ambient::NONE.with_deadline(at(200));
    let inner = Ambient::NONE.with_deadline(at(900)).over(outer);
    assert_eq!(inner.left(Instant::ZERO), Some(ms(900)));
}

#[test]
fn a_mark_can_be_taken_off() {
    let outer = Ambient::NONE.with_retried(true);
    assert!(Ambient::NONE.over(outer).is_retried());
    let inner = Ambient::NONE.with_retried(false).over(outer);
    assert!(!inner.is_retried());
}

#[test]
fn a_span_is_counted_from_the_clock() {
    struct Stopped(Cell<u64>);

    impl Clock for Stopped {
        fn now(&self) -> Instant {
            Instant::from_nanos(self.0.get())
        }
    }

    let clock = Stopped(Cell::new(5));
    let facts = Ambient::NONE.within(Duration::from_nanos(7), &clock);
    assert_eq!(facts.deadline(), Some(Instant::from_nanos(12)));
    let never = Ambient::NONE.within(Duration::MAX, &clock);
    assert_eq!(never.left(clock.now()), None);
}

#[test]
fn facts_take_three_words() {
    assert!(size_of::<Ambient>() <= 24);
}
