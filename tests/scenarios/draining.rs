//! What changes once a guard, or all that makes calls, is about to stop.

mod phases;
mod races;
mod streams;

use std::cell::Cell;
use std::time::Duration;

use steadfast::{
    AnyError, Budget, ByError, CallError, EventKind, Guard, NoRules, Plan, Policy, Reason, Verdict,
};
use steadfast_testing::{Fault, Recorder, Script, Scripted, World};

use crate::stage::{INSTANT, Stage, TRANSIENT, Virtual, backoff, guard, ms, secs, told};

/// Who says that a stop is near.
type Switch = fn(&Stage, Duration);

const ALL: Switch = |stage, grace| stage.world.drain(grace);
const ONE: Switch = |stage, grace| stage.guard.drain(grace);

const COUNTED: Policy = INSTANT
    .with_budget(Budget::REFERENCE)
    .with_backoff(backoff(secs(1)));

/// A stage that drains, without end.
fn draining(policy: Policy, switch: Switch) -> Stage {
    let stage = Stage::new(policy);
    switch(&stage, Duration::MAX);
    assert!(stage.guard.is_draining());
    stage
}

// core-03.21, core-13.13, core-14.17
#[test]
fn a_failure_is_not_retried_any_more() {
    for switch in [ALL, ONE] {
        let stage = draining(COUNTED, switch);
        let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
        let outcome = stage.play(&script);

        let event = stage.only(EventKind::Draining);
        assert_eq!(
            (event.reason(), event.delay()),
            (Some(Reason::Draining), None)
        );
        assert!(event.kind().is_terminal() && !event.kind().is_rejection());
        assert_eq!(stage.told(), "Attempt#1 Draining#1");
        assert_eq!(outcome.reason(), Reason::Draining);
        assert_eq!(outcome.error(), Some(&TRANSIENT));
        assert_eq!(outcome.elapsed(), ms(0));
        assert_eq!(script.calls(), 1);
        assert_eq!(stage.tokens(), 30);
    }
}

// core-03.21, core-13.14
#[test]
fn what_ends_anyway_is_told_as_ever() {
    for switch in [ALL, ONE] {
        let stage = draining(COUNTED, switch);
        assert!(stage.play(&stage.script().returns(1)).is_success());
        assert_eq!(stage.told(), "Attempt#1 Succeeded#1");

        let _ = stage.play(&stage.script::<()>().fails(Fault::Permanent));
        assert_eq!(stage.told(), "Attempt#1 NotRetried#1");

        let _ = stage.play_failure();
        assert_eq!(stage.told(), "Attempt#1 Exhausted#1");

        let stage = draining(COUNTED.with_deadline(ms(10)), switch);
        let _ = stage.play(&stage.script::<()>().hangs());
        assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    }
}

// A long hint and an empty budget are asked about a retry, and there is none.
#[test]
fn draining_is_asked_before_hint_and_budget() {
    let stage = draining(COUNTED, ONE);
    stage.drain();
    let _ = stage.play(&stage.script::<()>().fails(Fault::Transient));
    assert_eq!(stage.told(), "Attempt#1 Draining#1");

    let hinted = stage.script::<()>().fails(Fault::Throttled(Some(secs(60))));
    let error = stage.play(&hinted).into_result().expect_err("throttled");
    assert_eq!(stage.told(), "Attempt#1 Draining#1");
    assert_eq!(error.reason(), Reason::Draining);
    assert_eq!(error.retry_after(), Some(secs(60)));
    assert_eq!(
        error.to_string(),
        "not retried after 1 attempt: draining before a stop; try again in 1m"
    );
}

#[test]
fn a_value_that_is_a_failure_is_returned() {
    let world = World::new();
    let by_status = |reply: &Result<u16, ()>| match reply {
        Ok(500..) | Err(()) => Verdict::TRANSIENT,
        Ok(_) => Verdict::OK,
    };
    let guard = guard(&world, INSTANT);
    world.drain(Duration::MAX);
    let call = guard.call_classified(by_status, async |_| Ok(503));
    assert_eq!(world.block_on(call), Ok(503));
}

// core-13.15
#[test]
fn a_call_ends_no_later_than_the_grace() {
    for switch in [ALL, ONE] {
        for policy in [INSTANT.with_deadline(secs(300)), INSTANT] {
            let stage = Stage::new(policy);
            switch(&stage, secs(30));
            stage.world.advance(ms(29_800));
            assert_eq!(stage.bound(), Some(ms(200)));

            let outcome = stage.play(&stage.script::<()>().hangs());
            assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
            assert_eq!(outcome.elapsed(), ms(200));
            let error = outcome.into_result().expect_err("cut");
            assert_eq!(error.deadline(), Some(ms(200)));
        }
    }
}

// core-13.16
#[test]
fn the_first_grace_counts() {
    for switch in [ALL, ONE] {
        let stage = Stage::new(INSTANT);
        switch(&stage, secs(1));
        switch(&stage, secs(60));
        assert_eq!(stage.bound(), Some(secs(1)));
    }
}

// core-13.17
#[test]
fn after_the_grace_nothing_is_called() {
    for switch in [ALL, ONE] {
        let stage = Stage::new(INSTANT.with_deadline(secs(10)).with_name("search"));
        switch(&stage, secs(1));
        stage.world.advance(ms(1_100));
        let script = stage.script::<()>().hangs();
        let outcome = stage.play(&script);
        assert_eq!(stage.told(), "DeadlineExceeded#1");
        assert_eq!((script.calls(), outcome.elapsed()), (0, ms(0)));
        let error = outcome.into_result().expect_err("not called");
        assert_eq!(error.deadline(), Some(ms(0)));
        assert_eq!(
            error.to_string(),
            "search: not called: no time was left when it began"
        );
    }
}

// core-13.18: here the caller's own bound, in the place of an inherited one.
#[test]
fn the_least_of_all_bounds_holds() {
    let stage = Stage::new(INSTANT.with_deadline(secs(10)));
    let bound = || {
        let told = Cell::new(None);
        let call = stage.guard.call(|attempt| {
            told.set(attempt.timeout());
            stage.script().returns(()).next()
        });
        stage.world.block_on(call.within(secs(5))).expect("a value");
        told.get()
    };
    assert_eq!(bound(), Some(secs(5)));
    stage.world.drain(secs(3));
    assert_eq!(bound(), Some(secs(3)));
    stage.guard.drain(secs(2));
    assert_eq!(bound(), Some(secs(2)));
    stage.world.advance(secs(1));
    assert_eq!(bound(), Some(secs(1)));
}

#[test]
fn one_guard_drains_alone() {
    let stage = draining(INSTANT, ONE);
    let script = stage.script().fails(Fault::Transient).returns(1);
    let other = guard(&stage.world, INSTANT);
    assert!(!other.is_draining());
    let answer = stage.world.block_on(other.call(|_| script.next()));
    assert_eq!(answer.expect("retried"), 1);
}

#[test]
fn a_reset_takes_it_back() {
    let stage = draining(INSTANT, ONE);
    stage.guard.reset();
    assert!(!stage.guard.is_draining());
    let script = stage.script().fails(Fault::Transient).returns(1);
    assert!(stage.play(&script).is_success());

    // Not what others have said.
    let stage = draining(INSTANT, ALL);
    stage.guard.reset();
    assert!(stage.guard.is_draining());
}

#[test]
fn explain_says_that_it_drains() {
    let world = World::new();
    let guard = guard(&world, Policy::DEFAULT);
    let explained = || guard.explain().to_string();
    assert!(!explained().contains("Draining"));

    guard.drain(Duration::MAX);
    let text = "\n\nDraining now\n  Nothing is retried, raced or resumed any more.\n\nBound";
    assert!(explained().contains(text), "{}", explained());

    world.drain(secs(3));
    let text = "any more; a call that begins now has 3s.\n";
    assert!(explained().contains(text), "{}", explained());
}

// A guard around one that drains would retry what must not be retried.
#[test]
fn no_guard_around_it_retries() {
    let stage = draining(INSTANT, ONE);
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let outer = guard(&stage.world, INSTANT);
    let call = outer.call(|_| stage.guard.call(|_| script.next()));
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!(stage.told(), "Attempt#1 NotRetried#1");
    let inner = outcome.error().expect("of the guard inside");
    assert_eq!((inner.reason(), script.calls()), (Reason::Draining, 1));
}

// However it is called, the machine is the same.
#[test]
fn every_driver_drains() {
    type Heard<'a> = Virtual<ByError, NoRules, &'a Recorder>;
    type Answer = Result<u32, CallError<Scripted>>;

    fn play(run: impl Fn(&World, &Heard<'_>, &Script<u32>) -> Answer) {
        let world = World::new();
        let heard = Recorder::new();
        let plan = Plan::new(COUNTED).with_listener(&heard);
        let guard: Heard<'_> = Guard::try_on(world.timer(), plan).expect("a policy that works");
        let script = Script::on(world.timer()).fails(Fault::Transient).returns(1);
        world.drain(secs(1));
        let error = run(&world, &guard, &script).expect_err("not retried");
        assert_eq!(error.reason(), Reason::Draining);
        assert_eq!(error.error(), Some(&TRANSIENT));
        assert_eq!(told(&heard), "Attempt#1 Draining#1");

        heard.clear();
        world.advance(secs(1));
        let error = run(&world, &guard, &script).expect_err("not called");
        assert_eq!(error.reason(), Reason::DeadlineExceeded);
        assert_eq!(
            (told(&heard).as_str(), script.calls()),
            ("DeadlineExceeded#1", 1)
        );
    }

    play(|world, guard, script| world.block_on(guard.call(|_| script.next())));
    play(|world, guard, script| {
        let mut lent = script.clone();
        let next = async |script: &mut Script<u32>, _| script.next().await;
        world.block_on(guard.call_with(&mut lent, next))
    });
    play(|_, guard, script| guard.call_blocking(|_| script.next_blocking()));
}

// The static timers of the system's clock share one latch; a process of its own shows
// that, `examples/shutdown.rs`.
#[test]
fn a_timer_may_have_nothing_to_say() {
    static GUARD: steadfast::embassy::Guard<AnyError> = Guard::classified(INSTANT, AnyError);
    assert!(!GUARD.is_draining());
    assert!(!steadfast::embassy::is_draining());
    GUARD.drain(secs(1));
    assert!(GUARD.is_draining());
    assert!(!steadfast::embassy::is_draining());
    GUARD.reset();
}
