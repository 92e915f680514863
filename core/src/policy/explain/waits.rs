//! The waits between attempts, in a sentence or two.

use core::fmt;
use core::time::Duration;

use super::{Explanation, Times};
use crate::math::ratio::Ratio;
use crate::policy::span::{Compact, Drawn};
use crate::verdict::Kind;

impl Explanation<'_> {
    pub(super) fn waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backoff = self.backoff_now();
        let (maximum, jitter) = (backoff.maximum(), backoff.jitter());
        if maximum.is_zero() {
            return f.write_str("None, whatever the dependency asks for.");
        }
        let transient = Drawn(backoff.curve(2, Kind::Transient), jitter);
        let throttled = Drawn(backoff.curve(2, Kind::Throttled), jitter);
        write!(f, "{transient} before attempt 2")?;
        if throttled.0 != transient.0 {
            write!(f, ", {throttled} if the dependency throttles")?;
        }
        if self.policy.attempts() > 2 && backoff.factor() != Ratio::ONE {
            let factor = Times(backoff.factor());
            write!(f, ";\n  from attempt to attempt {factor} as long")?;
            if maximum < Duration::MAX {
                write!(f, ", but never more than {}", Compact(maximum))?;
            }
        }
        f.write_str(".")?;
        if let Some(law) = backoff.measured_base() {
            let constant = self.policy.backoff().transient_base();
            let least = Compact(law.base(Duration::ZERO, constant));
            let most = Compact(law.base(Duration::MAX, constant));
            f.write_str("\n  The first wait follows what a call normally takes, ")?;
            write!(f, "from {least} to {most}")?;
            if self.base_now().is_none() {
                write!(f, "; {} until that is known", Compact(constant))?;
            }
            f.write_str(".")?;
        }
        f.write_str("\n  A wait that the dependency asks for is kept to")?;
        if maximum < Duration::MAX {
            write!(f, "; if it is above {}, the call ends", Compact(maximum))?;
        }
        f.write_str(".")
    }
}
