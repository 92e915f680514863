//! Back-off and jitter under contention.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use steadfast_core::{Backoff, Budget, Jitter, Policy, random};
use steadfast_testing::{Fault, World};

/// A hop of the network: 10 ms with a deviation of 2.
fn hop(seed: u64, count: &Cell<u64>) -> Duration {
    let sum: u64 = (0..12)
        .map(|_| {
            count.set(count.get() + 1);
            u64::from(random(seed, count.get()))
        })
        .sum();
    // Twelve draws have a mean of six and a deviation of one, of 2^32.
    let nanos = 10_000_000 + (i128::from(sum) - (6_i128 << 32)) * 2_000_000 / (1_i128 << 32);
    Duration::from_nanos(u64::try_from(nanos.abs()).expect("a hop"))
}

/// Calls and milliseconds until all clients have written one row.
fn contend(clients: u64, policy: Policy, seed: u64) -> (u64, u64) {
    let world = World::seeded(seed);
    world.set_patience(u64::MAX);
    let guard = Rc::new(world.guard(policy));
    let (version, drawn) = (Rc::new(Cell::new(0_u64)), Rc::new(Cell::new(0)));
    let (calls, ended) = (
        Rc::new(Cell::new(0_u64)),
        Rc::new(Cell::new(Duration::ZERO)),
    );
    for _ in 0..clients {
        let (guard, version, drawn) = (Rc::clone(&guard), Rc::clone(&version), Rc::clone(&drawn));
        let (clock, calls, ended) = (world.clone(), Rc::clone(&calls), Rc::clone(&ended));
        let client = async move {
            let write = guard.call(|_| async {
                clock.sleep(hop(seed, &drawn)).await;
                let read = version.get();
                clock.sleep(hop(seed, &drawn)).await;
                calls.set(calls.get() + 1);
                clock.sleep(hop(seed, &drawn)).await;
                let is_mine = version.get() == read;
                if is_mine {
                    version.set(read + 1);
                    ended.set(clock.elapsed());
                }
                clock.sleep(hop(seed, &drawn)).await;
                if is_mine {
                    Ok(())
                } else {
                    Err(Fault::Transient)
                }
            });
            write.await.expect("it writes in the end");
        };
        world.spawn("client", client).detach();
    }
    world.advance(Duration::from_secs(3_600));
    let millis = u64::try_from(ended.get().as_millis()).expect("an hour");
    (calls.get(), millis)
}

// Item 1, read from the file. Decorrelated jitter is not among ours; full jitter takes
// fewer calls.
#[test]
fn jitter_spares_calls_as_published() {
    const RUNS: u64 = 100;
    // What is not optimised leaves the large crowds to what is.
    const LARGEST: u64 = if cfg!(debug_assertions) { 50 } else { u64::MAX };
    // Their first wait is twice the base.
    let curve =
        Backoff::exponential(Duration::from_millis(10)).with_maximum(Duration::from_secs(2));
    let mut compared = 0;
    for row in include_str!("data/aws_jitter_golden.csv").lines().skip(1) {
        let columns: Vec<_> = row.trim().split(',').collect();
        let [clients, millis, calls, algorithm] = columns[..] else {
            panic!("four columns: {row}");
        };
        let backoff = match algorithm {
            "Exponential" => curve.with_jitter(Jitter::None),
            "EqualJitter" => curve.with_jitter(Jitter::Equal),
            "FullJitter" => curve.with_jitter(Jitter::Full),
            "None" => Backoff::NONE,
            _ => continue,
        };
        let [clients, millis, calls] =
            [clients, millis, calls].map(|text| text.parse().expect("a number"));
        if clients > LARGEST {
            continue;
        }
        let policy = Policy::NONE
            .with_attempts(u32::MAX)
            .with_backoff(backoff)
            .with_budget(Budget::NONE);
        let runs = (0..RUNS).map(|seed| contend(clients, policy, seed));
        let sum = runs.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
        let (found, took) = (sum.0 / RUNS, sum.1 / RUNS);
        assert!(
            calls.abs_diff(found) <= 2.max(calls * 3 / 100),
            "{row}: {found}"
        );
        assert!(
            millis.abs_diff(took) <= millis * 5 / 100,
            "{row}: {took} ms"
        );
        compared += 1;
    }
    assert!(compared >= 20, "{compared} rows");
}
