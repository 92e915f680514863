//! Models of the limits on what leaves the process.

use core::time::Duration;

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use steadfast_core::{
    AdaptiveThrottle, Baseline, Concurrency, ConcurrencyLimit, Criticality, Instant, Rate,
    RateLimit, Ratio, Reservation, Throttle, Verdict,
};

use crate::memory::{LoomMemory, check};

const START: Instant = Instant::from_nanos(1_000_000_000);
const TOOK: Duration = Duration::from_millis(10);
const NEVER: u32 = u32::MAX;

fn race<S: Send + Sync + 'static, T: 'static>(state: &Arc<S>, act: fn(&S) -> T) -> JoinHandle<T> {
    let state = Arc::clone(state);
    thread::spawn(move || act(&state))
}

fn later(secs: u64) -> Instant {
    START.saturating_add(Duration::from_secs(secs))
}

// Slots.

type Slots = ConcurrencyLimit<LoomMemory>;

fn slots(settings: Concurrency) -> Arc<Slots> {
    let limit = Slots::new(settings);
    drop(limit.acquire(START));
    Arc::new(limit)
}

// L1
#[test]
fn the_last_place_goes_to_one() {
    check(|| {
        let limit = slots(Concurrency::fixed(2));
        let held = limit.acquire(START).unwrap();
        let take = |limit: &Slots| {
            let slot = limit.acquire(START);
            assert!(limit.in_flight() <= 2);
            slot.map(core::mem::forget).is_ok()
        };
        let (one, other) = (race(&limit, take), race(&limit, take));
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert_eq!(limit.in_flight(), 2);
        drop(held);
        assert_eq!(limit.in_flight(), 1);
    });
}

// Who comes when a place is free is never refused because of those that are.
#[test]
fn a_free_place_is_never_refused() {
    check(|| {
        let limit = slots(Concurrency::fixed(2));
        let take = |limit: &Slots| limit.acquire(START).map(drop).is_ok();
        let (one, other) = (race(&limit, take), race(&limit, take));
        assert!(one.join().unwrap() && other.join().unwrap());
        assert_eq!(limit.in_flight(), 0);
    });
}

/// A limit that the next two samples end a round of, unless one is lost.
fn before_the_end(baseline: Baseline, shortest: usize) -> Arc<Slots> {
    let settings = Concurrency::ADAPTIVE.with_minimum(1).with_initial(2);
    let limit = slots(settings.with_maximum(4).with_baseline(baseline));
    for _ in 2..shortest {
        limit
            .acquire(START)
            .expect("a free place")
            .settle(START, TOOK);
    }
    limit
}

// L1, L3
#[test]
fn racing_samples_end_one_round() {
    check(|| {
        let limit = before_the_end(Baseline::Tracked, 20);
        let settle = |limit: &Slots| {
            let slot = limit.acquire(START).unwrap();
            slot.settle(START, TOOK)
        };
        let (one, other) = (race(&limit, settle), race(&limit, settle));
        let changes = [one.join().unwrap(), other.join().unwrap()];
        // Two in flight at once is all of the limit; else it stays.
        let grown = changes.iter().flatten().count();
        assert!(grown <= 1);
        assert_eq!(limit.limit(), 2 + u32::try_from(grown).unwrap());
        assert_eq!(limit.in_flight(), 0);
    });
}

// envoyproxy/envoy#11579
#[test]
fn a_reset_beats_a_racing_sample() {
    check(|| {
        let limit = before_the_end(Baseline::Tracked, 21);
        // With it the limit is used up, and the sample would raise it.
        let held = limit.acquire(START);
        let settle = |limit: &Slots| {
            let slot = limit.acquire(START).unwrap();
            slot.settle(START, TOOK);
        };
        let settled = race(&limit, settle);
        let reset = race(&limit, Slots::reset);
        settled.join().unwrap();
        reset.join().unwrap();
        drop(held);
        assert_eq!((limit.limit(), limit.in_flight()), (2, 0));
        // Whatever was learnt before is gone for who comes now.
        limit.acquire(START).unwrap().settle(START, TOOK);
        assert_eq!(limit.baseline(), None);
    });
}

#[test]
fn a_probe_begins_and_is_given_up_once() {
    check(|| {
        let limit = before_the_end(Baseline::Probed, 17);
        let held = limit.acquire(START).unwrap();
        // The sixteenth sample with two in flight: a probe.
        limit.acquire(START).unwrap().settle(START, TOOK);
        assert_eq!((limit.limit(), limit.in_flight()), (1, 1));
        let give_up = |limit: &Slots| limit.acquire(later(10)).map(core::mem::forget).is_ok();
        let (one, other) = (race(&limit, give_up), race(&limit, give_up));
        let admitted = [one.join().unwrap(), other.join().unwrap()];
        assert!(admitted.contains(&true));
        assert_eq!(limit.limit(), 2);
        assert_eq!(limit.in_flight(), 2);
        drop(held);
    });
}

// Rotations of a window.

type Quota = RateLimit<LoomMemory>;

fn quota(permits: u32) -> Arc<Quota> {
    let limit = Quota::new(Rate::per_window(permits, Duration::from_secs(8)));
    limit.acquire(START).expect("a free permit").spend();
    Arc::new(limit)
}

fn spend(limit: &Quota, now: Instant) -> bool {
    limit.acquire(now).map(Reservation::spend).is_ok()
}

#[test]
fn the_last_permit_goes_to_one() {
    check(|| {
        let limit = quota(2);
        let one = race(&limit, |limit| spend(limit, START));
        // The slice of the other one is over.
        let other = race(&limit, |limit| spend(limit, later(1)));
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert_eq!(limit.free(later(1)), 0);
        assert_eq!(limit.free(later(20)), 2);
    });
}

#[test]
fn a_permit_comes_back_once() {
    check(|| {
        let limit = quota(2);
        // What is given back is vacated at the same time.
        let dropped = race(&limit, |limit| drop(limit.acquire(START)));
        let moved = race(&limit, |limit| spend(limit, later(8)));
        dropped.join().unwrap();
        assert!(moved.join().unwrap());
        assert_eq!(limit.free(later(8)), 1);
        assert_eq!(limit.free(later(30)), 2);
    });
}

// A token that is reserved ahead.
#[test]
fn reservations_never_share_a_token() {
    check(|| {
        let limit = Quota::new(Rate::per_second(1));
        limit.acquire(START).unwrap().spend();
        let limit = Arc::new(limit);
        let reserve = |limit: &Quota| {
            let permit = limit.reserve(START, Duration::from_secs(2)).unwrap();
            let at = permit.at();
            permit.spend();
            at
        };
        let (one, other) = (race(&limit, reserve), race(&limit, reserve));
        let mut due = [one.join().unwrap(), other.join().unwrap()];
        due.sort();
        assert_eq!(due, [later(1), later(2)]);
    });
}

// Counts of a throttle.

type Counted = AdaptiveThrottle<LoomMemory>;

/// A throttle that has seen four requests, all turned away.
fn throttle() -> Arc<Counted> {
    let settings = Throttle::DEFAULT.with_minimum_requests(0);
    let throttle = Counted::new(settings.with_cap(Ratio::ONE));
    for _ in 0..4 {
        send(&throttle, START, Verdict::THROTTLED);
    }
    Arc::new(throttle)
}

fn send(throttle: &Counted, now: Instant, verdict: Verdict) {
    let ticket = throttle.admit(now, Criticality::Critical, NEVER);
    ticket
        .expect("a draw that is never refused")
        .settle(verdict);
}

fn chance(throttle: &Counted, now: Instant) -> Ratio {
    throttle.chance(now, Criticality::Critical)
}

#[test]
fn every_answer_counts_once() {
    check(|| {
        let throttle = throttle();
        let one = race(&throttle, |throttle| send(throttle, START, Verdict::OK));
        // In the next slice.
        let other = race(&throttle, |throttle| send(throttle, later(3), Verdict::OK));
        one.join().unwrap();
        other.join().unwrap();
        // (6 - 1.1 * 2, rounded down) / 7
        assert_eq!(chance(&throttle, later(3)), Ratio::ppm(571_428));
    });
}

#[test]
fn a_late_answer_changes_nothing() {
    // Ten words at each look: two preemptions are what there is time for.
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let throttle = throttle();
        let answered = race(&throttle, |throttle| send(throttle, START, Verdict::OK));
        let moved = race(&throttle, |throttle| {
            // All that was is over.
            chance(throttle, later(100));
        });
        answered.join().unwrap();
        moved.join().unwrap();
        // The answer went with its request, or both came after.
        let chance = chance(&throttle, later(100));
        assert!(chance == Ratio::ZERO, "{chance}");
    });
}
