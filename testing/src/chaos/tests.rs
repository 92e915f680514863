use std::time::Duration;

use steadfast_core::random;

use super::*;
use crate::World;

const SLOW: Duration = Duration::from_millis(1);

/// Which of `calls` calls were slowed, and which failed, the first being 1.
fn fates(injector: &FaultInjector, calls: u32) -> (Vec<u32>, Vec<u32>) {
    let timer = World::new().timer();
    let (mut slowed, mut failed) = (Vec::new(), Vec::new());
    for call in 1..=calls {
        let injection = injector.decide(&timer);
        if injection.latency().is_some() {
            slowed.push(call);
        }
        if injection.fails() {
            failed.push(call);
        }
    }
    (slowed, failed)
}

fn live(chaos: Chaos) -> FaultInjector {
    FaultInjector::new(chaos.on())
}

// test-02.11
#[test]
fn all_problems_are_found_at_once() {
    let chaos = Chaos::OFF
        .with_faults(Ratio::permille(1500))
        .with_latency(Ratio::permille(1001), SLOW)
        .with_burst(Burst::calls(0));
    let error = FaultInjector::try_new(chaos).expect_err("three problems");
    assert!(error.problems().eq([
        ChaosProblem::FaultRate,
        ChaosProblem::LatencyRate,
        ChaosProblem::EmptyBurst,
    ]));
    assert_eq!(error.to_string().lines().count(), 4);
}

// test-02.12
#[test]
fn slowing_by_nothing_is_a_problem() {
    let chaos = Chaos::OFF.with_latency(Ratio::percent(50), Duration::ZERO);
    let error = chaos.validate().expect_err("a problem");
    assert!(error.problems().eq([ChaosProblem::NoLatency]));
    let empty = chaos.with_burst(Burst::lasting(Duration::ZERO));
    assert_eq!(empty.validate().unwrap_err().problems().count(), 2);
    assert_eq!(
        Chaos::OFF.with_latency(Ratio::ZERO, SLOW).validate(),
        Ok(())
    );
}

#[test]
#[should_panic(expected = "this chaos cannot be:\n- the rate of faults is above 100 %")]
fn an_impossible_value_cannot_be_live() {
    let _ = FaultInjector::new(Chaos::OFF.with_faults(Ratio::times(2)));
}

// test-02.3
#[test]
fn which_calls_fail_is_pinned() {
    let chaos = Chaos::OFF.with_faults(Ratio::percent(10)).with_seed(42);
    assert_eq!(fates(&live(chaos), 40), (vec![], vec![11, 12, 16]));
}

// test-02.4
#[test]
fn a_call_is_slowed_before_it_fails() {
    let chaos = Chaos::OFF
        .with_faults(Ratio::percent(10))
        .with_latency(Ratio::percent(20), SLOW)
        .with_seed(42);
    let injector = live(chaos);
    let slowed = vec![6, 14, 21, 32, 34, 36, 37, 39, 40];
    assert_eq!(fates(&injector, 40), (slowed, vec![6, 8, 30]));
    assert_eq!(injector.drawn(), 80);
}

// test-02.1, test-02.2
#[test]
fn the_stream_is_that_of_the_library() {
    let timer = World::new().timer();
    let pinned = [
        (
            0,
            [3_847_829_412, 1_394_653_596, 226_273_073, 2_197_843_905],
        ),
        (
            42,
            [3_065_861_900, 3_656_152_447, 2_138_548_458, 3_740_230_085],
        ),
    ];
    for (seed, first) in pinned {
        let salted = seed ^ 0x0063_6861_6f73;
        let drawn = [0, 1, 2, 3].map(|counter| random(salted, counter));
        assert_eq!(drawn, first);
        let half = live(Chaos::OFF.with_faults(Ratio::percent(50)).with_seed(seed));
        for counter in 0..100 {
            let low = random(salted, counter) < 1 << 31;
            assert_eq!(half.decide(&timer).fails(), low);
        }
    }
}

#[test]
fn a_rate_of_zero_draws_nothing() {
    let none = live(Chaos::OFF.with_seed(1).with_burst(Burst::calls(3)));
    assert_eq!(fates(&none, 100), (vec![], vec![]));
    assert_eq!(none.drawn(), 0);
}

#[test]
fn the_whole_is_every_call() {
    let all = live(
        Chaos::OFF
            .with_faults(Ratio::ONE)
            .with_latency(Ratio::ONE, SLOW),
    );
    let every: Vec<u32> = (1..=10_000).collect();
    assert_eq!(fates(&all, 10_000), (every.clone(), every));
    assert_eq!((all.injected(), all.slowed()), (10_000, 10_000));
}

#[test]
fn rates_come_true() {
    let chaos = Chaos::OFF
        .with_faults(Ratio::ppm(1000))
        .with_latency(Ratio::percent(30), SLOW);
    for seed in 0..5 {
        let (slowed, failed) = fates(&live(chaos.with_seed(seed)), 100_000);
        assert!((60..140).contains(&failed.len()), "{}", failed.len());
        assert!((29_400..30_600).contains(&slowed.len()), "{}", slowed.len());
    }
}

#[test]
fn a_burst_takes_the_next_calls_along() {
    let chaos = Chaos::OFF.with_faults(Ratio::percent(1)).with_seed(3);
    let (_, alone) = fates(&live(chaos), 2000);
    let (_, together) = fates(&live(chaos.with_burst(Burst::calls(4))), 2000);
    let expected: Vec<u32> = (1..=2000)
        .filter(|call| {
            alone
                .iter()
                .any(|first| (*first..=first + 4).contains(call))
        })
        .collect();
    assert!(alone.len() > 10);
    assert_eq!(together, expected);
}

#[test]
fn a_burst_of_time_ends_with_it() {
    let world = World::new();
    let timer = world.timer();
    let chaos = Chaos::OFF
        .with_faults(Ratio::ONE)
        .with_burst(Burst::lasting(Duration::from_secs(5)));
    let injector = live(chaos);
    assert!(injector.decide(&timer).fails());
    // One in a million: by chance none of these.
    injector.set_fault_rate(Ratio::ppm(1)).expect("a rate");
    let failed = || {
        world.advance(Duration::from_secs(1));
        injector.decide(&timer).fails()
    };
    assert_eq!(
        [(); 7].map(|()| failed()),
        [true, true, true, true, false, false, false]
    );
}

#[test]
fn a_clock_that_steps_back_ends_a_burst() {
    let world = World::new();
    world.advance(Duration::from_secs(3600));
    let chaos = Chaos::OFF
        .with_faults(Ratio::ONE)
        .with_burst(Burst::lasting(Duration::from_secs(5)));
    let injector = live(chaos);
    assert!(injector.decide(&world.timer()).fails());
    injector.set_fault_rate(Ratio::ppm(1)).expect("a rate");
    world.step_back(Duration::from_secs(1800));
    assert!(!injector.decide(&world.timer()).fails());
}

#[test]
fn switching_off_ends_a_burst() {
    let timer = World::new().timer();
    let chaos = Chaos::OFF
        .with_faults(Ratio::ONE)
        .with_burst(Burst::calls(9));
    let injector = live(chaos);
    assert!(injector.decide(&timer).fails());
    injector.turn_off();
    assert_eq!(injector.decide(&timer), Injection::NONE);
    injector.turn_on();
    injector.set_fault_rate(Ratio::ppm(1)).expect("a rate");
    assert!(!injector.decide(&timer).fails());
}

#[test]
fn a_rate_above_the_whole_changes_nothing() {
    let injector = live(Chaos::OFF.with_faults(Ratio::percent(3)));
    let error = injector.set_fault_rate(Ratio::ppm(1_000_001));
    assert!(error.unwrap_err().contains(ChaosProblem::FaultRate));
    let error = injector.set_latency_rate(Ratio::percent(1));
    assert!(error.unwrap_err().contains(ChaosProblem::NoLatency));
    assert_eq!(injector.chaos(), *injector.profile());
}

#[test]
fn restoring_forgets_the_switch() {
    let injector = live(Chaos::OFF.with_faults(Ratio::percent(3)));
    injector.turn_off();
    injector.set_fault_rate(Ratio::ONE).expect("a rate");
    assert_eq!(injector.chaos(), Chaos::OFF.with_faults(Ratio::ONE));
    injector.restore();
    assert_eq!(injector.chaos(), *injector.profile());
}

#[test]
fn unseeded_streams_differ() {
    let timer = World::new().timer();
    let chaos = Chaos::OFF.on().with_faults(Ratio::percent(50));
    let (one, other) = (FaultInjector::new(chaos), FaultInjector::new(chaos));
    let drawn = |injector: &FaultInjector| [(); 64].map(|()| injector.decide(&timer).fails());
    assert_ne!(drawn(&one), drawn(&other));
}
