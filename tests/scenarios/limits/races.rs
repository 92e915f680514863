//! Limits under races: a copy that a limit refuses is held back.

use steadfast::{Budget, Concurrency, Criticality, Hedged, Limit, Policy, Rate, Ratio, Throttle};
use steadfast_testing::Fault;

use crate::stage::{RACED, SLOW, Stage, drop_after, ms, secs};

type Two = Stage<Hedged>;
type Three = Stage<Hedged<3>>;

/// Thirty tokens that time does not restore.
const COUNTED: Policy = RACED.with_budget(Budget::new(Ratio::percent(10), 0).with_burst(30));

fn in_flight<const N: usize>(stage: &Stage<Hedged<N>>) -> u32
where
    Hedged<N>: steadfast::Flights,
{
    stage.guard.concurrency().expect("a limit").in_flight()
}

#[test]
fn a_refused_copy_is_not_told() {
    for policy in [
        COUNTED.with_concurrency(Concurrency::fixed(1)),
        COUNTED.with_rate(Rate::per_window(21, secs(60))),
    ] {
        let stage = Two::warm(policy);
        let script = stage.script().delays(ms(200)).returns(1);
        let outcome = stage.play(&script);
        assert_eq!(stage.told(), "Attempt#1 Succeeded#1");
        assert_eq!(outcome.elapsed(), ms(200));
        assert_eq!((script.calls(), stage.tokens()), (1, 30));
    }
}

#[test]
fn a_copy_takes_a_place_and_a_permit() {
    let policy = COUNTED
        .with_concurrency(Concurrency::fixed(2))
        .with_rate(Rate::per_window(30, secs(60)));
    let stage = Two::warm(policy);
    let script = stage
        .script()
        .delays(ms(200))
        .returns(1)
        .delays(ms(20))
        .returns(2);
    let places = async {
        stage.world.sleep(SLOW + ms(10)).await;
        in_flight(&stage)
    };
    let call = stage.guard.call(|_| script.next()).listen(&stage.heard);
    let both = futures_lite::future::zip(call, places);
    let (answer, places) = stage.world.block_on(both);
    assert_eq!((answer, places, in_flight(&stage)), (Ok(2), 2, 0));
    assert_eq!(
        stage.told(),
        "HedgeStarted#2 Attempt#1 HedgeWon#1 HedgeDiscarded#2 Succeeded#1"
    );
    let rate = stage.guard.rate().expect("a limit");
    assert_eq!(rate.free(stage.world.now()), 30 - 22);
}

// The copy that was held back does not come later, but a retry does.
#[test]
fn after_a_refused_copy_the_retry_is_free() {
    let stage = Two::warm(COUNTED.with_concurrency(Concurrency::fixed(1)));
    let script = stage
        .script()
        .delays(ms(200))
        .fails(Fault::Transient)
        .delays(ms(10))
        .returns(1);
    let outcome = stage.play(&script);
    assert_eq!(stage.told(), "Attempt#1 Retrying#2 Attempt#2 Succeeded#2");
    assert!(outcome.log().entries().all(|at| !at.is_self_imposed()));
    assert_eq!(in_flight(&stage), 0);
}

// A race has one ticket, its first attempt's.
#[test]
fn a_copy_is_not_throttled() {
    let stage = Two::warm(RACED.with_throttle(Throttle::DEFAULT.with_cap(Ratio::ONE)));
    let throttle = stage.guard.throttle().expect("a throttle");
    let script = stage.script().hangs().delays(ms(20)).returns(2);
    let call = stage.guard.call(|attempt| {
        if attempt.is_first() {
            for _ in 0..10_000 {
                let ticket = throttle.admit(stage.world.now(), Criticality::Critical, u32::MAX);
                if let Ok(ticket) = ticket {
                    ticket.settle(steadfast::Verdict::TRANSIENT);
                }
            }
        }
        script.next()
    });
    assert_eq!(stage.world.block_on(call), Ok(2));

    let refused = stage.play(&stage.script::<()>());
    let error = refused.into_result().expect_err("a failure");
    assert_eq!(error.limited_by(), Some(Limit::Throttle));
}

// R-79, Netflix/concurrency-limits#190
#[test]
fn a_dropped_race_gives_its_places_back() {
    for polls in 0.. {
        let policy = COUNTED.with_attempt_timeout(secs(1));
        let stage = Three::warm(policy.with_concurrency(Concurrency::fixed(2)));
        let script = stage
            .script()
            .hangs()
            .delays(ms(100))
            .fails(Fault::Transient)
            .delays(ms(10))
            .returns(1);
        let ended = drop_after(&stage.world, polls, stage.guard.call(|_| script.next()));
        assert_eq!((in_flight(&stage), script.alive()), (0, 0), "{polls} polls");
        assert!(script.peak_alive() <= 2);
        if ended {
            assert!(polls > 3);
            return;
        }
        assert!(polls < 100);
    }
}
