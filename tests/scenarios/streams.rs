//! Streams: the attempt lasts to the first item, the gaps are bounded.

mod feeds;
mod generated;
mod resumed;
mod starts;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_lite::{Stream, StreamExt};
use steadfast::{
    AnyError, Breaker, BreakerState, Guard, Plan, Policy, Reason, Restarts, StreamError, Verdict,
};
use steadfast_testing::{Beat, Fault, Scripted, StreamScript};

use crate::stage::{INSTANT, Stage, TRANSIENT, Virtual, ms, secs};

pub(crate) type Item = Result<u32, StreamError<Scripted>>;

/// Three attempts at once, and a second for an item.
pub(crate) const STREAM: Policy = INSTANT.with_attempt_timeout(secs(1));

pub(crate) fn script(stage: &Stage) -> StreamScript<u32> {
    StreamScript::on(stage.world.timer())
}

impl Stage {
    /// Reads a scripted stream to its end.
    #[track_caller]
    pub(crate) fn read(&self, script: &StreamScript<u32>) -> Vec<Item> {
        let stream = self
            .guard
            .prepare()
            .listen(&self.heard)
            .stream(|_| script.open());
        self.world.block_on(pin!(stream).collect())
    }
}

/// Pulls one item.
#[track_caller]
pub(crate) fn pull<S: Stream>(stage: &Stage, stream: Pin<&mut S>) -> Option<S::Item> {
    let mut stream = stream;
    stage
        .world
        .block_on(poll_fn(|cx| stream.as_mut().poll_next(cx)))
}

#[track_caller]
fn start(item: Item) -> (Reason, u32) {
    let Err(StreamError::Start(error)) = item else {
        unreachable!("{item:?}");
    };
    (error.reason(), error.attempts())
}

const FAULT: Item = Err(StreamError::Source(TRANSIENT));

// core-11.1
#[test]
fn a_source_that_fails_is_opened_again() {
    let stage = Stage::new(STREAM);
    let script = script(&stage)
        .fails(Fault::Transient)
        .fails(Fault::Transient)
        .yields([1, 2, 3]);
    assert_eq!(stage.read(&script), [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 Retrying#3 Attempt#3 Succeeded#3"
    );
    assert_eq!((script.alive(), script.peak_alive()), (0, 1));
}

// core-11.2, test-01.11
#[test]
fn a_fault_after_an_item_passes_as_it_is() {
    let stage = Stage::new(STREAM.with_breaker(Breaker::DEFAULT));
    let script = script(&stage).fails_after([1, 2], Fault::Transient);
    assert_eq!(stage.read(&script), [Ok(1), Ok(2), FAULT]);
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(script.opened(), 1);
}

// Whether its source has more to say is not for a guard to decide.
#[test]
fn a_source_goes_on_after_a_fault() {
    let stage = Stage::new(STREAM);
    let beats = [
        Beat::Item(1),
        Beat::Failure(Fault::Transient),
        Beat::Item(2),
    ];
    let script = script(&stage).plays(beats);
    assert_eq!(stage.read(&script), [Ok(1), FAULT, Ok(2)]);
}

// core-11.3, R-58
#[test]
fn an_empty_source_is_a_success() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).delays(ms(900)).yields_nothing();
    assert_eq!(stage.read(&script), []);
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!(script.alive(), 0);
}

// core-11.6, test-01.10
#[test]
fn a_silent_source_is_cut() {
    let stage = Stage::new(STREAM.with_attempt_timeout(secs(2)));
    let script = script(&stage).delays(secs(5)).yields([0]).yields([1, 2, 3]);
    assert_eq!(stage.read(&script), [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(script.opened(), 2);
    assert_eq!((script.alive(), script.peak_alive()), (0, 1));
    assert_eq!(stage.world.elapsed(), secs(2));
}

/// A first item after `first`, then more of them with gaps.
fn gaps(first: Duration, gap: Duration, count: u32) -> Vec<Beat<u32>> {
    let mut beats = vec![Beat::Pause(first), Beat::Item(0)];
    for number in 1..=count {
        beats.extend([Beat::Pause(gap), Beat::Item(number)]);
    }
    beats
}

// core-11.7, core-11.13, R-62
#[test]
fn only_gaps_are_bounded_once_it_flows() {
    let stage = Stage::new(STREAM.with_deadline(secs(5)));
    let script = script(&stage).plays(gaps(ms(900), ms(950), 100));
    let items = stage.read(&script);
    assert_eq!(items.len(), 101);
    assert!(items.iter().all(Result::is_ok));
    assert_eq!(stage.world.elapsed(), ms(900 + 95_000));

    // The first item four seconds in, and then a minute more.
    let stage = Stage::new(STREAM.with_deadline(secs(5)).with_attempt_timeout(secs(5)));
    let script = StreamScript::on(stage.world.timer()).plays(gaps(secs(4), secs(3), 20));
    assert_eq!(stage.read(&script).len(), 21);
}

// core-11.8, core-14.18
#[test]
fn a_gap_too_long_is_a_stall() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).hangs_after([1, 2, 3]);
    let items = stage.read(&script);
    let Some(Err(StreamError::Stalled(stall))) = items.last() else {
        panic!("{items:?}");
    };
    assert_eq!((stall.bound(), stall.delivered()), (secs(1), 3));
    assert_eq!(items.len(), 4);
    assert_eq!(stage.world.elapsed(), secs(1));
    assert_eq!(script.alive(), 0);
    let stalled = stage.only(steadfast::EventKind::Stalled);
    assert_eq!(stalled.delay(), Some(secs(1)));
    assert_eq!(stalled.verdict(), Verdict::TRANSIENT);
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1 Stalled#1");
    let text = items.last().expect("a stall").as_ref().expect_err("it is");
    assert_eq!(
        text.to_string(),
        "the stream stalled: no item for 1s after 3 items"
    );
}

// An item that comes as the gap is over is handed over: nothing is lost.
#[test]
fn an_item_at_the_very_end_of_a_gap_counts() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).plays(gaps(secs(0), secs(1), 3));
    assert_eq!(stage.read(&script).len(), 4);
}

// core-11.9, R-57, R-59, aws-sdk-rust#1141
#[test]
fn a_slow_consumer_is_no_stall() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).yields([1, 2, 3]);
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    for number in 1..=3 {
        assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(number)));
        stage.world.advance(secs(60));
    }
    assert_eq!(pull(&stage, stream.as_mut()), None);
}

// A pull that was given up, and a consumer that then went away for a while.
#[test]
fn a_pull_that_nobody_waits_for_is_no_stall() {
    let stage = Stage::new(STREAM);
    let script = script(&stage).plays(gaps(secs(0), secs(90), 1));
    let mut stream = pin!(stage.guard.stream(|_| script.open()));
    assert_eq!(pull(&stage, stream.as_mut()), Some(Ok(0)));
    let given_up = stage.world.block_on(poll_fn(|cx| {
        std::task::Poll::Ready(stream.as_mut().poll_next(cx).is_pending())
    }));
    assert!(given_up);
    stage.world.advance(secs(60));
    // A second more for who comes back, and not a minute's blame.
    let before = stage.world.elapsed();
    let Some(Err(StreamError::Stalled(_))) = pull(&stage, stream.as_mut()) else {
        panic!("it stalls then");
    };
    assert_eq!(stage.world.elapsed().saturating_sub(before), secs(1));
}

// core-11.10
#[test]
fn gaps_may_be_unbounded() {
    for policy in [
        STREAM.without_gap(),
        STREAM.with_gap(Duration::MAX),
        INSTANT.without_attempt_timeout(),
    ] {
        let stage = Stage::new(policy);
        let script = script(&stage).plays(gaps(secs(0), secs(3600), 2));
        assert_eq!(stage.read(&script), [Ok(0), Ok(1), Ok(2)]);
        assert_eq!(policy.gap(), None);
    }
}

// The measured ceiling cuts a start that is slow for this stream, never a gap.
#[test]
fn a_gap_is_the_constant_bound() {
    let stage = Stage::new(
        Policy::DEFAULT
            .with_budget(steadfast::Budget::NONE)
            .with_backoff(steadfast::Backoff::NONE),
    );
    let quick = script(&stage).delays(ms(40)).yields([0]).repeats_last();
    for _ in 0..30 {
        assert_eq!(stage.read(&quick).len(), 1);
    }
    let ceiling = stage.guard.measured().attempt_ceiling.expect("it is warm");
    assert!(ceiling < ms(200));
    let slow = script(&stage)
        .plays(gaps(ms(10), secs(9), 1))
        .repeats_last();
    assert_eq!(stage.read(&slow), [Ok(0), Ok(1)]);
}

// core-11.20
#[test]
fn an_open_breaker_refuses_the_first_pull() {
    let stage = Stage::new(STREAM.with_breaker(crate::stage::TOUCHY));
    let _ = stage.play_failure();
    stage.heard.clear();
    let script = script(&stage).yields([1]);
    let before = stage.world.elapsed();
    let items = stage.read(&script);
    let refused: Vec<_> = items.into_iter().map(start).collect();
    assert_eq!(refused, [(Reason::DependencyUnavailable, 0)]);
    assert_eq!(stage.world.elapsed().saturating_sub(before), ms(100));
    assert_eq!(script.opened(), 0);
}

// core-11.22
#[test]
fn a_consumer_that_leaves_gives_the_probe_back() {
    let stage = Stage::new(STREAM.with_breaker(crate::stage::TOUCHY));
    let _ = stage.play_failure();
    stage.world.advance(secs(30));
    let script = script(&stage).hangs_after([]).repeats_last();
    for _ in 0..3 {
        let stream = stage.guard.stream(|_| script.open());
        assert!(!crate::stage::drop_after(&stage.world, 1, async {
            let mut stream = pin!(stream);
            stream.next().await
        }));
        assert_eq!(script.alive(), 0);
    }
    assert_eq!(stage.guard.breaker_state(), Some(BreakerState::HalfOpen));
    let good = StreamScript::on(stage.world.timer()).yields([1]);
    assert_eq!(stage.read(&good), [Ok(1)]);
    assert_eq!(stage.guard.breaker_state(), Some(BreakerState::Closed));
}

// core-11.21
#[test]
fn presets_say_how_often_a_stream_is_resumed() {
    assert_eq!(Policy::NONE.restarts(), Restarts::NONE);
    assert_eq!(Policy::DEFAULT.restarts().limit(), 3);
    assert_eq!(Restarts::NONE.limit(), 0);
}

// What is judged a failure is never shown, as a value of a stream is one of many.
// core-11.4, core-11.5
#[test]
fn a_first_item_that_is_refused_is_not_shown() {
    fn even(item: &Result<u32, Scripted>) -> Verdict {
        match item {
            Ok(number) if number % 2 == 0 => Verdict::OK,
            Ok(9) => Verdict::PERMANENT,
            _ => Verdict::TRANSIENT,
        }
    }
    let stage = Stage::new(STREAM);
    let plan = Plan::new(STREAM).with_classifier(even as fn(&Result<u32, Scripted>) -> Verdict);
    let guard: Virtual<_> = Guard::try_on(stage.world.timer(), plan).expect("it works");
    let read = |script: &StreamScript<u32>| -> Vec<Item> {
        let stream = guard.prepare().stream(|_| script.open());
        stage.world.block_on(pin!(stream).collect())
    };

    let odd = script(&stage).yields([1, 2]).repeats_last();
    let refused: Vec<_> = read(&odd).into_iter().map(start).collect();
    assert_eq!(refused, [(Reason::AttemptsExhausted, 3)]);
    assert_eq!((odd.opened(), odd.alive()), (3, 0));

    let never = script(&stage).yields([9, 2]).repeats_last();
    let refused: Vec<_> = read(&never).into_iter().map(start).collect();
    assert_eq!(refused, [(Reason::Permanent, 1)]);

    // Later ones pass unjudged.
    let mixed = script(&stage).yields([2, 1, 9]);
    assert_eq!(read(&mixed), [Ok(2), Ok(1), Ok(9)]);
}

// core-06: a stream that begins pays in, an empty one, too.
#[test]
fn a_start_is_a_success_for_the_budget() {
    let budget = steadfast::Budget::new(steadfast::Ratio::percent(50), 0).with_burst(2);
    let stage = Stage::new(STREAM.with_budget(budget));
    stage.drain();
    let script = script(&stage).yields([1]).yields_nothing();
    stage.read(&script);
    assert_eq!(stage.tokens(), 0);
    stage.read(&script);
    assert_eq!(stage.tokens(), 1);
}

#[test]
fn a_stream_is_sent_when_its_parts_are() {
    fn is_send<S: Send>(stream: S) -> S {
        stream
    }
    static FEED: steadfast::tokio::Guard<AnyError> =
        steadfast::tokio::Guard::classified(Policy::DEFAULT, AnyError);
    let items = || futures_lite::stream::iter([Ok::<u32, ()>(1)]);
    drop(is_send(FEED.stream(|_| items())));
    drop(is_send(FEED.stream_from(0, |_, _| items(), |&item| item)));
}
