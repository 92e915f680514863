//! The parts of a call, each by itself.

use std::hint::black_box;
use std::time::Duration;

use steadfast_core::{
    AdaptiveThrottle, Breaker, Budget, CircuitBreaker, Concurrency, ConcurrencyLimit, Criticality,
    Dependency, Instant, Kind, LatencyWindow, Policy, Quantile, Rate, RateLimit, Ratio,
    RetryBudget, Shared, Throttle, Verdict,
};

use crate::cases::Case;

/// First the empty loop: what it takes is taken off the others.
pub const PARTS: [Case; 11] = [
    part("empty-loop", |calls| each(calls, |_| {})),
    part("latency-record", record),
    part("latency-quantile-cached", quantile),
    part("attempt-ceiling-cached", ceiling),
    part("breaker-admit", admit),
    part("breaker-admit-and-settle", settle),
    part("budget-deposit-when-full", deposit),
    part("budget-take-and-give-back", take),
    part("concurrency-fixed", concurrency),
    part("rate-limit", rate),
    part("throttle", throttle),
];

const fn part(name: &'static str, run: fn(u64)) -> Case {
    Case {
        name,
        run,
        reads: |_| 0,
        goal: None,
    }
}

/// Fifty calls a second, so that windows turn and answers age as they do.
const STEP: Duration = Duration::from_millis(20);

/// Does something once a call, each a little later than the one before.
fn each(calls: u64, mut done: impl FnMut(Instant)) {
    let mut now = Instant::from_nanos(1);
    for _ in 0..calls {
        now = black_box(now.saturating_add(STEP));
        done(now);
    }
}

const TOOK: Duration = Duration::from_millis(7);

fn record(calls: u64) {
    static WINDOW: LatencyWindow = LatencyWindow::new(Duration::from_secs(300));
    each(calls, |now| WINDOW.record(now, black_box(TOOK)));
}

fn quantile(calls: u64) {
    static WINDOW: LatencyWindow = LatencyWindow::new(Duration::from_secs(300));
    static MEDIAN: Quantile = Quantile::new(Ratio::percent(50), 20);
    let now = Instant::from_nanos(1);
    for _ in 0..1_000 {
        WINDOW.record(now, TOOK);
    }
    // At one instant: an answer that has to be found anew is not what is counted.
    each(calls, |_| {
        black_box(WINDOW.quantile(black_box(now), &MEDIAN));
    });
}

fn ceiling(calls: u64) {
    static LIVE: Dependency = Dependency::new(&Policy::DEFAULT);
    let now = Instant::from_nanos(1);
    for _ in 0..1_000 {
        LIVE.estimates().learn_success(now, TOOK);
    }
    each(calls, |_| {
        black_box(LIVE.attempt_ceiling(black_box(now)));
    });
}

fn admit(calls: u64) {
    static BREAKER: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
    each(calls, |now| drop(black_box(BREAKER.admit(now))));
}

fn settle(calls: u64) {
    static BREAKER: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
    each(calls, |now| {
        if let Ok(permit) = BREAKER.admit(now) {
            black_box(permit.settle(now, Kind::Ok, black_box(TOOK), || 1));
        }
    });
}

fn budget() -> RetryBudget<Shared> {
    RetryBudget::new(Budget::DEFAULT)
}

fn deposit(calls: u64) {
    let budget = budget();
    each(calls, |now| black_box(&budget).deposit(now));
}

fn take(calls: u64) {
    let budget = budget();
    each(calls, |now| drop(black_box(black_box(&budget).take(now))));
}

fn concurrency(calls: u64) {
    static LIMIT: ConcurrencyLimit = ConcurrencyLimit::new(Concurrency::fixed(8));
    each(calls, |now| {
        if let Ok(slot) = LIMIT.acquire(now) {
            black_box(slot.settle(now, TOOK));
        }
    });
}

fn rate(calls: u64) {
    static LIMIT: RateLimit = RateLimit::new(Rate::per_second(100));
    each(calls, |now| {
        if let Ok(reservation) = LIMIT.acquire(now) {
            reservation.spend();
        }
    });
}

fn throttle(calls: u64) {
    static THROTTLE: AdaptiveThrottle = AdaptiveThrottle::new(Throttle::DEFAULT);
    each(calls, |now| {
        if let Ok(ticket) = THROTTLE.admit(now, Criticality::Critical, 1) {
            ticket.settle(Verdict::OK);
        }
    });
}
