//! How much it matters that a call is answered.

use core::fmt;

/// How much it matters that a call is answered, least first.
///
/// What must be refused or left out is so for the less critical work first.
///
/// ```
/// use steadfast_core::Criticality;
///
/// assert!(Criticality::CriticalPlus > Criticality::Critical);
/// assert_eq!(Criticality::default(), Criticality::Critical);
/// assert!(Criticality::Sheddable.is_sheddable());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criticality {
    /// May fail often and for long: it is neither hedged nor retried on the
    /// last tokens of a budget.
    Sheddable,
    /// May fail at times, as a batch job that comes again: it is retried and
    /// hedged as if critical, and throttled earlier.
    SheddablePlus,
    /// Somebody waits for the answer; what is not said otherwise.
    #[default]
    Critical,
    /// Must be answered if anything is: it is throttled last.
    CriticalPlus,
}

impl Criticality {
    /// Returns the name, as texts and metrics use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sheddable => "Sheddable",
            Self::SheddablePlus => "SheddablePlus",
            Self::Critical => "Critical",
            Self::CriticalPlus => "CriticalPlus",
        }
    }

    /// Tells whether retries and hedges of it are the first to go.
    ///
    /// Only [`Criticality::Sheddable`]: batch work that nobody retries is lost.
    #[must_use]
    pub const fn is_sheddable(self) -> bool {
        matches!(self, Self::Sheddable)
    }
}

impl fmt::Display for Criticality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // core-13.8
    #[test]
    fn unsaid_is_critical() {
        assert_eq!(Criticality::default(), Criticality::Critical);
        assert!(!Criticality::default().is_sheddable());
    }

    // core-13.10
    #[test]
    fn only_the_lowest_is_sheddable() {
        use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};
        let levels = [Sheddable, SheddablePlus, Critical, CriticalPlus];
        assert!(levels.is_sorted());
        assert_eq!(
            levels.map(Criticality::is_sheddable),
            [true, false, false, false]
        );
    }
}
