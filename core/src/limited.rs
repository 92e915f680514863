//! The refusal by a limit of this process.

use core::fmt;
use core::time::Duration;

use crate::classify::Meaning;
use crate::verdict::{Seconds, Verdict};

/// A kind of limit on what leaves this process.
///
/// ```
/// use steadfast_core::Limit;
///
/// assert_eq!(Limit::Rate.to_string(), "rate limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// On the attempts in flight at once.
    Concurrency,
    /// On the attempts in a span of time.
    Rate,
    /// On what is sent to a dependency that turns much of it away.
    Throttle,
    /// On those that wait for a place, or on how long they wait.
    Queue,
    /// A queue that takes nobody any more.
    Closed,
}

impl Limit {
    /// Every kind.
    pub(crate) const ALL: [Self; 5] = [
        Self::Concurrency,
        Self::Rate,
        Self::Throttle,
        Self::Queue,
        Self::Closed,
    ];

    /// Returns the name, as texts and metrics use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency limit",
            Self::Rate => "rate limit",
            Self::Throttle => "throttle",
            Self::Queue => "queue",
            Self::Closed => "closed queue",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Concurrency => "as many attempts are in flight as it allows",
            Self::Rate => "as many attempts went out of late as it allows",
            Self::Throttle => "the dependency has turned away too much of late",
            Self::Queue => "no place came free in time",
            Self::Closed => "it takes nobody any more",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A limit of this process refused, so nothing was sent.
///
/// An operation may return it as its error, alone or inside the program's own:
/// it means [`Verdict::SELF_IMPOSED`], so it is retried later, charges no
/// budget and is evidence against nobody. Only [`Limit::Closed`] is permanent.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Limit, Limited, Meaning, Verdict};
///
/// enum Fault {
///     Limited(Limited),
///     Lost,
/// }
///
/// impl From<Limited> for Fault {
///     fn from(refusal: Limited) -> Self {
///         Self::Limited(refusal)
///     }
/// }
///
/// impl Meaning for Fault {
///     fn verdict(&self) -> Verdict {
///         match self {
///             Self::Limited(refusal) => refusal.verdict(),
///             Self::Lost => Verdict::TRANSIENT,
///         }
///     }
/// }
///
/// let two = Duration::from_secs(2);
/// let refusal = Limited::new(Limit::Rate).with_retry_after(two);
/// assert_eq!(Fault::from(refusal).verdict(), Verdict::self_imposed_for(two));
/// assert_eq!(
///     refusal.to_string(),
///     "refused by the rate limit: as many attempts went out of late as it allows, retry after 2s"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limited {
    limit: Limit,
    verdict: Verdict,
}

impl Limited {
    /// Makes a refusal that does not say when to come back.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            limit,
            verdict: match limit {
                // It will not open again.
                Limit::Closed => Verdict::PERMANENT,
                _ => Verdict::SELF_IMPOSED,
            },
        }
    }

    /// Returns the refusal with the time after which to come back.
    #[must_use]
    pub const fn with_retry_after(self, hint: Duration) -> Self {
        Self {
            verdict: self.verdict.with_pushback(hint),
            ..self
        }
    }

    /// Returns which kind of limit refused.
    #[must_use]
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns when to come back, if the limit knows.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.verdict.pushback()
    }

    /// Returns what it means: throttled by this process, with the hint; permanent
    /// if it is closed.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }
}

impl Meaning for Limited {
    fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// Who refused and why; then what to do.
impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by the {}: {}", self.limit, self.limit.reason())?;
        match self.retry_after() {
            Some(hint) => write!(f, ", retry after {}", Seconds(hint)),
            None if self.limit == Limit::Closed => Ok(()),
            None => f.write_str(", back off before a retry"),
        }
    }
}

impl core::error::Error for Limited {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{ByError, Classify};
    use crate::verdict::Kind;
    use std::string::ToString;

    #[test]
    fn a_refusal_is_self_imposed() {
        let refused = Err::<(), _>(Limited::new(Limit::Concurrency));
        let verdict = ByError.classify(&refused);
        assert_eq!(verdict.kind(), Kind::Throttled);
        assert!(verdict.is_self_imposed());
        assert_eq!(verdict.pushback(), None);
    }

    #[test]
    fn the_hint_becomes_the_pushback() {
        let hint = Duration::from_millis(250);
        let refusal = Limited::new(Limit::Queue).with_retry_after(hint);
        assert_eq!(refusal.retry_after(), Some(hint));
        assert_eq!(refusal.verdict(), Verdict::self_imposed_for(hint));
    }

    #[test]
    fn text_says_why_and_what_to_do() {
        let text = Limited::new(Limit::Throttle).to_string();
        assert_eq!(
            text,
            "refused by the throttle: the dependency has turned away too much of late, \
             back off before a retry"
        );
    }

    #[test]
    fn a_closed_queue_is_permanent() {
        let refusal = Limited::new(Limit::Closed);
        assert_eq!(refusal.verdict(), Verdict::PERMANENT);
        let text = "refused by the closed queue: it takes nobody any more";
        assert_eq!(refusal.to_string(), text);
    }

    #[test]
    fn a_refusal_is_small() {
        assert!(size_of::<Limited>() <= 24);
    }
}
