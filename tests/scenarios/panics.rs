//! Panics of foreign code: they propagate, and nothing leaks.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::time::Duration;

use steadfast::{
    Attempt, Budget, Event, EventKind, Listener, Policy, Ratio, Retry, Rules, Verdict,
};
use steadfast_testing::{Fault, Script, Scripted};

use crate::stage::{INSTANT, Stage, TOUCHY, backoff, ms, secs};

/// One probe slot and two tokens that time does not restore.
const SCARCE: Policy = INSTANT
    .with_attempt_timeout(secs(10))
    .with_backoff(backoff(ms(10)))
    .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(2))
    .with_breaker(TOUCHY);

/// Panics without a word on standard error.
fn blow_up() -> ! {
    resume_unwind(Box::new("on purpose"))
}

/// A stage whose breaker is half-open, and a script that keeps it so once.
fn half_open() -> (Stage, Script<i32>) {
    let stage = Stage::new(SCARCE);
    let _ = stage.play_failure();
    stage.world.advance(secs(15));
    stage.heard.clear();
    let script = stage
        .script()
        .delays(ms(5))
        .fails(Fault::Throttled(None))
        .delays(ms(5))
        .returns(1);
    (stage, script)
}

/// Runs `play` to its panic and looks for what it left behind.
#[track_caller]
fn survives(play: impl FnOnce(&Stage, &Script<i32>)) {
    let (stage, script) = half_open();
    let panic = catch_unwind(AssertUnwindSafe(|| play(&stage, &script)));
    let panic = panic.expect_err("it must propagate");
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));

    // A token is gone for each retry that started, and for no other.
    let retries = script.calls().saturating_sub(1);
    assert_eq!(stage.tokens(), 2 - retries);
    assert_eq!((script.alive(), stage.world.pending_timers()), (0, 0));
    assert_eq!(stage.world.live_tasks(), 0);
    // The probe slot is free, and the guard works.
    let breaker = stage.guard.breaker().expect("a breaker");
    assert!(breaker.admit(stage.world.now()).is_ok());
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

#[derive(Clone, Copy, PartialEq)]
enum Hook {
    Before,
    Admit,
    Delay,
}

struct BlowsUp {
    hook: Hook,
    number: u32,
}

impl BlowsUp {
    fn at(&self, hook: Hook, number: u32) {
        if (self.hook, self.number) == (hook, number) {
            blow_up();
        }
    }
}

impl<T, E> Rules<T, E> for BlowsUp {
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        self.at(Hook::Before, next.number());
        Ok(())
    }

    fn admit(&self, next: &Attempt) -> Verdict {
        self.at(Hook::Admit, next.number());
        Verdict::OK
    }

    fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
        self.at(Hook::Delay, retry.number());
        retry.delay()
    }
}

#[test]
fn a_panicking_hook_leaks_nothing() {
    for (hook, number) in [
        (Hook::Before, 1),
        (Hook::Before, 2),
        (Hook::Admit, 1),
        (Hook::Delay, 2),
    ] {
        survives(|stage, script| {
            let call = stage.guard.call(|_| script.next());
            let _ = stage.world.block_on(call.ruled(BlowsUp { hook, number }));
        });
    }
}

// resilience4j#2324
#[test]
fn a_panicking_classifier_leaks_nothing() {
    survives(|stage, script| {
        let judges = |_: &Result<i32, Scripted>| -> Verdict { blow_up() };
        let call = stage.guard.call_classified(judges, |_| script.next());
        let _ = stage.world.block_on(call);
    });
}

//
#[test]
fn a_panicking_operation_leaks_nothing() {
    // While it makes its future.
    survives(|stage, _| {
        let call = stage
            .guard
            .call(|_| -> std::future::Ready<Result<(), Scripted>> { blow_up() });
        let _ = stage.world.block_on(call);
    });
    // While that is polled.
    survives(|stage, _| {
        let call = stage
            .guard
            .call(|_| poll_fn(|_| -> std::task::Poll<Result<(), Scripted>> { blow_up() }));
        let _ = stage.world.block_on(call);
    });
    // After a wait, in the second attempt.
    survives(|stage, script| {
        let call = stage.guard.call(|attempt| {
            let step = script.next();
            async move {
                let outcome = step.await;
                if attempt.is_first() {
                    return outcome;
                }
                blow_up();
            }
        });
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

// core-14.9, departure: it propagates instead of being swallowed.
#[test]
fn a_panicking_listener_leaks_nothing() {
    let (stage, script) = half_open();
    let _ = stage.play(&script);
    let kinds = stage.heard.kinds();
    assert_eq!(
        kinds,
        [
            EventKind::BreakerHalfOpened,
            EventKind::Attempt,
            EventKind::Retrying,
            EventKind::Attempt,
            EventKind::BreakerClosed,
            EventKind::Succeeded,
        ]
    );
    for nth in 0..kinds.len() {
        survives(|stage, script| {
            let call = stage.guard.call(|_| script.next());
            let listener = Touchy(Cell::new(nth));
            // Who was added before has heard all there was.
            let call = call.listen(&stage.heard).listen(listener);
            let heard = catch_unwind(AssertUnwindSafe(|| stage.world.block_on(call)));
            assert_eq!(stage.heard.kinds(), kinds[..=nth]);
            if let Err(panic) = heard {
                resume_unwind(panic);
            }
        });
    }
}

#[test]
fn the_other_drivers_leak_nothing() {
    survives(|stage, script| {
        let mut attempts = 0;
        let call = stage
            .guard
            .call_with(&mut attempts, async |count: &mut u32, _| {
                *count += 1;
                let outcome = script.next().await;
                if *count == 2 {
                    blow_up();
                }
                outcome
            });
        let _ = stage.world.block_on(call);
    });
    survives(|stage, script| {
        let _ = stage.guard.call_blocking(|attempt| {
            let outcome = script.next_blocking();
            if !attempt.is_first() {
                blow_up();
            }
            outcome
        });
    });
}
