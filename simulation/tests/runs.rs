//! Runs of the simulator, through its public face.

use std::time::Duration;

use steadfast_core::{
    Backoff, Breaker, Budget, Concurrency, Criticality, EventKind, Hedge, Jitter, Policy, Ratio,
    Saturation,
};
use steadfast_simulation::{
    Curve, Load, Mistake, Model, Queueing, Report, Scheduler, Simulation, Topology,
};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn search() -> Model {
    Model::new(Curve::through(ms(20), ms(200)))
}

fn run(policy: Policy, model: Model, load: Load, span: Duration) -> Report {
    let simulation = Simulation::new(policy, model, load, span);
    simulation.run(1).expect("it works")
}

/// Three attempts at once, and nothing else.
const BARE: Policy = Policy::DEFAULT
    .with_backoff(Backoff::NONE)
    .with_budget(Budget::NONE);

// test-03.9
#[test]
fn without_a_guard_an_outage_triples_the_load() {
    let model = Model::new(Curve::constant(ms(10))).down(secs(10), secs(10));
    let report = run(BARE, model, Load::per_second(100), secs(30));
    assert_eq!(report.amplification(), Ratio::times(3));
    let down = report.seconds().get(11..20).expect("thirty seconds");
    assert!(
        down.iter()
            .all(|second| second.succeeded == 0 && second.reached > 0)
    );
    let up = report.seconds().get(21..30).expect("thirty seconds");
    assert!(up.iter().all(|second| second.failed == 0));
    assert_eq!(report.calls(), report.succeeded() + report.failed());
}

// The real budget: without its law the report is another one.
#[test]
fn a_budget_bounds_what_a_brownout_costs() {
    let model = search().failing(Ratio::percent(40));
    let load = Load::per_second(200);
    let with = run(Policy::DEFAULT, model.clone(), load.clone(), secs(60));
    let without = Policy::DEFAULT.with_budget(Budget::NONE);
    let without = run(without, model, load, secs(60));
    assert!(with.load_multiplier() < Ratio::percent(112), "{with}");
    assert!(without.load_multiplier() > Ratio::percent(150), "{without}");
    assert!(with.count_of(EventKind::RejectedByBudget) > 1_000);
    assert_eq!(without.count_of(EventKind::RejectedByBudget), 0);
}

#[test]
fn a_breaker_opens_in_an_outage_and_closes_after_it() {
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let model = search().down(secs(20), secs(20));
    let report = run(policy, model, Load::per_second(100), secs(90));
    assert!(report.breaker_opens() >= 1);
    assert!(report.count_of(EventKind::BreakerClosed) >= 1);
    let recovered = report.time_to_recover().expect("it recovers");
    assert!(recovered < secs(30), "{report}");
}

#[test]
fn hedging_shortens_the_tail() {
    let model = Model::new(Curve::through(ms(20), ms(400)));
    let load = Load::per_second(100);
    let bare = run(Policy::DEFAULT, model.clone(), load.clone(), secs(120));
    let hedged = Policy::DEFAULT.with_hedge(Hedge::DEFAULT);
    let hedged = run(hedged, model, load, secs(120));
    let p99 = Ratio::percent(99);
    assert!(hedged.latency(p99) < bare.latency(p99), "{hedged}\n{bare}");
    assert!(hedged.load_multiplier() < Ratio::percent(108));
}

#[test]
fn a_mix_is_told_by_level() {
    let load = Load::per_second(200).with_mix(Criticality::Sheddable, Ratio::percent(50));
    let model = search().failing(Ratio::percent(30));
    let report = run(Policy::DEFAULT, model, load, secs(60));
    let availability = |level| report.availability_at(level);
    // Sheddable calls leave half of the budget to the others.
    let (less, more) = (Criticality::Sheddable, Criticality::Critical);
    assert!(availability(less) < availability(more), "{report}");
    assert_eq!(
        report.calls_at(less) + report.calls_at(more),
        report.calls()
    );
    assert!(report.to_string().contains("Sheddable "));
}

// test-03 section 11: same seed, same bytes; recording changes nothing.
#[test]
fn a_seed_is_one_course_of_events() {
    let model = search()
        .failing(Ratio::percent(5))
        .with_capacity(40)
        .browned_out(secs(20), Ratio::times(8), secs(20));
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let load = Load::per_second(100).poisson();
    let simulation = Simulation::new(policy, model, load, secs(60));
    let text = |simulation: &Simulation, seed| simulation.run(seed).expect("it works").to_string();
    let first = text(&simulation, 7);
    assert_eq!(first, text(&simulation, 7));
    assert_ne!(first, text(&simulation, 8));
    let recorded = simulation.recording().run(7).expect("it works");
    assert_eq!(first, recorded.to_string());
    let timeline = recorded.timeline().expect("it was asked for");
    assert!(timeline.is_sorted_by_key(|(at, _)| *at));
    let attempts = timeline
        .iter()
        .filter(|(_, event)| event.kind() == EventKind::Attempt);
    assert_eq!(
        attempts.count() as u64,
        recorded.count_of(EventKind::Attempt)
    );
}

#[test]
fn a_fleet_shares_the_dependency_and_nothing_else() {
    let model = search().with_capacity(100);
    let load = Load::per_second(10);
    let simulation = Simulation::new(Policy::DEFAULT, model, load, secs(30));
    let fleet = simulation.with_processes(50).run(3).expect("it works");
    assert!((14_500..15_500).contains(&fleet.calls()), "{fleet}");
}

#[test]
fn a_trace_is_replayed_call_by_call() {
    let times = (0..500).map(|n| ms(n * n % 9_000));
    let report = run(Policy::DEFAULT, search(), Load::replaying(times), secs(10));
    assert_eq!(report.calls(), 500);
}

#[test]
fn what_cannot_run_says_all_that_is_wrong() {
    let model = Model::new(Curve::through(ms(20), ms(10))).browned_out(
        secs(1),
        Ratio::percent(50),
        secs(1),
    );
    let load = Load::per_second(0).with_mix(Criticality::Critical, Ratio::percent(10));
    let simulation = Simulation::new(Policy::DEFAULT.with_attempts(0), model, load, secs(0));
    let error = simulation
        .with_processes(0)
        .run(1)
        .expect_err("it cannot run");
    assert_eq!(
        error.mistakes(),
        [
            Mistake::NoSpan,
            Mistake::NoProcess,
            Mistake::Curve,
            Mistake::Impairment,
            Mistake::Load,
            Mistake::Mix
        ]
    );
    assert!(error.policy().is_some());
    assert!(error.to_string().contains("attempts is 0"));
}

// test-03.13
#[test]
fn latencies_are_by_the_nearest_rank() {
    let times = [0, 100, 200, 300].map(ms);
    let report = run(
        Policy::NONE,
        Model::new(Curve::constant(ms(4))),
        Load::replaying(times),
        secs(1),
    );
    for quantile in [Ratio::ZERO, Ratio::percent(50), Ratio::ONE] {
        assert_eq!(report.latency(quantile), ms(4));
    }
    let jitterless = Backoff::constant(ms(1)).with_jitter(Jitter::None);
    assert!(Policy::DEFAULT.with_backoff(jitterless).validate().is_ok());
}

// test-03.21
#[test]
fn seeds_are_distinct() {
    let simulation = Simulation::new(Policy::NONE, search(), Load::per_second(1), secs(1));
    for seeds in [vec![], vec![7, 7]] {
        let error = simulation.run_all(seeds).expect_err("no seeds");
        assert_eq!(error.mistakes(), [Mistake::Seeds]);
    }
    let runs = simulation.run_all([7, 8]).expect("two seeds");
    assert_eq!(runs.reports().len(), 2);
}

/// How often this process took itself for slow, with a stall.
fn saturated(after: Duration, delay: Duration, lasting: Duration) -> Report {
    let policy = Policy::DEFAULT.with_saturation(Saturation::DEFAULT);
    let scheduler = Scheduler::new(Duration::from_micros(80)).stalled(after, delay, lasting);
    let simulation = Simulation::new(policy, search(), Load::per_second(200), secs(120));
    let report = simulation.with_scheduler(scheduler).recording().run(1);
    report.expect("it works")
}

// test-03.15, test-03.16
#[test]
fn a_process_knows_that_it_is_slow_itself() {
    let long = saturated(secs(30), ms(400), secs(20));
    assert_eq!(long.count_of(EventKind::SaturationDetected), 1, "{long}");
    // Too early to know, and in time by the twentieth reading.
    let early = saturated(secs(4), ms(400), ms(900));
    assert_eq!(early.count_of(EventKind::SaturationDetected), 0);
    let just = saturated(secs(5), ms(400), secs(20));
    let timeline = just.timeline().expect("it was asked for");
    let kind = |event: &(Duration, steadfast_core::Event)| event.1.kind();
    let first = timeline
        .iter()
        .find(|event| kind(event) == EventKind::SaturationDetected);
    let (at, _) = first.expect("it is detected");
    assert!((secs(5)..ms(5_600)).contains(at), "{at:?}");
}

// What a call needs is used again by the next one.
#[test]
fn a_simulated_call_allocates_nothing() {
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let model = search().failing(Ratio::percent(1)).with_capacity(1_000);
    let allocations = |span| {
        let simulation = Simulation::new(policy, model.clone(), Load::per_second(500), span);
        let run = || drop(simulation.run(1).expect("it works"));
        allocation_counter::measure(run).count_total
    };
    let (short, long) = (allocations(secs(40)), allocations(secs(80)));
    assert!(
        long < short + 40,
        "{short} for 20 000 calls, {long} for 40 000"
    );
}

#[test]
fn a_run_leaves_nothing_behind() {
    let curve = Curve::constant(ms(10));
    let load = || Load::per_second(50);
    let queue = Queueing::new(2, curve);
    let queued = Simulation::new(Policy::DEFAULT, queue.clone(), load(), secs(5))
        .with_scheduler(Scheduler::new(ms(1)));
    let graph = Topology::new(secs(5))
        .calls("shop", "bank", Policy::DEFAULT)
        .leaf("bank", queue)
        .under(load(), "shop");
    let run = || {
        drop(queued.run(1).expect("it works"));
        drop(graph.run(1).expect("it works"));
    };
    // What the process makes once is made.
    run();
    assert_eq!(allocation_counter::measure(run).bytes_current, 0);
}

/// A brownout under everything a policy has on by default, and a breaker.
fn brownout() -> Report {
    let policy = Policy::DEFAULT
        .with_name("search")
        .with_breaker(Breaker::DEFAULT);
    let model = search()
        .failing(Ratio::permille(2))
        .with_capacity(60)
        .browned_out(secs(30), Ratio::times(8), secs(30));
    let load = Load::per_second(200)
        .poisson()
        .with_mix(Criticality::Sheddable, Ratio::percent(20));
    Simulation::new(policy, model, load, secs(120))
        .run(2_026)
        .expect("it works")
}

// The same bytes in every build and on every machine: to accept a new engine's, read
// the difference and overwrite the file.
#[test]
fn a_seed_gives_these_bytes() {
    let expected = include_str!("data/brownout.txt");
    let found = format!("{}\n", brownout());
    assert_eq!(found, expected);
}

// test-03.17
#[test]
fn a_limit_refuses_in_a_brownout_only() {
    let policy = Policy::DEFAULT.with_concurrency(Concurrency::fixed(60));
    let curve = Curve::through(ms(50), ms(120));
    let run = |model| run(policy, model, Load::per_second(400), secs(60));
    let healthy = run(Model::new(curve));
    let slow = run(Model::new(curve).browned_out(secs(10), Ratio::times(8), secs(40)));
    assert_eq!(healthy.refused_by_limits(), 0, "{healthy}");
    assert!(slow.refused_by_limits() > 1_000, "{slow}");
    assert!(slow.reached() < healthy.reached());
    assert!(slow.to_string().contains("refused here"));
}
