//! Faults on purpose, within real guards.

mod live;

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_lite::stream::{self, StreamExt};
use steadfast::{
    Attempt, Breaker, BreakerState, Classify, EventKind, Kind, Plan, Policy, Ratio, Reason, Verdict,
};
use steadfast_testing::{Burst, Chaos, Fault, FaultInjector, NoChaos, Recorder, Script, World};

use crate::stage::{INSTANT, Virtual, backoff, guard, ms, secs};

/// Every call fails.
const BROKEN: Chaos = Chaos::OFF.on().with_faults(Ratio::ONE);

/// Every call waits an hour.
const STUCK: Chaos = Chaos::OFF.on().with_latency(Ratio::ONE, secs(3600));

/// One call of ten fails.
const FLAKY: Chaos = Chaos::OFF
    .on()
    .with_faults(Ratio::percent(10))
    .with_seed(42);

/// Which calls of [`FLAKY`] fail, the first being 1.
const FAILING: [u32; 3] = [11, 12, 16];

/// An attempt as if there were a guard.
const FIRST: Attempt = Attempt::new(1, Verdict::OK);

async fn fetch() -> io::Result<u32> {
    Ok(7)
}

/// A reply by status, with when to come again.
#[derive(Debug)]
struct Reply {
    status: u16,
    retry_after: Option<Duration>,
    serial: u32,
}

fn by_status(reply: &Result<Reply, Infallible>) -> Verdict {
    match reply {
        Ok(Reply {
            status: 429,
            retry_after,
            ..
        }) => retry_after.map_or(Verdict::THROTTLED, Verdict::throttled_for),
        Ok(Reply { status: 500.., .. }) => Verdict::TRANSIENT,
        _ => Verdict::OK,
    }
}

#[track_caller]
fn judged<C: Classify<Result<Reply, Infallible>>>(
    world: &World,
    policy: Policy,
    classifier: C,
) -> Virtual<C> {
    let plan = Plan::new(policy).with_classifier(classifier);
    Virtual::try_on(world.timer(), plan).expect("a policy that works")
}

fn good() -> Ready<Result<Reply, Infallible>> {
    ready(Ok(Reply {
        status: 200,
        retry_after: None,
        serial: 0,
    }))
}

// test-02.3
#[test]
fn calls_fail_where_the_stream_says() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let mut wrapped = FLAKY.wrap(world.timer(), |_| fetch());
    let failing: Vec<u32> = (1..=40)
        .filter(|_| world.block_on(guard.call(&mut wrapped)).is_err())
        .collect();
    assert_eq!(failing, FAILING);
}

// test-02.5
#[test]
fn off_changes_nothing() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let off = BROKEN.with_latency(Ratio::ONE, secs(1)).off();
    let reads = world.clock_reads();
    world.block_on(guard.call(|_| fetch())).expect("a value");
    let plain = world.clock_reads() - reads;
    world
        .block_on(guard.call(off.wrap(world.timer(), |_| fetch())))
        .expect("a value");
    assert_eq!(world.clock_reads() - reads, 2 * plain);
    assert_eq!(world.timers_made(), 0);
}

// test-02.5
#[test]
fn no_chaos_gives_the_operation_back() {
    fn same<T>(_: &T, _: &T) {}
    let world = World::new();
    let operation = |_: Attempt| fetch();
    // One type: what is wrapped is the operation.
    same(&NoChaos.wrap(world.timer(), operation), &operation);
    let gated = NoChaos.only(|_| unreachable!("nothing to ask"));
    same(&gated.wrap_with(world.timer(), || 0, operation), &operation);
}

// test-02.6
#[test]
fn a_fault_is_retried_and_counted() {
    let world = World::new();
    let policy = INSTANT.with_breaker(Breaker::DEFAULT.with_consecutive_failures(3));
    let guard = guard(&world, policy);
    let injector = FaultInjector::new(BROKEN);
    let reached = Cell::new(0);
    let wrapped = injector.wrap(world.timer(), |_| {
        reached.set(reached.get() + 1);
        fetch()
    });
    let error = world.block_on(guard.call(wrapped)).expect_err("it fails");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(error.attempts(), 3);
    let source = error.into_error().expect("an error of the operation");
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!((injector.injected(), reached.get()), (3, 0));
    assert_eq!(guard.breaker_state(), Some(BreakerState::Open));
}

// test-02.7
#[test]
fn the_attempt_timeout_cuts_the_latency() {
    let world = World::new();
    let heard = Recorder::new();
    let policy = INSTANT.with_attempts(1).with_attempt_timeout(secs(1));
    let guard = guard(&world, policy);
    let injector = FaultInjector::new(STUCK);
    let script: Script<u32> = Script::on(world.timer()).returns(7);
    let call = guard
        .call(injector.wrap(world.timer(), |_| script.next()))
        .listen(&heard);
    let error = world.block_on(call).expect_err("cut");
    assert_eq!(world.elapsed(), secs(1));
    assert_eq!(error.last_verdict().kind(), Kind::Transient);
    assert_eq!(heard.count_of(EventKind::Attempt), 1);
    assert_eq!((injector.slowed(), injector.injected()), (1, 0));
    assert_eq!((world.pending_timers(), script.alive()), (0, 0));
}

#[test]
fn a_dropped_call_leaves_no_timer() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let call = guard.call(STUCK.wrap(world.timer(), |_| fetch()));
    let within = world.block_on(futures_lite::future::or(
        async { call.await.is_ok() },
        async {
            world.sleep(secs(1)).await;
            false
        },
    ));
    assert!(!within);
    assert_eq!(world.pending_timers(), 0);
}

#[test]
fn latency_comes_before_the_work_and_the_fault() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let slow = Chaos::OFF.on().with_latency(Ratio::ONE, secs(2));
    let script: Script<u32> = Script::on(world.timer()).returns(7);
    let call = guard.call(slow.wrap(world.timer(), |_| async {
        assert_eq!(world.elapsed(), secs(2));
        script.next().await
    }));
    assert_eq!(world.block_on(call).ok(), Some(7));
    let both = slow.with_faults(Ratio::ONE).with_fault(Fault::Permanent);
    let call = guard.call(both.wrap(world.timer(), |_| script.next()));
    let error = world.block_on(call).expect_err("a fault");
    assert_eq!(error.last_verdict(), Verdict::PERMANENT);
    assert_eq!((world.elapsed(), script.calls()), (secs(4), 1));
}

// test-02.8
#[test]
fn the_gate_comes_before_any_draw() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let injector = FaultInjector::new(FLAKY);
    let asked = Cell::new(0_u32);
    let gate = |_| {
        asked.set(asked.get() + 1);
        asked.get() > 10
    };
    let mut wrapped = injector.only(gate).wrap(world.timer(), |_| fetch());
    let mut ended = || world.block_on(guard.call(&mut wrapped)).is_ok();
    assert!((0..10).all(|_| ended()));
    assert_eq!(injector.drawn(), 0);
    let first = (1..=40).find(|_| !ended());
    assert_eq!(first, Some(FAILING[0]));
}

// test-02.9
#[test]
fn an_outcome_is_judged_like_any_other() {
    let world = World::new();
    let guard = judged(&world, INSTANT, by_status);
    let made = Cell::new(0);
    let broken = || {
        made.set(made.get() + 1);
        Ok(Reply {
            status: 503,
            retry_after: None,
            serial: made.get(),
        })
    };
    let wrapped = BROKEN.wrap_with(world.timer(), broken, |_| good());
    let outcome = world.block_on(guard.call(wrapped).outcome());
    let kinds: Vec<Kind> = outcome.log().entries().map(|entry| entry.kind()).collect();
    assert_eq!(kinds, [Kind::Transient; 3]);
    let reply = outcome.value().expect("the last reply");
    assert_eq!((reply.status, reply.serial, made.get()), (503, 3, 3));
}

// test-02.10
#[test]
fn an_outcome_says_when_to_come_again() {
    let world = World::new();
    let policy = INSTANT.with_attempts(2).with_backoff(backoff(ms(10)));
    let guard = judged(&world, policy, by_status);
    let busy = || {
        Ok(Reply {
            status: 429,
            retry_after: Some(secs(1)),
            serial: 0,
        })
    };
    let wrapped = BROKEN.wrap_with(world.timer(), busy, |_| good());
    let outcome = world.block_on(guard.call(wrapped).outcome());
    let kinds: Vec<Kind> = outcome.log().entries().map(|entry| entry.kind()).collect();
    assert_eq!(kinds, [Kind::Throttled; 2]);
    assert_eq!(outcome.retry_after(), Some(secs(1)));
    assert_eq!(world.elapsed(), secs(1));
}

// test-02.13
#[test]
fn outside_a_guard_it_tests_nothing() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let script: Script<u32> = Script::on(world.timer()).returns(7);
    let injector = FaultInjector::new(BROKEN);
    let mut outside = injector.wrap_with(
        world.timer(),
        || Err(None),
        |_| async { guard.call(|_| script.next()).await.map_err(Some) },
    );
    assert!(matches!(world.block_on(outside(FIRST)), Err(None)));
    assert_eq!((injector.injected(), script.calls()), (1, 0));
}

// test-02.14
#[test]
fn each_wrap_has_a_stream_of_its_own() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let mut one = FLAKY.wrap(world.timer(), |_| fetch());
    let mut other = FLAKY.wrap(world.timer(), |_| fetch());
    for call in 1..=40 {
        let expected = !FAILING.contains(&call);
        assert_eq!(world.block_on(guard.call(&mut one)).is_ok(), expected);
        assert_eq!(world.block_on(guard.call(&mut other)).is_ok(), expected);
    }
}

#[test]
fn retries_do_not_outlast_a_burst() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let failed = |chaos: Chaos| {
        let mut wrapped = chaos.wrap(world.timer(), |_| fetch());
        let mut call = || world.block_on(guard.call(&mut wrapped)).is_err();
        (0..1000).filter(|_| call()).count()
    };
    // Alone, three in a row are chance; together, they are the rule.
    let chaos = FLAKY.with_faults(Ratio::percent(1));
    assert_eq!(failed(chaos), 0);
    assert!(failed(chaos.with_burst(Burst::calls(2))) > 5);
}

#[test]
fn a_burst_of_time_fails_whoever_calls() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let burst = Burst::lasting(secs(10));
    let injector = FaultInjector::new(BROKEN.with_burst(burst));
    let call = || {
        world.advance(secs(2));
        world
            .block_on(guard.call(injector.wrap(world.timer(), |_| fetch())))
            .is_ok()
    };
    assert!(!call());
    injector.set_fault_rate(Ratio::ppm(1)).expect("a rate");
    let after = [(); 6].map(|()| call());
    assert_eq!(after, [false, false, false, false, true, true]);
}

#[test]
fn a_stream_is_slow_to_open_or_fails() {
    let world = World::new();
    let guard = guard(&world, INSTANT);
    let chaos = Chaos::OFF
        .on()
        .with_latency(Ratio::ONE, secs(1))
        .with_seed(5);
    let injector = FaultInjector::new(chaos.with_faults(Ratio::percent(50)));
    let open = injector.wrap_with(
        world.timer(),
        || Err(Fault::Transient),
        |_| stream::iter([Ok(1), Ok(2)]),
    );
    let mut items = pin!(guard.stream(open));
    let mut read = Vec::new();
    world.block_on(async {
        while let Some(item) = items.next().await {
            read.push(item.expect("the second time"));
        }
    });
    assert_eq!(read, [1, 2]);
    assert_eq!(world.elapsed(), secs(injector.slowed()));
    assert_eq!(injector.slowed(), injector.injected() + 1);
}

#[test]
fn a_script_may_be_wrapped() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let script: Script<u32> = Script::on(world.timer()).returns(7).repeats_last();
    let throttled = BROKEN.with_fault(Fault::Throttled(Some(secs(3))));
    let call = guard.call(throttled.wrap(world.timer(), |_| script.next()));
    let error = world.block_on(call).expect_err("a fault");
    assert_eq!(error.last_verdict(), Verdict::throttled_for(secs(3)));
}

#[test]
fn faults_look_like_those_of_a_socket() {
    let told = |fault: Fault| steadfast::Meaning::verdict(&io::Error::from(fault));
    assert_eq!(told(Fault::Transient), Verdict::TRANSIENT);
    assert_eq!(told(Fault::Throttled(Some(secs(1)))), Verdict::TRANSIENT);
    assert_eq!(told(Fault::SelfImposed(None)), Verdict::TRANSIENT);
    assert_eq!(told(Fault::Permanent), Verdict::PERMANENT);
}

#[test]
fn a_wrapped_operation_moves_between_threads() {
    fn moves<T: Send>(_: &T) {}
    let tokio = BROKEN.wrap(steadfast::tokio::Tokio, |_| ready(io::Result::Ok(1)));
    moves(&tokio);
    let smol = BROKEN.wrap(steadfast::smol::Smol, |_| fetch());
    moves(&smol);
}
