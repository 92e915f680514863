//! Calls that follow what they are made for.

mod handed;
mod tasks;

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use futures_lite::StreamExt;
use steadfast::{
    Ambient, Budget, CallError, Criticality, Guard, Hedged, Plan, Policy, Problem, Ratio, Reason,
    Restarts, Rules, Verdict, ambient,
};
use steadfast_testing::{Beat, Fault, Recorder, Scripted, StreamScript};

use crate::stage::{
    Ended, INSTANT, RACED, Stage, TOUCHY, Virtual, at, backoff, guard, ms, secs, told,
};
use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};

/// Three attempts at once, as long and as critical as what they are made for.
pub(crate) const FOLLOWING: Policy = INSTANT.with_ambient_deadline(true);

const LEVELLED: Policy = INSTANT
    .with_budget(Budget::REFERENCE)
    .with_ambient_criticality(true);

impl Stage {
    /// Work that has so long from now on.
    pub(crate) fn left(&self, left: Duration) -> Ambient {
        Ambient::NONE.within(left, &self.world.timer())
    }

    /// Runs one call that hangs for work with these facts.
    #[track_caller]
    fn hang(&self, facts: Ambient) -> CallError<Scripted> {
        let script = self.script::<()>().hangs().repeats_last();
        let call = self.guard.call(|_| script.next()).listen(&self.heard);
        let ended = self.world.block_on(ambient::follow(facts, call));
        ended.expect_err("it hangs")
    }
}

// core-13.1, core-04.17
#[test]
fn who_follows_ends_with_its_work() {
    for (follows, deadline) in [(true, ms(200)), (false, secs(30))] {
        let policy = INSTANT.with_deadline(secs(30));
        let stage = Stage::new(policy.with_ambient_deadline(follows));
        let error = stage.hang(stage.left(ms(200)));
        assert_eq!(error.deadline(), Some(deadline));
        assert_eq!(error.elapsed(), deadline);
        assert_eq!(stage.told(), "Attempt#1 DeadlineExceeded#1");
    }
}

// the smaller of all bounds holds, whoever set it.
#[test]
fn the_smallest_of_three_bounds_holds() {
    let spans = [ms(200), secs(1), secs(5)];
    for (policy, ambient, within) in [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2)] {
        let stage = Stage::new(FOLLOWING.with_deadline(spans[policy]));
        let script = stage.script::<()>().hangs().repeats_last();
        let call = stage.guard.call(|_| script.next()).within(spans[within]);
        let call = ambient::follow(stage.left(spans[ambient]), call);
        let error = stage.world.block_on(call).expect_err("it hangs");
        assert_eq!(error.deadline(), Some(ms(200)));
    }
}

// core-13.2
#[test]
fn a_deadline_decays_before_the_call() {
    let stage = Stage::new(FOLLOWING.with_deadline(secs(30)));
    let facts = stage.left(ms(200));
    stage.world.advance(ms(150));
    assert_eq!(stage.hang(facts).deadline(), Some(ms(50)));

    // Also inside, where it is asked for when the call begins.
    let facts = stage.left(ms(200));
    let script = stage.script::<()>().hangs().repeats_last();
    let late = async {
        stage.world.sleep(ms(150)).await;
        stage.guard.call(|_| script.next()).await
    };
    let ended = stage.world.block_on(ambient::follow(facts, late));
    assert_eq!(ended.expect_err("it hangs").deadline(), Some(ms(50)));
}

// core-13.3, core-03.12, core-14.6
#[test]
fn work_that_is_over_makes_no_attempt() {
    let policy = FOLLOWING.with_deadline(secs(30)).with_name("search");
    let stage = Stage::new(policy.with_breaker(TOUCHY));
    let over = stage.left(Duration::ZERO);
    for waited in [ms(0), ms(5)] {
        stage.world.advance(waited);
        let error = stage.hang(over);
        assert_eq!(error.reason(), Reason::DeadlineExceeded);
        assert_eq!(error.deadline(), Some(Duration::ZERO));
        assert_eq!((error.attempts(), error.elapsed()), (0, ms(0)));
        assert_eq!(
            error.to_string(),
            "search: not called: no time was left when it began"
        );
        assert_eq!(stage.told(), "DeadlineExceeded#1");
    }

    // The breaker is asked first, and its refusal told at once.
    let _ = stage.play_failure();
    stage.heard.clear();
    let error = stage.hang(over);
    assert_eq!(error.reason(), Reason::DependencyUnavailable);
    assert_eq!(error.elapsed(), ms(0));
    assert_eq!(stage.told(), "RejectedByBreaker#1");
    // A probe slot goes back.
    stage.world.advance(secs(16));
    assert_eq!(stage.hang(over).reason(), Reason::DeadlineExceeded);
    assert_eq!(stage.told(), "BreakerHalfOpened#1 DeadlineExceeded#1");
    assert!(stage.play(&stage.script().returns(1)).is_success());
}

#[test]
fn work_that_is_over_is_no_evidence() {
    let stage = Stage::new(FOLLOWING.with_breaker(TOUCHY));
    for _ in 0..5 {
        let error = stage.hang(stage.left(Duration::ZERO));
        assert_eq!(error.reason(), Reason::DeadlineExceeded);
    }
}

// core-13.4, core-13.5
#[test]
fn an_inner_scope_hides_the_outer_deadline() {
    let stage = Stage::new(FOLLOWING);
    let timer = stage.world.timer();
    let left = || ambient::current().left(stage.world.now());
    let script = stage.script::<()>().hangs().repeats_last();
    let call = || stage.guard.call(|_| script.next());
    stage
        .world
        .block_on(ambient::follow(stage.left(secs(1)), async {
            assert_eq!(left(), Some(secs(1)));
            let unbounded = Ambient::NONE.without_deadline();
            ambient::follow(unbounded, async {
                assert_eq!(left(), None);
                // Nobody bounds it: it has to end by itself.
                let slow = stage.script().delays(secs(600)).returns(1);
                assert_eq!(stage.guard.call(|_| slow.next()).await, Ok(1));
            })
            .await;
            assert_eq!(left(), Some(Duration::ZERO));

            // Nor is an inner deadline held to the outer one.
            let longer = Ambient::NONE.within(secs(9), &timer);
            let error = ambient::follow(longer, call()).await.expect_err("it hangs");
            assert_eq!(error.deadline(), Some(secs(9)));
        }));
    let error = stage.hang(stage.left(secs(1)));
    assert_eq!(error.deadline(), Some(secs(1)), "an unbounded policy");
}

// core-13.8
#[test]
fn nothing_said_is_critical() {
    let stage = Stage::new(LEVELLED);
    let level = Cell::new(None);
    let call = stage.guard.call(async |attempt: steadfast::Attempt| {
        level.set(Some(attempt.criticality()));
        assert_eq!(attempt.ambient().criticality(), None);
        Ok::<_, Scripted>(1)
    });
    stage.world.block_on(call).expect("a value");
    assert_eq!(level.get(), Some(Critical));
    for _ in 0..30 {
        assert!(retried(&stage, Ambient::NONE).is_success());
    }
}

/// One call that fails, is retried and succeeds, if the budget has a token.
fn retried(stage: &Stage, facts: Ambient) -> Ended<i32> {
    let script = stage.script().fails(Fault::Transient).returns(1);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    stage.world.block_on(ambient::follow(facts, call.outcome()))
}

// core-13.9
#[test]
fn sheddable_work_leaves_half_the_budget() {
    let stage = Stage::new(LEVELLED);
    let batch = Ambient::NONE.with_criticality(Sheddable);
    let refused = loop {
        let outcome = retried(&stage, batch);
        if !outcome.is_success() {
            break outcome;
        }
    };
    assert_eq!(refused.reason(), Reason::BudgetExhausted);
    assert_eq!(refused.elapsed(), ms(100));
    assert_eq!(stage.tokens(), 15);
    assert!(retried(&stage, Ambient::NONE).is_success());
}

// core-13.10
#[test]
fn all_but_the_lowest_have_the_whole_budget() {
    let policy = LEVELLED.with_budget(Budget::new(Ratio::percent(10), 0));
    for level in [SheddablePlus, Critical, CriticalPlus] {
        let facts = Ambient::NONE.with_criticality(level);
        assert!(retried(&Stage::new(policy), facts).is_success(), "{level}");
    }
    let facts = Ambient::NONE.with_criticality(Sheddable);
    assert!(!retried(&Stage::new(policy), facts).is_success());
    // Nobody asked for it.
    let deaf = policy.with_ambient_criticality(false);
    assert!(retried(&Stage::new(deaf), facts).is_success());
}

#[test]
fn what_a_call_says_comes_first() {
    let policy = LEVELLED.with_budget(Budget::new(Ratio::percent(10), 0));
    for (said, around, is_retried) in [
        (Critical, Sheddable, true),
        (Sheddable, Critical, false),
        (Sheddable, Sheddable, false),
    ] {
        let stage = Stage::new(policy);
        let script = stage.script().fails(Fault::Transient).returns(1);
        let call = stage.guard.call(|_| script.next()).criticality(said);
        let facts = Ambient::NONE.with_criticality(around);
        let ended = stage.world.block_on(ambient::follow(facts, call));
        assert_eq!(ended.is_ok(), is_retried, "{said} in {around}");
    }
}

// core-08.14
#[test]
fn sheddable_work_is_never_raced() {
    for (policy, level, is_raced) in [
        (RACED.with_ambient_criticality(true), Sheddable, false),
        (RACED.with_ambient_criticality(true), SheddablePlus, true),
        (RACED, Sheddable, true),
    ] {
        let stage = Stage::<Hedged>::warm(policy);
        let script = stage.script().delays(ms(200)).returns(1);
        let script = script.delays(ms(10)).returns(2);
        let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
        let facts = Ambient::NONE.with_criticality(level);
        let answer = stage.world.block_on(ambient::follow(facts, call));
        assert_eq!(answer, Ok(if is_raced { 2 } else { 1 }));
        assert_eq!(stage.told().contains("Hedge"), is_raced, "{level}");
    }
}

// core-13.12, core-01.9
#[test]
fn a_guard_refuses_a_level_that_gates_nothing() {
    let stage = Stage::new(INSTANT);
    let made = |policy: Policy| {
        let guard: Result<Virtual, _> = Guard::try_on(stage.world.timer(), Plan::new(policy));
        guard.map(drop)
    };
    let error = made(LEVELLED.with_attempts(1)).expect_err("nothing to gate");
    let problems = error.problems();
    assert!(problems.iter().eq([Problem::CriticalityGatesNothing]));
    assert!(made(LEVELLED.with_budget(Budget::NONE)).is_err());
    assert!(made(LEVELLED).is_ok());
}

// core-13.18
#[test]
fn the_grace_bounds_what_the_work_allows() {
    let spans = [secs(2), secs(5), secs(10)];
    for (grace, ambient, policy) in [(0, 1, 2), (1, 0, 2), (2, 1, 0)] {
        for all in [true, false] {
            let stage = Stage::new(FOLLOWING.with_deadline(spans[policy]));
            if all {
                stage.world.drain(spans[grace]);
            } else {
                stage.guard.drain(spans[grace]);
            }
            let error = stage.hang(stage.left(spans[ambient]));
            assert_eq!(error.deadline(), Some(secs(2)));
        }
    }
    // Nobody hides a stop.
    let stage = Stage::new(FOLLOWING);
    stage.world.drain(secs(2));
    let error = stage.hang(Ambient::NONE.without_deadline());
    assert_eq!(error.deadline(), Some(secs(2)));
}

#[test]
fn facts_are_asked_for_once_a_call() {
    let stage = Stage::new(FOLLOWING.with_backoff(backoff(secs(1))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let call = stage.guard.call(|_| script.next());
    let mut call = pin!(call);
    let first = ambient::follow(stage.left(secs(60)), call.as_mut());
    assert!(
        stage
            .world
            .block_on(futures_lite::future::poll_once(first))
            .is_none()
    );
    // Polled on for work that is over.
    let rest = ambient::follow(stage.left(Duration::ZERO), call);
    let error = stage.world.block_on(rest).expect_err("it fails");
    assert_eq!(error.reason(), Reason::AttemptsExhausted);
    assert_eq!(error.elapsed(), secs(2));
}

#[test]
fn every_form_of_a_call_follows() {
    let stage = Stage::new(FOLLOWING.with_attempts(9).with_backoff(backoff(ms(150))));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let facts = stage.left(ms(200));
    let blocked = ambient::run(facts, || {
        stage.guard.call_blocking(|_| script.next_blocking())
    });
    let error = blocked.expect_err("it fails");
    assert_eq!((error.attempts(), error.deadline()), (2, Some(ms(200))));

    let facts = stage.left(ms(200));
    let lent = &mut ();
    let call = stage
        .guard
        .call_with(lent, async |(): &mut (), _| script.next().await);
    let ended = stage.world.block_on(ambient::follow(facts, call));
    let error = ended.expect_err("it fails");
    assert_eq!((error.attempts(), error.deadline()), (2, Some(ms(200))));

    let silent: StreamScript<u32> = StreamScript::on(stage.world.timer())
        .delays(secs(60))
        .yields([1]);
    let facts = stage.left(ms(200));
    let stream = ambient::follow(facts, stage.guard.stream(|_| silent.open()));
    let item = stage.world.block_on(async { pin!(stream).next().await });
    let error = item.expect("an item").expect_err("it hangs");
    let steadfast::StreamError::Start(error) = error else {
        unreachable!("{error:?}");
    };
    assert_eq!(error.deadline(), Some(ms(200)));
}

// A stream that was healthy has its own deadline anew, and not more than is left.
#[test]
fn a_resumed_stream_follows_still() {
    for (left, resumes) in [(secs(60), true), (secs(14), true), (secs(12), false)] {
        let policy = FOLLOWING
            .with_deadline(secs(5))
            .with_restarts(Restarts::DEFAULT.with_healthy_after(secs(10)));
        let stage = Stage::new(policy);
        let beats = [
            Beat::Item(1),
            Beat::Pause(secs(6)),
            Beat::Item(2),
            Beat::Pause(secs(6)),
            Beat::Item(3),
            Beat::Failure(Fault::Transient),
        ];
        let script = StreamScript::on(stage.world.timer());
        let script = script.plays(beats).delays(secs(1)).yields([4]);
        let stream = stage
            .guard
            .stream_from(0, |_, _| script.open(), |item| *item);
        let stream = ambient::follow(stage.left(left), stream);
        let items: Vec<_> = stage.world.block_on(pin!(stream).collect());
        assert_eq!(
            items.last().is_some_and(Result::is_ok),
            resumes,
            "{items:?}"
        );
    }
}

/// Lets nothing through that may be shed.
struct Shed;

impl<T, E> Rules<T, E> for Shed {
    fn admit(&self, attempt: &steadfast::Attempt) -> Verdict {
        if attempt.criticality().is_sheddable() {
            Verdict::PERMANENT
        } else {
            Verdict::OK
        }
    }
}

#[test]
fn a_hook_can_shed_by_level() {
    let stage = Stage::new(LEVELLED);
    for (level, is_let) in [(Sheddable, false), (SheddablePlus, true)] {
        let script = stage.script().returns(1);
        let call = stage.guard.call(|_| script.next()).ruled(Shed);
        let facts = Ambient::NONE.with_criticality(level);
        let ended = stage.world.block_on(ambient::follow(facts, call));
        assert_eq!(ended.is_ok(), is_let, "{level}");
    }
}

// Bounded harm: an instant of another clock is a wrong bound, never a panic.
#[test]
fn an_instant_of_another_clock_is_a_wrong_bound() {
    let stage = Stage::new(FOLLOWING.with_deadline(secs(5)));
    stage.world.advance(secs(100));
    let facts = [at(secs(1)), at(secs(102)), at(secs(9_000))].map(|instant| {
        let error = stage.hang(Ambient::NONE.with_deadline(instant));
        stage.world.set_time(at(secs(100)));
        error.deadline()
    });
    assert_eq!(facts, [secs(0), secs(2), secs(5)].map(Some));
}
