//! A first attempt that nobody has to be asked about runs before the machine is.
//!
//! Nobody can tell: whoever is heard, or keeps a log, takes the long way.

use std::cell::RefCell;
use std::time::Duration;

use futures_lite::future;
use proptest::prelude::*;
use steadfast::{
    Attempt, Budget, Criticality, Event, Listener, Meaning, Policy, Ratio, Timer, Verdict,
};
use steadfast_testing::{Fault, Script, Scripted, World};

use crate::stage::{backoff, drop_after, guard, ms, secs};

/// Hears everything and does nothing.
struct Ear;

impl Listener for Ear {
    fn on_event(&self, _: &Event) {}
}

/// What one attempt does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Gives(u32),
    Fails(Fault),
    Hangs,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let end = prop_oneof![
        4 => (0..3_u32).prop_map(Step::Gives),
        4 => Just(Step::Fails(Fault::Transient)),
        1 => Just(Step::Fails(Fault::Permanent)),
        1 => Just(Step::Fails(Fault::Throttled(Some(ms(30))))),
        1 => Just(Step::Hangs),
    ];
    // Most are ready at once.
    (prop_oneof![2 => Just(0), 1 => 0..80_u64], end)
}

fn policy() -> impl Strategy<Value = Policy> {
    let bound = || prop_oneof![Just(None), (1..100_u64).prop_map(|millis| Some(ms(millis)))];
    (1..4_u32, bound(), bound(), any::<bool>()).prop_map(|(attempts, deadline, timeout, budget)| {
        let policy = Policy::NONE
            .with_attempts(attempts)
            .with_backoff(backoff(ms(7)));
        let policy = match deadline {
            Some(deadline) => policy.with_deadline(deadline),
            None => policy,
        };
        let policy = match timeout {
            Some(timeout) => policy
                .with_attempt_timeout(timeout)
                .without_attempt_ceiling(),
            None => policy,
        };
        if budget {
            policy.with_budget(Budget::new(Ratio::percent(20), 0).with_burst(3))
        } else {
            policy
        }
    })
}

/// What a call says for itself.
#[derive(Clone, Copy, Debug)]
enum Said {
    Nothing,
    Once,
    Within(u64),
    Sheddable,
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        Just(Said::Nothing),
        Just(Said::Once),
        (0..40_u64).prop_map(Said::Within),
        Just(Said::Sheddable),
    ]
}

/// What can be seen of some calls of a script: each answer as a text.
#[derive(Debug, PartialEq)]
struct Seen {
    told: Vec<Attempt>,
    judged: usize,
    answers: Vec<String>,
    spent: Option<Ratio>,
    took: Duration,
    alive: usize,
}

/// A value of zero is a failure.
fn by_value(judged: &RefCell<usize>, reply: &Result<u32, Scripted>) -> Verdict {
    *judged.borrow_mut() += 1;
    match reply {
        Ok(0) => Verdict::TRANSIENT,
        Ok(_) => Verdict::OK,
        Err(error) => error.verdict(),
    }
}

/// Makes the calls one after the other, each dropped after so many polls.
fn play(policy: Policy, steps: &[(u64, Step)], said: Said, polls: u32, is_long: bool) -> Seen {
    let world = World::new();
    let guard = guard(&world, policy);
    let mut script: Script<u32> = Script::on(world.timer());
    for &(delay, step) in steps {
        script = script.delays(ms(delay));
        script = match step {
            Step::Gives(value) => script.returns(value),
            Step::Fails(fault) => script.fails(fault),
            Step::Hangs => script.hangs(),
        };
    }
    let (told, judged) = (RefCell::new(Vec::new()), RefCell::new(0));
    let mut answers = Vec::new();
    for _ in 0..steps.len().min(4) {
        let made = guard.call_classified(
            |reply: &Result<u32, Scripted>| by_value(&judged, reply),
            |attempt| {
                told.borrow_mut().push(attempt);
                script.next()
            },
        );
        let made = match said {
            Said::Nothing => made,
            Said::Once => made.once(),
            Said::Within(millis) => made.within(ms(millis)),
            Said::Sheddable => made.criticality(Criticality::Sheddable),
        };
        let mut answer = String::from("dropped");
        // What no bound ends is dropped, too.
        let patience = world
            .timer()
            .sleep_until(world.now().saturating_add(secs(1)));
        if is_long {
            let call = future::or(
                async { answer = format!("{:?}", made.listen(Ear).await) },
                patience,
            );
            drop_after(&world, polls, call);
        } else {
            let call = future::or(async { answer = format!("{:?}", made.await) }, patience);
            drop_after(&world, polls, call);
        }
        answers.push(answer);
    }
    Seen {
        told: told.into_inner(),
        judged: judged.into_inner(),
        answers,
        spent: guard.budget().map(|budget| budget.utilization(world.now())),
        took: world.elapsed(),
        alive: script.alive(),
    }
}

proptest! {
    #[test]
    fn nobody_can_tell_which_way_a_call_took(
        policy in policy(),
        steps in prop::collection::vec(step(), 1..9),
        said in said(),
        polls in prop_oneof![Just(u32::MAX), 0..4_u32],
    ) {
        let short = play(policy, &steps, said, polls, false);
        let long = play(policy, &steps, said, polls, true);
        prop_assert_eq!(short, long);
    }
}
