use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::math::random::random;
use crate::memory::Local;

type Alone = AdaptiveThrottle<Local>;

const NEVER: u32 = u32::MAX;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn new() -> Alone {
    Alone::new(Throttle::DEFAULT)
}

/// Sends one request that the throttle cannot refuse, and settles it.
fn send(throttle: &Alone, now: Instant, verdict: Verdict) {
    throttle
        .admit(now, Criticality::Critical, NEVER)
        .unwrap()
        .settle(verdict);
}

fn chance(throttle: &Alone, now: Instant) -> Ratio {
    throttle.chance(now, Criticality::Critical)
}

#[test]
fn the_chance_follows_the_law() {
    let throttle = new();
    for _ in 0..60 {
        send(&throttle, at(0), Verdict::OK);
    }
    for _ in 0..40 {
        send(&throttle, at(0), Verdict::THROTTLED);
    }
    // (100 - 1.1 * 60) / 101
    assert_eq!(chance(&throttle, at(0)), Ratio::ppm(336_633));
    // One that is refused is a request, too.
    let refusal = throttle.admit(at(0), Criticality::Critical, 0).unwrap_err();
    assert_eq!(refusal.limit(), Limit::Throttle);
    assert_eq!(refusal.retry_after(), None);
    assert_eq!(chance(&throttle, at(0)), Ratio::ppm(343_137));
}

#[test]
fn a_permanent_failure_was_taken() {
    let throttle = new();
    for _ in 0..100 {
        send(&throttle, at(0), Verdict::PERMANENT);
    }
    assert_eq!(chance(&throttle, at(0)), Ratio::ZERO);
}

#[test]
fn a_tenth_of_failures_is_borne() {
    let throttle = new();
    for call in 0..1_000 {
        let verdict = if call % 11 == 0 {
            Verdict::TRANSIENT
        } else {
            Verdict::OK
        };
        send(&throttle, at(call * 10), verdict);
    }
    assert!(chance(&throttle, at(10_000)) <= Ratio::permille(1));
}

// X-17b
#[test]
fn a_cold_client_is_never_refused() {
    let throttle = new();
    for _ in 0..20 {
        let ticket = throttle.admit(at(0), Criticality::Sheddable, 0);
        ticket.unwrap().settle(Verdict::TRANSIENT);
    }
    assert!(throttle.admit(at(0), Criticality::Sheddable, 0).is_err());
}

// X-17b
#[test]
fn long_health_does_not_hide_an_outage() {
    let throttle = new();
    let mut now = 0;
    for _ in 0..100_000 {
        now += 1;
        send(&throttle, at(now), Verdict::OK);
    }
    let outage = now;
    while chance(&throttle, at(now)) == Ratio::ZERO {
        now += 1;
        send(&throttle, at(now), Verdict::TRANSIENT);
    }
    assert!((2_500..3_500).contains(&(now - outage)), "{}", now - outage);
    while now < outage + 30_000 {
        now += 1;
        send(&throttle, at(now), Verdict::TRANSIENT);
    }
    assert_eq!(chance(&throttle, at(now)), Ratio::percent(90));
}

/// Fifty requests, a second's, of which those that are sent succeed or not; how
/// many were.
fn second(throttle: &Alone, secs: u64, verdict: Verdict) -> usize {
    let sent = (0..50).filter(|&call| {
        let now = at(secs * 1_000 + call * 20);
        let draw = random(5, secs * 50 + call);
        let ticket = throttle.admit(now, Criticality::Critical, draw);
        ticket.map(|ticket| ticket.settle(verdict)).is_ok()
    });
    sent.count()
}

#[test]
fn a_recovery_takes_no_windows() {
    let throttle = new();
    for secs in 0..90 {
        let verdict = [Verdict::OK, Verdict::TRANSIENT][usize::from(secs >= 30)];
        second(&throttle, secs, verdict);
    }
    let well = (90..160).find(|&secs| second(&throttle, secs, Verdict::OK) >= 45);
    assert!((110..150).contains(&well.unwrap()), "{well:?}");
    let later = (0..100).map(|secs| second(&throttle, 160 + secs, Verdict::OK));
    assert_eq!(later.sum::<usize>(), 5_000);
}

// One that takes half at once and lets the rest hang.
#[test]
fn what_hangs_is_not_recovered() {
    let throttle = new();
    let mut hanging = std::collections::VecDeque::new();
    for call in 0..10_000 {
        let now = call * 20;
        while hanging
            .front()
            .is_some_and(|(sent, _)| sent + 10_000 <= now)
        {
            let (_, ticket): (u64, Ticket<'_, Local>) = hanging.pop_front().unwrap();
            ticket.settle(Verdict::TRANSIENT);
        }
        let Ok(ticket) = throttle.admit(at(now), Criticality::Critical, random(9, call)) else {
            continue;
        };
        if random(11, call).is_multiple_of(2) {
            ticket.settle(Verdict::OK);
        } else {
            hanging.push_back((now, ticket));
        }
    }
    let chance = chance(&throttle, at(200_000));
    assert!(chance >= Ratio::percent(70), "{chance:?}");
}

// A dependency that takes a fifth gets a little more than that, no more.
#[test]
fn a_lasting_overload_is_not_a_recovery() {
    let throttle = new();
    let mut sent = 0;
    for secs in 0..300 {
        let mut left = 10;
        for call in 0..50 {
            let (now, draw) = (at(secs * 1_000 + call * 20), random(7, secs * 50 + call));
            let Ok(ticket) = throttle.admit(now, Criticality::Critical, draw) else {
                continue;
            };
            sent += u64::from(secs >= 100);
            if left > 0 {
                left -= 1;
                ticket.settle(Verdict::OK);
            } else {
                ticket.settle(Verdict::THROTTLED);
            }
        }
    }
    assert!((1_900..2_300).contains(&sent), "{sent}");
}

// go-zero#5011
#[test]
fn a_dependency_that_hangs_is_noticed() {
    let throttle = new();
    let mut hanging = Vec::new();
    let mut now = 0;
    while let Ok(ticket) = throttle.admit(at(now), Criticality::Critical, 0) {
        hanging.push(ticket);
        now += 100;
    }
    // A fifth of the window, and then twenty that waited for more than a tenth.
    assert!((6_000..=8_100).contains(&now), "{now}");
}

// go-zero#5011
#[test]
fn a_rising_load_is_not_refused() {
    let throttle = new();
    let mut open = std::collections::VecDeque::new();
    let mut now = 0;
    // From nothing to a thousand a second, each answered after a second.
    for _ in 0..20_000 {
        now += 1;
        while open.front().is_some_and(|(sent, _)| sent + 1_000 <= now) {
            let (_, ticket): (u64, Ticket<'_, Local>) = open.pop_front().unwrap();
            ticket.settle(Verdict::OK);
        }
        let ticket = throttle.admit(at(now), Criticality::Sheddable, 0);
        open.push_back((now, ticket.unwrap()));
    }
}

#[test]
fn a_dropped_ticket_is_no_request() {
    let throttle = new();
    for _ in 0..1_000 {
        drop(throttle.admit(at(0), Criticality::Critical, 0).unwrap());
        let refused = throttle.admit(at(0), Criticality::Critical, 0).unwrap();
        refused.settle(Verdict::SELF_IMPOSED);
    }
    assert!(throttle.window.payloads().all(|tally| tally == 0));
}

#[test]
fn a_late_answer_changes_nothing() {
    let throttle = new();
    let [accepted, turned_away, dropped] =
        [(); 3].map(|()| throttle.admit(at(0), Criticality::Critical, 0).unwrap());
    for call in 0..30 {
        send(&throttle, at(30_000 + call), Verdict::TRANSIENT);
    }
    let before = chance(&throttle, at(30_100));
    accepted.settle(Verdict::OK);
    turned_away.settle(Verdict::TRANSIENT);
    drop(dropped);
    assert_eq!(chance(&throttle, at(30_100)), before);
}

#[test]
fn the_less_critical_goes_first() {
    use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};
    let throttle = new();
    for call in 0..100 {
        let verdict = if call < 50 {
            Verdict::OK
        } else {
            Verdict::THROTTLED
        };
        send(&throttle, at(0), verdict);
    }
    let levels = [Sheddable, SheddablePlus, Critical, CriticalPlus];
    let chances = levels.map(|level| throttle.chance(at(0), level).as_ppm());
    assert_eq!(chances, [692_579, 569_061, 445_544, 198_509]);
    let capped = Throttle::DEFAULT.with_cap(Ratio::percent(50));
    let capped = Alone::new(capped);
    for _ in 0..100 {
        send(&capped, at(0), Verdict::THROTTLED);
    }
    assert!(
        levels
            .iter()
            .all(|&level| capped.chance(at(0), level) == Ratio::percent(50))
    );
}

#[test]
fn draws_meet_the_chance() {
    let throttle = new();
    for _ in 0..10_000 {
        send(&throttle, at(0), Verdict::OK);
    }
    for _ in 0..10_000 {
        send(&throttle, at(0), Verdict::THROTTLED);
    }
    throttle.observe();
    let refused = (0..1_000)
        .filter(|&call| {
            let ticket = throttle.admit(at(0), Criticality::Critical, random(3, call));
            ticket.unwrap().is_observed()
        })
        .count();
    // The chance is 45 %, a standard deviation 1.6 %.
    assert!((400..500).contains(&refused), "{refused}");
}

#[test]
fn observing_refuses_nothing() {
    let throttle = new();
    for _ in 0..100 {
        send(&throttle, at(0), Verdict::TRANSIENT);
    }
    throttle.observe();
    assert!(throttle.is_observing());
    let before = chance(&throttle, at(0));
    let ticket = throttle.admit(at(0), Criticality::Critical, 0).unwrap();
    assert!(ticket.is_observed());
    ticket.settle(Verdict::OK);
    assert!(chance(&throttle, at(0)) >= before);
    throttle.reset();
    assert!(!throttle.is_observing());
    assert_eq!(chance(&throttle, at(0)), Ratio::ZERO);
}

#[test]
fn a_full_slice_keeps_its_share() {
    let tally = Tally(Tally::FIELD | (Tally::FIELD - 1) << 20 | 1 << 40);
    assert_eq!(tally.sent(), None);
    assert_eq!(tally.refused(), None);
    let closed = Tally(tally.accepted().unwrap());
    assert_eq!((closed.accepts(), closed.open()), (Tally::FIELD, 0));
    assert_eq!(closed.accepted(), None);
}

#[test]
fn a_throttle_is_small() {
    assert!(size_of::<Alone>() <= 152, "{} bytes", size_of::<Alone>());
}

proptest! {
    // T1
    #[test]
    fn any_clock_is_survived(steps: Vec<(u64, u32, u8)>) {
        let throttle = Alone::new(Throttle::DEFAULT.with_minimum_requests(0));
        let mut open = Vec::new();
        for (nanos, draw, what) in steps {
            let now = Instant::from_nanos(nanos);
            let level = [Criticality::Sheddable, Criticality::CriticalPlus][usize::from(what & 1)];
            if let Ok(ticket) = throttle.admit(now, level, draw) {
                open.push(ticket);
            }
            if what & 2 != 0 && let Some(ticket) = open.pop() {
                ticket.settle([Verdict::OK, Verdict::TRANSIENT][usize::from(what >> 2 & 1)]);
            }
            prop_assert!(throttle.chance(now, level) <= Ratio::percent(90));
            for tally in throttle.window.payloads().map(Tally) {
                prop_assert!(tally.accepts() + tally.open() <= tally.requests());
            }
        }
    }
}
