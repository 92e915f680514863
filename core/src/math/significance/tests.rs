use super::*;
use crate::math::random::random;
use crate::math::rate_window::RateWindow;
use crate::math::rolling_counts::RollingCounts;
use crate::memory::Local;
use crate::time::Instant;
use core::time::Duration;
use proptest::prelude::*;

/// Counts of so many calls, some of which failed.
fn counts(failures: u64, total: u64) -> Counts {
    let unit = |failed| {
        let window = RollingCounts::<Local, 1>::new(Duration::MAX);
        window.record(Instant::ZERO, failed, false);
        window.totals(Instant::ZERO)
    };
    times(unit(true), failures).plus(times(unit(false), total - failures))
}

fn times(mut unit: Counts, mut many: u64) -> Counts {
    let mut sum = Counts::default();
    while many > 0 {
        if many & 1 == 1 {
            sum = sum.plus(unit);
        }
        unit = unit.plus(unit);
        many >>= 1;
    }
    sum
}

/// A number of failures and the number of calls, of every magnitude below 2^35.
fn share() -> impl Strategy<Value = (u64, u64)> {
    (any::<u64>(), 29..64_u32, 0..=1_000_000_u64).prop_map(|(bits, shift, ppm)| {
        let total = bits >> shift;
        (total * ppm / 1_000_000, total)
    })
}

/// As told in words, with wide integers: nothing is scaled down.
fn is_expected(law: &RelativeTrip, recent: (u64, u64), normal: (u64, u64)) -> bool {
    let [f, n, bf, bn] = [recent.0, recent.1, normal.0, normal.1].map(u128::from);
    let z = u128::from(law.deviations);
    let excess = (f * bn).saturating_sub(n * bf);
    f >= 2
        && n >= u128::from(law.minimum_calls)
        && bn >= u128::from(law.minimum_baseline.max(1))
        && f * 1_000_000 >= n * u128::from(law.floor.as_ppm())
        && (f == n || f * bn * 1_000_000 >= bf * n * u128::from(law.multiple.as_ppm()))
        && (z == 0
            || f * bn >= n * bf
                && excess * excess >= z * z * (bn * (n * bf + bn) + n * n * (bf + 1)))
}

const LAW: RelativeTrip = RelativeTrip::DEFAULT;

proptest! {
    // W4
    #[test]
    fn it_holds_as_told(
        recent in share(),
        normal in share(),
        deviations in 0..10_u8,
        multiple in 1..20_u32,
    ) {
        // What is not scaled down; below that the law is exact.
        prop_assume!(normal.1 < 1 << 28);
        let law = LAW.with_deviations(deviations).with_multiple(Ratio::times(multiple));
        let met = law.is_met(counts(recent.0, recent.1), counts(normal.0, normal.1));
        prop_assert_eq!(met, is_expected(&law, recent, normal));
    }

    // W5
    #[test]
    fn scale_does_not_matter_to_shares(
        f in 2..1_000_u64,
        n in 20..1_000_u64,
        bf in 0..1_000_u64,
        bn in 100..1_000_u64,
        scale in 1..1_u64 << 25,
    ) {
        let law = LAW.with_deviations(0);
        let (f, bf) = (f.min(n), bf.min(bn));
        let near = law.is_met(counts(f, n), counts(bf, bn));
        // Eight digits of the normal share are kept.
        let at_the_edge = f * bn == 5 * bf * n;
        let far = law.is_met(counts(f * scale, n * scale), counts(bf * scale, bn * scale));
        prop_assert!(near == far || at_the_edge);
    }

    #[test]
    fn one_failure_more_never_acquits(recent in share(), normal in share()) {
        let more = (recent.0 + 1, recent.1.max(recent.0 + 1));
        prop_assume!(more.1 == recent.1);
        let normal = counts(normal.0, normal.1);
        prop_assert!(
            !LAW.is_met(counts(recent.0, recent.1), normal)
                || LAW.is_met(counts(more.0, more.1), normal)
        );
    }

    #[test]
    fn no_counts_panic(recent in (any::<u64>(), any::<u64>()), normal in (any::<u64>(), any::<u64>())) {
        let sorted = |(a, b): (u64, u64)| counts(a.min(b), a.max(b));
        let _any = LAW.with_deviations(255).is_met(sorted(recent), sorted(normal));
        let _any = LAW.with_multiple(Ratio::ppm(u32::MAX)).is_met(sorted(recent), sorted(normal));
    }
}

// W4
#[test]
fn each_condition_can_acquit() {
    let normal = counts(10, 1_000);
    let is_met = |f, n| LAW.is_met(counts(f, n), normal);
    assert!(is_met(10, 20));
    assert!(!is_met(10, 19), "too few calls");
    assert!(!LAW.is_met(counts(10, 20), counts(0, 99)), "too young");
    assert!(LAW.is_met(counts(10, 20), counts(0, 100)));
    let eager = LAW.with_deviations(0);
    assert!(eager.is_met(counts(2, 40), normal));
    assert!(!eager.is_met(counts(2, 41), normal), "below the floor");
    assert!(!eager.is_met(counts(1, 20), normal), "one failure");
    assert!(
        !eager.is_met(counts(9, 100), counts(20, 1_000)),
        "not five times"
    );
    assert!(eager.is_met(counts(10, 100), counts(20, 1_000)));
    assert!(!is_met(2, 40), "chance");
}

#[test]
fn five_deviations_are_the_edge() {
    // mu is 8, and 800^2 * 11 / 1000^2 is 7.04: 8 + 5 * sqrt(9 + 7.04) is 28.02.
    let normal = counts(10, 1_000);
    let law = LAW.with_multiple(Ratio::ONE).with_floor(Ratio::ZERO);
    assert!(!law.is_met(counts(28, 800), normal));
    assert!(law.is_met(counts(29, 800), normal));
}

#[test]
fn a_lucky_start_is_not_normal() {
    // At a steady 5 %, one failure in the first hundred is luck.
    assert!(!LAW.is_met(counts(15, 300), counts(1, 100)));
    assert!(LAW.is_met(counts(15, 300), counts(10, 3_000)));
}

// core-07.12
#[test]
fn a_multiple_above_all_asks_for_all() {
    let normal = counts(300, 1_000);
    assert!(!LAW.is_met(counts(39, 40), normal));
    assert!(LAW.is_met(counts(40, 40), normal));
    let nearly_always = counts(900, 1_000);
    assert!(!LAW.is_met(counts(40, 40), nearly_always), "chance");
}

#[test]
fn nothing_normal_acquits() {
    let law = LAW.with_minimum(0, 0);
    assert!(!law.is_met(counts(20, 20), counts(0, 0)));
}

/// Calls at a fixed pace, judged at each failure as a breaker would.
struct Service {
    window: RateWindow<Local>,
    law: RelativeTrip,
    call: u64,
    per_second: u64,
}

impl Service {
    fn new(law: RelativeTrip, per_second: u64) -> Self {
        let (trip, baseline) = (Duration::from_secs(30), Duration::from_secs(300));
        Self {
            window: RateWindow::new(trip, baseline),
            law,
            call: 0,
            per_second,
        }
    }

    /// Returns the seconds after which it tripped, if it did.
    fn run(&mut self, seconds: u64, failing: Ratio) -> Option<u64> {
        for done in 0..seconds * self.per_second {
            self.call += 1;
            let now = Instant::from_nanos(self.call * 1_000_000_000 / self.per_second);
            let failed = failing.of(1 << 32) > random(3, self.call).into();
            self.window.record(now, failed, false);
            if failed
                && self
                    .law
                    .is_met(self.window.trip(now), self.window.baseline(now))
            {
                self.window.forget_trip();
                return Some(done / self.per_second);
            }
        }
        None
    }
}

#[test]
fn chance_trips_without_deviations_only() {
    let trips = |law| {
        let mut service = Service::new(law, 1);
        let minutes = 0..24 * 60;
        let tripped = minutes.filter(|_| service.run(60, Ratio::percent(1)).is_some());
        tripped.count()
    };
    assert_eq!(trips(LAW), 0);
    assert!(trips(LAW.with_deviations(0)) > 20);
}

#[test]
fn a_young_process_trips_in_seconds() {
    let mut service = Service::new(LAW, 50);
    assert_eq!(service.run(60, Ratio::ppm(200)), None);
    let after = service.run(30, Ratio::ONE).unwrap();
    assert!(after <= 3, "{after} s");
}

#[test]
fn an_eightfold_share_trips() {
    let mut service = Service::new(LAW, 50);
    assert_eq!(service.run(400, Ratio::percent(1)), None);
    let after = service.run(60, Ratio::percent(8)).unwrap();
    assert!(after <= 30, "{after} s");
}
