//! The adaptive law against a pool of workers, in virtual time.
//!
//! Open arrivals by chance, one queue, first come first served. Service takes
//! 100 ms on average (log-normal, sigma 0.5), which is five times as long as where
//! the claims come from, so that ten minutes are fast to run; all spans that the
//! law knows, but the half minute between probes, follow the service.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::math::random::random;

/// What ten seconds saw.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// In thousandths of what could be done.
    goodput: u64,
    /// In thousandths of the mean service.
    took: u64,
}

/// A pool and what is asked of it.
#[derive(Clone, Copy)]
struct Load {
    workers: usize,
    /// A second.
    arrivals: u64,
    /// How many times as long as usual a service takes.
    slowness: u64,
    secs: u64,
}

const WORKERS: usize = 40;
const MEAN: u64 = 100_000_000;
const SECOND: u64 = 1_000_000_000;
const BIN: u64 = 10 * SECOND;

impl Load {
    /// Asks forty workers for so many thousandths of what they can do.
    fn of(load: u64, secs: u64) -> Self {
        Self {
            workers: WORKERS,
            arrivals: 400 * load / 1_000,
            slowness: 1,
            secs,
        }
    }

    /// Returns the mean service.
    fn service(self) -> u64 {
        MEAN * self.slowness
    }

    /// Returns what could be done, in calls a second.
    fn possible(self) -> u64 {
        (self.workers as u64 * SECOND / self.service()).min(self.arrivals)
    }
}

struct Pool<'l> {
    limit: &'l Alone,
    now: u64,
    draws: u64,
    /// By its end and a number: its begin and its slot.
    work: BTreeMap<(u64, u64), (u64, Slot<'l, Local>)>,
    queue: VecDeque<(u64, Slot<'l, Local>)>,
}

impl<'l> Pool<'l> {
    fn new(limit: &'l Alone) -> Self {
        Self {
            limit,
            now: SECOND,
            draws: 0,
            work: BTreeMap::new(),
            queue: VecDeque::new(),
        }
    }

    fn draw<const N: usize>(&mut self, quantiles: &[u64; N], mean: u64) -> u64 {
        self.draws += 1;
        quantiles[random(11, self.draws) as usize % N] * mean / 1_000
    }

    /// Runs for a while and returns what each ten seconds saw.
    fn run(&mut self, load: Load) -> Vec<Bin> {
        let (begin, mut next) = (self.now, self.now);
        let mut bins = std::vec![Bin::default(); usize::try_from(load.secs / 10).unwrap()];
        loop {
            let done = self.work.first_key_value();
            let done = done.map_or(u64::MAX, |(&(end, _), _)| end);
            self.now = done.min(next);
            let bin = (self.now - begin) / BIN;
            let Some(bin) = bins.get_mut(usize::try_from(bin).unwrap()) else {
                break;
            };
            let now = Instant::from_nanos(self.now);
            if done <= next {
                let (_, (since, slot)) = self.work.pop_first().unwrap();
                let took = self.now - since;
                slot.settle(now, Duration::from_nanos(took));
                bin.goodput += 1;
                bin.took += took;
            } else {
                let admitted = self.limit.acquire(now).ok();
                self.queue.extend(admitted.map(|slot| (self.now, slot)));
                next += self.draw(&EXPONENTIAL, SECOND / load.arrivals);
            }
            while self.work.len() < load.workers
                && let Some(waiting) = self.queue.pop_front()
            {
                let end = self.now + self.draw(&LOG_NORMAL, load.service());
                self.work.insert((end, self.draws), waiting);
            }
        }
        for bin in &mut bins {
            bin.took = bin.took * 1_000 / (bin.goodput.max(1) * load.service());
            bin.goodput = bin.goodput * 1_000 / (load.possible() * BIN / SECOND);
        }
        bins
    }
}

fn probed() -> Alone {
    Alone::new(Concurrency::ADAPTIVE.with_maximum(400))
}

fn mean(bins: &[Bin], of: fn(&Bin) -> u64) -> u64 {
    bins.iter().map(of).sum::<u64>() / bins.len() as u64
}

fn slowest(bins: &[Bin]) -> u64 {
    bins.iter().map(|bin| bin.took).max().unwrap()
}

fn goodput(bin: &Bin) -> u64 {
    bin.goodput
}

// L5, Netflix/concurrency-limits#134
#[test]
fn ten_minutes_of_overload_do_not_drift() {
    let limit = probed();
    let bins = Pool::new(&limit).run(Load::of(1_500, 600));
    assert!(bins[0].goodput >= 850, "{bins:?}");
    assert!(mean(&bins[1..], goodput) >= 970, "{bins:?}");
    assert!(slowest(&bins) <= 2_000, "{bins:?}");
}

#[test]
fn a_smaller_pool_is_not_flooded() {
    let limit = probed();
    let mut pool = Pool::new(&limit);
    pool.run(Load::of(900, 120));
    let bins = pool.run(Load {
        workers: 10,
        ..Load::of(900, 180)
    });
    assert!(mean(&bins[1..], goodput) >= 970, "{bins:?}");
    assert!(slowest(&bins[6..]) <= 2_000, "{bins:?}");
}

// L6
#[test]
fn a_slower_service_is_learnt() {
    let limit = probed();
    let mut pool = Pool::new(&limit);
    pool.run(Load::of(900, 120));
    let bins = pool.run(Load {
        slowness: 2,
        ..Load::of(900, 180)
    });
    assert!(bins.iter().all(|bin| bin.goodput >= 800), "{bins:?}");
    assert!(mean(&bins[4..], goodput) >= 950, "{bins:?}");
    assert!(slowest(&bins[6..]) <= 2_000, "{bins:?}");
}

#[test]
fn what_was_learnt_holds_under_overload() {
    let limit = probed();
    let mut pool = Pool::new(&limit);
    pool.run(Load::of(500, 120));
    let bins = pool.run(Load::of(2_000, 300));
    assert!(mean(&bins, goodput) >= 970, "{bins:?}");
    assert!(slowest(&bins) <= 2_000, "{bins:?}");
}

// L2
#[test]
fn light_load_does_not_ratchet() {
    let limit = probed();
    let bins = Pool::new(&limit).run(Load::of(200, 300));
    assert!(slowest(&bins) <= 1_200, "{bins:?}");
    assert!(limit.limit() <= 22, "{}", limit.limit());
}

// What its documentation says: this is why it is not the default.
#[test]
fn a_tracked_baseline_drifts() {
    let limit = Alone::new(TRACKED.with_maximum(400));
    let bins = Pool::new(&limit).run(Load::of(1_500, 900));
    assert!(slowest(&bins[80..]) >= 3_000, "{bins:?}");
}

/// Quantiles of a log-normal distribution, sigma 0.5, in thousandths of its mean.
const LOG_NORMAL: [u64; 32] = [
    302, 384, 437, 480, 518, 553, 586, 618, 649, 680, 710, 741, 773, 804, 837, 870, 905, 941, 979,
    1020, 1063, 1109, 1159, 1214, 1275, 1344, 1425, 1521, 1642, 1803, 2052, 2606,
];

/// Quantiles of an exponential distribution, in thousandths of its mean.
const EXPONENTIAL: [u64; 64] = [
    8, 24, 40, 57, 73, 90, 108, 125, 143, 162, 180, 199, 218, 238, 258, 279, 300, 321, 343, 365,
    388, 412, 436, 460, 485, 511, 537, 565, 593, 621, 651, 681, 713, 745, 779, 813, 849, 887, 925,
    965, 1007, 1051, 1097, 1145, 1195, 1248, 1304, 1363, 1426, 1493, 1565, 1642, 1726, 1817, 1918,
    2030, 2156, 2300, 2467, 2669, 2922, 3260, 3774, 4878,
];
