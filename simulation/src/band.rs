//! What several seeds have in common.

use std::time::Duration;

use crate::report::Report;

/// One measurement over several seeds.
///
/// The median is the nearest rank, so a value that a run gave.
///
/// ```
/// use steadfast_simulation::Band;
///
/// let band = Band::of([3, 1, 2, 9]).unwrap();
/// assert_eq!((band.median, band.minimum, band.maximum), (2, 1, 9));
/// let apart = Band::of([10, 12]).unwrap();
/// assert!(band.separates(&apart));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band<T> {
    /// What half of the runs did not exceed.
    pub median: T,
    /// The least of all runs.
    pub minimum: T,
    /// The most of all runs.
    pub maximum: T,
}

impl<T: Ord + Copy> Band<T> {
    /// Makes the band of what several runs gave; `None` of none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_unstable();
        let middle = values.len().div_ceil(2).checked_sub(1)?;
        Some(Self {
            median: *values.get(middle)?,
            minimum: *values.first()?,
            maximum: *values.last()?,
        })
    }

    /// Tells whether no run of the one reached into the other; touching ends do.
    ///
    /// If not, these seeds do not tell them apart.
    #[must_use]
    pub fn separates(&self, other: &Self) -> bool {
        self.minimum > other.maximum || self.maximum < other.minimum
    }
}

/// The reports of one simulation over several seeds.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Budget, Policy, Ratio};
/// use steadfast_simulation::{Curve, Load, Model, Simulation};
///
/// let model = Model::new(Curve::constant(Duration::from_millis(10))).failing(Ratio::percent(40));
/// let span = Duration::from_secs(20);
/// let with = Simulation::new(Policy::DEFAULT, model, Load::per_second(100), span);
/// let without = with.clone().with_policy(Policy::DEFAULT.with_budget(Budget::NONE));
///
/// let [with, without] = [with, without].map(|simulation| {
///     let runs = simulation.run_all(1..=5).unwrap();
///     runs.band(|report| report.load_multiplier()).unwrap()
/// });
/// assert!(with.separates(&without) && with.median < without.median);
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    reports: Vec<Report>,
}

impl Runs {
    pub(crate) const fn new(reports: Vec<Report>) -> Self {
        Self { reports }
    }

    /// Returns the reports, in the order of the seeds.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Returns a measurement over all runs; `None` if there are none.
    #[must_use]
    pub fn band<T: Ord + Copy>(&self, of: impl Fn(&Report) -> T) -> Option<Band<T>> {
        Band::of(self.reports.iter().map(of))
    }

    /// Returns how many runs recovered from their last impairment.
    #[must_use]
    pub fn recovered(&self) -> usize {
        let reports = self.reports.iter();
        reports.filter_map(Report::time_to_recover).count()
    }

    /// Returns how long those that recovered took; `None` if none did.
    #[must_use]
    pub fn time_to_recover(&self) -> Option<Band<Duration>> {
        Band::of(self.reports.iter().filter_map(Report::time_to_recover))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // test-03.14
    #[test]
    fn a_band_is_of_values_that_were_there() {
        let band = Band::of([3, 1, 2, 9]).expect("four");
        assert_eq!((band.median, band.minimum, band.maximum), (2, 1, 9));
        let touching = Band::of(9..=12).expect("four");
        assert!(!band.separates(&touching) && !touching.separates(&band));
        let apart = Band::of(10..=12).expect("three");
        assert!(band.separates(&apart) && apart.separates(&band));
        assert_eq!(Band::<u32>::of([]), None);
        assert_eq!(Band::of([7]).map(|band| band.median), Some(7));
    }
}
