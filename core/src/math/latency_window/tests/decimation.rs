//! Decimated windows against full counts.

use std::vec::Vec;

use super::*;
use crate::memory::profile::Wide;

/// Counts of 32 bits in the same slices.
#[derive(Default)]
struct Full {
    slices: Vec<Vec<u32>>,
}

impl Full {
    fn quantile(&self, ppm: u64) -> u8 {
        let mut left = (self.total() * ppm).div_ceil(1_000_000);
        for cell in 0..=u8::MAX {
            let counts = self.slices.iter().map(|cells| cells[usize::from(cell)]);
            let count = u64::from(counts.sum::<u32>());
            if count >= left {
                return cell;
            }
            left -= count;
        }
        u8::MAX
    }

    fn total(&self) -> u64 {
        self.slices.iter().flatten().map(|&n| u64::from(n)).sum()
    }
}

/// A hump of 48 cells around 15 ms, by the ticks of a clock.
fn latency(call: u64, tick: u64) -> u64 {
    let bits = random(7, call);
    let spread = (0..4).map(|byte| (bits >> (8 * byte) & 255) * 13 / 256);
    let place = u8::try_from(88 + spread.sum::<u32>()).unwrap();
    let width = cells::upper(place) - cells::lower(place);
    let nanos = cells::lower(place) + u64::from(random(8, call)) % width;
    nanos / tick * tick
}

fn weighted<P: Profile>(window: &LatencyWindow<Local, P>) -> u64 {
    let slices = Head(window.head.load()).slices(P::Cells::<Local>::SLICES);
    let counts = slices.map(|(slot, weight)| {
        let counters = window.cells.slice(slot).iter();
        counters.map(|n| u64::from(n.load())).sum::<u64>() << weight
    });
    counts.sum()
}

/// Checks a window at each half of a slice: quantiles within so many cells, the
/// weighted total within so many parts in a thousand.
fn check<P: Profile>(spacing: u64, per_slice: u64, tick: u64, cells: u8, permille: u64) {
    let slices = P::Cells::<Local>::SLICES;
    let span = Duration::from_nanos(spacing * per_slice * slices as u64);
    let window = LatencyWindow::<Local, P>::new(span);
    let mut full = Full::default();
    for call in 0..per_slice * 6 {
        if call % per_slice == 0 {
            full.slices.push(std::vec![0; 256]);
            if full.slices.len() > slices {
                full.slices.remove(0);
            }
        }
        let (now, took) = (call * spacing / tick * tick, latency(call, tick));
        full.slices.last_mut().unwrap()[usize::from(cells::cell(took))] += 1;
        window.record_nanos(Instant::from_nanos(now), took);
        if call % (per_slice / 2) != per_slice / 2 - 1 {
            continue;
        }
        for ppm in [100_000, 500_000, 950_000, 990_000] {
            let found = window.find(&Quantile::new(Ratio::ppm(ppm), 20)).0.unwrap();
            let exact = full.quantile(ppm.into());
            let [low, high] = [exact - cells, exact + cells].map(Latency::of_cell);
            assert!(
                low <= found && found <= high,
                "{found:?} beyond {low:?} and {high:?} at {ppm} ppm, call {call}"
            );
        }
        let (sum, exact) = (weighted(&window), full.total());
        assert!(
            sum.abs_diff(exact) * 1_000 <= exact * permille,
            "{sum} of {exact} after {call}"
        );
    }
}

// Q5
#[test]
fn ten_thousand_a_second_are_exact() {
    check::<Server>(100_000, 10_000, 1, 0, 0);
}

// Q5
#[test]
fn a_million_a_second_are_one_cell_off() {
    check::<Server>(1_000, 250_000, 1, 1, 20);
}

// Q5
#[test]
fn a_coarse_clock_is_one_cell_off() {
    check::<Server>(1_000, 250_000, 1_000_000, 1, 50);
}

// Q5
#[test]
fn a_chip_is_two_cells_off() {
    check::<Chip>(10_000, 50_000, 1, 2, 50);
}

const FULL: u16 = <Wide<Local> as Counter>::FULL;

fn fill(counter: &impl Counter) {
    while counter.load() < FULL {
        counter.increment();
    }
}

#[test]
fn a_full_counter_at_the_largest_weight_stays() {
    let window = Window::new(WINDOW);
    window.record(at(0), ms(10));
    let top = Head(MOST_STEPS << 28 | window.head.load());
    window.head.store(top.0);
    let place = Window::place(10_000_000);
    let counter = window.cells.counter(top.slot(), place).unwrap();
    fill(counter);
    for _ in 0..100 {
        window.decimate(0, 10_000_000);
    }
    assert_eq!(counter.load(), FULL);
    assert_eq!(window.head.load(), top.0);
    assert_eq!(upper(&window, at(0), 50, 1), TEN_MS);
}

#[test]
fn a_decimation_keeps_all_ranks() {
    let window = Window::new(WINDOW);
    (0..40_000).for_each(|call| window.record_nanos(at(0), latency(call, 1)));
    let slice = window.cells.slice(Head(window.head.load()).slot());
    let (place, fullest) = (0..=u8::MAX)
        .zip(slice)
        .max_by_key(|(_, n)| n.load())
        .unwrap();
    fill(fullest);
    let counts = || {
        let running = slice.iter().scan(0, |sum, counter| {
            *sum += u32::from(counter.load());
            Some(*sum)
        });
        running.collect::<Vec<u32>>()
    };
    let before = counts();
    // Not counted again: the hash of this sample is another.
    let took = (cells::lower(place)..cells::upper(place)).find(|&took| !is_sampled(0, took, 1));
    window.decimate(0, took.unwrap());
    assert_eq!(Head(window.head.load()).steps(0), 1);
    for (old, new) in before.into_iter().zip(counts()) {
        assert!((8 * new).abs_diff(old) <= 4, "{new} of {old}");
    }
}

// Q5
#[test]
fn a_collapse_is_followed() {
    let window = Window::new(WINDOW);
    let median = tracked(50, 20);
    // A million a second, then twenty.
    for call in 0..1_000_000 {
        window.record(Instant::from_nanos(call * 1_000), ms(10));
    }
    assert!(Head(window.head.load()).steps(0) >= 2);
    for call in 20..20 * 31 {
        window.record(at(call * 50), ms(1_000));
        assert!(window.quantile(at(call * 50), &median).is_some());
    }
    assert_eq!(upper(&window, at(30_950), 50, 20), ONE_S);
}
