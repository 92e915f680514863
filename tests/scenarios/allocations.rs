//! No path of a call allocates.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use allocation_counter::measure;
use futures_lite::stream::{self, Stream, StreamExt};
use steadfast::tokio::{Guard, HedgedGuard, Scope};
use steadfast::{
    AdaptiveThrottle, AnyError, Attempt, Backoff, Breaker, Concurrency, ConcurrencyLimit,
    Criticality, Hedge, Instant, Limit, Limited, Policy, Queue, Rate, RateLimit, Reservation,
    Saturation, Throttle, Verdict,
};
use tokio::runtime::{Builder, Runtime};

const POLICY: Policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);

/// One thread, as the counter counts by thread, and no real time passes.
fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

/// What the second run allocates, the first having warmed everything up.
fn allocations(run: impl Fn()) -> u64 {
    run();
    measure(run).count_total
}

fn on_tokio<F: Future>(call: impl Fn() -> F) -> u64 {
    let runtime = paused();
    allocations(|| {
        runtime.block_on(call());
    })
}

/// Wakes itself: tokio's own `yield_now` allocates.
async fn suspends() -> io::Result<u32> {
    futures_lite::future::yield_now().await;
    Ok(7)
}

async fn sleeps() -> io::Result<u32> {
    tokio::time::sleep(Duration::from_millis(5)).await;
    Ok(7)
}

async fn third_time_lucky(attempt: Attempt) -> Result<u32, ()> {
    if attempt.number() < 3 {
        Err(())
    } else {
        Ok(attempt.number())
    }
}

#[test]
fn the_counter_sees_an_allocation() {
    static GUARD: Guard = Guard::new(POLICY);
    let boxing = || GUARD.call(|_| ready(Ok::<_, Infallible>(Box::new(7))));
    assert_eq!(on_tokio(boxing), 1);
}

#[test]
fn ready_at_once_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    assert_eq!(
        on_tokio(|| GUARD.call(|_| ready(Ok::<_, Infallible>(7)))),
        0
    );
}

#[test]
fn suspending_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    assert_eq!(on_tokio(|| GUARD.call(|_| suspends())), 0);
}

#[test]
fn sleeping_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    assert_eq!(on_tokio(|| GUARD.call(|_| sleeps())), 0);
}

#[test]
fn a_cut_attempt_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY.with_attempt_timeout(Duration::from_secs(1)));
    let hanging = || GUARD.call(|_| pending::<io::Result<()>>());
    assert_eq!(on_tokio(hanging), 0);
}

#[test]
fn retries_allocate_nothing() {
    static GUARD: Guard<AnyError> = Guard::classified(POLICY.with_backoff(Backoff::NONE), AnyError);
    assert_eq!(on_tokio(|| GUARD.call(third_time_lucky)), 0);
}

#[test]
fn waiting_before_a_retry_allocates_nothing() {
    static GUARD: Guard<AnyError> = Guard::classified(POLICY, AnyError);
    assert_eq!(on_tokio(|| GUARD.call(third_time_lucky)), 0);
}

#[test]
fn a_race_allocates_nothing() {
    static GUARD: HedgedGuard = HedgedGuard::new(POLICY.with_hedge(Hedge::DEFAULT));
    let (runtime, copies) = (paused(), Cell::new(0));
    let race = || async {
        let copies = &copies;
        let slow = |attempt: Attempt| async move {
            let is_copy = attempt.number() > 1;
            copies.set(copies.get() + u32::from(is_copy));
            let span = if is_copy { 5 } else { 500 };
            tokio::time::sleep(Duration::from_millis(span)).await;
            io::Result::Ok(span)
        };
        assert_eq!(GUARD.call(slow).await.ok(), Some(5));
    };
    for _ in 0..100 {
        runtime.block_on(GUARD.call(|_| sleeps())).expect("a value");
    }
    let allocated = allocations(|| runtime.block_on(race()));
    assert_eq!((allocated, copies.get()), (0, 2));
}

#[test]
fn a_refusal_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    GUARD.breaker().expect("a breaker").isolate();
    assert_eq!(on_tokio(|| GUARD.call(|_| suspends())), 0);
}

#[test]
fn an_outcome_with_its_log_allocates_nothing() {
    static GUARD: Guard<AnyError> = Guard::classified(POLICY.with_backoff(Backoff::NONE), AnyError);
    assert_eq!(on_tokio(|| GUARD.call(third_time_lucky).outcome()), 0);
}

#[test]
fn a_fallback_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    let failing = || GUARD.call(|_| ready(io::Result::<u32>::Err(io::ErrorKind::NotFound.into())));
    assert_eq!(on_tokio(|| failing().or_else(async |_| 7)), 0);
}

#[test]
fn lending_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    let lending = || async {
        let mut reads = 0_u32;
        let read = async |reads: &mut u32, _| {
            *reads += 1;
            suspends().await
        };
        GUARD.call_with(&mut reads, read).await
    };
    assert_eq!(on_tokio(lending), 0);
}

#[test]
fn blocking_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    let run = || assert_eq!(GUARD.call_blocking(|_| Ok::<_, Infallible>(7)), Ok(7));
    assert_eq!(allocations(run), 0);
}

#[test]
fn ready_at_once_on_smol_allocates_nothing() {
    static GUARD: steadfast::smol::Guard = steadfast::smol::Guard::new(POLICY);
    let call = || GUARD.call(|_| ready(Ok::<_, Infallible>(7)));
    let run = || assert_eq!(futures_lite::future::block_on(call()), Ok(7));
    assert_eq!(allocations(run), 0);
}

#[test]
fn a_place_that_is_free_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    static QUEUE: Queue = Queue::new(1, 9);
    let enter = |attempt| async move {
        let _place = QUEUE.enter(&GUARD, attempt).await?;
        Ok::<_, Limited>(7)
    };
    assert_eq!(on_tokio(|| GUARD.call(enter)), 0);
}

#[test]
fn limits_allocate_nothing() {
    static BULKHEAD: ConcurrencyLimit = ConcurrencyLimit::new(Concurrency::ADAPTIVE);
    static QUOTA: RateLimit = RateLimit::new(Rate::per_window(3, Duration::from_secs(1)));
    static THROTTLE: AdaptiveThrottle = AdaptiveThrottle::new(Throttle::DEFAULT);
    let run = || {
        for call in 0..200 {
            let now = Instant::from_nanos(call * 50_000_000);
            let _refusal = QUOTA.acquire(now).map(Reservation::spend);
            let slot = BULKHEAD.acquire(now).expect("a slot");
            if let Ok(ticket) = THROTTLE.admit(now, Criticality::Critical, 1 << 31) {
                ticket.settle(Verdict::TRANSIENT);
            }
            slot.settle(now, Duration::from_millis(call));
        }
    };
    assert_eq!(allocations(run), 0);
}

/// Everything that a policy can ask about this process.
///
/// What asks tokio how late it is is a task, so it allocates: by itself, four times
/// a second at most, and not in these calls, for which no time passes.
const LIMITED: Policy = POLICY
    .with_concurrency(Concurrency::ADAPTIVE)
    .with_rate(Rate::per_window(1_000_000, Duration::from_secs(60)))
    .with_throttle(Throttle::DEFAULT)
    .with_saturation(Saturation::DEFAULT);

#[test]
fn a_limited_guard_allocates_nothing() {
    static GUARD: Guard = Guard::new(LIMITED);
    let calls = || async {
        for _ in 0..100 {
            let _ = GUARD.call(|_| suspends()).await;
        }
    };
    assert_eq!(on_tokio(calls), 0);
}

#[test]
fn what_a_limit_refuses_allocates_nothing() {
    static GUARD: Guard = Guard::new(POLICY.with_concurrency(Concurrency::fixed(1)));
    let limit = GUARD.concurrency().expect("a limit");
    let _held = limit.acquire(Instant::ZERO).expect("a place");
    let refused = || async {
        let error = GUARD.call(|_| suspends()).await.expect_err("refused");
        assert_eq!(error.limited_by(), Some(Limit::Concurrency));
    };
    assert_eq!(on_tokio(refused), 0);
}

/// A source of a thousand items that suspends before each and fails after the first
/// half.
fn items(seen: u32) -> impl Stream<Item = io::Result<u32>> {
    let mut next = seen;
    let mut has_suspended = false;
    stream::poll_fn(move |cx| {
        if !has_suspended {
            has_suspended = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        has_suspended = false;
        next += 1;
        Poll::Ready(match next {
            501 if seen == 0 => Some(Err(io::ErrorKind::ConnectionReset.into())),
            ..=1000 => Some(Ok(next)),
            _ => None,
        })
    })
}

#[test]
fn items_of_a_stream_allocate_nothing() {
    static GUARD: Guard = Guard::new(POLICY);
    let read = || async {
        let mut items = pin!(GUARD.stream_from(0, |seen, _| items(seen), |&item| item));
        let mut count = 0;
        while let Some(item) = items.next().await {
            count += u32::from(item.is_ok());
        }
        assert_eq!(
            (count, items.delivered(), items.restarts()),
            (1000, 1000, 1)
        );
    };
    assert_eq!(on_tokio(read), 0);
}

#[test]
fn a_known_key_allocates_nothing() {
    static TENANTS: Scope<String> = Scope::new(POLICY, 64);
    let call = || async {
        let call = TENANTS.get("blue");
        call.call(|_| ready(Ok::<_, Infallible>(7))).await
    };
    assert_eq!(on_tokio(call), 0);
    // As many handles as there are calls in flight.
    let held = || async {
        let held = [(); 8].map(|()| TENANTS.get("blue"));
        for guard in &held {
            let called = guard.call(|_| suspends()).await;
            assert_eq!(called.ok(), Some(7));
        }
    };
    assert_eq!(on_tokio(held), 0);
}
