//! What listeners hear.

use std::cell::RefCell;

use steadfast::{Breaker, Budget, Event, EventKind, Guard, Listener, Plan, Reason};
use steadfast_testing::{Fault, Recorder, Script, World};

use crate::stage::{INSTANT, Stage, TOUCHY, Virtual, backoff, ms, secs, told};

/// Writes down who heard what.
struct Named<'a>(&'static str, &'a RefCell<Vec<String>>);

impl Listener for Named<'_> {
    fn on_event(&self, event: &Event) {
        let line = format!("{} {}", self.0, event.kind());
        self.1.borrow_mut().push(line);
    }
}

// core-14.1
#[test]
fn a_success_is_two_events() {
    let stage = Stage::new(INSTANT.with_name("api"));
    let _ = stage.play(&stage.script().delays(ms(30)).returns(1));
    let attempt = stage.only(EventKind::Attempt);
    let ended = stage.only(EventKind::Succeeded);
    assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
    assert_eq!((attempt.duration(), ended.duration()), (ms(30), ms(30)));
    assert_eq!(
        (attempt.reason(), ended.reason()),
        (None, Some(Reason::Succeeded))
    );
    assert_eq!(
        (attempt.policy(), ended.policy()),
        (Some("api"), Some("api"))
    );
    assert!(ended.is_terminal() && !attempt.is_terminal());
    assert_eq!((attempt.delay(), attempt.error()), (None, None));
}

// Durations: the attempt's own, and the call's.
#[test]
fn durations_are_the_attempts_or_the_calls() {
    let stage = Stage::new(INSTANT.with_backoff(backoff(ms(100))));
    let script = stage
        .script()
        .delays(ms(10))
        .fails(Fault::Transient)
        .delays(ms(20))
        .returns(1);
    let _ = stage.play(&script);
    let heard: Vec<_> = stage
        .heard
        .events()
        .iter()
        .map(|event| (event.kind(), event.duration(), event.delay()))
        .collect();
    assert_eq!(
        heard,
        [
            (EventKind::Attempt, ms(10), None),
            (EventKind::Retrying, ms(10), Some(ms(100))),
            (EventKind::Attempt, ms(20), None),
            (EventKind::Succeeded, ms(130), None),
        ]
    );
}

// core-14.6: the number of a deadline between attempts and before one.
#[test]
fn a_deadline_carries_its_place() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(3))
            .with_backoff(backoff(secs(1))),
    );
    let script = stage.script::<()>().fails(Fault::Transient).hangs();
    let _ = stage.play(&script);
    assert_eq!(
        stage.told(),
        "Attempt#1 Retrying#2 Attempt#2 DeadlineExceeded#2"
    );
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).within(ms(0));
    let _ = stage.world.block_on(call.listen(&stage.heard));
    assert_eq!(stage.told(), "DeadlineExceeded#1");
}

// core-14.9: a panic of a listener propagates; see `panics`.
// core-14.10, core-01.17: several hear everything, the guard's own first.
#[test]
fn listeners_hear_in_the_order_added() {
    let lines = RefCell::new(Vec::new());
    let world = World::new();
    let first = Named("guard", &lines);
    let second = Named("second", &lines);
    let plan = Plan::new(INSTANT).with_listener((&first, &second));
    let guard: Virtual<_, _, _> = Guard::try_on(world.timer(), plan).expect("a policy");
    let script = Script::on(world.timer()).fails(Fault::Permanent);
    let call = guard.call(|_| script.next()).listen(Named("call", &lines));
    let _: Result<(), _> = world.block_on(call.listen(Named("last", &lines)));
    assert_eq!(
        lines.take(),
        [
            "guard Attempt",
            "second Attempt",
            "call Attempt",
            "last Attempt",
            "guard NotRetried",
            "second NotRetried",
            "call NotRetried",
            "last NotRetried",
        ]
    );
}

// core-14.12
#[test]
fn a_self_imposed_attempt_is_no_rejection() {
    let stage = Stage::new(INSTANT.with_attempts(1));
    let _ = stage.play(&stage.script::<()>().fails(Fault::SelfImposed(None)));
    let attempt = stage.only(EventKind::Attempt);
    assert!(attempt.verdict().is_self_imposed());
    assert!(!attempt.is_rejection());
    assert_eq!(stage.told(), "Attempt#1 Exhausted#1");
}

// core-14.16
#[test]
fn the_share_of_retries_is_counted() {
    let stage = Stage::new(INSTANT);
    for call in 0..100 {
        let script = stage.script();
        let script = if call % 10 == 0 {
            script.fails(Fault::Transient).returns(1)
        } else {
            script.returns(1)
        };
        let _ = stage.play(&script);
    }
    let ended = |event: &&Event| event.is_terminal();
    assert_eq!(stage.heard.events().iter().filter(ended).count(), 100);
    assert_eq!(stage.heard.count_of(EventKind::Attempt), 110);
}

// core-14.20: events carry no value at all, so there is none to leave out; what
// they say does not depend on the type of the value.
#[test]
fn events_do_not_depend_on_the_value() {
    let stage = Stage::new(INSTANT);
    let _ = stage.play(&stage.script().fails(Fault::Transient).returns(()));
    let unit = stage.heard.lines();
    stage.heard.clear();
    let text = "a value".to_owned();
    let _ = stage.play(&stage.script().fails(Fault::Transient).returns(text));
    assert_eq!(stage.heard.lines(), unit);
}

/// Plays whatever can end a call and tells how it was told.
fn every_end() -> Vec<(Reason, Vec<Event>)> {
    let policy = INSTANT
        .with_deadline(secs(5))
        .with_budget(Budget::REFERENCE)
        .with_breaker(TOUCHY.with_consecutive_failures(3));
    let mut ends = Vec::new();
    let mut play = |stage: &Stage, script: &Script<()>| {
        let outcome = stage.play(script);
        ends.push((outcome.reason(), stage.heard.events()));
        stage.heard.clear();
    };
    let stage = Stage::new(policy);
    play(&stage, &stage.script().returns(()));
    play(&stage, &stage.script().fails(Fault::Permanent));
    play(&stage, &stage.script().hangs());
    play(
        &stage,
        &stage.script().fails(Fault::Throttled(None)).repeats_last(),
    );
    stage.drain();
    play(&stage, &stage.script().fails(Fault::Transient));
    stage.guard.breaker().expect("a breaker").isolate();
    play(&stage, &stage.script().returns(()));
    let stage = Stage::new(policy.with_backoff(steadfast::Backoff::DEFAULT));
    let day = secs(86_400);
    play(&stage, &stage.script().fails(Fault::Throttled(Some(day))));
    ends
}

#[test]
fn every_call_has_one_terminal_event() {
    let ends = every_end();
    assert_eq!(ends.len(), 7);
    for (reason, events) in ends {
        let terminal: Vec<_> = events.iter().filter(|event| event.is_terminal()).collect();
        assert_eq!(terminal.len(), 1, "{reason}");
        assert_eq!(terminal[0].reason(), Some(reason));
        assert_eq!(events.last(), Some(terminal[0]));
    }
}

#[test]
fn text_of_a_call_is_pinned() {
    let stage = Stage::new(
        INSTANT
            .with_name("api")
            .with_backoff(backoff(ms(200)))
            .with_breaker(Breaker::DEFAULT.with_consecutive_failures(2)),
    );
    let script = stage.script::<()>().delays(ms(5)).fails(Fault::Transient);
    let _ = stage.play(&script.repeats_last());
    assert_eq!(
        stage.heard.lines(),
        [
            "[api] Attempt #1 Transient Scripted (5ms)",
            "[api] Retrying #2 Transient Scripted (5ms) +200ms",
            "[api] Attempt #2 Transient Scripted (5ms)",
            "[api] BreakerOpened #2 Ok Scripted (210ms)",
            "[api] Retrying #3 Transient Scripted (210ms) +200ms",
            "[api] RejectedByBreaker #3 Transient Scripted (410ms) +100ms",
        ]
    );
}

// A guard's listener may be a trait object, and a static one.
#[test]
fn a_listener_may_be_dyn() {
    static HEARD: Recorder = Recorder::new();
    const LISTENER: &(dyn Listener + Sync) = &HEARD;
    let world = World::new();
    let plan = Plan::new(INSTANT).with_listener(LISTENER);
    let guard: Virtual<_, _, _> = Guard::try_on(world.timer(), plan).expect("a policy");
    let answer = world.block_on(guard.call(|_| std::future::ready(std::io::Result::Ok(1))));
    assert_eq!(answer.expect("a value"), 1);
    assert_eq!(told(&HEARD), "Attempt#1 Succeeded#1");
}
