//! How a wait ends without a place: the attempt's end, the breaker, the queue's.

use super::*;

// a wait has a real end. It comes before the attempt's, as a refusal.
#[test]
fn a_wait_ends_before_the_attempt_would() {
    let policy = ONCE.with_attempt_timeout(secs(1)).with_breaker(TOUCHY);
    let line = Line::new(policy, 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, secs(1));
    let done = line.end(waiter);
    assert_refused(&done);
    let entry = done.log().entries().next().expect("an attempt");
    assert_eq!(
        (entry.kind(), entry.ending()),
        (Kind::Throttled, Ending::Error)
    );
    assert!(entry.is_self_imposed());
    assert_eq!(line.world.elapsed(), ms(990));
    let state = line.guard.breaker_state();
    assert_eq!(state, Some(BreakerState::Closed));
    line.counts(1, 0);
    drop(held);
    line.counts(0, 0);
    assert_eq!(line.world.pending_timers(), 0);
}

#[test]
fn nobody_waits_past_the_deadline() {
    let policy = INSTANT.with_deadline(ms(40));
    let line = Line::new(policy, 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let heard = Recorder::new();
    let work = |attempt| line.clone().work(1, attempt, secs(1));
    let call = line.guard.call(work).listen(&heard).outcome();
    let done = line.world.block_on(call);
    // An eighth of what is left remains, each time.
    let refusals = heard.of_kind(EventKind::Attempt);
    assert_eq!(refusals.len(), 3);
    assert_eq!(done.reason(), Reason::AttemptsExhausted);
    assert!(line.world.elapsed() < ms(40), "{:?}", line.world.elapsed());
    line.counts(1, 0);
}

// The bound is the attempt's, however late in it the line is entered.
#[test]
fn a_late_entry_waits_for_less() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let _held = line.queue.try_enter().expect("a place");
    let work = async |attempt| {
        line.world.sleep(ms(500)).await;
        line.clone().work(1, attempt, secs(1)).await
    };
    let done = line.world.block_on(line.guard.call(work).outcome());
    assert_refused(&done);
    assert_eq!(line.world.elapsed(), ms(990));
}

#[test]
fn without_a_bound_a_wait_arms_no_timer() {
    let line = Line::new(ONCE, 1, 9);
    let _first = line.call_now(1, secs(5));
    let second = line.call_now(2, Duration::ZERO);
    assert_eq!(line.world.timers_armed(), 1);
    assert!(line.end(second).is_success());
    assert_eq!(line.world.elapsed(), secs(5));
}

// A place that comes too late to use goes to somebody else.
#[test]
fn a_place_after_the_end_is_handed_on() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let late = line.call_now(1, ms(1));
    line.world.advance(ms(900));
    let fresh = line.call_now(2, ms(1));
    // The process hangs, and both find a place when it comes back.
    line.world.jump(ms(95));
    drop(held);
    assert_refused(&line.end(late));
    assert!(line.end(fresh).is_success());
    assert_eq!(line.entered(), [2]);
}

// Waiters behind an opening breaker are refused: the first who is woken wakes
// the next, and so on, all at one instant.
#[test]
fn an_open_breaker_empties_the_line() {
    let policy = ONCE.with_breaker(TOUCHY).with_deadline(secs(30));
    let line = Line::new(policy, 1, 100);
    let failing = {
        let line = line.clone();
        line.world.clone().spawn("failing", async move {
            let fail = async |attempt| {
                let _place = line
                    .queue
                    .enter(&line.guard, attempt)
                    .await
                    .expect("a place");
                line.world.sleep(secs(1)).await;
                Err::<(), _>(Fault::Transient)
            };
            line.guard.call(fail).outcome().await.is_success()
        })
    };
    line.world.settle();
    let calls: Vec<_> = (0..100).map(|name| line.call_now(name, ms(1))).collect();
    line.counts(1, 100);
    assert!(!line.world.block_on(failing));
    line.world.settle();
    assert_eq!(line.world.elapsed(), secs(1));
    line.counts(0, 0);
    for call in calls {
        let done = line.end(call);
        let hint = done.error().and_then(Limited::retry_after);
        assert_eq!(hint, Some(secs(15)));
    }
    assert_eq!(line.entered(), [0_u32; 0]);
}

#[test]
fn a_breaker_that_only_observes_refuses_no_waiter() {
    let line = Line::new(ONCE.with_breaker(TOUCHY), 1, 9);
    let breaker = line.guard.breaker().expect("a breaker");
    breaker.observe();
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, ms(1));
    let permit = breaker.admit(line.world.now()).expect("it observes");
    let failed = Kind::Transient;
    let opened = permit.settle(line.world.now(), failed, Duration::ZERO, || 0);
    assert!(opened.is_some());
    drop(held);
    assert!(line.end(waiter).is_success());
}

// While half-open a probe gets in, and who waited since before does not.
#[test]
fn a_probe_may_wait_in_line() {
    let line = Line::new(ONCE.with_breaker(TOUCHY), 1, 9);
    let breaker = line.guard.breaker().expect("a breaker");
    let held = line.queue.try_enter().expect("a place");
    let from_before = line.call_now(1, ms(1));
    let permit = breaker.admit(line.world.now()).expect("it is closed");
    let failed = Kind::Transient;
    permit.settle(line.world.now(), failed, Duration::ZERO, || 0);
    line.world.advance(secs(15));
    let probe = line.call_now(2, ms(1));
    assert_eq!(line.guard.breaker_state(), Some(BreakerState::HalfOpen));
    line.counts(1, 2);
    drop(held);
    assert_refused(&line.end(from_before));
    assert!(line.end(probe).is_success());
    assert_eq!(line.guard.breaker_state(), Some(BreakerState::Closed));
    assert_eq!(line.entered(), [2]);
}

// core-09.20, R-73: a closed line is an error, not a place.
#[test]
fn closing_refuses_all_who_wait() {
    let line = Line::new(ONCE, 1, 9);
    let first = line.call_now(1, secs(1));
    let waiters = [2, 3].map(|name| line.call_now(name, secs(1)));
    line.queue.close();
    assert!(line.queue.is_closed());
    for waiter in waiters {
        let done = line.end(waiter);
        assert_refused(&done);
        assert_eq!(done.reason(), Reason::AttemptsExhausted);
    }
    assert_eq!(line.world.elapsed(), Duration::ZERO);

    let done = line.end(line.call_now(4, secs(1)));
    assert_eq!(done.error(), Some(&Limited::new(Limit::Closed)));
    assert_eq!(done.reason(), Reason::Permanent);
    // Who was in stays in.
    line.counts(1, 0);
    assert!(line.end(first).is_success());
    line.counts(0, 0);
    assert!(line.queue.try_enter().is_err());
}

#[test]
fn closing_with_a_wake_on_its_way_loses_no_count() {
    let line = Line::new(ONCE, 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiters = [1, 2].map(|name| line.call_now(name, secs(1)));
    drop(held);
    line.queue.close();
    for waiter in waiters {
        assert_refused(&line.end(waiter));
    }
    line.counts(0, 0);
}

#[test]
fn a_clock_that_stands_still_refuses_nobody() {
    let line = Line::new(ONCE.with_attempt_timeout(secs(1)), 1, 9);
    let held = line.queue.try_enter().expect("a place");
    let waiter = line.call_now(1, ms(1));
    line.world.step_back(secs(5));
    line.world.set_time(at(Duration::ZERO));
    line.world.settle();
    line.counts(1, 1);
    drop(held);
    assert!(line.end(waiter).is_success());
}
