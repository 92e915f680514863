//! Models of the queue delay.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread;
use steadfast_core::{Instant, QueueDelay};

use crate::memory::{LoomMemory, check};

type Queue = QueueDelay<LoomMemory>;

/// Touches every word, and has had a probe of 1 ms.
fn started() -> Arc<Queue> {
    let queue = Queue::new();
    queue
        .probe(at(0), at(0))
        .expect("a probe is due")
        .finish(at(1));
    assert_eq!(queue.read(at(1)).delay(), ms(1));
    Arc::new(queue)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn one_of_two_probes_wins() {
    check(|| {
        let queue = started();
        let ask = || {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let probe = queue.probe(at(300), at(300));
                let has_won = probe.is_some();
                core::mem::forget(probe);
                has_won
            })
        };
        let (one, other) = (ask(), ask());
        assert!(one.join().unwrap() ^ other.join().unwrap());
        assert_eq!(queue.read(at(310)).delay(), ms(10));
    });
}

#[test]
fn a_probe_given_up_leaves_no_trace() {
    check(|| {
        let queue = started();
        let send = |sent: u64, back: u64| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let probe = queue.probe(at(sent), at(sent));
                if let Some(probe) = probe {
                    probe.finish(at(back));
                }
            })
        };
        // Each takes the other one for lost, if it is on its way.
        let (late, next) = (send(300, 70_003), send(70_000, 70_004));
        late.join().unwrap();
        next.join().unwrap();
        assert!(queue.is_due(at(140_000)) && queue.is_due(at(140_000 - 69_000)));
    });
}
