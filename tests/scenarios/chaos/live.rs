//! An injector that is shared, scoped to a key, and switched while calls run.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use allocation_counter::measure;
use steadfast::tokio::{Guard, Tokio};
use steadfast::{Alike, BreakerState, ByError, NoListener, NoRules, Plan, Policy, Ratio, Scope};
use steadfast_testing::{Chaos, FaultInjector, VirtualTimer, World};

use super::{BROKEN, FLAKY, fetch};
use crate::stage::{INSTANT, TOUCHY, guard, ms, secs};

type Tenants = Scope<&'static str, VirtualTimer, ByError, NoRules, NoListener>;

#[test]
fn one_key_fails_and_opens_its_breaker_alone() {
    let world = World::new();
    let plan = Plan::new(INSTANT.with_breaker(TOUCHY));
    let tenants: Tenants = Scope::try_on(world.timer(), plan, 8, Alike).expect("it works");
    let injector = FaultInjector::new(BROKEN);
    for _ in 0..10 {
        for tenant in ["red", "green", "blue"] {
            let guard = tenants.get(&tenant);
            let chaos = injector.only(|_| tenant == "blue");
            let call = guard.call(chaos.wrap(world.timer(), |_| fetch()));
            assert_eq!(world.block_on(call).is_ok(), tenant != "blue");
        }
    }
    let state = |tenant| tenants.get(&tenant).breaker_state();
    assert_eq!(state("red"), Some(BreakerState::Closed));
    assert_eq!(state("blue"), Some(BreakerState::Open));
    assert_eq!(injector.injected(), 1);
}

#[test]
fn a_shared_stream_goes_on_from_call_to_call() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let injector = FaultInjector::new(FLAKY);
    let failing: Vec<u32> = (1..=40)
        .filter(|_| {
            let call = guard.call(injector.wrap(world.timer(), |_| fetch()));
            world.block_on(call).is_err()
        })
        .collect();
    assert_eq!(failing, super::FAILING);
    assert_eq!((injector.injected(), injector.drawn()), (3, 40));
}

#[test]
fn a_game_day_begins_and_ends_while_calls_run() {
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let profile = Chaos::OFF.with_latency(Ratio::ZERO, secs(1)).with_seed(9);
    let injector = FaultInjector::new(profile);
    let mut wrapped = injector.wrap(world.timer(), |_| fetch());
    let mut failed = |calls: u32| {
        (0..calls)
            .filter(|_| world.block_on(guard.call(&mut wrapped)).is_err())
            .count()
    };
    assert_eq!((failed(100), injector.drawn()), (0, 0));
    injector.set_fault_rate(Ratio::percent(50)).expect("a rate");
    assert_eq!((failed(100), injector.drawn()), (0, 0));
    injector.turn_on();
    assert!((30..70).contains(&failed(100)));
    injector.set_fault_rate(Ratio::ZERO).expect("a rate");
    injector.set_latency_rate(Ratio::ONE).expect("a rate");
    assert_eq!((failed(10), world.elapsed()), (0, secs(10)));
    injector.restore();
    assert_eq!((failed(10), world.elapsed()), (0, secs(10)));
    assert_eq!(injector.slowed(), 10);
}

#[test]
fn another_thread_switches_it() {
    static INJECTOR: FaultInjector = FaultInjector::new(Chaos::OFF.with_faults(Ratio::ONE));
    let world = World::new();
    let guard = guard(&world, INSTANT.with_attempts(1));
    let is_failing = || {
        let call = guard.call(INJECTOR.wrap(world.timer(), |_| fetch()));
        world.block_on(call).is_err()
    };
    assert!(!is_failing());
    thread::spawn(|| INJECTOR.turn_on())
        .join()
        .expect("switched");
    assert!(is_failing());
    thread::spawn(|| INJECTOR.turn_off())
        .join()
        .expect("switched");
    assert!(!is_failing());
    assert_eq!(INJECTOR.injected(), 1);
}

#[test]
fn two_who_switch_lose_nothing() {
    for round in 0..100 {
        let injector = FaultInjector::new(Chaos::OFF.with_latency(Ratio::ZERO, ms(1)));
        let rate = Ratio::ppm(round + 1);
        thread::scope(|scope| {
            scope.spawn(|| injector.turn_on());
            scope.spawn(|| injector.set_fault_rate(rate));
            scope.spawn(|| injector.set_latency_rate(rate));
        });
        let chaos = injector.chaos();
        let rates = (chaos.fault_rate(), chaos.latency_rate());
        assert!(chaos.is_on());
        assert_eq!(rates, (rate, rate));
    }
}

#[test]
fn threads_share_a_stream_and_its_counts() {
    static INJECTOR: FaultInjector =
        FaultInjector::new(Chaos::OFF.on().with_faults(Ratio::percent(25)).with_seed(1));
    static STOP: AtomicBool = AtomicBool::new(false);
    let timer = steadfast::std_timer::StdTimer;
    let decide = || {
        (0..10_000)
            .filter(|_| INJECTOR.decide(&timer).fails())
            .count()
    };
    let failed: usize = thread::scope(|scope| {
        scope.spawn(|| {
            while !STOP.load(Ordering::Relaxed) {
                let rate = INJECTOR.chaos().fault_rate();
                assert_eq!(rate, Ratio::percent(25));
            }
        });
        let threads = [(); 4].map(|()| scope.spawn(decide));
        let failed = threads.map(|thread| thread.join().expect("a count"));
        STOP.store(true, Ordering::Relaxed);
        failed.iter().sum()
    });
    assert_eq!(INJECTOR.drawn(), 40_000);
    assert_eq!(u64::try_from(failed).ok(), Some(INJECTOR.injected()));
    // Whoever gets which draw, together they are the same draws.
    let again = FaultInjector::new(*INJECTOR.profile());
    let alone = (0..40_000).filter(|_| again.decide(&timer).fails()).count();
    assert_eq!(failed, alone);
}

#[test]
fn chaos_allocates_nothing() {
    static GUARD: Guard = Guard::new(Policy::DEFAULT);
    static INJECTOR: FaultInjector = FaultInjector::new(
        FLAKY
            .with_faults(Ratio::percent(30))
            .with_latency(Ratio::percent(30), ms(5)),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let run = || {
        runtime.block_on(async {
            for _ in 0..100 {
                let wrapped = INJECTOR.wrap(Tokio, |_| async { io::Result::Ok(7) });
                let _ = GUARD.call(wrapped).await;
            }
        });
    };
    run();
    let before = (INJECTOR.injected(), INJECTOR.slowed());
    assert_eq!(measure(run).count_total, 0);
    let after = (INJECTOR.injected(), INJECTOR.slowed());
    assert!(after.0 > before.0 + 10 && after.1 > before.1 + 10);
}
