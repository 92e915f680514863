//! What an attempt says to those who do a part of it.

use std::cell::RefCell;

use steadfast::wire;

use super::*;

/// What the attempts of a call say.
fn handed(policy: Policy, is_once: bool) -> Vec<Ambient> {
    let stage = Stage::new(policy);
    let said = RefCell::new(Vec::new());
    let script = stage
        .script::<()>()
        .delays(secs(1))
        .fails(Fault::Transient)
        .repeats_last();
    let call = stage.guard.call(|attempt| {
        said.borrow_mut().push(attempt.ambient());
        script.next()
    });
    let call = if is_once { call.once() } else { call };
    stage.world.block_on(call).expect_err("it fails");
    said.into_inner()
}

#[test]
fn an_attempt_hands_down_its_own_end() {
    let retried = Ambient::NONE.with_retried(true);
    let ends = |spans: [u64; 2]| spans.map(|span| retried.with_deadline(at(secs(span))));
    let policy = INSTANT.with_attempts(2).with_deadline(secs(10));
    assert_eq!(handed(policy, false), ends([10, 10]));
    let policy = policy.with_attempt_timeout(secs(3));
    assert_eq!(handed(policy, false), ends([3, 4]));
    // What nothing bounds says nothing, so that what is around it still holds.
    assert_eq!(handed(INSTANT.with_attempts(2), false), [retried; 2]);
}

#[test]
fn only_who_may_retry_says_so() {
    assert_eq!(handed(INSTANT.with_attempts(1), false), [Ambient::NONE]);
    assert_eq!(handed(INSTANT, true), [Ambient::NONE]);
}

#[test]
fn the_level_is_handed_down_as_it_is_known() {
    let level = |policy: Policy, said: Option<Criticality>| {
        let stage = Stage::new(policy);
        let known = Cell::new(None);
        let call = stage.guard.call(async |attempt: steadfast::Attempt| {
            known.set(attempt.ambient().criticality());
            Ok::<_, Scripted>(())
        });
        let facts = Ambient::NONE.with_criticality(SheddablePlus);
        let ended = match said {
            Some(said) => {
                let call = call.criticality(said);
                stage.world.block_on(ambient::follow(facts, call))
            }
            None => stage.world.block_on(ambient::follow(facts, call)),
        };
        ended.expect("a value");
        known.get()
    };
    assert_eq!(level(LEVELLED, None), Some(SheddablePlus));
    assert_eq!(level(LEVELLED, Some(Sheddable)), Some(Sheddable));
    // Who does not follow leaves what is around as it is.
    assert_eq!(level(INSTANT, None), None);
}

/// A call around calls of `inner`, each for an attempt of the outer one.
fn nested(outer: Policy, inner: Policy, is_once: bool) -> (String, Vec<Option<Duration>>) {
    let stage = Stage::new(outer);
    let inner = guard(&stage.world, inner);
    let heard = Recorder::new();
    let bounds = RefCell::new(Vec::new());
    let script = stage
        .script::<()>()
        .delays(secs(1))
        .fails(Fault::Transient)
        .repeats_last();
    let call = stage.guard.call(|attempt| {
        let call = inner.call(|attempt| {
            bounds.borrow_mut().push(attempt.timeout());
            script.next()
        });
        let call = if is_once { call.once() } else { call };
        ambient::follow(attempt.ambient(), call.listen(&heard))
    });
    stage.world.block_on(call).expect_err("it fails");
    (told(&heard), bounds.into_inner())
}

#[test]
fn retries_that_multiply_are_told() {
    let inner = FOLLOWING.with_attempts(2);
    let once = "Attempt#1 Retrying#2 Attempt#2 Exhausted#2";
    let (told, _) = nested(INSTANT.with_attempts(1), inner, false);
    assert_eq!(told, once);
    // Once for each call, before all else.
    let (told, _) = nested(INSTANT.with_attempts(2), inner, false);
    assert_eq!(told, format!("NestedRetry#1 {once} NestedRetry#1 {once}"));
    let (told, _) = nested(INSTANT.with_attempts(2), LEVELLED.with_attempts(2), false);
    assert!(told.starts_with("NestedRetry#1 "), "{told}");
    // Nothing multiplies, or nobody asked.
    let (told, _) = nested(INSTANT.with_attempts(2), inner, true);
    assert_eq!(told, "Attempt#1 Exhausted#1 Attempt#1 Exhausted#1");
    let (told, _) = nested(INSTANT.with_attempts(2), INSTANT.with_attempts(2), false);
    assert!(!told.contains("NestedRetry"), "{told}");
}

#[test]
fn a_nested_retry_is_no_ending() {
    let stage = Stage::new(FOLLOWING);
    let script = stage.script().returns(1);
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let facts = Ambient::NONE.with_retried(true);
    assert_eq!(stage.world.block_on(ambient::follow(facts, call)), Ok(1));
    let event = stage.only(steadfast::EventKind::NestedRetry);
    assert!(!event.is_terminal() && !event.is_rejection());
    assert_eq!((event.number(), event.verdict()), (1, Verdict::OK));
    assert_eq!(
        (event.duration(), event.delay(), event.reason()),
        (ms(0), None, None)
    );
    assert_eq!(stage.told(), "NestedRetry#1 Attempt#1 Succeeded#1");
}

// where retries would multiply, the inner layer stands down if it wants to.
#[test]
fn an_inner_layer_can_stand_down() {
    let stage = Stage::new(INSTANT);
    let inner = guard(&stage.world, INSTANT.with_attempts(4));
    let script = stage.script::<()>().fails(Fault::Transient).repeats_last();
    let ask = || async {
        let call = inner.call(|_| script.next());
        if ambient::current().is_retried() {
            call.once().await
        } else {
            call.await
        }
    };
    let call = stage
        .guard
        .call(|attempt| ambient::follow(attempt.ambient(), ask()));
    stage.world.block_on(call).expect_err("it fails");
    assert_eq!(script.calls(), 3, "not twelve");
    stage.world.block_on(ask()).expect_err("it fails");
    assert_eq!(script.calls(), 3 + 4);
}

// The chain goes on through a guard that neither retries nor bounds.
#[test]
fn a_plain_layer_hands_on_what_is_around() {
    let stage = Stage::new(INSTANT.with_deadline(secs(7)));
    let plain = guard(&stage.world, Policy::NONE);
    let inner = guard(&stage.world, FOLLOWING);
    let heard = Recorder::new();
    let script = stage.script::<()>().hangs().repeats_last();
    let call = stage.guard.call(|attempt| {
        ambient::follow(
            attempt.ambient(),
            plain.call(|attempt| {
                let call = inner.call(|_| script.next()).listen(&heard);
                ambient::follow(attempt.ambient(), call)
            }),
        )
    });
    let error = stage.world.block_on(call).expect_err("it hangs");
    assert_eq!(error.elapsed(), secs(7));
    assert!(
        told(&heard).starts_with("NestedRetry#1"),
        "{}",
        told(&heard)
    );
}

#[test]
fn an_inner_call_ends_with_its_attempt() {
    let outer = INSTANT.with_attempts(2).with_attempt_timeout(ms(1_500));
    let inner = FOLLOWING.with_attempts(2).with_deadline(secs(30));
    let (_, bounds) = nested(outer, inner, false);
    let spans = [ms(1_500), ms(500), ms(1_500), ms(500)];
    assert_eq!(bounds, spans.map(Some));
}

// a header carries what is left, not what the policy says.
#[test]
fn a_header_carries_what_is_left() {
    let stage = Stage::new(INSTANT.with_attempts(2).with_deadline(secs(5)));
    let sent = RefCell::new(Vec::new());
    let script = stage
        .script::<()>()
        .delays(secs(2))
        .fails(Fault::Transient)
        .repeats_last();
    let call = stage.guard.call(|attempt| {
        let facts = attempt.ambient().over(ambient::current());
        wire::write(&facts, stage.world.now(), |name, value| {
            sent.borrow_mut().push(format!("{name}: {value}"));
        });
        script.next()
    });
    let batch = Ambient::NONE.with_criticality(Sheddable);
    let ended = stage.world.block_on(ambient::follow(batch, call));
    ended.expect_err("it fails");
    let level = "x-criticality: Sheddable";
    let mark = "x-steadfast-retrying: 1";
    assert_eq!(
        sent.into_inner(),
        [
            "x-deadline-ms: 5000",
            level,
            mark,
            "x-deadline-ms: 3000",
            level,
            mark
        ]
    );
}

// core-13.6, core-13.11: from one process to the next and into its calls.
#[test]
fn a_request_crosses_to_the_next_process() {
    let stage = Stage::new(
        FOLLOWING
            .with_ambient_criticality(true)
            .with_budget(Budget::REFERENCE),
    );
    let headers = [
        ("x-deadline-ms", "250"),
        ("x-criticality", "CRITICALPLUS"),
        ("x-steadfast-retrying", "1"),
    ];
    let header = |name| headers.iter().find(|header| header.0 == name);
    let facts = wire::read(stage.world.now(), |name| {
        header(name).map(|header| header.1)
    });
    let error = stage.hang(facts);
    assert_eq!(error.deadline(), Some(ms(250)));
    assert_eq!(facts.criticality(), Some(Critical));
    assert_eq!(stage.told(), "NestedRetry#1 Attempt#1 DeadlineExceeded#1");
}
