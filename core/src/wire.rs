//! How ambient facts are written where they leave a process: names and values of
//! headers.
//!
//! Names are in lower case, as HTTP/2 and gRPC have them; HTTP/1 does not care.
//!
//! ```
//! use core::time::Duration;
//! use steadfast_core::{Ambient, Criticality, Instant, wire};
//!
//! let now = Instant::ZERO;
//! let mut headers = Vec::new();
//! let facts = Ambient::NONE
//!     .with_deadline(now.saturating_add(Duration::from_millis(250)))
//!     .with_criticality(Criticality::Sheddable);
//! wire::write(&facts, now, |name, value| headers.push((name, value.to_string())));
//! assert_eq!(headers, [
//!     ("x-deadline-ms", "250".to_owned()),
//!     ("x-criticality", "Sheddable".to_owned()),
//! ]);
//!
//! let header = |name| headers.iter().find(|(known, _)| *known == name);
//! let read = wire::read(now, |name| header(name).map(|(_, value)| value));
//! assert_eq!(read, facts);
//! ```

use core::fmt;
use core::time::Duration;

use crate::ambient::Ambient;
use crate::criticality::Criticality;
use crate::time::Instant;

/// The name of the header that says how many milliseconds are left.
///
/// What is left, not an instant: clocks of two machines do not agree.
pub const DEADLINE: &str = "x-deadline-ms";

/// The name of the header that says how much the request matters.
pub const CRITICALITY: &str = "x-criticality";

/// The name of the header that says that the sender may send the request again.
pub const RETRIED: &str = "x-steadfast-retrying";

/// The only value of [`RETRIED`] that counts.
pub const RETRIED_VALUE: &str = "1";

/// The longest deadline that is read or written: 24 days.
const LONGEST: u32 = i32::MAX as u32;

/// Reads what a deadline header says: milliseconds from 1 to 2147483647, digits
/// only.
///
/// Anything else is no deadline.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::wire;
///
/// assert_eq!(wire::parse_deadline("250"), Some(Duration::from_millis(250)));
/// assert_eq!(wire::parse_deadline("250ms"), None);
/// ```
#[must_use]
pub fn parse_deadline(value: &str) -> Option<Duration> {
    let millis = value.bytes().try_fold(0_u32, |millis, byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit < 10)?;
        millis.checked_mul(10)?.checked_add(digit.into())
    })?;
    (1..=LONGEST)
        .contains(&millis)
        .then(|| Duration::from_millis(millis.into()))
}

/// Reads what a criticality header says: one of the four names, in any case.
///
/// Anything else says nothing. [`Criticality::CriticalPlus`] is read as
/// [`Criticality::Critical`]: nobody outside may claim more.
///
/// ```
/// use steadfast_core::{Criticality, wire};
///
/// assert_eq!(wire::parse_criticality("sheddable"), Some(Criticality::Sheddable));
/// assert_eq!(wire::parse_criticality("CriticalPlus"), Some(Criticality::Critical));
/// assert_eq!(wire::parse_criticality("0"), None);
/// ```
#[must_use]
pub fn parse_criticality(value: &str) -> Option<Criticality> {
    use Criticality::{Critical, CriticalPlus, Sheddable, SheddablePlus};
    let level = [Sheddable, SheddablePlus, Critical, CriticalPlus]
        .into_iter()
        .find(|level| level.name().eq_ignore_ascii_case(value))?;
    Some(level.min(Critical))
}

/// The value of a deadline header: whole milliseconds, rounded down, at least 1.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::wire::Millis;
///
/// let left = Duration::from_micros(1_500_900);
/// assert_eq!(Millis::of(left).unwrap().to_string(), "1500");
/// assert_eq!(Millis::of(Duration::ZERO), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Millis(u32);

impl Millis {
    /// Makes the value for so much time; `None` for no time, and for
    /// [`Duration::MAX`], which is no bound.
    ///
    /// What is longer than a header can say is said as the longest it can.
    #[must_use]
    pub fn of(left: Duration) -> Option<Self> {
        if left.is_zero() || left == Duration::MAX {
            return None;
        }
        let millis = u32::try_from(left.as_millis()).unwrap_or(LONGEST);
        Some(Self(millis.clamp(1, LONGEST)))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads the facts of a request that came in at `now`.
///
/// `header` looks a header up; of several with one name, the last deadline and the
/// last criticality are the nearest sender's, and any mark of retries counts.
#[must_use]
pub fn read<S: AsRef<str>>(
    now: Instant,
    mut header: impl FnMut(&'static str) -> Option<S>,
) -> Ambient {
    let mut facts = Ambient::NONE;
    if let Some(left) = header(DEADLINE).and_then(|value| parse_deadline(value.as_ref())) {
        facts = facts.with_deadline(now.saturating_add(left));
    }
    if let Some(level) = header(CRITICALITY).and_then(|value| parse_criticality(value.as_ref())) {
        facts = facts.with_criticality(level);
    }
    if header(RETRIED).is_some_and(|value| value.as_ref() == RETRIED_VALUE) {
        facts = facts.with_retried(true);
    }
    facts
}

/// Writes the facts of a request that goes out at `now`; what is not said is not
/// written.
///
/// `header` sets a header, and replaces one that is there already.
pub fn write(
    facts: &Ambient,
    now: Instant,
    mut header: impl FnMut(&'static str, fmt::Arguments<'_>),
) {
    // One that is over is the shortest there is: without a header there would be none.
    let left = facts
        .left(now)
        .map(|left| left.max(Duration::from_millis(1)));
    if let Some(millis) = left.and_then(Millis::of) {
        header(DEADLINE, format_args!("{millis}"));
    }
    if let Some(level) = facts.criticality() {
        header(CRITICALITY, format_args!("{level}"));
    }
    if facts.is_retried() {
        header(RETRIED, format_args!("{RETRIED_VALUE}"));
    }
}

#[cfg(test)]
mod tests;
