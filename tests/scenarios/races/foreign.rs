//! Hooks of a copy, and panics in one.

use std::cell::Cell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use steadfast::{Attempt, Ending, Reason, Rules, Verdict};
use steadfast_testing::{Fault, Scripted, World};

use super::{Body, FULL, Two};
use crate::stage::{RACED, ms, secs};

/// Panics without a word on standard error.
fn blow_up() -> ! {
    resume_unwind(Box::new("on purpose"))
}

#[test]
fn a_panic_in_a_copy_leaks_nothing() {
    for panics in 1..=2 {
        let stage = Two::warm(FULL);
        let alive = Rc::new(Cell::new(0));
        let call = stage.guard.call(|attempt| {
            let body = Body(Rc::clone(&alive));
            let sleep = stage.world.sleep(ms(50));
            async move {
                let _body = body;
                sleep.await;
                if attempt.number() == panics {
                    blow_up();
                }
                pending::<Result<(), Scripted>>().await
            }
        });
        let panic = catch_unwind(AssertUnwindSafe(|| stage.world.block_on(call)));
        let panic = panic.expect_err("it must propagate");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(alive.get(), 2, "both copies are gone");
        assert_eq!(stage.tokens(), 29, "the second copy had started");
        assert_eq!(stage.world.pending_timers(), 0);
        assert!(stage.play(&stage.script().returns(1)).is_success());
    }
}

/// Hooks that treat the second attempt in another way.
#[derive(Clone, Copy)]
enum Second<'a> {
    Fails,
    Refused(Verdict),
    Takes(&'a World),
    Panics,
}

impl<T> Rules<T, Scripted> for Second<'_> {
    fn before_attempt(&self, next: &Attempt) -> Result<(), Scripted> {
        match self {
            Self::Fails if next.number() == 2 => Err(Scripted::Failed(Fault::Permanent)),
            Self::Panics if next.number() == 2 => blow_up(),
            Self::Takes(world) if next.number() == 2 => {
                world.jump(secs(30));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn admit(&self, next: &Attempt) -> Verdict {
        match self {
            Self::Refused(verdict) if next.number() == 2 => *verdict,
            _ => Verdict::OK,
        }
    }
}

// core-08.21
#[test]
fn a_failing_hook_of_a_copy_ends_the_call() {
    let stage = Two::warm(FULL);
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).ruled(Second::Fails);
    let error = stage.world.block_on(call.listen(&stage.heard));
    let error = error.expect_err("the hook failed");
    assert_eq!(error.reason(), Reason::Setup);
    assert_eq!(error.into_error(), Some(Scripted::Failed(Fault::Permanent)));
    assert!(stage.heard.is_empty(), "{}", stage.told());
    assert_eq!((script.calls(), script.alive()), (1, 0));
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn a_panicking_hook_of_a_copy_leaks_nothing() {
    let stage = Two::warm(FULL);
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next()).ruled(Second::Panics);
    let panic = catch_unwind(AssertUnwindSafe(|| stage.world.block_on(call)));
    assert!(panic.is_err());
    assert_eq!(script.alive(), 0);
    assert_eq!(stage.tokens(), 30);
}

// A hook that uses up the deadline: no copy starts, and none is told.
#[test]
fn a_slow_hook_of_a_copy_meets_the_deadline() {
    let stage = Two::warm(FULL);
    let script = stage.script::<()>().hangs();
    let call = stage.guard.call(|_| script.next());
    let call = call.ruled(Second::Takes(&stage.world)).listen(&stage.heard);
    let error = stage.world.block_on(call).expect_err("it hangs");
    assert_eq!(error.attempts(), 1);
    assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    assert_eq!(stage.tokens(), 30);
}

#[test]
fn a_copy_that_is_not_admitted_is_an_attempt() {
    let stage = Two::warm(RACED);
    let script = stage.script().delays(ms(60)).returns(1);
    let refused = Second::Refused(Verdict::SELF_IMPOSED);
    let call = stage.guard.call(|_| script.next()).ruled(refused);
    let outcome = stage.world.block_on(call.listen(&stage.heard).outcome());
    assert_eq!((outcome.value(), outcome.elapsed()), (Some(&1), ms(60)));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 Attempt#2 Succeeded#2"
    );
    let endings: Vec<_> = outcome
        .log()
        .entries()
        .map(|entry| entry.ending())
        .collect();
    assert_eq!(endings, [Ending::Refused, Ending::Value]);
}
