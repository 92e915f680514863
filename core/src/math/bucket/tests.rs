//! Properties of the token bucket, B1 to B7.

use super::*;
use crate::memory::Local;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::vec::Vec;

type Bucket = TokenBucket<Local>;

#[derive(Clone, Copy, Debug)]
enum Op {
    Deposit,
    Take,
    TakeSheddable,
    GiveBack,
}

fn ops() -> impl Strategy<Value = Vec<(Op, u64)>> {
    let op = prop_oneof![
        4 => Just(Op::Deposit),
        4 => Just(Op::Take),
        1 => Just(Op::TakeSheddable),
        1 => Just(Op::GiveBack),
    ];
    let ticks = prop_oneof![
        6 => 0..2_000_000_u64,
        3 => 0..1_000_000_000_u64,
        1 => 0..1_u64 << 40,
    ];
    proptest::collection::vec((op, ticks), 0..200)
}

/// The bucket of the textbook: a level and the time of the last refill, in
/// exact billionths of a token.
struct Model {
    capacity: i128,
    rate: i128,
    level: i128,
    last: u64,
}

impl Model {
    fn new(capacity: u32, per_second: u32) -> Self {
        let capacity = i128::from(capacity) * WHOLE;
        Self {
            capacity,
            rate: per_second.into(),
            level: capacity,
            last: 0,
        }
    }

    fn add(&mut self, billionths: i128) {
        self.level = (self.level + billionths).min(self.capacity);
    }

    /// Believes a clock that came back by more than an hour.
    fn look(&mut self, now: u64) {
        if self.last.saturating_sub(now) > HOUR {
            self.last = now;
        }
    }

    fn refill(&mut self, now: u64) {
        self.look(now);
        if now > self.last {
            self.add(i128::from(now - self.last) * self.rate);
            self.last = now;
        }
    }

    /// Who finds the bucket full does not tell it the time.
    fn deposit(&mut self, now: u64, billionths: i128) {
        self.look(now);
        if self.level < self.capacity {
            self.refill(now);
            self.add(billionths);
        }
    }

    fn used(&mut self, now: u64) -> i128 {
        self.look(now);
        let made = i128::from(now.saturating_sub(self.last)) * self.rate;
        let level = (self.level + made).min(self.capacity);
        (self.capacity - level) * 1_000_000 / self.capacity
    }

    fn take(&mut self, reserve: i128) -> bool {
        let funded = self.level >= WHOLE + reserve;
        self.level -= if funded { WHOLE } else { 0 };
        funded
    }
}

const WHOLE: i128 = 1_000_000_000;
const HOUR: u64 = 3_600_000_000_000;
const HALF: Ratio = Ratio::percent(50);

/// Plays `ops` at their ticks on a bucket and on the model.
fn agree(capacity: u32, per_second: u32, ppm: u32, ops: Vec<(Op, u64)>) -> TestCaseResult {
    let bucket = Bucket::new(capacity, per_second);
    let mut model = Model::new(capacity, per_second);
    let mut out = 0;
    for (op, tick) in ops {
        let now = tick * TICK;
        let at = Instant::from_nanos(now);
        match op {
            Op::Deposit => {
                bucket.deposit(at, Ratio::ppm(ppm));
                model.deposit(now, i128::from(ppm) * 1_000);
            }
            Op::Take | Op::TakeSheddable => {
                let (reserve, kept) = match op {
                    Op::Take => (Ratio::ZERO, 0),
                    _ => (HALF, model.capacity / 2),
                };
                model.refill(now);
                let funded = bucket.take(at, reserve);
                prop_assert_eq!(funded, model.take(kept));
                out += u32::from(funded);
            }
            Op::GiveBack if out > 0 => {
                bucket.give_back();
                model.add(WHOLE);
                out -= 1;
            }
            Op::GiveBack => {}
        }
        prop_assert_eq!(i128::from(bucket.used(at).as_ppm()), model.used(now));
    }
    Ok(())
}

proptest! {
    // B1
    #[test]
    fn decisions_equal_the_exact_model(
        capacity in 1..100_u32,
        per_second in prop_oneof![Just(0), 1..20_u32, 1..10_000_u32],
        ppm in 1..=1_000_000_u32,
        mut ops in ops(),
    ) {
        let mut now = 0;
        for (_, tick) in &mut ops {
            now += *tick;
            *tick = now;
        }
        agree(capacity, per_second, ppm, ops)?;
    }

    // B2, core-06.16
    #[test]
    fn any_order_of_clocks_equals_the_model(
        capacity in 1..100_u32,
        per_second in prop_oneof![Just(0), 1..20_u32, 1..10_000_u32],
        ppm in 1..=1_000_000_u32,
        start in 0..1_u64 << 50,
        mut ops in ops(),
    ) {
        for (_, tick) in &mut ops {
            *tick += start;
        }
        agree(capacity, per_second, ppm, ops)?;
    }

    // B2
    #[test]
    fn no_order_of_clocks_makes_tokens(
        capacity in 1..50_u32,
        per_second in 0..50_u32,
        ppm in 1..=1_000_000_u32,
        ops in proptest::collection::vec((any::<bool>(), 0..1_u64 << 50), 1..300),
    ) {
        let bucket = Bucket::new(capacity, per_second);
        let (mut taken, mut deposited, mut latest, mut leaps) = (0, 0, 0, 0);
        for &(take, at) in &ops {
            leaps += u64::from(at + HOUR < latest);
            latest = at;
            let at = Instant::from_nanos(at);
            if take {
                taken += u64::from(bucket.take(at, Ratio::ZERO)) * TOKEN;
            } else {
                bucket.deposit(at, Ratio::ppm(ppm));
                deposited += u64::from(ppm) * UNITS_PER_PPM;
            }
        }
        let ticks = ops.iter().map(|(_, at)| at / TICK);
        let span = ticks.clone().max().unwrap_or(0) - ticks.min().unwrap_or(0);
        let most = (leaps + 1) * bucket.capacity + deposited + span * bucket.rate;
        prop_assert!(taken <= most);
    }

    // B3
    #[test]
    fn deposits_commute(
        parts in proptest::collection::vec(1..1_000_000_u32, 1..20),
        now: u64,
    ) {
        let now = Instant::from_nanos(now);
        let levels = [false, true].map(|backwards| {
            let bucket = Bucket::new(30, 0);
            while bucket.take(now, Ratio::ZERO) {}
            let mut parts = parts.clone();
            if backwards {
                parts.reverse();
            }
            for ppm in parts {
                bucket.deposit(now, Ratio::ppm(ppm));
            }
            bucket.spent.get()
        });
        prop_assert_eq!(levels[0], levels[1]);
    }

    // B4
    #[test]
    fn a_reserve_stays_behind(capacity in 1..1_000_u32, now: u64) {
        let now = Instant::from_nanos(now);
        let bucket = Bucket::new(capacity, 1);
        while bucket.take(now, HALF) {}
        prop_assert!(bucket.used(now) <= HALF);
        while bucket.take(now, Ratio::ZERO) {}
        prop_assert_eq!(bucket.used(now), Ratio::ONE);
    }

    // B5
    #[test]
    fn a_wait_is_exact(
        capacity in 2..1_000_u32,
        per_second in 1..100_000_u32,
        sheddable: bool,
        now in 0..u64::MAX / 2,
        into in 0..5_000_000_u64,
        back: bool,
    ) {
        let reserve = if sheddable { HALF } else { Ratio::ZERO };
        let start = Instant::from_nanos(now);
        let bucket = Bucket::new(capacity, per_second);
        while bucket.take(start, Ratio::ZERO) {}
        let into = Duration::from_nanos(into);
        let now = if back { start.saturating_sub(into) } else { start.saturating_add(into) };
        let wait = bucket.wait(now, reserve).unwrap_or_default();
        let due = now.saturating_add(wait);
        if wait > Duration::ZERO {
            prop_assert!(!bucket.take(due.saturating_sub(Duration::from_nanos(1)), reserve));
        }
        prop_assert!(bucket.take(due, reserve));
    }

    // B7, T1
    #[test]
    fn nothing_panics(
        capacity: u32,
        per_second: u32,
        ops in proptest::collection::vec((0..7, any::<u64>(), any::<u32>()), 0..50),
    ) {
        let bucket = Bucket::new(capacity, per_second);
        for (op, now, ppm) in ops {
            let (now, ratio) = (Instant::from_nanos(now), Ratio::ppm(ppm));
            match op {
                0 => bucket.deposit(now, ratio),
                1 => bucket.give_back(),
                2 => bucket.fill(),
                3 => prop_assert!(bucket.used(now) <= Ratio::ONE),
                4 => {
                    let _ = bucket.wait(now, ratio);
                }
                _ => {
                    let _ = bucket.take(now, ratio);
                }
            }
        }
    }

    #[test]
    fn a_new_bucket_is_full_at_any_epoch(capacity in 1..u32::MAX, rate: u32, now: u64) {
        let now = Instant::from_nanos(now);
        let bucket = Bucket::new(capacity, rate);
        prop_assert_eq!(bucket.used(now), Ratio::ZERO);
        prop_assert!(bucket.take(now, Ratio::ZERO));
        bucket.fill();
        prop_assert_eq!(bucket.used(now), Ratio::ZERO);
    }
}

// B6
#[test]
fn without_a_rate_time_gives_nothing() {
    let bucket = Bucket::new(1, 0);
    assert!(bucket.take(Instant::ZERO, Ratio::ZERO));
    assert!(!bucket.take(Instant::MAX, Ratio::ZERO));
    assert_eq!(bucket.wait(Instant::MAX, Ratio::ZERO), None);
}

//
#[test]
fn idle_time_banks_one_capacity() {
    for years in [1, 40, 400] {
        for per_second in [3, 1_000, 1_000_000] {
            let bucket = Bucket::new(30, per_second);
            while bucket.take(Instant::ZERO, Ratio::ZERO) {}
            let later = Instant::ZERO.saturating_add(Duration::from_secs(years * 31_556_952));
            let granted = (0..100).filter(|_| bucket.take(later, Ratio::ZERO)).count();
            assert_eq!(granted, 30, "{years} years at {per_second}/s");
        }
    }
}

//
#[test]
fn one_take_costs_one_token() {
    let now = Instant::from_nanos(12_345);
    let bucket = Bucket::new(100, 1);
    assert!(bucket.take(now, Ratio::ZERO));
    assert_eq!(bucket.used(now), Ratio::percent(1));
}

#[test]
fn a_full_bucket_is_not_written() {
    let bucket = Bucket::new(30, 3);
    bucket.deposit(Instant::from_nanos(77), Ratio::ONE);
    assert_eq!((bucket.spent.get(), bucket.latest.get()), (0, 0));
}

// Time filled it: told once, so that a clock that steps back finds it full.
#[test]
fn a_refilled_bucket_is_written_once() {
    let bucket = Bucket::new(30, 3);
    let at = |seconds| Instant::ZERO.saturating_add(Duration::from_secs(seconds));
    while bucket.take(at(1), Ratio::ZERO) {}
    let spent = bucket.spent.get();
    for seconds in [20, 21, 22] {
        bucket.deposit(at(seconds), Ratio::ONE);
        assert_eq!(bucket.spent.get(), spent);
        assert_eq!(bucket.latest.get(), at(20).as_nanos());
    }
    assert_eq!(bucket.used(at(5)), Ratio::ZERO);
}

#[test]
fn a_clock_far_back_is_believed() {
    let bucket = Bucket::new(30, 3);
    let at = |seconds| Instant::ZERO.saturating_add(Duration::from_secs(seconds));
    let year = 31_556_952;
    for _ in 0..15 {
        assert!(bucket.take(at(year), Ratio::ZERO));
    }
    assert_eq!(bucket.used(at(100)), Ratio::percent(50));
    assert_eq!(bucket.used(at(101)), Ratio::percent(40));
    while bucket.take(at(101), Ratio::ZERO) {}
    assert_eq!(
        bucket.wait(at(101), Ratio::ZERO),
        Some(Duration::from_nanos(333_333_336))
    );
}

// The word zero is no level: here the gap between the clocks would make one.
#[test]
fn an_untouched_bucket_follows_no_clock() {
    let bucket = Bucket::new(30, 1_000_000);
    let gap = Duration::from_nanos(18_445_744_073_709 * TICK);
    let now = Instant::ZERO.saturating_add(Duration::from_secs(1));
    assert!(!bucket.take(now.saturating_add(gap), Ratio::percent(100)));
    assert_eq!(bucket.used(now), Ratio::ZERO);
}
