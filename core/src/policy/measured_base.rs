//! A first wait measured by the dependency itself.

use core::time::Duration;

use crate::math::ratio::Ratio;
use crate::time::nanos;

/// How the first wait after a transient failure follows the normal latency.
///
/// Waiting about one normal call lets what failed finish. It is the one measured
/// bound that may lengthen something, so it is asked for, and stays within a
/// factor of the base it replaces.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Backoff, MeasuredBase};
///
/// const MEASURED: Backoff = Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT);
///
/// let base = |normal| MEASURED.measured(Duration::from_millis(normal)).transient_base();
/// assert_eq!(base(40), Duration::from_millis(40));
/// assert_eq!(base(2), Duration::from_millis(10));
/// assert_eq!(base(9_000), Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeasuredBase {
    multiple: Ratio,
    quantile: Ratio,
    minimum_samples: u32,
    spread: u16,
}

impl MeasuredBase {
    /// One median, once 20 successes are known, within ten times the constant.
    ///
    /// A factor of ten either way covers what a guess is usually wrong by, and
    /// keeps a wild measurement from stopping a caller.
    pub const DEFAULT: Self = Self {
        multiple: Ratio::ONE,
        quantile: Ratio::percent(50),
        minimum_samples: 20,
        spread: 10,
    };

    /// Returns the law with another number of normal calls to wait.
    #[must_use]
    pub const fn with_multiple(self, multiple: Ratio) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the law with another quantile of what is normal, at most 50 %.
    #[must_use]
    pub const fn with_quantile(self, quantile: Ratio) -> Self {
        Self { quantile, ..self }
    }

    /// Returns the law with another number of successes it needs.
    #[must_use]
    pub const fn with_minimum_samples(self, samples: u32) -> Self {
        Self {
            minimum_samples: samples,
            ..self
        }
    }

    /// Returns the law with another factor that it may go from the constant,
    /// either way; at least 2.
    #[must_use]
    pub const fn with_spread(self, factor: u16) -> Self {
        Self {
            spread: factor,
            ..self
        }
    }

    /// Returns how many normal calls it waits.
    #[must_use]
    pub const fn multiple(&self) -> Ratio {
        self.multiple
    }

    /// Returns the quantile of what is normal.
    #[must_use]
    pub const fn quantile(&self) -> Ratio {
        self.quantile
    }

    /// Returns how many successes it needs.
    #[must_use]
    pub const fn minimum_samples(&self) -> u32 {
        self.minimum_samples
    }

    /// Returns how far it may go from the constant, as a factor.
    #[must_use]
    pub const fn spread(&self) -> u16 {
        self.spread
    }

    /// Returns the base where the quantile reads `normal` and the constant is
    /// `constant`.
    #[must_use]
    pub const fn base(&self, normal: Duration, constant: Duration) -> Duration {
        let wanted = self.multiple.of(nanos(normal));
        let constant = nanos(constant);
        let least = match constant.checked_div(self.spread as u64) {
            Some(least) => least,
            None => constant,
        };
        let most = constant.saturating_mul(self.spread as u64);
        Duration::from_nanos(if wanted < least {
            least
        } else if wanted > most {
            most
        } else {
            wanted
        })
    }
}

impl Default for MeasuredBase {
    fn default() -> Self {
        Self::DEFAULT
    }
}
