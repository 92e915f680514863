//! What holds shortly before a stop, in words.

use core::fmt;
use core::time::Duration;

use crate::policy::span::Compact;

/// Writes what holds with so much left of the grace.
pub(super) fn write(f: &mut fmt::Formatter<'_>, left: Duration) -> fmt::Result {
    f.write_str("Nothing is retried, raced or resumed any more")?;
    match left {
        Duration::MAX => f.write_str("."),
        Duration::ZERO => f.write_str(", and no call begins: the grace is over."),
        left => write!(f, "; a call that begins now has {}.", Compact(left)),
    }
}
