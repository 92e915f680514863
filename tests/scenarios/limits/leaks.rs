//! Nothing that a limit gave out is lost, whatever is dropped or panics.

use std::cell::Cell;
use std::future::{Ready, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use steadfast::{
    Attempt, Concurrency, Criticality, Event, Listener, Policy, Rate, Ratio, Retry, Rules,
    Throttle, Verdict,
};
use steadfast_testing::{Fault, Script, Scripted};

use crate::stage::{INSTANT, Stage, backoff, drop_after, ms, secs};

const PERMITS: u32 = 9;

/// One place, a few permits, and a throttle that one bad request heats.
const LIMITED: Policy = INSTANT
    .with_attempts(4)
    .with_attempt_timeout(secs(2))
    .with_backoff(backoff(secs(1)))
    .with_concurrency(Concurrency::fixed(1))
    .with_rate(Rate::per_window(PERMITS, secs(600)))
    .with_throttle(Throttle::DEFAULT.with_minimum_requests(1));

/// An attempt fails, one hangs, one is throttled, one succeeds.
fn script(stage: &Stage) -> Script<i32> {
    stage
        .script()
        .delays(ms(300))
        .fails(Fault::Transient)
        .hangs()
        .delays(ms(10))
        .fails(Fault::Throttled(Some(ms(500))))
        .delays(ms(10))
        .returns(1)
}

/// No place is taken, and a permit is gone for each attempt that was made.
#[track_caller]
fn leaves_nothing(stage: &Stage, script: &Script<i32>) {
    let limit = stage.guard.concurrency().expect("a limit");
    assert_eq!((limit.in_flight(), script.alive()), (0, 0));
    let rate = stage.guard.rate().expect("a limit");
    let sent = u32::try_from(script.calls()).expect("few");
    assert_eq!(rate.free(stage.world.now()), PERMITS - sent);
}

fn chance(stage: &Stage) -> Ratio {
    let throttle = stage.guard.throttle().expect("a throttle");
    throttle.chance(stage.world.now(), Criticality::Critical)
}

// Netflix/concurrency-limits#190, #146, R-71, R-79, sqlx#83: at every await point.
#[test]
fn a_drop_at_any_poll_gives_everything_back() {
    let (mut ended, mut polls) = (false, 0);
    while !ended {
        let stage = Stage::new(LIMITED);
        let script = script(&stage);
        ended = drop_after(&stage.world, polls, stage.guard.call(|_| script.next()));
        leaves_nothing(&stage, &script);
        polls += 1;
        assert!(polls < 100);
    }
    assert!(polls > 8, "{polls} polls do not reach every wait");
}

// A call that was dropped says nothing about the dependency.
#[test]
fn a_drop_is_no_request() {
    let stage = Stage::new(LIMITED);
    for _ in 0..5 {
        let hanging = stage.script::<()>().hangs();
        let call = stage.guard.call(|_| hanging.next());
        let mut call = pin!(call);
        stage.world.block_on(poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        }));
    }
    stage.world.advance(secs(10));
    assert_eq!(chance(&stage), Ratio::ZERO);
    let _ = stage.play(&stage.script::<()>().fails(Fault::Permanent));
    let _ = stage.play_failure();
    assert!(chance(&stage) > Ratio::ZERO);
}

/// Panics without a word on standard error.
fn blow_up() -> ! {
    resume_unwind(Box::new("on purpose"))
}

/// Runs `play` to its panic and looks for what it left behind.
#[track_caller]
fn survives(play: impl FnOnce(&Stage, &Script<i32>)) {
    let stage = Stage::new(LIMITED);
    let script = script(&stage);
    let panic = catch_unwind(AssertUnwindSafe(|| play(&stage, &script)));
    assert_eq!(
        panic.expect_err("it must propagate").downcast_ref(),
        Some(&"on purpose")
    );
    leaves_nothing(&stage, &script);
    stage.guard.throttle().expect("a throttle").reset();
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

#[test]
fn a_panicking_operation_gives_its_place_back() {
    survives(|stage, script| {
        let call = stage.guard.call(|attempt| {
            let step = script.next();
            async move {
                if attempt.number() == 2 {
                    blow_up();
                }
                step.await
            }
        });
        let _ = stage.world.block_on(call);
    });
    let stage = Stage::new(LIMITED);
    let call = stage
        .guard
        .call(|_| -> Ready<Result<(), Scripted>> { blow_up() });
    let panic = catch_unwind(AssertUnwindSafe(|| stage.world.block_on(call)));
    assert!(panic.is_err());
    assert_eq!(stage.guard.concurrency().expect("a limit").in_flight(), 0);
}

#[test]
fn a_panicking_classifier_gives_its_place_back() {
    survives(|stage, script| {
        let judges = |_: &Result<i32, Scripted>| -> Verdict { blow_up() };
        let call = stage.guard.call_classified(judges, |_| script.next());
        let _ = stage.world.block_on(call);
    });
}

struct BlowsUp;

impl<T, E> Rules<T, E> for BlowsUp {
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        if next.number() == 3 {
            blow_up();
        }
        Ok(())
    }

    fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
        retry.delay()
    }
}

#[test]
fn a_panicking_hook_gives_its_place_back() {
    survives(|stage, script| {
        let call = stage.guard.call(|_| script.next()).ruled(BlowsUp);
        let _ = stage.world.block_on(call);
    });
}

/// Panics at its `nth` event.
struct Touchy(Cell<usize>);

impl Listener for Touchy {
    fn on_event(&self, _: &Event) {
        match self.0.get() {
            0 => blow_up(),
            left => self.0.set(left - 1),
        }
    }
}

#[test]
fn a_panicking_listener_gives_its_place_back() {
    for nth in 0..8 {
        survives(|stage, script| {
            let call = stage.guard.call(|_| script.next());
            let _ = stage.world.block_on(call.listen(Touchy(Cell::new(nth))));
        });
    }
}

struct Refuses;

impl<T, E> Rules<T, E> for Refuses {
    fn admit(&self, _: &Attempt) -> Verdict {
        Verdict::TRANSIENT
    }
}

// The permit is gone, as limits are asked before the hook; place and ticket are not.
#[test]
fn a_refusing_hook_gives_place_and_ticket_back() {
    let stage = Stage::new(LIMITED);
    let script = stage.script::<()>();
    let call = stage.guard.call(|_| script.next()).ruled(Refuses);
    let error = stage.world.block_on(call).expect_err("refused");
    assert_eq!((script.calls(), error.limited_by()), (0, None));
    assert!(!error.is_sent());
    assert_eq!(stage.guard.concurrency().expect("a limit").in_flight(), 0);
    stage.world.advance(secs(10));
    assert_eq!(chance(&stage), Ratio::ZERO);
}
