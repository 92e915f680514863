//! Many calls at once: a hundred thousand on one thread, and threads side by side.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use steadfast::std_timer::HedgedGuard;
use steadfast::{AnyError, Breaker, Budget, Concurrency, EventKind, Hedge, Policy, Rate, Reason};
use steadfast_testing::{Fault, Recorder, Script, World};

use crate::stage::{INSTANT, TOUCHY, backoff, guard, ms, secs};

const CROWD: usize = 100_000;

// One breaker that opens while all of them are on their way: the first five
// failures open it, all the others are of an era that is over.
#[test]
fn a_crowd_shares_a_breaker_that_opens() {
    let world = World::new();
    let policy = INSTANT
        .with_deadline(secs(60))
        .with_attempt_timeout(secs(10))
        .with_backoff(backoff(ms(200)))
        .with_budget(Budget::REFERENCE)
        .with_breaker(TOUCHY.with_consecutive_failures(5));
    let guard = Rc::new(guard(&world, policy));
    let heard = Rc::new(Recorder::new());
    let script: Script<()> = Script::on(world.timer())
        .delays(secs(1))
        .fails(Fault::Transient)
        .repeats_last();
    let reasons = Rc::new(RefCell::new(HashMap::<Reason, usize>::new()));
    for _ in 0..CROWD {
        let (guard, heard) = (Rc::clone(&guard), Rc::clone(&heard));
        let (script, reasons) = (script.clone(), Rc::clone(&reasons));
        let call = async move {
            let call = guard.call(|_| script.next()).listen(&*heard);
            let error = call.await.expect_err("a failure");
            *reasons.borrow_mut().entry(error.reason()).or_default() += 1;
        };
        world.spawn("call", call).detach();
    }
    world.advance(secs(2));

    assert_eq!(world.live_tasks(), 0);
    assert_eq!((script.calls(), script.alive()), (CROWD, 0));
    assert_eq!(heard.count_of(EventKind::Attempt), CROWD);
    assert_eq!(heard.count_of(EventKind::BreakerOpened), 1);
    // The budget funds 30 retries; the open breaker refuses them all.
    let reasons = reasons.take();
    assert_eq!(reasons.get(&Reason::DependencyUnavailable), Some(&30));
    assert_eq!(reasons.get(&Reason::BudgetExhausted), Some(&(CROWD - 30)));
    // Those 30 gave their tokens back.
    let budget = guard.budget().expect("a budget");
    assert_eq!(budget.utilization(world.now()), steadfast::Ratio::ZERO);
    assert_eq!(world.pending_timers(), 0);

    // The next one is refused in 100 ms, and it is quiet.
    let refused = world.block_on(guard.call(|_| script.next()));
    let refused = refused.expect_err("a refusal");
    assert_eq!(refused.elapsed(), ms(100));
    assert!(refused.retry_after() > Some(Duration::ZERO));
    assert_eq!(script.calls(), CROWD);
}

// Two real threads on one guard. Fewer calls than fill a counter of the window of
// latencies, so that it has to hold each one.
#[test]
fn two_threads_lose_no_count() {
    const CALLS: u64 = 1_500;
    static GUARD: HedgedGuard<AnyError> = HedgedGuard::classified(
        Policy::DEFAULT
            .with_breaker(Breaker::DEFAULT)
            .with_hedge(Hedge::DEFAULT)
            .with_concurrency(Concurrency::fixed(2))
            .with_rate(Rate::per_second(10_000)),
        AnyError,
    );
    let call = || {
        let call = GUARD.call(|_| std::future::ready(Ok::<u32, ()>(1)));
        assert_eq!(futures_lite::future::block_on(call).ok(), Some(1));
    };
    // Whoever is first begins the windows.
    call();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..CALLS).for_each(|_| call()));
        }
    });
    let measured = GUARD.measured();
    assert_eq!(measured.successes, Some(2 * CALLS + 1));
    assert_eq!(measured.attempts, Some(2 * CALLS + 1));
    assert!(measured.normal_latency.is_some());
    assert_eq!(GUARD.concurrency().expect("a limit").in_flight(), 0);
}
