//! What an outcome means.

use core::fmt;
use core::time::Duration;

use crate::time::nanos;

/// The four meanings of an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The value is accepted.
    #[default]
    Ok,
    /// It may not happen again: worth a retry, and evidence against the dependency.
    Transient,
    /// The dependency defends itself, or this process refused: worth a slower
    /// retry, and evidence of nothing.
    Throttled,
    /// It will happen again: not retried, and evidence of nothing.
    Permanent,
}

impl Kind {
    /// Returns the name, as texts and metrics use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "Ok",
            Self::Transient => "Transient",
            Self::Throttled => "Throttled",
            Self::Permanent => "Permanent",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind and who refused, in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Code(u8);

/// The word for "no pushback".
const NONE: u64 = u64::MAX;

/// What an outcome means: a kind, a pushback, and who refused.
///
/// The default is [`Verdict::OK`].
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::Verdict;
///
/// let busy = Verdict::throttled_for(Duration::from_secs(7));
/// assert_eq!(busy.pushback(), Some(Duration::from_secs(7)));
/// assert_ne!(busy, Verdict::THROTTLED);
/// assert_eq!(busy.to_string(), "Throttled (retry after 7s)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Verdict {
    pushback: u64,
    kind: Kind,
    self_imposed: bool,
}

impl Verdict {
    /// The value is accepted.
    pub const OK: Self = Self::of(Kind::Ok);
    /// It may not happen again.
    pub const TRANSIENT: Self = Self::of(Kind::Transient);
    /// The dependency defends itself and does not say for how long.
    pub const THROTTLED: Self = Self::of(Kind::Throttled);
    /// It will happen again.
    pub const PERMANENT: Self = Self::of(Kind::Permanent);
    /// This process refused before anything left it: no budget is charged.
    pub const SELF_IMPOSED: Self = Self {
        self_imposed: true,
        ..Self::THROTTLED
    };

    const fn of(kind: Kind) -> Self {
        Self {
            pushback: NONE,
            kind,
            self_imposed: false,
        }
    }

    /// Takes the verdict apart, so that tight values can hold it unpadded.
    pub(crate) const fn parts(self) -> (u64, Code) {
        let kind = match self.kind {
            Kind::Ok => 0,
            Kind::Transient => 1,
            Kind::Throttled => 2,
            Kind::Permanent => 3,
        };
        (self.pushback, Code(kind | (self.self_imposed as u8) << 2))
    }

    /// Puts a verdict together again.
    pub(crate) const fn from_parts(pushback: u64, code: Code) -> Self {
        Self {
            pushback,
            kind: match code.0 & 0b11 {
                0 => Kind::Ok,
                1 => Kind::Transient,
                2 => Kind::Throttled,
                _ => Kind::Permanent,
            },
            self_imposed: code.0 & 0b100 != 0,
        }
    }

    /// Throttled by the dependency, which asks to come back after `pushback`.
    #[must_use]
    pub const fn throttled_for(pushback: Duration) -> Self {
        Self::THROTTLED.with_pushback(pushback)
    }

    /// Refused by this process, which asks to come back after `pushback`.
    #[must_use]
    pub const fn self_imposed_for(pushback: Duration) -> Self {
        Self::SELF_IMPOSED.with_pushback(pushback)
    }

    /// Returns the same verdict with a pushback; zero means "at once".
    ///
    /// Saturates just below 584 years.
    #[must_use]
    pub const fn with_pushback(self, pushback: Duration) -> Self {
        let pushback = nanos(pushback);
        Self {
            pushback: if pushback == NONE { NONE - 1 } else { pushback },
            ..self
        }
    }

    /// Returns the kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// Returns when to come back, if the outcome said so.
    #[must_use]
    pub const fn pushback(self) -> Option<Duration> {
        match self.pushback {
            NONE => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// Tells whether this process refused before anything left it.
    #[must_use]
    pub const fn is_self_imposed(self) -> bool {
        self.self_imposed
    }

    /// Tells whether the value is accepted.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        matches!(self.kind, Kind::Ok)
    }

    /// Corrects the verdict on an error: an error cannot be accepted.
    #[must_use]
    pub const fn on_error(self) -> Self {
        match self.kind {
            Kind::Ok => Self::PERMANENT,
            _ => self,
        }
    }
}

impl Default for Verdict {
    fn default() -> Self {
        Self::OK
    }
}

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind; then, in parentheses, who refused and when to come back.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match (self.self_imposed, self.pushback()) {
            (false, None) => Ok(()),
            (true, None) => f.write_str(" (self-imposed)"),
            (refused, Some(after)) => {
                f.write_str(if refused { " (self-imposed, " } else { " (" })?;
                write!(f, "retry after {})", Seconds(after))
            }
        }
    }
}

/// Seconds with up to three decimals, rounded up, no trailing zeros.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let up = self.0.saturating_add(Duration::from_nanos(999_999));
        let (secs, millis) = (up.as_secs(), up.subsec_millis());
        match millis {
            0 => write!(f, "{secs}s"),
            m if m % 100 == 0 => write!(f, "{secs}.{}s", m / 100),
            m if m % 10 == 0 => write!(f, "{secs}.{:02}s", m / 10),
            m => write!(f, "{secs}.{m:03}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // core-02.13
    #[test]
    fn equality_covers_all_three_parts() {
        let two = Duration::from_secs(2);
        assert_ne!(Verdict::throttled_for(two), Verdict::self_imposed_for(two));
        assert_ne!(Verdict::throttled_for(two), Verdict::THROTTLED);
        assert_ne!(Verdict::THROTTLED, Verdict::TRANSIENT);
        assert_eq!(Verdict::throttled_for(two), Verdict::throttled_for(two));
    }

    // core-02.15
    #[test]
    fn the_default_claims_nothing() {
        let verdict = Verdict::default();
        assert_eq!(verdict.kind(), Kind::Ok);
        assert_eq!(verdict.pushback(), None);
        assert!(!verdict.is_self_imposed());
    }

    // core-02.16
    #[test]
    fn text_names_every_part() {
        let cases = [
            (Verdict::OK, "Ok"),
            (Verdict::SELF_IMPOSED, "Throttled (self-imposed)"),
            (
                Verdict::self_imposed_for(Duration::from_secs(2)),
                "Throttled (self-imposed, retry after 2s)",
            ),
            (
                Verdict::TRANSIENT.with_pushback(Duration::from_millis(1_250)),
                "Transient (retry after 1.25s)",
            ),
            (
                Verdict::throttled_for(Duration::from_millis(7)),
                "Throttled (retry after 0.007s)",
            ),
            (
                Verdict::throttled_for(Duration::from_micros(500)),
                "Throttled (retry after 0.001s)",
            ),
            (
                Verdict::throttled_for(Duration::ZERO),
                "Throttled (retry after 0s)",
            ),
        ];
        for (verdict, text) in cases {
            assert_eq!(verdict.to_string(), text);
        }
    }

    #[test]
    fn zero_pushback_is_not_none() {
        let now = Verdict::throttled_for(Duration::ZERO);
        assert_eq!(now.pushback(), Some(Duration::ZERO));
        assert_ne!(now, Verdict::THROTTLED);
        assert!(Verdict::throttled_for(Duration::MAX).pushback().is_some());
    }

    #[test]
    fn an_error_is_never_accepted() {
        assert_eq!(Verdict::OK.on_error(), Verdict::PERMANENT);
        assert_eq!(Verdict::TRANSIENT.on_error(), Verdict::TRANSIENT);
    }

    #[test]
    fn it_fits_sixteen_bytes() {
        assert!(size_of::<Verdict>() <= 16);
    }
}
