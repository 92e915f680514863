//! Streams that are opened again where they were.

use std::cell::RefCell;
use std::pin::pin;

use futures_lite::StreamExt;
use steadfast::{Breaker, EventKind, Policy, Ratio, Reason, Restarts, StreamError};
use steadfast_testing::{Beat, Fault, StreamScript};

use super::{FAULT, Item, STREAM, script, start};
use crate::stage::{Stage, TOUCHY, TRANSIENT, backoff, ms, secs};

const RESUMED: Policy = STREAM.with_restarts(Restarts::at_most(3));

/// Reads a stream whose items are their own checkpoints; also which ones were asked
/// for.
#[track_caller]
fn read(stage: &Stage, script: &StreamScript<u32>) -> (Vec<Item>, Vec<u32>) {
    let asked = RefCell::new(Vec::new());
    let open = |seen, _| {
        asked.borrow_mut().push(seen);
        script.open()
    };
    let call = stage.guard.prepare().listen(&stage.heard);
    let stream = call.stream_from(0, open, |&item| item);
    let items = stage.world.block_on(pin!(stream).collect());
    (items, asked.into_inner())
}

/// Why the stream was given up.
#[track_caller]
fn broken_for(stage: &Stage) -> Option<Reason> {
    stage.only(EventKind::StreamBroken).reason()
}

// core-11.14, R-60, core-01.18
#[test]
fn a_stream_goes_on_where_it_was() {
    let stage = Stage::new(RESUMED);
    let script = script(&stage)
        .fails_after([1, 2], Fault::Transient)
        .yields([3, 4]);
    let (items, asked) = read(&stage, &script);
    assert_eq!(items, [Ok(1), Ok(2), Ok(3), Ok(4)]);
    assert_eq!(asked, [0, 2]);
    assert_eq!(
        stage.told(),
        "Attempt#1 Succeeded#1 StreamResumed#1 Attempt#1 Succeeded#1"
    );
    assert_eq!((script.alive(), script.peak_alive()), (0, 1));
}

#[test]
fn a_stall_is_resumed() {
    let stage = Stage::new(RESUMED);
    let script = script(&stage).hangs_after([1, 2]).yields([3]);
    let (items, asked) = read(&stage, &script);
    assert_eq!(items, [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(asked, [0, 2]);
    assert_eq!(
        stage.told(),
        "Attempt#1 Succeeded#1 Stalled#1 StreamResumed#1 Attempt#1 Succeeded#1"
    );
    assert_eq!(stage.world.elapsed(), secs(1));
}

// core-11.15
#[test]
fn restarts_are_counted() {
    let stage = Stage::new(STREAM.with_restarts(Restarts::at_most(2)).with_attempts(1));
    let script = script(&stage)
        .fails_after([1], Fault::Transient)
        .fails_after([2], Fault::Transient)
        .fails_after([3], Fault::Transient);
    let (items, _) = read(&stage, &script);
    assert_eq!(items, [Ok(1), Ok(2), Ok(3), FAULT]);
    assert_eq!(script.opened(), 3);
    assert_eq!(broken_for(&stage), Some(Reason::AttemptsExhausted));
}

// core-11.16
#[test]
fn a_stream_that_gave_nothing_is_not_resumed() {
    let stage = Stage::new(RESUMED);
    let script = script(&stage).fails(Fault::Transient).repeats_last();
    let (mut items, _) = read(&stage, &script);
    let Some(Err(StreamError::Start(error))) = items.pop() else {
        panic!("it could not be opened");
    };
    assert_eq!(error.error(), Some(&TRANSIENT));
    assert_eq!((items.len(), script.opened()), (0, 3));
    assert_eq!(stage.heard.count_of(EventKind::StreamResumed), 0);
    assert_eq!(stage.heard.count_of(EventKind::StreamBroken), 0);
}

// core-11.17
#[test]
fn without_restarts_a_fault_is_the_end() {
    let stage = Stage::new(STREAM.with_restarts(Restarts::NONE));
    let script = script(&stage).fails_after([1], Fault::Transient);
    assert_eq!(read(&stage, &script).0, [Ok(1), FAULT]);
}

// core-11.18
#[test]
fn a_restart_that_cannot_start_ends_it() {
    let stage = Stage::new(RESUMED);
    let script = script(&stage)
        .fails_after([1], Fault::Transient)
        .fails(Fault::Transient)
        .repeats_last();
    let (items, asked) = read(&stage, &script);
    let ends: Vec<_> = items.into_iter().skip(1).map(start).collect();
    assert_eq!(ends, [(Reason::AttemptsExhausted, 3)]);
    assert_eq!(asked, [0, 1, 1, 1]);
    assert_eq!(stage.heard.count_of(EventKind::StreamResumed), 1);
}

// core-11.19
#[test]
fn a_deadline_that_is_over_lets_the_fault_through() {
    let stage = Stage::new(RESUMED.with_deadline(secs(2)));
    let beats = [1, 2, 3].map(|item| [Beat::Item(item), Beat::Pause(ms(800))]);
    let failing = beats
        .into_iter()
        .flatten()
        .chain([Beat::Failure(Fault::Transient)]);
    let script = script(&stage).plays(failing);
    assert_eq!(read(&stage, &script).0, [Ok(1), Ok(2), Ok(3), FAULT]);
    assert_eq!(broken_for(&stage), Some(Reason::DeadlineExceeded));
    assert_eq!(script.opened(), 1);
}

// Broken every 20 s it is read for ever, though its deadline is 5 s.
#[test]
fn a_healthy_stretch_begins_all_anew() {
    let stage = Stage::new(RESUMED.with_deadline(secs(5)));
    let mut script = script(&stage);
    for round in 0..20 {
        let items = (1..=20).flat_map(|item| [Beat::Item(round * 20 + item), Beat::Pause(ms(900))]);
        script = script.plays(items.chain([Beat::Failure(Fault::Transient)]));
    }
    let script = script.yields_nothing();
    let (items, asked) = read(&stage, &script);
    assert!(
        items
            .iter()
            .zip(1..)
            .all(|(item, number)| *item == Ok(number))
    );
    assert_eq!((items.len(), asked.len()), (400, 21));
    let resumed = stage.heard.of_kind(EventKind::StreamResumed);
    assert!(resumed.iter().all(|event| event.number() == 1));
}

#[test]
fn restarts_wait_longer_each_time() {
    let stage = Stage::new(RESUMED.with_backoff(backoff(ms(100)).with_factor(Ratio::times(2))));
    let script = script(&stage)
        .fails_after([1], Fault::Transient)
        .fails_after([2], Fault::Transient)
        .fails_after([3], Fault::Throttled(Some(secs(7))))
        .yields([4]);
    assert_eq!(read(&stage, &script).0.len(), 4);
    let resumed = stage.heard.of_kind(EventKind::StreamResumed);
    let waits: Vec<_> = resumed.iter().filter_map(steadfast::Event::delay).collect();
    assert_eq!(waits, [ms(100), ms(200), secs(7)]);
}

#[test]
fn a_permanent_fault_is_not_resumed() {
    let stage = Stage::new(RESUMED);
    let script = script(&stage).fails_after([1], Fault::Permanent);
    let (items, _) = read(&stage, &script);
    assert_eq!(items.len(), 2);
    assert_eq!(broken_for(&stage), Some(Reason::Permanent));
}

#[test]
fn an_open_breaker_refuses_a_restart() {
    let stage = Stage::new(RESUMED.with_breaker(Breaker::DEFAULT));
    let script = script(&stage)
        .fails_after([1], Fault::Transient)
        .yields([2]);
    let call = stage.guard.prepare().listen(&stage.heard);
    let mut stream = pin!(call.stream_from(0, |_, _| script.open(), |&item| item));
    assert_eq!(super::pull(&stage, stream.as_mut()), Some(Ok(1)));
    stage.guard.breaker().expect("a breaker").isolate();
    let refused = super::pull(&stage, stream.as_mut()).expect("an error");
    assert_eq!(start(refused), (Reason::DependencyUnavailable, 0));
    assert_eq!(super::pull(&stage, stream.as_mut()), None);
    assert_eq!(script.opened(), 1);
}

// A restart that has used up its probe leaves the breaker as it was.
#[test]
fn a_restart_that_is_dropped_gives_all_back() {
    let stage = Stage::new(RESUMED.with_breaker(TOUCHY));
    let script = script(&stage)
        .fails_after([1], Fault::Transient)
        .hangs_after([]);
    for polls in 1..6 {
        let call = stage.guard.prepare();
        let stream = call.stream_from(0, |_, _| script.open(), |&item| item);
        crate::stage::drop_after(&stage.world, polls, async {
            let mut stream = pin!(stream);
            while stream.next().await.is_some() {}
        });
        assert_eq!(script.alive(), 0);
    }
}
