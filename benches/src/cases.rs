//! The calls that are measured.

use std::future::poll_fn;
use std::hint::black_box;
use std::task::Poll;

use steadfast::tokio::Tokio;
use steadfast::{
    AnyError, Attempt, Backoff, Breaker, Budget, Guard, Hedge, HedgedGuard, Policy, Ratio,
    StaticTimer, Verdict,
};
use tokio::runtime::Builder;

use crate::clocks::{Counting, Skipping, reads_of};

/// The default call: deadline, three attempts, budget and breaker.
const DEFAULT: Policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);

/// A call that is measured.
pub struct Case {
    pub name: &'static str,
    /// Makes that many calls.
    pub run: fn(u64),
    /// Makes that many calls, and returns how often they read the clock.
    pub reads: fn(u64) -> u64,
    /// The instructions it may take, clock reads included.
    pub goal: Option<u64>,
}

/// First the bare operation: what it takes is taken off the others.
pub const CASES: [Case; 7] = [
    Case {
        name: "operation-alone",
        run: alone,
        reads: |_| 0,
        goal: None,
    },
    Case {
        name: "everything-off",
        run: |calls| ready::<Tokio>(Policy::NONE, calls),
        reads: |calls| reads_of(|| ready::<Counting>(Policy::NONE, calls)),
        goal: Some(10),
    },
    Case {
        name: "ready-at-once",
        run: |calls| ready::<Tokio>(DEFAULT, calls),
        reads: |calls| reads_of(|| ready::<Counting>(DEFAULT, calls)),
        goal: Some(420),
    },
    Case {
        name: "hedged-ready-at-once",
        run: hedged::<Tokio>,
        reads: |calls| reads_of(|| hedged::<Counting>(calls)),
        goal: Some(500),
    },
    Case {
        name: "suspended-once",
        run: suspended::<Tokio>,
        reads: |calls| reads_of(|| suspended::<Counting>(calls)),
        goal: Some(1_200),
    },
    Case {
        name: "two-failures-then-success",
        run: third_time_lucky::<Tokio>,
        reads: |calls| reads_of(|| third_time_lucky::<Counting>(calls)),
        goal: Some(1_000),
    },
    Case {
        name: "refused-by-an-open-breaker",
        run: refused,
        reads: |_| 0,
        goal: Some(150),
    },
];

/// As wide as its value, so that results are read as they were written.
type Lost = u64;

#[expect(clippy::unused_async, reason = "what a call awaits is a future")]
async fn operation(attempt: Attempt, failures: u32) -> Result<u64, Lost> {
    if black_box(attempt.number()) > failures {
        Ok(7)
    } else {
        Err(1)
    }
}

async fn suspending(attempt: Attempt) -> Result<u64, Lost> {
    let mut has_waited = false;
    poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    operation(attempt, 0).await
}

/// Makes the calls on one thread of tokio, and sees that each does its part.
fn repeat<F, E>(calls: u64, is_success: bool, call: impl Fn() -> F)
where
    F: Future<Output = Result<u64, E>>,
{
    let runtime = Builder::new_current_thread().enable_time().build();
    let as_meant = runtime.expect("a runtime").block_on(async {
        let mut as_meant = 0;
        for _ in 0..calls {
            as_meant += u64::from(black_box(call().await).is_ok() == is_success);
        }
        as_meant
    });
    assert_eq!(
        as_meant, calls,
        "a call did something else than is measured"
    );
}

fn alone(calls: u64) {
    let attempt = Attempt::new(1, Verdict::OK);
    repeat(calls, true, || operation(attempt, 0));
}

fn ready<T: StaticTimer>(policy: Policy, calls: u64) {
    let guard: Guard<T, AnyError> = Guard::classified(policy, AnyError);
    repeat(calls, true, || guard.call(|attempt| operation(attempt, 0)));
}

/// The default call in a guard that may hedge, which it does not.
fn hedged<T: StaticTimer>(calls: u64) {
    let policy = DEFAULT.with_hedge(Hedge::DEFAULT);
    let guard: HedgedGuard<T, AnyError> = HedgedGuard::classified(policy, AnyError);
    repeat(calls, true, || guard.call(|attempt| operation(attempt, 0)));
}

fn suspended<T: StaticTimer>(calls: u64) {
    let guard: Guard<T, AnyError> = Guard::classified(DEFAULT, AnyError);
    repeat(calls, true, || guard.call(suspending));
}

/// With a breaker and a budget that such calls in a row do not use up.
fn third_time_lucky<T: StaticTimer>(calls: u64) {
    let policy = DEFAULT
        .with_backoff(Backoff::NONE)
        .with_breaker(Breaker::DEFAULT.with_failure_ratio(Ratio::ONE))
        .with_budget(Budget::REFERENCE.with_burst(1_000_000));
    let guard: Guard<T, AnyError> = Guard::classified(policy, AnyError);
    repeat(calls, true, || guard.call(|attempt| operation(attempt, 2)));
}

/// Its pause is skipped: tokio's timer would be nine tenths of the count.
fn refused(calls: u64) {
    let guard: Guard<Skipping, AnyError> = Guard::classified(DEFAULT, AnyError);
    guard.breaker().expect("a breaker").isolate();
    repeat(calls, false, || guard.call(|attempt| operation(attempt, 0)));
}
