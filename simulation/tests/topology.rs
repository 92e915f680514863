//! Services that call services.

use std::time::Duration;

use steadfast_core::{Backoff, Breaker, Budget, Criticality, EventKind, Hedge, Policy, Ratio};
use steadfast_simulation::{
    Curve, Load, Mistake, Model, Queueing, Report, Topology, TopologyProblem, TopologyReport,
};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn constant(took: Duration) -> Model {
    Model::new(Curve::constant(took))
}

/// From each to the next one, the last being a leaf.
fn chain(names: &[&str], policy: Policy, leaf: Model) -> Topology {
    let pairs = names.windows(2);
    let topology = Topology::new(secs(20)).under(Load::per_second(100), names[0]);
    let topology = pairs.fold(topology, |topology, pair| {
        topology.calls(pair[0], pair[1], policy)
    });
    topology.leaf(*names.last().expect("some"), leaf)
}

fn run(topology: &Topology) -> TopologyReport {
    topology.run(1).expect("it works")
}

fn on<'r>(report: &'r TopologyReport, from: &str, to: &str) -> &'r Report {
    report.on(from, to).expect("it calls that")
}

fn at<'r>(report: &'r TopologyReport, service: &str) -> &'r Report {
    report.at(service).expect("it is there")
}

/// One attempt, and nothing else.
const ONCE: Policy = Policy::NONE;

const SHOP: [&str; 3] = ["checkout", "payments", "bank"];

// test-03.19
#[test]
fn the_lower_call_is_amplified_more() {
    let bank = Model::new(Curve::through(ms(20), ms(200))).browned_out(
        secs(5),
        Ratio::times(10),
        secs(10),
    );
    // Only the lower one gives up by time: an upper one that does drops the lower one
    // before it tries again. And no budgets: equal ones bound both alike.
    let bare = ONCE.with_attempts(3).with_backoff(Backoff::DEFAULT);
    let topology = Topology::new(secs(20))
        .calls("checkout", "payments", bare)
        .calls("payments", "bank", bare.with_attempt_timeout(ms(250)))
        .leaf("bank", bank)
        .under(Load::per_second(100), "checkout");
    for seed in 1..=3 {
        let report = topology.run(seed).expect("it works");
        let upper = on(&report, "checkout", "payments");
        let lower = on(&report, "payments", "bank");
        assert!(upper.reached() > upper.calls(), "{report}");
        assert_eq!(upper.reached(), lower.calls());
        assert_eq!(lower.reached(), at(&report, "bank").calls());
        assert!(lower.amplification() > upper.amplification(), "{report}");
        assert!(lower.load_multiplier() > Ratio::ONE);
    }
}

#[test]
fn what_reaches_a_service_is_what_it_calls_for() {
    let names = ["a", "b", "c", "d", "e"];
    let leaf = Model::new(Curve::through(ms(5), ms(100))).failing(Ratio::percent(20));
    for policy in [
        Policy::DEFAULT,
        Policy::DEFAULT.with_breaker(Breaker::DEFAULT),
        Policy::DEFAULT.with_hedge(Hedge::DEFAULT),
    ] {
        let report = run(&chain(&names, policy, leaf.clone()));
        for three in names.windows(3) {
            let upper = on(&report, three[0], three[1]);
            let lower = on(&report, three[1], three[2]);
            assert_eq!(upper.reached(), lower.calls(), "{report}");
            assert_eq!(at(&report, three[1]).calls(), lower.calls());
            assert_eq!(at(&report, three[1]).reached(), lower.reached());
        }
    }
}

// Validation, item 2: L layers of N retries send up to (N + 1)^L.
#[test]
fn layers_of_retries_multiply() {
    let retrying = ONCE.with_attempts(3).with_backoff(Backoff::NONE);
    let down = constant(ms(1)).failing(Ratio::ONE);
    for (names, expected) in [
        (&["a", "leaf"][..], 3),
        (&["a", "b", "leaf"], 9),
        (&["a", "b", "c", "leaf"], 27),
        (&["a", "b", "c", "d", "leaf"], 81),
    ] {
        let report = run(&chain(names, retrying, down.clone()));
        let requests = at(&report, "a").calls();
        assert!(requests > 1_900);
        assert_eq!(at(&report, "leaf").calls(), expected * requests);
        assert_eq!(at(&report, "a").load_multiplier(), Ratio::times(3));
    }
}

// Validation, item 2: with a budget of f each, up to (1 + f)^L.
#[test]
fn layers_of_budgets_multiply_little() {
    let share = Ratio::percent(10);
    let budgeted = ONCE
        .with_attempts(3)
        .with_backoff(Backoff::NONE)
        .with_budget(Budget::new(share, 0).with_burst(5));
    let failing = constant(ms(1)).failing(Ratio::percent(30));
    let mut most = 1_000_000;
    for names in [
        &["a", "leaf"][..],
        &["a", "b", "leaf"],
        &["a", "b", "c", "leaf"],
    ] {
        let report = run(&chain(names, budgeted, failing.clone()));
        most = most * 11 / 10;
        let requests = at(&report, "a").calls();
        let sent = at(&report, "leaf").calls() * 1_000_000 / requests;
        // What a budget begins with comes on top.
        assert!(sent < most + 10_000, "{sent} of {most}: {report}");
        assert!(sent > 1_050_000, "{sent}: {report}");
        let bare = run(&chain(
            names,
            budgeted.with_budget(Budget::NONE),
            failing.clone(),
        ));
        assert!(at(&bare, "leaf").calls() > at(&report, "leaf").calls());
    }
}

#[test]
fn how_much_it_matters_goes_all_the_way_down() {
    let load = Load::per_second(100)
        .with_mix(Criticality::Sheddable, Ratio::percent(30))
        .with_mix(Criticality::CriticalPlus, Ratio::percent(10));
    let topology = Topology::new(secs(20))
        .calls("a", "b", ONCE)
        .calls("b", "c", ONCE)
        .leaf("c", constant(ms(1)))
        .under(load, "a");
    let report = run(&topology);
    for level in [
        Criticality::Sheddable,
        Criticality::Critical,
        Criticality::CriticalPlus,
    ] {
        let asked = at(&report, "a").calls_at(level);
        assert!(asked > 100);
        assert_eq!(on(&report, "b", "c").calls_at(level), asked);
        assert_eq!(at(&report, "c").calls_at(level), asked);
    }
}

#[test]
fn a_deadline_above_ends_the_calls_below() {
    let slow = constant(secs(2));
    let patient = ONCE.with_deadline(secs(10));
    let cut = |lower| {
        let topology = Topology::new(secs(5))
            .calls("a", "b", ONCE.with_deadline(ms(100)))
            .calls("b", "c", patient)
            .calls("c", "d", lower)
            .leaf("d", slow.clone())
            .under(Load::per_second(50), "a");
        run(&topology)
    };
    let follows = cut(patient.with_ambient_deadline(true));
    let lower = on(&follows, "c", "d");
    // By itself, although the one in between knows of no deadline but its own.
    assert_eq!(lower.count_of(EventKind::DeadlineExceeded), lower.calls());
    assert_eq!(lower.latency(Ratio::ONE), ms(100));
    // Or because it is dropped.
    let ignores = cut(patient);
    let lower = on(&ignores, "c", "d");
    assert_eq!(lower.count_of(EventKind::DeadlineExceeded), 0);
    assert_eq!(lower.latency(Ratio::ONE), ms(100));
}

#[test]
fn a_retry_inside_of_a_retry_is_told() {
    let retrying = ONCE.with_attempts(2).with_ambient_deadline(true);
    let report = run(&chain(&SHOP, retrying, constant(ms(1))));
    let told = |from, to| on(&report, from, to).count_of(EventKind::NestedRetry);
    assert_eq!(told("checkout", "payments"), 0);
    assert!(told("payments", "bank") > 0);
}

#[test]
fn an_attempt_that_is_dropped_drops_what_is_below() {
    let topology = Topology::new(secs(10))
        .calls("a", "b", ONCE.with_attempt_timeout(ms(50)))
        .calls("b", "c", ONCE)
        .calls("c", "d", ONCE)
        .under(Load::per_second(20), "a");
    let model = topology.clone().leaf("d", constant(secs(3)));
    let server = Queueing::new(1, Curve::constant(secs(3)));
    let line = topology.leaf("d", server.dropping_abandoned());
    for topology in [model, line] {
        let report = run(&topology);
        let requests = at(&report, "a").calls();
        for service in ["a", "b", "c", "d"] {
            let service = at(&report, service);
            assert_eq!(service.calls(), requests);
            assert_eq!(service.failed(), requests);
            assert_eq!(service.latency(Ratio::ONE), ms(50));
        }
        assert_eq!(on(&report, "c", "d").total(), ms(50 * requests));
    }
}

#[test]
fn calls_are_made_in_order_up_to_the_first_that_fails() {
    let shop = |stock| {
        let topology = Topology::new(secs(10))
            .calls("shop", "stock", ONCE)
            .calls("shop", "price", ONCE)
            .leaf("price", constant(ms(30)))
            .leaf("stock", stock)
            .under(Load::per_second(50), "shop");
        run(&topology)
    };
    let well = shop(constant(ms(20)));
    assert_eq!(at(&well, "shop").load_multiplier(), Ratio::times(2));
    assert_eq!(at(&well, "shop").latency(Ratio::ONE), ms(50));
    let down = shop(constant(ms(20)).failing(Ratio::ONE));
    assert_eq!(at(&down, "price").calls(), 0);
    assert_eq!(at(&down, "shop").latency(Ratio::ONE), ms(20));
    assert_eq!(at(&down, "shop").availability(), Ratio::ZERO);
}

#[test]
fn a_leaf_sends_what_it_gets() {
    let topology = Topology::new(secs(10))
        .calls("web", "stock", ONCE)
        .calls("app", "stock", ONCE)
        .leaf("stock", constant(ms(1)))
        .under(Load::per_second(50), "web")
        .under(Load::per_second(20).poisson(), "app")
        .under(Load::replaying([ms(1), secs(2)]), "app");
    let report = run(&topology);
    let stock = at(&report, "stock");
    let [web, app] = ["web", "app"].map(|name| at(&report, name).calls());
    assert!(web > 400 && app > 150 && web > app);
    assert_eq!(stock.calls(), web + app);
    assert_eq!(stock.reached(), stock.calls());
    assert_eq!(stock.amplification(), Ratio::ONE);
}

#[test]
fn callers_recover_from_what_their_callee_had() {
    let bank = constant(ms(5)).down(secs(5), secs(2));
    let report = run(&chain(&SHOP, Policy::DEFAULT, bank));
    let lower = on(&report, "payments", "bank");
    assert!(lower.time_to_recover() < Some(secs(5)) && lower.failed() > 0);
    assert!(lower.time_to_recover().is_some());
    assert_eq!(
        on(&report, "checkout", "payments").time_to_recover(),
        None,
        "{report}"
    );
}

#[test]
fn a_seed_is_one_course_of_events() {
    let bank = Model::new(Curve::through(ms(5), ms(50))).failing(Ratio::percent(10));
    let policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);
    let topology = chain(&SHOP, policy, bank);
    let recorded = topology.clone().recording();
    let [plain, first, second] =
        [&topology, &recorded, &recorded].map(|topology| topology.run(42).expect("it works"));
    assert_eq!(plain.to_string(), first.to_string());
    assert_eq!(first.to_string(), second.to_string());
    assert_ne!(
        plain.to_string(),
        topology.run(43).expect("it works").to_string()
    );
    for (from, to, report) in first.edges() {
        assert!(report.timeline().is_some_and(|events| !events.is_empty()));
        assert_eq!(report.timeline(), on(&second, from, to).timeline());
        assert_eq!(on(&plain, from, to).timeline(), None);
    }
    let names: Vec<_> = first.services().map(|(name, _)| name).collect();
    assert_eq!(names, SHOP);
}

#[test]
fn several_seeds_make_a_band() {
    let bank = constant(ms(5)).failing(Ratio::percent(10));
    let topology = chain(&SHOP, Policy::DEFAULT, bank);
    let runs = topology.run_all([3, 1, 2]).expect("it works");
    let seeds: Vec<_> = runs.reports().iter().map(TopologyReport::seed).collect();
    assert_eq!(seeds, [3, 1, 2]);
    let calls =
        |runs: Option<steadfast_simulation::Runs>| runs.expect("it is there").reports().len();
    assert_eq!(calls(runs.on("payments", "bank")), 3);
    assert_eq!(calls(runs.at("bank")), 3);
    assert!(runs.on("bank", "payments").is_none() && runs.at("nobody").is_none());
    for seeds in [vec![], vec![7, 7]] {
        let error = topology.run_all(seeds).expect_err("no band");
        assert_eq!(error.problems(), [TopologyProblem::Seeds]);
    }
}

// test-03.20
#[test]
fn a_circle_is_told_as_a_way() {
    let topology = Topology::new(secs(1))
        .calls("a", "b", ONCE)
        .calls("b", "a", ONCE)
        .under(Load::per_second(1), "a");
    let error = topology.run(1).expect_err("a circle");
    assert!(error.to_string().contains("a -> b -> a"), "{error}");
    let path = ["a", "b", "a"].map(str::to_owned).to_vec();
    assert_eq!(error.problems(), [TopologyProblem::Cycle(path)]);
}

#[test]
fn a_diamond_is_no_circle() {
    let topology = Topology::new(secs(5))
        .calls("a", "b", ONCE)
        .calls("a", "c", ONCE)
        .calls("b", "d", ONCE)
        .calls("c", "d", ONCE)
        .leaf("d", constant(ms(1)))
        .under(Load::per_second(20), "a");
    let report = run(&topology);
    assert_eq!(at(&report, "d").calls(), 2 * at(&report, "a").calls());
}

#[test]
fn every_problem_is_told_at_once() {
    let name = |name: &str| name.to_owned();
    let error = Topology::new(Duration::ZERO)
        .validate()
        .expect_err("nothing");
    assert_eq!(
        error.problems(),
        [
            TopologyProblem::NoSpan,
            TopologyProblem::NoCalls,
            TopologyProblem::NoLoad
        ]
    );
    let error = Topology::new(secs(1))
        .leaf("d", constant(Duration::ZERO))
        .leaf("d", constant(ms(1)))
        .leaf("b", constant(ms(1)))
        .calls("a", "a", ONCE)
        .calls("a", "b", ONCE.with_attempts(0))
        .calls("a", "b", ONCE)
        .calls("b", "d", ONCE)
        .calls("b", "lost", ONCE)
        .calls("x", "y", ONCE)
        .calls("y", "x", ONCE)
        .under(Load::per_second(0), "d")
        .validate()
        .expect_err("a mess");
    let [b, d] = ["b", "d"].map(name);
    let expected = [
        TopologyProblem::Leaf {
            name: d.clone(),
            mistake: Mistake::Curve,
        },
        TopologyProblem::LeafTwice(d.clone()),
        TopologyProblem::LeafCalls(b.clone()),
        TopologyProblem::CallsItself(name("a")),
        TopologyProblem::CallTwice {
            caller: name("a"),
            callee: b.clone(),
        },
        TopologyProblem::NoCallee {
            caller: b,
            callee: name("lost"),
        },
        TopologyProblem::LoadAtNoCaller(d.clone()),
        TopologyProblem::Load {
            at: d,
            mistake: Mistake::Load,
        },
        TopologyProblem::Cycle(["x", "y", "x"].map(name).to_vec()),
    ];
    for problem in &expected {
        assert!(error.problems().contains(problem), "{problem} in {error}");
    }
    let is_policy = |problem: &&TopologyProblem| matches!(problem, TopologyProblem::Policy { .. });
    assert_eq!(error.problems().iter().filter(is_policy).count(), 1);
    assert_eq!(error.problems().len(), expected.len() + 1, "{error}");
}
