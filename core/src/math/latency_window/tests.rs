use super::*;
use crate::math::random::random;
use crate::math::ratio::Ratio;
use crate::memory::Local;
use crate::memory::profile::Chip;

mod decimation;
mod exact;

const SECOND: u64 = 1_000_000_000;
const WINDOW: Duration = Duration::from_secs(30);

type Window = LatencyWindow<Local>;

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn tracked(percent: u32, minimum: u32) -> Quantile<Local> {
    Quantile::new(Ratio::percent(percent), minimum)
}

/// What a new reader is told: the upper bound in nanoseconds.
fn upper(window: &Window, now: Instant, percent: u32, minimum: u32) -> Option<u64> {
    let tracked = tracked(percent, minimum);
    window.quantile(now, &tracked).map(Latency::upper_nanos)
}

fn record(window: &Window, now: Instant, took: Duration, times: usize) {
    for _ in 0..times {
        window.record(now, took);
    }
}

// core-12.1
#[test]
fn the_median_of_equals_is_their_cell() {
    let median = |took| {
        let window = Window::new(WINDOW);
        record(&window, at(0), took, 20);
        let tracked = tracked(50, 20);
        let median = window.quantile(at(0), &tracked).unwrap();
        (median.middle_nanos(), median.upper_nanos())
    };
    let uppers = [10, 40, 100, 400, 1_000, 300_000].map(|millis| median(ms(millis)).1);
    assert_eq!(
        uppers,
        [
            10_878_976,
            43_515_904,
            103_809_024,
            415_236_096,
            1_073_741_824,
            300_647_710_720,
        ]
    );
    assert_eq!(median(Duration::from_micros(5)), (5_088, 5_312));
    assert_eq!(median(Duration::ZERO), (1_072, 1_120));
    assert_eq!(median(Duration::MAX).1, 1 << 42);
}

const TEN_MS: Option<u64> = Some(10_878_976);
const ONE_S: Option<u64> = Some(1_073_741_824);

// core-12.2
#[test]
fn a_rank_is_rounded_up() {
    for (slow, p95) in [(5, TEN_MS), (6, ONE_S)] {
        let window = Window::new(WINDOW);
        record(&window, at(0), ms(10), 100 - slow);
        record(&window, at(0), ms(1_000), slow);
        assert_eq!(upper(&window, at(0), 95, 20), p95);
    }
}

// core-12.3
#[test]
fn the_median_of_21_is_the_11th() {
    for (fast, median) in [(10, ONE_S), (11, TEN_MS)] {
        let window = Window::new(WINDOW);
        record(&window, at(0), ms(10), fast);
        record(&window, at(0), ms(1_000), 21 - fast);
        assert_eq!(upper(&window, at(0), 50, 20), median);
    }
}

// core-12.4
#[test]
fn a_sample_leaves_with_its_slice() {
    let window = Window::new(Duration::from_secs(300));
    assert_eq!(upper(&window, at(0), 50, 1), None);
    window.record(at(10_000), ms(10));
    assert_eq!(upper(&window, at(299_999), 50, 1), TEN_MS);
    assert_eq!(upper(&window, at(300_000), 50, 1), None);
}

// core-12.5
#[test]
fn an_answer_is_kept_for_an_eighth_of_a_slice() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 20);
    let ask = |now| window.quantile(at(now), &median).map(Latency::upper_nanos);
    record(&window, at(0), ms(10), 25);
    assert_eq!(ask(1_000), TEN_MS);
    record(&window, at(1_500), ms(1_000), 26);
    assert_eq!(ask(1_500), ONE_S, "few samples: each answer is new");
    record(&window, at(2_000), ms(10), 200);
    assert_eq!(ask(2_000), TEN_MS);
    record(&window, at(2_000), ms(1_000), 1_000);
    assert_eq!(ask(2_937), TEN_MS);
    assert_eq!(ask(2_938), ONE_S);
}

#[test]
fn an_answer_of_the_future_is_not_kept() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 1);
    record(&window, at(60_000), ms(10), 20);
    assert!(window.quantile(at(60_000), &median).is_some());
    record(&window, at(1_000), ms(1_000), 30);
    let now = window.quantile(at(1_000), &median).unwrap();
    assert_eq!(Some(now.upper_nanos()), ONE_S);
}

// core-12.6
#[test]
fn the_last_sample_needed_counts_at_once() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 20);
    record(&window, at(0), ms(10), 19);
    assert_eq!(window.quantile(at(0), &median), None);
    window.record(at(0), ms(10));
    assert!(window.quantile(at(0), &median).is_some());
}

// core-12.7
#[test]
fn an_idle_window_is_empty() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 20);
    record(&window, at(0), ms(10), 1_000);
    assert!(window.quantile(at(29_000), &median).is_some());
    assert_eq!(window.quantile(at(30_000), &median), None);
}

#[test]
fn two_readers_share_a_window() {
    let window = Window::new(WINDOW);
    let (median, p95) = (tracked(50, 1), tracked(95, 1));
    record(&window, at(0), ms(10), 80);
    record(&window, at(0), ms(1_000), 20);
    for _ in 0..2 {
        let read = |tracked| window.quantile(at(0), tracked).map(Latency::upper_nanos);
        assert_eq!((read(&median), read(&p95)), (TEN_MS, ONE_S));
    }
}

#[test]
fn a_reset_forgets_at_once() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 1);
    record(&window, at(0), ms(10), 100_000);
    assert!(window.quantile(at(0), &median).is_some());
    window.reset();
    median.forget();
    assert_eq!(window.quantile(at(0), &median), None);
    record(&window, at(0), ms(1_000), 1);
    assert_eq!(upper(&window, at(0), 50, 1), ONE_S);
}

// Q6
#[test]
fn a_year_ahead_and_back_heals() {
    const YEAR: u64 = 365 * 86_400_000;
    let window = Window::new(WINDOW);
    for step in 0..3_000 {
        window.record(at(step * 10), ms(10));
    }
    window.record(at(YEAR), ms(10));
    let mut changed = None;
    let mut forgotten = None;
    for step in 3_000..6_100 {
        window.record(at(step * 10), ms(1_000));
        let ask = |percent| upper(&window, at(step * 10), percent, 20);
        changed = changed.or((ask(50) == ONE_S).then_some(step));
        forgotten = forgotten.or((ask(0) == ONE_S).then_some(step));
    }
    assert!(changed.unwrap() < 3_100);
    assert!(forgotten.unwrap() <= 6_000);
}

#[test]
fn while_another_is_busy_the_last_answer_stands() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 1);
    record(&window, at(0), ms(10), 1);
    assert!(window.quantile(at(0), &median).is_some());
    window.busy.set(1);
    record(&window, at(8_000), ms(1_000), 9);
    assert_eq!(upper(&window, at(8_000), 50, 1), None);
    let last = window.quantile(at(8_000), &median);
    assert_eq!(last.map(Latency::upper_nanos), TEN_MS);
    window.busy.set(0);
    assert_eq!(upper(&window, at(8_000), 50, 1), ONE_S);
}

#[test]
fn sizes_are_pinned() {
    const QUANTILES: usize = 2 * size_of::<Quantile>();
    assert_eq!(QUANTILES, 32);
    assert_eq!(size_of::<LatencyWindow>() + QUANTILES, 2_104);
    assert_eq!(size_of::<LatencyWindow<Local, Chip>>() + QUANTILES, 440);
}

#[test]
fn a_chip_counts_what_it_can() {
    let median = |took| {
        let window = LatencyWindow::<Local, Chip>::new(WINDOW);
        window.record(at(0), took);
        let tracked = tracked(50, 1);
        window.quantile(at(0), &tracked).map(Latency::upper_nanos)
    };
    assert_eq!(median(ms(10)), TEN_MS);
    assert_eq!(median(ms(1_000)), ONE_S);
    assert_eq!(median(Duration::ZERO), Some(286_720));
    assert_eq!(median(Duration::MAX), Some(1 << 34));
}

/// A word that counts how often it is read.
#[derive(Debug)]
struct Metered<W>(W);

#[derive(Debug)]
struct Meter;

impl Memory for Meter {
    type U8 = <Local as Memory>::U8;
    type U16 = Metered<<Local as Memory>::U16>;
    type U32 = <Local as Memory>::U32;
    type U64 = <Local as Memory>::U64;
    type Profile = Server;
}

std::thread_local! {
    static LOADS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

impl<T, W: Word<T>> Word<T> for Metered<W> {
    const ZERO: Self = Self(W::ZERO);

    fn load(&self) -> T {
        LOADS.set(LOADS.get() + 1);
        self.0.load()
    }
    fn store(&self, value: T) {
        self.0.store(value);
    }
    fn swap(&self, value: T) -> T {
        self.0.swap(value)
    }
    fn compare_exchange(&self, current: T, new: T) -> Result<T, T> {
        self.0.compare_exchange(current, new)
    }
    fn fetch_add(&self, value: T) -> T {
        self.0.fetch_add(value)
    }
    fn fetch_sub(&self, value: T) -> T {
        self.0.fetch_sub(value)
    }
}

// Q8
#[test]
fn a_query_reads_each_counter_once() {
    let window = LatencyWindow::<Meter>::new(WINDOW);
    for step in 0..10_000 {
        window.record_nanos(at(step), random(1, step).into());
    }
    let p95 = Quantile::new(Ratio::percent(95), 20);
    let loads = || {
        LOADS.set(0);
        assert!(window.quantile(at(10_000), &p95).is_some());
        LOADS.get()
    };
    let first = loads();
    assert!((1_024..=1_024 + 8 * 4).contains(&first), "{first}");
    assert_eq!(loads(), 0);
}

// T1
#[test]
fn the_last_instant_is_no_trap() {
    let window = Window::new(Duration::MAX);
    let narrow = Window::new(Duration::ZERO);
    for window in [&window, &narrow] {
        for now in [0, u64::MAX, 0, 1, u64::MAX - 1, u64::MAX] {
            window.record(Instant::from_nanos(now), ms(10));
            let median = upper(window, Instant::from_nanos(now), 50, 1);
            assert!(median.is_none() || median == TEN_MS);
        }
    }
}

#[test]
fn samples_are_those_that_are_live() {
    let window = Window::new(WINDOW);
    assert_eq!(window.samples(at(0)), 0);
    record(&window, at(0), ms(40), 7);
    record(&window, at(10_000), ms(4_000), 5);
    assert_eq!(window.samples(at(10_000)), 12);
    assert_eq!(window.samples(at(30_000)), 5);
    assert_eq!(window.samples(at(90_000)), 0);
    record(&window, at(90_000), ms(40), 3);
    window.reset();
    assert_eq!(window.samples(at(90_000)), 0);
    let none = LatencyWindow::<Local, crate::memory::profile::Unmeasured>::new(WINDOW);
    none.record(at(0), ms(1));
    assert_eq!(none.samples(at(0)), 0);
}
