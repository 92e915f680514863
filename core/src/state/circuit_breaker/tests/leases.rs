//! Probes that outlast their lease: they lose their slot, not their voice.

use super::*;
use Kind::{Ok as Fine, Permanent, Throttled, Transient};
use std::vec::Vec;

/// A breaker that opened at zero, with its first probe sent at 15 s.
fn probed(settings: Breaker) -> Alone {
    let breaker = Alone::new(settings);
    opened(&breaker, secs(0));
    breaker
}

fn probe<M: Memory>(breaker: &CircuitBreaker<M>, at: u64) -> Permit<'_, M> {
    let permit = breaker.admit(secs(at)).expect("a probe");
    assert!(permit.is_probe());
    permit
}

#[test]
fn an_expired_probe_frees_no_slot() {
    let endings: [fn(Permit<'_, Local>); 4] = [
        |permit| drop(permit),
        |permit| assert_eq!(finish(permit, secs(46), Throttled), None),
        |permit| assert_eq!(finish(permit, secs(46), Permanent), None),
        |permit| assert_eq!(finish(permit, secs(46), Fine), None),
    ];
    for end in endings {
        let breaker = probed(PLAIN.with_probes(1, 3));
        let (slowest, slow) = (probe(&breaker, 15), probe(&breaker, 30));
        let fresh = probe(&breaker, 45);
        for late in [slow, slowest] {
            end(late);
            assert_eq!(in_flight(&breaker), 1);
            assert_eq!(hint(&breaker, secs(46)), None);
        }
        drop(fresh);
        assert_eq!(in_flight(&breaker), 0);
    }
}

#[test]
fn a_late_success_counts() {
    let breaker = probed(PLAIN);
    let slow = probe(&breaker, 15);
    let fresh = probe(&breaker, 30);
    assert_eq!(finish(slow, secs(31), Fine), None);
    assert_eq!((in_flight(&breaker), breaker.word().successes()), (1, 1));
    assert_eq!(finish(fresh, secs(32), Fine), Some(Transition::Closed));
}

#[test]
fn a_late_success_can_close() {
    let breaker = probed(PLAIN);
    let slow = probe(&breaker, 15);
    let slower = probe(&breaker, 30);
    let hanging = probe(&breaker, 45);
    assert_eq!(finish(slow, secs(46), Fine), None);
    assert_eq!(finish(slower, secs(46), Fine), Some(Transition::Closed));
    drop(hanging);
    assert_eq!(breaker.state(secs(46)), BreakerState::Closed);
    assert_eq!(in_flight(&breaker), 0);
}

#[test]
fn successes_outlast_a_lease() {
    let breaker = probed(PLAIN.with_probes(1, 3));
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    assert_eq!(attempt(&breaker, secs(15), Fine), None);
    core::mem::forget(probe(&breaker, 15));
    assert_eq!(attempt(&breaker, secs(30), Fine), Some(Transition::Closed));
}

#[test]
fn a_late_failure_opens() {
    let breaker = probed(PLAIN);
    let slow = probe(&breaker, 15);
    let slower = probe(&breaker, 30);
    let fresh = probe(&breaker, 45);
    assert_eq!(finish(slow, secs(46), Transient), Some(Transition::Opened));
    assert_eq!(hint(&breaker, secs(46)), Some(span(30)));
    for late in [slower, fresh] {
        assert_eq!(finish(late, secs(47), Transient), None);
    }
    assert_eq!(hint(&breaker, secs(47)), Some(span(29)));
}

/// The new half-open has the same lease number.
#[test]
fn a_probe_of_an_earlier_episode_changes_nothing() {
    for kind in [Fine, Transient, Throttled] {
        let breaker = probed(PLAIN);
        let (slow, slower) = (probe(&breaker, 15), probe(&breaker, 30));
        let failing = probe(&breaker, 45);
        finish(failing, secs(45), Transient);
        let before = breaker.word().0;
        assert_eq!(finish(slow, secs(50), kind), None);
        assert_eq!(breaker.word().0, before);

        core::mem::forget(probe(&breaker, 75));
        let fresh = probe(&breaker, 105);
        let before = (breaker.word().0, breaker.until.load());
        assert_eq!(finish(slower, secs(105), kind), None);
        assert_eq!((breaker.word().0, breaker.until.load()), before);
        drop(fresh);
    }
}

/// Polls in steps of half a second; each attempt takes `latency` and succeeds.
fn recovers_within(settings: Breaker, latency: Duration, limit: u64) -> bool {
    let breaker = probed(settings);
    let mut running: Vec<(Instant, Permit<'_, Local>)> = Vec::new();
    for tick in 0..limit * 2 {
        let now = ms(tick * 500);
        while running.first().is_some_and(|(end, _)| *end <= now) {
            let (_, permit) = running.remove(0);
            let change = permit.settle(now, Fine, latency, || 0);
            if change == Some(Transition::Closed) {
                return true;
            }
        }
        assert!(in_flight(&breaker) <= settings.probes());
        let admitted = breaker.admit(now).ok();
        running.extend(admitted.map(|permit| (now.saturating_add(latency), permit)));
    }
    false
}

#[test]
fn a_slow_but_healthy_dependency_closes() {
    assert!(recovers_within(PLAIN, span(16), 60));
    for first in 1..=60 {
        for (probes, successes) in [(1, 1), (1, 2), (2, 2), (3, 2), (1, 5)] {
            let settings = PLAIN
                .with_break(span(first), span(120))
                .with_probes(probes, successes);
            assert!(recovers_within(settings, Duration::from_millis(1_500), 80));
            assert!(recovers_within(settings, span(100), 500), "{settings:?}");
        }
    }
}

// K5
#[test]
fn hanging_probes_wedge_nothing() {
    for probes in [1, 3] {
        let breaker = probed(PLAIN.with_probes(probes, 2));
        for lease in 1..=1_000 {
            core::mem::forget(probe(&breaker, lease * 15));
            for _ in 1..probes {
                core::mem::forget(probe(&breaker, lease * 15));
            }
            assert_eq!(hint(&breaker, secs(lease * 15)), None);
            assert_eq!(in_flight(&breaker), probes);
        }
        assert_eq!(attempt(&breaker, secs(20_000), Fine), None);
        let last = attempt(&breaker, secs(20_000), Fine);
        assert_eq!(last, Some(Transition::Closed));
    }
}

#[test]
fn every_new_probe_prolongs_the_lease() {
    let breaker = probed(PLAIN.with_probes(2, 2));
    let first = probe(&breaker, 15);
    let second = probe(&breaker, 29);
    assert_eq!(hint(&breaker, secs(43)), None);
    let third = probe(&breaker, 44);
    assert_eq!(in_flight(&breaker), 1);
    drop((first, second));
    assert_eq!(in_flight(&breaker), 1);
    let fourth = probe(&breaker, 45);
    assert_eq!(hint(&breaker, secs(45)), None);
    drop((third, fourth));
    assert_eq!(in_flight(&breaker), 0);
}

/// It came back after the asker had found all slots held.
#[test]
fn a_free_slot_ends_no_lease() {
    let breaker = probed(PLAIN.with_probes(2, 2));
    let (first, second) = (probe(&breaker, 15), probe(&breaker, 15));
    let full = breaker.word();
    drop(first);
    assert!(breaker.lease_anew(full).is_none());
    drop(second);
    assert_eq!(in_flight(&breaker), 0);
}

/// Lease numbers repeat after sixteen.
#[test]
fn an_ancient_probe_admits_at_most_one_more() {
    let breaker = probed(PLAIN);
    let ancient = probe(&breaker, 15);
    for lease in 2..=16 {
        core::mem::forget(probe(&breaker, lease * 15));
    }
    let current = probe(&breaker, 17 * 15);
    drop(ancient);
    let more = probe(&breaker, 17 * 15);
    assert_eq!(hint(&breaker, secs(17 * 15)), None);
    drop((current, more));
    assert_eq!(in_flight(&breaker), 0);
    drop(probe(&breaker, 17 * 15));
    assert_eq!(in_flight(&breaker), 0);
}
