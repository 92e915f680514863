//! The nine invariants of the loop, each as a test.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use steadfast::{
    AnyError, Attempt, Breaker, BreakerState, Budget, CallError, Classify, Clock, Event, EventKind,
    Guard, Listener, Plan, Policy, Reason, Retry, Rules, Verdict,
};
use steadfast_testing::{Fault, Scripted, World};

use crate::hostile::{Manner, give_way, hostile};
use crate::stage::{INSTANT, Stage, TOUCHY, Virtual, backoff, ms, secs};

/// A waker that can be told from others.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

const BOUNDED: Policy = INSTANT
    .with_deadline(secs(60))
    .with_attempt_timeout(secs(10))
    .with_backoff(backoff(secs(1)));

// Invariant 1. R-54: embassy's timers refuse foreign wakers.
#[test]
fn every_child_is_polled_with_the_tasks_waker() {
    let stage = Stage::new(BOUNDED);
    let seen = Cell::new(0);
    let expected = Cell::new(Waker::noop().clone());
    let mut call = Box::pin(stage.guard.call(|_| {
        poll_fn(|cx| {
            let waker = expected.replace(Waker::noop().clone());
            assert!(cx.waker().will_wake(&waker));
            expected.set(waker);
            seen.set(seen.get() + 1);
            Poll::<Result<(), Scripted>>::Pending
        })
    }));
    let mut last = Arc::new(Counted::default());
    for polls in 1..=5 {
        // Another task takes the call over; both children must follow.
        let task = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&task));
        expected.set(waker.clone());
        assert!(
            call.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(seen.get(), polls);
        last = task;
    }
    // The sleep wakes the last task, and only that.
    stage.world.advance(secs(10));
    assert_eq!(last.0.load(Ordering::Relaxed), 1);
}

/// Plays a timeout, a wait and a success on a lying timer, through both drivers.
fn play_hostile(manner: Manner) -> [(u32, Duration); 2] {
    let run = |lending: bool| {
        let world = World::new();
        let guard = hostile(&world, manner, BOUNDED);
        let script = steadfast_testing::Script::on(world.timer())
            .hangs()
            .delays(secs(9))
            .returns(1);
        let mut attempts = 0;
        let answer: Result<i32, CallError<Scripted>> = if lending {
            world.block_on(guard.call_with(&mut attempts, async |count: &mut u32, _| {
                *count += 1;
                script.next().await
            }))
        } else {
            world.block_on(guard.call(|_| {
                attempts += 1;
                script.next()
            }))
        };
        assert_eq!(answer.expect("a value"), 1);
        (attempts, world.elapsed())
    };
    [run(false), run(true)]
}

// Invariant 2: early, late and spurious wakes are harmless.
#[test]
fn the_clock_decides_what_is_due() {
    for manner in [
        Manner::Early(ms(1)),
        Manner::Early(secs(4)),
        Manner::Spurious(ms(7)),
    ] {
        let exact = (2, secs(10 + 1 + 9));
        assert_eq!(play_hostile(manner), [exact; 2], "{manner:?}");
    }
    // Late by half a second: the timeout and the wait come later, the second
    // attempt ends by itself.
    let late = (2, secs(10 + 1 + 9) + ms(2 * 500));
    assert_eq!(play_hostile(Manner::Late(ms(500))), [late; 2]);
}

// Invariant 2: a value that is ready when the bound is due is a value.
#[test]
fn a_ready_value_beats_its_bound() {
    let stage = Stage::new(INSTANT.with_attempts(1).with_attempt_timeout(secs(1)));
    let script = stage.script().delays(secs(1)).returns(1);
    let call = stage.guard.call(|_| script.next());
    assert_eq!(stage.world.block_on(call).expect("a value"), 1);
}

// Invariant 3
#[test]
fn nothing_to_wait_for_makes_no_timer() {
    // No bound at all, and an operation that is really pending.
    let stage = Stage::new(INSTANT);
    let call = stage.guard.call(|_| async {
        give_way().await;
        Ok::<_, Scripted>(1)
    });
    assert_eq!(stage.world.block_on(call).expect("a value"), 1);
    // Waits of zero between attempts, and bounds that are never reached.
    let stage = Stage::new(BOUNDED.with_backoff(backoff(ms(0))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let call = stage.guard.call(|_| script.next());
    stage.world.block_on(call).expect_err("a failure");
    assert_eq!(script.calls(), 3);
    assert_eq!(
        (stage.world.timers_made(), stage.world.timers_armed()),
        (0, 0)
    );
}

#[test]
fn one_timer_serves_a_whole_call() {
    let stage = Stage::new(BOUNDED);
    let call = stage.guard.call(|_| async {
        give_way().await;
        give_way().await;
        Err::<(), _>(Scripted::Failed(Fault::Transient))
    });
    stage.world.block_on(call).expect_err("a failure");
    // Three bounds and two waits, moved in place.
    assert_eq!(stage.world.timers_made(), 1);
    assert_eq!(stage.world.timers_armed(), 5);
}

/// Calls and reads its guard from inside.
struct Nosy<'a>(&'a Cell<Option<&'a Guard<steadfast_testing::VirtualTimer>>>);

impl Nosy<'_> {
    fn look(&self) {
        let guard = self.0.take().expect("a guard");
        let now = guard.timer().now();
        let breaker = guard.breaker().expect("a breaker");
        assert_ne!(breaker.state(now), BreakerState::Isolated);
        drop(guard.budget().expect("a budget").take(now));
        drop(breaker.admit(now));
        let _ = (format!("{guard:?}"), guard.explain().to_string());
        let inner = guard.call_blocking(|_| Ok::<_, Scripted>(1));
        // Refused only where the outer call holds the one probe slot.
        assert!(inner.is_ok() || breaker.state(now) != BreakerState::Closed);
        self.0.set(Some(guard));
    }
}

impl<T, E> Rules<T, E> for Nosy<'_> {
    fn before_attempt(&self, _: &Attempt) -> Result<(), E> {
        self.look();
        Ok(())
    }

    fn admit(&self, _: &Attempt) -> Verdict {
        self.look();
        Verdict::OK
    }

    fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
        self.look();
        retry.delay()
    }
}

impl Listener for Nosy<'_> {
    fn on_event(&self, _: &Event) {
        self.look();
    }
}

// Invariant 4. grpc-java#10314: foreign code may come back to the guard.
#[test]
fn foreign_code_may_call_the_guard() {
    let policy = INSTANT
        .with_attempts(3)
        .with_breaker(TOUCHY.with_consecutive_failures(2))
        .with_budget(Budget::REFERENCE);
    let stage = Stage::new(policy);
    let again = Cell::new(Some(&stage.guard));
    let nosy = Nosy(&again);
    let looks = |outcome: &Result<i32, Scripted>| {
        nosy.look();
        AnyError.classify(outcome)
    };
    // Fails and trips, is refused, probes and closes.
    for script in [
        stage.script().fails(Fault::Transient).repeats_last(),
        stage.script().returns(1),
    ] {
        let call = stage.guard.call_classified(looks, |_| script.next());
        let call = call.ruled(Nosy(&again)).listen(Nosy(&again));
        let _ = stage.world.block_on(call.listen(&stage.heard));
        stage.world.advance(secs(20));
    }
    assert!(stage.heard.contains(EventKind::Succeeded));
}

// Invariant 5
#[test]
fn ready_at_once_costs_two_clock_reads() {
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let stage = Stage::new(policy);
    let before = stage.world.clock_reads();
    let call = stage
        .guard
        .call(|_| std::future::ready(Ok::<_, Scripted>(1)));
    assert_eq!(stage.world.block_on(call).expect("a value"), 1);
    assert!(stage.world.clock_reads() - before <= 2);
    assert_eq!(stage.world.timers_made(), 0);
}

// Invariant 5, with a wait: spurious polls read no clock.
#[test]
fn a_poll_in_between_reads_no_clock() {
    let stage = Stage::new(BOUNDED);
    let script = stage.script::<()>().hangs();
    let mut call = pin!(stage.guard.call(|_| script.next()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    let before = stage.world.clock_reads();
    for _ in 0..100 {
        assert!(call.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(stage.world.clock_reads(), before);
}

// Invariant 6 is `cancel::a_drop_at_any_poll_leaks_nothing`.

/// Polls once and tells how often that woke the task itself.
fn poll_once<F: Future>(future: F) -> (bool, usize) {
    let task = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&task));
    let polled = pin!(future).poll(&mut Context::from_waker(&waker));
    (polled.is_ready(), task.0.load(Ordering::Relaxed))
}

const ENDLESS: Policy = INSTANT.with_attempts(u32::MAX);

// Invariant 7. R-38: what is always ready cannot starve its executor.
#[test]
fn the_turns_of_a_poll_are_bounded() {
    let stage = Stage::new(ENDLESS);
    let runs = Cell::new(0);
    let fails = |_| {
        runs.set(runs.get() + 1);
        std::future::ready(Err::<(), _>(Scripted::Failed(Fault::Transient)))
    };
    assert_eq!(poll_once(stage.guard.call(fails)), (false, 1));
    assert!((1..100).contains(&runs.take()));

    let mut bus = ();
    let lending = stage
        .guard
        .call_with(&mut bus, async |(), attempt| fails(attempt).await);
    assert_eq!(poll_once(lending), (false, 1));
    assert!((1..100).contains(&runs.take()));
}

#[derive(Clone, Copy)]
struct Refuses;

impl<T, E> Rules<T, E> for Refuses {
    fn admit(&self, _: &Attempt) -> Verdict {
        Verdict::SELF_IMPOSED
    }
}

// Invariant 7: nor can a hook that always refuses.
#[test]
fn refusals_do_not_starve() {
    let stage = Stage::new(ENDLESS);
    let call = stage
        .guard
        .call(|_| std::future::ready(Ok::<_, Scripted>(())));
    assert_eq!(poll_once(call.ruled(Refuses)), (false, 1));

    let plan = Plan::new(ENDLESS).with_rules(Refuses);
    let guard: Virtual<_, _> = Guard::try_on(stage.world.timer(), plan).expect("a policy");
    let mut bus = ();
    let lending = guard.call_with(&mut bus, async |(), _| Ok::<_, Scripted>(()));
    assert_eq!(poll_once(lending), (false, 1));
}

// Invariant 7: nor can a timer that is always ready.
#[test]
fn a_timer_that_never_waits_does_not_starve() {
    let world = World::new();
    let guard = hostile(&world, Manner::Instantly, BOUNDED);
    let pends = |_| std::future::pending::<Result<(), Scripted>>();
    let (ready, wakes) = poll_once(guard.call(pends));
    assert!(!ready && wakes == 1);
    assert!(guard.timer().sleeps.take() < 100);

    let mut bus = ();
    let lending = guard.call_with(&mut bus, async |(), attempt| pends(attempt).await);
    let (ready, wakes) = poll_once(lending);
    assert!(!ready && wakes == 1);
    assert!(guard.timer().sleeps.take() < 100);
}

// Invariant 8
#[test]
fn nothing_happens_before_the_first_poll() {
    let stage = Stage::new(
        INSTANT
            .with_deadline(secs(1))
            .with_breaker(Breaker::DEFAULT),
    );
    let script = stage.script().returns(1);
    let reads = stage.world.clock_reads();
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let mut bus = ();
    let lending = stage
        .guard
        .call_with(&mut bus, async |(), _| script.next().await);
    stage.world.advance(secs(100));
    assert!(stage.heard.is_empty());
    assert_eq!(script.calls(), 0);
    assert_eq!(stage.world.clock_reads(), reads);
    // The deadline of a second runs from here.
    let outcome = stage.world.block_on(call.outcome());
    assert_eq!(outcome.reason(), Reason::Succeeded);
    assert_eq!(outcome.elapsed(), ms(0));
    drop(lending);
}

static GUARD: steadfast::std_timer::Guard = Guard::new(INSTANT);

/// Holds an `Rc` while it waits.
fn unsend_operation() -> impl Future<Output = Result<(), CallError<std::io::Error>>> {
    GUARD.call(|_| async {
        let kept = Rc::new(());
        give_way().await;
        drop(kept);
        Ok(())
    })
}

fn is_send<T: Send>(_: &T) {}

/// Ambiguous, and so a compile error, for what is `Send`.
trait NotSend<A> {
    fn is_not_send(&self) {}
}
impl<T: ?Sized> NotSend<()> for T {}
impl<T: ?Sized + Send> NotSend<u8> for T {}

// Invariant 9: a call is `Send` exactly when its parts are.
#[test]
fn a_call_is_send_when_its_parts_are() {
    let sent = GUARD.call(|_| async { std::io::Result::Ok(()) });
    is_send(&sent);
    is_send(&sent.outcome());
    let lent = &mut 0_u32;
    is_send(&GUARD.call_with(lent, async |_: &mut u32, _| std::io::Result::Ok(())));

    unsend_operation().is_not_send();
    // A timer that is not, though the operation is.
    let stage = Stage::new(INSTANT);
    let unsend_timer = stage
        .guard
        .call(|_| std::future::ready(std::io::Result::Ok(())));
    unsend_timer.is_not_send();
}
