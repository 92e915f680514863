//! Models of the latch that says that a stop is near.

use core::time::Duration;

use loom::sync::Arc;
use loom::thread;
use steadfast_core::{Dependency, Instant, Policy};

use crate::memory::{LoomMemory, check};

type Live = Dependency<LoomMemory>;

/// Touches every word.
fn fresh() -> Arc<Live> {
    let live = Live::new(&Policy::NONE);
    live.reset();
    Arc::new(live)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn begin(live: &Arc<Live>, grace: u64) -> thread::JoinHandle<bool> {
    let live = Arc::clone(live);
    thread::spawn(move || {
        let stop = live.draining();
        let is_first = stop.begin(Instant::ZERO, secs(grace));
        assert!(stop.is_draining(), "it drains on return");
        is_first
    })
}

#[test]
fn one_of_two_graces_counts() {
    check(|| {
        let live = fresh();
        let (one, other) = (begin(&live, 1), begin(&live, 60));
        let (one, other) = (one.join().unwrap(), other.join().unwrap());
        assert!(one ^ other);
        let grace = if one { 1 } else { 60 };
        let left = live.draining().left(Instant::ZERO);
        assert_eq!(left, Some(secs(grace)));
    });
}

#[test]
fn a_reader_sees_nothing_or_all() {
    check(|| {
        let live = fresh();
        let began = begin(&live, 1);
        let read = thread::spawn(move || {
            let reader = live.draining();
            let (before, left) = (reader.is_draining(), reader.left(Instant::ZERO));
            assert!(left.is_none_or(|left| left == secs(1)));
            assert!(!before || left.is_some(), "what has begun has its end");
        });
        assert!(began.join().unwrap());
        read.join().unwrap();
    });
}
