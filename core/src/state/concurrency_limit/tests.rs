use std::thread;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::memory::Local;

mod pool;

type Alone = ConcurrencyLimit<Local>;

const START: Instant = Instant::from_nanos(1_000_000_000);
const TRACKED: Concurrency = Concurrency::ADAPTIVE.with_baseline(Baseline::Tracked);

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn later(secs: u64) -> Instant {
    START.saturating_add(Duration::from_secs(secs))
}

/// Takes so many places at once.
fn take(limit: &Alone, count: usize) -> Vec<Slot<'_, Local>> {
    (0..count).map(|_| limit.acquire(START).unwrap()).collect()
}

/// Settles `samples` attempts, with as many as `peak` in flight.
fn settle(limit: &Alone, now: Instant, peak: usize, samples: usize, took: Duration) {
    let mut open: Vec<_> = (0..peak).map(|_| limit.acquire(now).unwrap()).collect();
    for sample in 0..samples {
        open.remove(0).settle(now, took);
        if sample + peak < samples {
            open.push(limit.acquire(now).unwrap());
        }
    }
}

/// A tracked limit that knows 10 ms from slices before, and has 20 as its limit.
fn settled() -> Alone {
    let limit = Alone::new(TRACKED);
    settle(&limit, START, 5, 20, ms(10));
    assert_eq!((limit.limit(), limit.baseline()), (20, Some(ms(10))));
    limit
}

/// One round that uses the limit up.
fn round(limit: &Alone, now: Instant, took: Duration) {
    let allowed = limit.limit() as usize;
    settle(limit, now, allowed, allowed.max(20), took);
}

// core-09.1
#[test]
fn a_fixed_limit_refuses_at_once() {
    let limit = Alone::new(Concurrency::fixed(2));
    let mut held = take(&limit, 2);
    let refusal = limit.acquire(START).unwrap_err();
    assert_eq!(refusal.limit(), Limit::Concurrency);
    assert_eq!(refusal.retry_after(), None);
    held.pop().unwrap().settle(START, ms(10));
    assert!(limit.acquire(START).is_ok());
    assert_eq!(
        (limit.limit(), limit.in_flight(), limit.baseline()),
        (2, 1, None)
    );
}

// core-09.7
#[test]
fn an_adaptive_limit_begins_at_twenty() {
    let limit = Alone::new(TRACKED);
    assert_eq!((limit.limit(), limit.baseline()), (20, None));
    let held = take(&limit, 20);
    assert_eq!(limit.acquire(START).unwrap_err().retry_after(), None);
    assert_eq!(limit.in_flight(), 20);
    drop(held);
}

// core-09.8
#[test]
fn a_used_up_round_grows() {
    let limit = Alone::new(TRACKED);
    let mut held = take(&limit, 20);
    let last = held.pop().unwrap();
    for slot in held {
        assert_eq!(slot.settle(START, ms(10)), None);
    }
    assert_eq!(limit.baseline(), None);
    assert_eq!(last.settle(START, ms(10)), Some(21));
    assert_eq!((limit.limit(), limit.baseline()), (21, Some(ms(10))));
}

// core-09.9
#[test]
fn three_quarters_are_used_up() {
    for (peak, limited) in [(14, 20), (15, 21)] {
        let limit = Alone::new(TRACKED);
        settle(&limit, START, peak, 20, ms(10));
        assert_eq!(limit.limit(), limited);
    }
}

// core-09.10
#[test]
fn twice_the_baseline_is_not_congested() {
    let limit = settled();
    settle(&limit, later(60), 10, 20, ms(20));
    assert_eq!(limit.limit(), 20);
    settle(&limit, later(60), 10, 20, us(20_020));
    assert_eq!(limit.limit(), 18);
}

// core-09.11
#[test]
fn congestion_shrinks_to_the_minimum() {
    let limit = settled();
    let limits = [(); 18].map(|()| {
        let allowed = limit.limit() as usize;
        settle(&limit, later(60), allowed, 20, ms(30));
        limit.limit()
    });
    assert_eq!(
        limits,
        [18, 16, 14, 13, 11, 10, 9, 8, 7, 6, 6, 5, 5, 4, 4, 4, 4, 4]
    );
}

// core-09.12
#[test]
fn one_slow_attempt_is_hidden() {
    for baseline in [Baseline::Probed, Baseline::Tracked] {
        let limit = Alone::new(TRACKED.with_baseline(baseline));
        settle(&limit, START, 5, 20, ms(10));
        settle(&limit, START, 5, 19, ms(10));
        settle(&limit, START, 1, 1, ms(10_000));
        assert_eq!(limit.limit(), 20);
    }
}

// core-09.13
#[test]
fn a_round_is_a_limit_of_samples() {
    for (initial, samples) in [(30, 30), (4, 20)] {
        let limit = Alone::new(TRACKED.with_initial(initial));
        settle(&limit, START, initial as usize, samples - 1, ms(10));
        assert_eq!(limit.limit(), initial);
        settle(&limit, START, 1, 1, ms(10));
        assert_eq!(limit.limit(), initial + 1);
    }
}

// core-09.14
#[test]
fn an_idle_limit_never_grows() {
    for baseline in [Baseline::Probed, Baseline::Tracked] {
        let limit = Alone::new(TRACKED.with_baseline(baseline));
        for secs in 0..1_000 {
            settle(&limit, later(secs), 3, 100, ms(10));
        }
        assert_eq!(limit.limit(), 20);
    }
}

// core-09.14
#[test]
fn growth_stops_at_the_maximum() {
    let limit = Alone::new(TRACKED.with_maximum(22));
    for _ in 0..10 {
        round(&limit, START, ms(10));
    }
    assert_eq!(limit.limit(), 22);
}

// L4
#[test]
fn a_constant_time_never_shrinks() {
    for baseline in [Baseline::Probed, Baseline::Tracked] {
        let limit = Alone::new(TRACKED.with_baseline(baseline).with_minimum(1));
        let mut highest = 0;
        for minute in 0..60 {
            for _ in 0..20 {
                // Not the shorter time of a probe.
                let is_probing = limit.limit() < highest && limit.limit() == 1;
                round(&limit, later(minute * 60), ms(10));
                assert!(is_probing || limit.limit() >= highest || limit.limit() == 1);
                highest = highest.max(limit.limit());
            }
        }
        assert!(highest > 100, "{highest}");
    }
}

// core-09.15
#[test]
fn a_smaller_limit_takes_nothing_away() {
    let limit = settled();
    let mut held = take(&limit, 20);
    for slot in held.drain(..) {
        slot.settle(later(60), ms(30));
    }
    assert_eq!(limit.limit(), 18);
    let limit = settled();
    let mut held = take(&limit, 20);
    for _ in 0..20 {
        held.remove(0).settle(later(60), ms(30));
        if limit.limit() == 20 {
            held.push(limit.acquire(later(60)).unwrap());
        }
    }
    assert_eq!((limit.limit(), limit.in_flight()), (18, 19));
    for _ in 0..2 {
        assert!(limit.acquire(later(60)).is_err());
        held.pop();
    }
    assert_eq!(limit.in_flight(), 17);
    assert!(limit.acquire(later(60)).is_ok());
}

// envoyproxy/envoy-mobile#811
#[test]
fn the_peak_of_a_round_counts() {
    let limit = Alone::new(TRACKED);
    // All of them end before the round does.
    for slot in take(&limit, 16) {
        slot.settle(START, ms(10));
    }
    settle(&limit, START, 1, 4, ms(10));
    assert_eq!(limit.limit(), 21);
}

// Netflix/concurrency-limits#176
#[test]
fn cut_attempts_shrink_the_limit() {
    let limit = settled();
    round(&limit, later(60), ms(10_000));
    assert_eq!(limit.limit(), 18);
}

// Netflix/concurrency-limits#190, Netflix/concurrency-limits#146, R-79
#[test]
fn a_dropped_slot_leaves_no_trace() {
    let limit = settled();
    for _ in 0..1_000 {
        drop(take(&limit, 20));
        assert!(limit.acquire(START).is_ok());
    }
    assert_eq!(limit.in_flight(), 0);
    settle(&limit, START, 5, 19, ms(10));
    assert_eq!(limit.limit(), 20);
}

//
#[test]
fn a_hundred_threads_share_one_limit() {
    static LIMIT: ConcurrencyLimit = ConcurrencyLimit::new(TRACKED.with_maximum(30));
    let work = |thread: u64| {
        let mut most = 0;
        for call in 0..200 {
            if let Ok(slot) = LIMIT.acquire(START) {
                most = most.max(LIMIT.in_flight());
                if (call + thread).is_multiple_of(2) {
                    drop(slot);
                } else {
                    slot.settle(START, ms(10));
                }
            }
        }
        most
    };
    let most = thread::scope(|scope| {
        let threads: Vec<_> = (0..100).map(|at| scope.spawn(move || work(at))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .max()
    });
    assert!(most.unwrap() <= 30);
    assert_eq!(LIMIT.in_flight(), 0);
}

// Probes.

/// A probed limit of 20 in a probe that waits for the 20 in flight.
fn probing() -> (Alone, usize) {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    settle(&limit, START, 20, 20, ms(50));
    assert_eq!((limit.limit(), limit.baseline()), (4, None));
    (limit, 4)
}

#[test]
fn a_probe_finds_the_unloaded_time() {
    let (limit, lowest) = probing();
    // Nothing is left in flight; the first to end begins the samples.
    settle(&limit, later(1), lowest, 1 + lowest, ms(50));
    assert_eq!(limit.baseline(), None);
    settle(&limit, later(1), lowest, 16, ms(10));
    assert_eq!((limit.limit(), limit.baseline()), (20, Some(ms(10))));
}

// envoyproxy/envoy#11579
#[test]
fn earlier_attempts_do_not_tell_a_probe() {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    let mut queued = take(&limit, 20);
    for _ in 0..16 {
        queued.pop().unwrap().settle(START, ms(500));
        queued.push(limit.acquire(START).unwrap());
    }
    for _ in 0..4 {
        queued.remove(0).settle(START, ms(500));
        if limit.limit() == 20 {
            queued.push(limit.acquire(START).unwrap());
        }
    }
    assert_eq!(limit.limit(), 4);
    // Those that still queue end among those of the probe.
    while queued.len() > 2 {
        queued.pop().unwrap().settle(START, ms(500));
    }
    for _ in 0..2 {
        settle(&limit, START, 2, 10, ms(10));
        queued.pop().unwrap().settle(START, ms(500));
    }
    assert_eq!((limit.limit(), limit.baseline()), (20, Some(ms(10))));
}

#[test]
fn a_probe_that_hangs_is_given_up() {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    let hanging = take(&limit, 8);
    settle(&limit, START, 12, 20, ms(50));
    assert_eq!(limit.limit(), 4);
    assert!(limit.acquire(later(3)).is_err());
    let slot = limit.acquire(later(4)).unwrap();
    assert_eq!((limit.limit(), limit.in_flight()), (20, 9));
    drop((slot, hanging));
    // Not again at once.
    settle(&limit, later(4), 20, 40, ms(50));
    assert_eq!(limit.limit(), 20);
    settle(&limit, later(40), 20, 20, ms(50));
    assert_eq!(limit.limit(), 4);
}

#[test]
fn a_clock_that_steps_back_ends_a_probe() {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    settle(&limit, later(3_600), 20, 20, ms(50));
    assert_eq!(limit.limit(), 4);
    let held: Vec<_> = (0..5).map(|_| limit.acquire(START).unwrap()).collect();
    assert_eq!((held.len(), limit.limit()), (5, 20));
}

#[test]
fn without_load_no_probe_is_needed() {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    settle(&limit, START, 10, 20, ms(10));
    assert_eq!((limit.limit(), limit.baseline()), (20, Some(ms(10))));
}

#[test]
fn the_minimum_is_a_probe_itself() {
    let limit = Alone::new(Concurrency::ADAPTIVE.with_initial(4));
    settle(&limit, START, 4, 16, ms(10));
    assert_eq!((limit.limit(), limit.baseline()), (4, Some(ms(10))));
    // Four times as slow for good: learnt within some rounds.
    for _ in 0..4 {
        settle(&limit, START, 4, 16, ms(40));
    }
    assert!(limit.baseline() > Some(ms(20)));
    assert!(limit.limit() > 4);
}

// Operators.

#[test]
fn observing_refuses_nothing() {
    for settings in [Concurrency::fixed(2), TRACKED.with_initial(4)] {
        let limit = Alone::new(settings);
        limit.observe();
        assert!(limit.is_observing());
        let allowed = limit.limit() as usize;
        let held = take(&limit, 10);
        let observed = held.iter().filter(|slot| slot.is_observed()).count();
        assert_eq!(observed, 10 - allowed);
        assert_eq!(limit.in_flight() as usize, allowed);
        for slot in held {
            assert_eq!(slot.settle(START, ms(10)), None);
        }
        assert_eq!(limit.in_flight(), 0);
        limit.reset();
        assert!(!limit.is_observing());
        let held = take(&limit, allowed);
        assert!(limit.acquire(START).is_err());
        drop(held);
    }
}

#[test]
fn observing_sends_no_probe() {
    let limit = Alone::new(Concurrency::ADAPTIVE);
    limit.observe();
    settle(&limit, START, 20, 100, ms(50));
    assert_eq!((limit.limit(), limit.baseline()), (20, None));
    settle(&limit, START, 10, 40, ms(10));
    assert_eq!(limit.baseline(), Some(ms(10)));
}

#[test]
fn a_reset_starts_over() {
    for baseline in [Baseline::Probed, Baseline::Tracked] {
        let limit = Alone::new(TRACKED.with_baseline(baseline));
        settle(&limit, START, 10, 20, ms(10));
        settle(&limit, START, 10, 40, ms(50));
        assert!(limit.limit() < 20);
        let held = take(&limit, 3);
        limit.reset();
        assert_eq!(
            (limit.limit(), limit.baseline(), limit.in_flight()),
            (20, None, 3)
        );
        // What began before says nothing.
        for slot in held {
            slot.settle(START, ms(1));
        }
        settle(&limit, START, 5, 19, ms(10));
        assert_eq!(limit.baseline(), None);
        settle(&limit, START, 1, 1, ms(10));
        assert_eq!((limit.limit(), limit.baseline()), (20, Some(ms(10))));
    }
}

#[test]
fn a_limit_is_small() {
    assert!(size_of::<Alone>() <= 240, "{} bytes", size_of::<Alone>());
    assert!(size_of::<Slot<'_>>() <= 16);
}

/// What happens to a limit.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire,
    Settle(usize, u64),
    Drop(usize),
    Observe,
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => Just(Step::Acquire),
        30 => (any::<usize>(), 0..100_000_000_u64).prop_map(|(at, took)| Step::Settle(at, took)),
        5 => any::<usize>().prop_map(Step::Drop),
        1 => Just(Step::Observe),
        1 => Just(Step::Reset),
    ]
}

fn run(limit: &Alone, steps: &[(Step, Instant)]) -> Result<(), TestCaseError> {
    let settings = *limit.concurrency();
    let mut held: Vec<Slot<'_, Local>> = Vec::new();
    for &(step, now) in steps {
        match step {
            Step::Acquire => held.extend(limit.acquire(now)),
            Step::Settle(at, took) if !held.is_empty() => {
                let slot = held.swap_remove(at % held.len());
                slot.settle(now, Duration::from_nanos(took));
            }
            Step::Drop(at) if !held.is_empty() => drop(held.swap_remove(at % held.len())),
            Step::Observe => limit.observe(),
            Step::Reset => limit.reset(),
            _ => {}
        }
        let counted = held.iter().filter(|slot| !slot.is_observed()).count();
        // L1, L3
        prop_assert_eq!(limit.in_flight() as usize, counted);
        prop_assert!(limit.in_flight() <= settings.maximum());
        let range = settings.minimum()..=settings.maximum();
        prop_assert!(range.contains(&limit.limit()));
    }
    drop(held);
    prop_assert_eq!(limit.in_flight(), 0);
    Ok(())
}

proptest! {
    // L1, L3
    #[test]
    fn places_are_conserved(
        steps in proptest::collection::vec((step(), 0..200_000_000_u64), 0..1_500),
        tracked: bool,
    ) {
        let baseline = if tracked { Baseline::Tracked } else { Baseline::Probed };
        let settings = TRACKED.with_baseline(baseline).with_minimum(2).with_initial(5);
        let mut now = START;
        let steps: Vec<_> = steps
            .into_iter()
            .map(|(step, span)| {
                now = now.saturating_add(Duration::from_nanos(span));
                (step, now)
            })
            .collect();
        run(&Alone::new(settings.with_maximum(12)), &steps)?;
        run(&Alone::new(Concurrency::fixed(3)), &steps)?;
    }

    // T1
    #[test]
    fn any_clock_is_survived(
        steps in proptest::collection::vec((step(), any::<u64>()), 0..600),
        tracked: bool,
    ) {
        let baseline = if tracked { Baseline::Tracked } else { Baseline::Probed };
        let settings = TRACKED.with_baseline(baseline).with_minimum(1).with_initial(2);
        let steps: Vec<_> = steps
            .into_iter()
            .map(|(step, nanos)| (step, Instant::from_nanos(nanos)))
            .collect();
        run(&Alone::new(settings), &steps)?;
    }
}
