//! What a program adds to a guard's own rules.

use core::time::Duration;

use super::attempt::{Attempt, Retry};
use crate::verdict::Verdict;

/// What a program adds to a guard: hooks before an attempt, a delay rule.
///
/// Every method has a default, so implement what you need. They run in the
/// call's own task, under no lock, and must not block; work that has to be
/// awaited belongs at the start of the operation.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Retry, Rules};
///
/// /// Waits half as long as the policy says.
/// struct Hasty;
///
/// impl<T, E> Rules<T, E> for Hasty {
///     fn delay(&self, retry: &Retry<'_>, _: Option<&Result<T, E>>) -> Duration {
///         retry.delay() / 2
///     }
/// }
/// ```
pub trait Rules<T, E> {
    /// Runs before every attempt, the first included.
    ///
    /// Bounded by the deadline only, and checked after it has returned.
    ///
    /// # Errors
    ///
    /// Ends the call with that error: no retry, no event, nothing recorded.
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        let _ = next;
        Ok(())
    }

    /// Says whether the attempt may be made; anything but Ok is its verdict.
    ///
    /// A refusal counts as an attempt and is judged like one. It is asked after the
    /// limits of this process: what it refuses has used up a permit of the rate limit.
    fn admit(&self, next: &Attempt) -> Verdict {
        let _ = next;
        Verdict::OK
    }

    /// Chooses the wait before a retry.
    ///
    /// Sees what the last attempt gave; `None` when it was cut short or not
    /// admitted. Starts best from [`Retry::delay`], the policy's own choice. A
    /// wait shorter than what the dependency asked for is lengthened to that.
    fn delay(&self, retry: &Retry<'_>, last: Option<&Result<T, E>>) -> Duration {
        let _ = last;
        retry.delay()
    }

    /// Tells whether there is a hook to run at all.
    fn has_hooks(&self) -> bool {
        true
    }
}

/// Nothing added to the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoRules;

impl<T, E> Rules<T, E> for NoRules {
    fn has_hooks(&self) -> bool {
        false
    }
}

impl<T, E, R: Rules<T, E> + ?Sized> Rules<T, E> for &R {
    fn before_attempt(&self, next: &Attempt) -> Result<(), E> {
        (**self).before_attempt(next)
    }

    fn admit(&self, next: &Attempt) -> Verdict {
        (**self).admit(next)
    }

    fn delay(&self, retry: &Retry<'_>, last: Option<&Result<T, E>>) -> Duration {
        (**self).delay(retry, last)
    }

    fn has_hooks(&self) -> bool {
        (**self).has_hooks()
    }
}
