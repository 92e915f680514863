//! Faults that come together.

use std::time::Duration;

/// What a fault takes with it.
///
/// The same calls fail as without, and those behind them: a fault that is drawn
/// within a burst begins another one, so a rate of 1 % with bursts of 20 calls is
/// about 19 %.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Burst, Chaos};
///
/// let outages = Chaos::OFF
///     .on()
///     .with_faults(Ratio::permille(1))
///     .with_burst(Burst::lasting(Duration::from_secs(5)));
/// assert_eq!(outages.burst(), Some(Burst::lasting(Duration::from_secs(5))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Burst(pub(super) Length);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Length {
    Calls(u32),
    Span(Duration),
}

impl Burst {
    /// Lets the next `count` calls fail, too.
    #[must_use]
    pub const fn calls(count: u32) -> Self {
        Self(Length::Calls(count))
    }

    /// Lets every call of the next `span` fail, too.
    #[must_use]
    pub const fn lasting(span: Duration) -> Self {
        Self(Length::Span(span))
    }

    pub(super) const fn is_empty(self) -> bool {
        match self.0 {
            Length::Calls(count) => count == 0,
            Length::Span(span) => span.is_zero(),
        }
    }
}
