//! Feeds: quiet ones, slow consumers, busy executors, many side by side.

use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;

use futures_lite::StreamExt;
use steadfast::{
    Ambient, Breaker, BreakerState, Budget, Concurrency, EventKind, Policy, Ratio, Reason,
    Restarts, StreamError, Throttle,
};
use steadfast_testing::{Beat, Fault, StreamScript};

use super::{FAULT, Item, STREAM, pull, script, start};
use crate::scope::scope;
use crate::stage::{INSTANT, Stage, TOUCHY, backoff, drop_after, ms, secs};

/// Reads a stream with a checkpoint to its end.
fn follow(stage: &Stage, script: &StreamScript<u32>) -> Vec<Item> {
    let call = stage.guard.prepare().listen(&stage.heard);
    let stream = call.stream_from(0, |_, _| script.open(), |&item| item);
    stage.world.block_on(pin!(stream).collect())
}

// What starts in 10 ms as a rule has an item every 5 s: after a break the next one may
// take that long, and is no slow start.
#[test]
fn a_quiet_feed_is_resumed() {
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let stage = Stage::new(policy.with_budget(Budget::NONE));
    let quick = script(&stage).delays(ms(10)).yields([0]).repeats_last();
    for _ in 0..20 {
        assert_eq!(stage.read(&quick).len(), 1);
    }
    let ceiling = stage.guard.measured().attempt_ceiling;
    assert!(ceiling.is_some_and(|ceiling| ceiling < ms(100)));
    let five = Beat::Pause(secs(5));
    let failure = Beat::Failure(Fault::Transient);
    let feed = script(&stage)
        .plays([Beat::Item(1), five, Beat::Item(2), failure])
        .plays([five, Beat::Item(3), failure])
        .plays([five, Beat::Item(4)]);
    assert_eq!(follow(&stage, &feed), [Ok(1), Ok(2), Ok(3), Ok(4)]);
    // Nothing was learnt from the waits.
    assert_eq!(stage.guard.measured().attempt_ceiling, ceiling);
}

// Every wake comes later than a gap: it may have been a consumer that went away, once.
#[test]
fn on_a_busy_executor_a_stall_is_seen() {
    let stage = Stage::new(STREAM.with_gap(ms(5)));
    let script = script(&stage).hangs_after([1]);
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(1)));
    let mut polls = 0;
    let stalled = stage.world.block_on(std::future::poll_fn(|cx| {
        polls += 1;
        stage.world.jump(ms(11));
        stream.as_mut().poll_next(cx)
    }));
    assert!(matches!(stalled, Some(Err(StreamError::Stalled(_)))));
    assert!(polls <= 4, "{polls}");
}

// the first item and the gaps after it have bounds of their own.
#[test]
fn a_server_may_think_for_longer_than_a_gap() {
    let stage = Stage::new(STREAM.with_attempt_timeout(secs(60)).with_gap(secs(1)));
    let thinks = script(&stage).delays(secs(40)).hangs_after([1]);
    let items = stage.read(&thinks);
    assert_eq!(items.first(), Some(&Ok(1)));
    assert!(matches!(items.last(), Some(Err(StreamError::Stalled(_)))));
    assert_eq!(stage.world.elapsed(), secs(41));
}

#[test]
fn a_gap_of_nothing_is_refused() {
    let problems = STREAM.with_gap(Duration::ZERO).validate();
    let problems = problems.expect_err("each item would stall");
    assert!(problems.contains(steadfast::Problem::ZeroGap));
    assert_eq!(problems.len(), 1);
}

// Who asks in a loop is held up, and told why and when to come back.
#[test]
fn a_restart_without_a_token_is_refused_after_a_pause() {
    let budget = Budget::new(Ratio::percent(10), 1).with_burst(1);
    let stage = Stage::new(STREAM.with_budget(budget));
    stage.drain();
    let broken = script(&stage)
        .fails_after([1], Fault::Transient)
        .repeats_last();
    let items = follow(&stage, &broken);
    assert_eq!(stage.world.elapsed(), ms(100));
    let Some(Err(StreamError::Start(error))) = items.last() else {
        panic!("{items:?}");
    };
    assert_eq!(error.reason(), Reason::BudgetExhausted);
    assert!(error.error().is_some() && error.is_sent());
    assert!(error.retry_after() > Some(Duration::ZERO));
    let told = stage.only(EventKind::StreamBroken);
    assert!(told.to_string().contains("for BudgetExhausted"), "{told}");
}

//
#[test]
fn a_place_is_kept_while_it_flows_and_between_two_openings() {
    let policy = STREAM
        .with_concurrency(Concurrency::fixed(1))
        .with_backoff(backoff(secs(1)));
    let stage = Stage::new(policy);
    let places = || stage.guard.concurrency().expect("a limit").in_flight();
    let one = script(&stage)
        .fails_after([1, 2], Fault::Transient)
        .yields([3]);
    let mut stream = pin!(stage.guard.stream_from(0, |_, _| one.open(), |&item| item));
    for item in 1..=2 {
        assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(item)));
        assert_eq!(places(), 1);
    }
    // Another one comes while it waits to be opened again.
    let other = script(&stage).yields([9]);
    let call = stage.guard.prepare().once();
    let mut late = pin!(call.stream(|_| other.open()));
    assert!(!drop_after(&stage.world, 1, stream.as_mut().next()));
    assert_eq!(places(), 1);
    let refused = pull(&stage, late.as_mut()).expect("an error");
    assert_eq!(start(refused), (Reason::AttemptsExhausted, 1));
    assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(3)));
    assert_eq!(pull(&stage, stream.as_mut()), None);
    assert_eq!(places(), 0);
}

#[test]
fn an_empty_source_that_was_started_has_no_place() {
    let stage = Stage::new(STREAM.with_concurrency(Concurrency::fixed(1)));
    let script = script(&stage).yields_nothing();
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    assert!(stage.world.block_on(stream.as_mut().start()).is_ok());
    let limit = stage.guard.concurrency().expect("a limit");
    assert_eq!((limit.in_flight(), script.alive()), (0, 0));
}

#[test]
fn the_throttle_hears_of_restarts() {
    let policy = STREAM
        .with_throttle(Throttle::DEFAULT)
        .with_attempts(1)
        .with_restarts(Restarts::at_most(u32::MAX));
    let stage = Stage::new(policy);
    let busy = script(&stage)
        .fails_after([1], Fault::Transient)
        .repeats_last();
    let call = stage.guard.prepare();
    let mut stream = pin!(call.stream_from(0, |_, _| busy.open(), |&item| item));
    for _ in 0..500 {
        if !matches!(pull(&stage, stream.as_mut()), Some(Ok(_))) {
            break;
        }
    }
    // Each opening is a request that was accepted; the dependency is well by that.
    let standing = stage.guard.standing().throttle.expect("a throttle");
    assert_eq!(standing.chance, Ratio::ZERO);
    assert!(busy.opened() >= 500, "{}", busy.opened());
}

// What it gives goes on, so its end is nobody else's.
#[test]
fn an_attempt_of_a_stream_hands_on_no_end() {
    let stage = Stage::new(STREAM.with_deadline(secs(5)));
    let script = script(&stage).yields([1]);
    let told = RefCell::new(Ambient::NONE);
    let stream = stage.guard.stream(|attempt| {
        assert!(attempt.until().is_some());
        *told.borrow_mut() = attempt.ambient();
        script.open()
    });
    let items: Vec<Item> = stage.world.block_on(pin!(stream).collect());
    assert_eq!(items, [Ok(1)]);
    assert_eq!(told.borrow().deadline(), None);
    assert!(told.borrow().is_retried());
}

// core-11.1, core-11.2: told before the first item, and a break is no evidence.
#[test]
fn a_start_is_told_before_its_item() {
    let stage = Stage::new(STREAM.with_breaker(TOUCHY));
    let broken = script(&stage).fails_after([1, 2], Fault::Transient);
    let call = stage.guard.prepare().listen(&stage.heard);
    let mut stream = pin!(call.stream(|_| broken.open()));
    assert!(stage.world.block_on(stream.as_mut().start()).is_ok());
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    let items: Vec<Item> = stage.world.block_on(stream.as_mut().collect());
    assert_eq!(items, [Ok(1), Ok(2), FAULT]);
    assert_eq!(stage.guard.breaker_state(), Some(BreakerState::Closed));
    assert_eq!(stage.told(), "");
    // core-11.12: read to its end it has ended.
    assert_eq!(pull(&stage, stream.as_mut()), None);
}

// core-11.4
#[test]
fn a_start_that_fails_has_a_log() {
    let stage = Stage::new(STREAM);
    let failing = script(&stage).fails(Fault::Transient).repeats_last();
    let call = stage.guard.prepare().outcome();
    let mut stream = pin!(call.stream(|_| failing.open()));
    let outcome = stage.world.block_on(stream.as_mut().start());
    assert_eq!(outcome.log().entries().count(), 3);
    assert_eq!(outcome.reason(), Reason::AttemptsExhausted);
}

// core-11.8, core-14.18
#[test]
fn a_stall_is_about_the_stream_not_an_attempt() {
    let stage = Stage::new(STREAM);
    let script = script(&stage)
        .fails(Fault::Transient)
        .delays(ms(300))
        .hangs_after([1]);
    assert_eq!(stage.read(&script).len(), 2);
    let stalled = stage.only(EventKind::Stalled);
    assert_eq!((stalled.number(), stalled.duration()), (1, Duration::ZERO));
}

//
#[test]
fn seven_watches_and_one_that_fails() {
    let world = steadfast_testing::World::new();
    let policy = INSTANT
        .with_attempt_timeout(secs(1))
        .with_breaker(TOUCHY)
        .with_restarts(Restarts::NONE);
    let watches = scope(&world, policy, 8);
    for watch in 0..7_u32 {
        let script: StreamScript<u32> = StreamScript::on(world.timer());
        let script = if watch == 3 {
            script.fails(Fault::Transient).repeats_last()
        } else {
            script.yields([1, 2, 3]).repeats_last()
        };
        for _ in 0..5 {
            let guard = watches.get(&watch);
            let stream = guard.stream(|_| script.open());
            let items: Vec<Item> = world.block_on(pin!(stream).collect());
            let is_well = items == [Ok(1), Ok(2), Ok(3)];
            assert_eq!(is_well, watch != 3, "{watch}: {items:?}");
        }
    }
}
