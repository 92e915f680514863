//! The least load at which a scenario goes wrong.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use steadfast_core::Ratio;

use crate::mistake::SimulationError;
use crate::report::Report;
use crate::simulation::Simulation;

/// Into how many parts each round divides what is left: the same on every machine, so
/// that the answer is.
const PARTS: u32 = 8;

/// How many rounds there are: the answer is to a five hundredth of the range.
const ROUNDS: u32 = 3;

impl Simulation {
    /// Returns the least load, in times of the scenario's own, at which `is_bad`;
    /// `None` if it is not even at the most.
    ///
    /// For what stays bad once it is, as [`Report::metastable`] does. Runs on all cores;
    /// the answer is to a five hundredth of the range, and the same whatever they are.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_core::{Policy, Ratio};
    /// use steadfast_simulation::{Curve, Load, Queueing, Simulation};
    ///
    /// // 100 a second is all it can do.
    /// let server = Queueing::new(1, Curve::constant(Duration::from_millis(10)));
    /// let span = Duration::from_secs(60);
    /// let simulation = Simulation::new(Policy::NONE, server, Load::per_second(50), span);
    /// let is_late = |report: &steadfast_simulation::Report| {
    ///     report.latency(Ratio::percent(50)) > Duration::from_secs(1)
    /// };
    /// let (least, most) = (Ratio::percent(50), Ratio::percent(400));
    /// let found = simulation.least_load(least, most, 1, is_late).unwrap().unwrap();
    /// assert!(found > Ratio::percent(190) && found < Ratio::percent(220));
    /// ```
    ///
    /// # Errors
    ///
    /// When a run is impossible, with every problem.
    pub fn least_load(
        &self,
        least: Ratio,
        most: Ratio,
        seed: u64,
        is_bad: impl Fn(&Report) -> bool + Sync,
    ) -> Result<Option<Ratio>, SimulationError> {
        self.validate()?;
        let (mut good, mut bad) = (least.as_ppm(), most.as_ppm());
        let at = |ppm| {
            let load = self.at_load(Ratio::ppm(ppm));
            load.run(seed).is_ok_and(|report| is_bad(&report))
        };
        if !at(bad) {
            return Ok(None);
        }
        if at(good) {
            return Ok(Some(least));
        }
        for _ in 0..ROUNDS {
            let width = bad.saturating_sub(good);
            let inner = (1..PARTS).map(|part| good + width / PARTS * part);
            let loads: Vec<_> = inner.filter(|load| *load > good && *load < bad).collect();
            let verdicts = all(&loads, &at);
            match verdicts.iter().position(|is_bad| *is_bad) {
                Some(first) => {
                    bad = loads.get(first).copied().unwrap_or(bad);
                    let before = first.checked_sub(1).and_then(|at| loads.get(at));
                    good = before.copied().unwrap_or(good);
                }
                None => good = loads.last().copied().unwrap_or(good),
            }
        }
        Ok(Some(Ratio::ppm(bad)))
    }
}

/// Asks for every load, on all cores.
fn all(loads: &[u32], at: &(impl Fn(u32) -> bool + Sync)) -> Vec<bool> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![false; loads.len()]);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|threads| {
        for _ in 0..cores.min(loads.len()) {
            threads.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(load) = loads.get(index) else {
                        return;
                    };
                    let is_bad = at(*load);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(place) = found.get_mut(index) {
                        *place = is_bad;
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}
