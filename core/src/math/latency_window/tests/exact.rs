//! Windows against every sample they should hold.

use std::collections::VecDeque;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::memory::profile::Wide;

/// Every sample of the live slices, the current slice last.
#[derive(Default)]
struct Exact {
    slices: VecDeque<Vec<u64>>,
    end: u64,
}

impl Exact {
    fn advance(&mut self, now: u64, slice: u64, slices: usize) {
        if self.end == 0 || now >= self.end + slice * (slices as u64 - 1) {
            self.slices = VecDeque::from([Vec::new()]);
            self.end = now + slice;
        }
        while self.end <= now {
            self.slices.push_back(Vec::new());
            self.end += slice;
        }
        while self.slices.len() > slices {
            self.slices.pop_front();
        }
    }

    fn record(&mut self, took: u64) {
        self.slices.back_mut().unwrap().push(took);
    }

    /// The sample of rank `ceil(q * N)`.
    fn quantile(&self, ppm: u32) -> Option<u64> {
        let mut all: Vec<u64> = self.slices.iter().flatten().copied().collect();
        all.sort_unstable();
        let rank = (all.len() as u64 * u64::from(ppm)).div_ceil(1_000_000);
        let rank = usize::try_from(rank).unwrap();
        all.get(rank.saturating_sub(1)).copied()
    }
}

/// Steps of a clock in nanoseconds, and latencies of every magnitude.
fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let step = prop_oneof![8 => 0..2 * SECOND, 1 => 0..60 * SECOND];
    let took = (any::<u64>(), 18..64_u32).prop_map(|(bits, shift)| bits >> shift);
    proptest::collection::vec((step, took), 1..100)
}

fn agrees<P: Profile>(calls: &[(u64, u64)], ppm: u32) -> Result<(), TestCaseError> {
    let slices = P::Cells::<Local>::SLICES;
    let window = LatencyWindow::<Local, P>::new(WINDOW);
    let mut exact = Exact::default();
    let mut now = 0;
    for &(step, took) in calls {
        now += step;
        exact.advance(now, 30 * SECOND / slices as u64, slices);
        exact.record(took);
        window.record_nanos(Instant::from_nanos(now), took);
        let tracked = Quantile::new(Ratio::ppm(ppm), 1);
        let found = window.quantile(Instant::from_nanos(now), &tracked);
        let cell = exact.quantile(ppm).map(|took| {
            let place = LatencyWindow::<Local, P>::place(took) + usize::from(P::FIRST);
            Latency::of_cell(u8::try_from(place).unwrap())
        });
        prop_assert_eq!(found, cell);
    }
    Ok(())
}

proptest! {
    // Q2
    #[test]
    fn an_answer_is_the_cell_of_its_rank(calls in calls(), ppm in 0..=1_000_000_u32) {
        agrees::<Server>(&calls, ppm)?;
        agrees::<Chip>(&calls, ppm)?;
    }

    // Q3, Q4
    #[test]
    fn the_span_is_between_three_quarters_and_all(calls in calls()) {
        let window = Window::new(WINDOW);
        let mut seen = Vec::new();
        let mut now = 0;
        for (step, took) in calls {
            now += step;
            window.record_nanos(Instant::from_nanos(now), took);
            seen.push(now);
            let within = |span| seen.iter().filter(|&&then| now - then < span).count() as u64;
            let (_, held) = window.find(&tracked(50, 1));
            prop_assert!(held <= within(30 * SECOND));
            prop_assert!(held >= within(30 * SECOND / 4 * 3));
        }
        let idle = Instant::from_nanos(now + 30 * SECOND);
        prop_assert_eq!(upper(&window, idle, 50, 0), None);
        prop_assert_eq!(window.find(&tracked(50, 0)).1, 0);
    }

    // Q7
    #[test]
    fn no_clock_panics(
        window in prop_oneof![any::<u64>(), 0..100_u64],
        calls in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..50),
        ppm: u32,
    ) {
        let window = LatencyWindow::<Local, Small>::new(Duration::from_nanos(window));
        let tracked = Quantile::new(Ratio::ppm(ppm), 1);
        for (now, took) in calls {
            let now = Instant::from_nanos(now);
            window.record_nanos(now, took);
            let _any = window.quantile(now, &tracked);
        }
    }
}

/// The most slices, and the last cells.
#[derive(Debug)]
struct Small;

impl Profile for Small {
    type Cells<M: Memory> = [[Wide<M>; 3]; 7];
    const FIRST: u8 = 253;
}
