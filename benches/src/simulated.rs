//! What a simulated call costs.

use std::hint::black_box;
use std::time::Duration;

use steadfast::{Breaker, Policy, random};
use steadfast_simulation::{Curve, Load, Model, Simulation};

use crate::cases::Case;

/// First nothing, then what a model has to draw and to work out, without a policy or a
/// clock.
pub const SIMULATED: [Case; 5] = [
    Case {
        name: "no-simulation",
        run: |calls| {
            for call in 0..calls {
                black_box(call);
            }
        },
        reads: |_| 0,
        goal: None,
    },
    Case {
        name: "arithmetic-alone",
        run: arithmetic,
        reads: |_| 0,
        goal: None,
    },
    Case {
        name: "simulated-everything-off",
        run: |calls| simulate(Policy::NONE, calls),
        reads: |_| 0,
        goal: None,
    },
    Case {
        name: "simulated-default",
        run: |calls| simulate(Policy::DEFAULT, calls),
        reads: |_| 0,
        goal: None,
    },
    Case {
        name: "simulated-default-and-breaker",
        run: |calls| simulate(Policy::DEFAULT.with_breaker(Breaker::DEFAULT), calls),
        reads: |_| 0,
        goal: None,
    },
];

const PER_SECOND: u32 = 500;

/// So many calls to a dependency that is well.
fn simulate(policy: Policy, calls: u64) {
    let model = Model::new(Curve::through(
        Duration::from_millis(20),
        Duration::from_millis(200),
    ));
    let span = Duration::from_secs(calls) / PER_SECOND;
    let simulation = Simulation::new(policy, model, Load::per_second(PER_SECOND), span);
    let report = simulation.run(1).expect("the scenario is possible");
    black_box(report.reached());
}

/// Three draws a call, a gap and a place on the curve.
fn arithmetic(calls: u64) {
    const ONE: u128 = 1 << 32;
    for call in 0..calls {
        let [gap, place, fate] = [0, 1, 2].map(|draw| u64::from(random(1, call * 3 + draw)));
        let odds = (u128::from(place) * ONE * ONE / u128::from((1 << 32) - place)).isqrt();
        let latency = 20_000_000 * (ONE + odds) / ONE;
        black_box(((4_000_000 * gap) >> 32, latency, (fate * 1_000_000) >> 32));
    }
}
