//! A policy for tests. Not safe to ship: protection against storms is off.

use steadfast_core::{Backoff, Budget, Policy};

/// Three attempts that wait for nothing and are bounded by nothing.
///
/// The default policy without backoff, deadline, attempt timeout, budget and
/// breaker, so that a test sees only what its script does. Not safe to ship, and
/// [`explain`](Policy::explain) warns of it.
///
/// ```
/// use steadfast_testing::INSTANT;
///
/// assert_eq!(INSTANT.attempts(), 3);
/// assert_eq!(INSTANT.deadline(), None);
/// assert_eq!(INSTANT.attempt_timeout(), None);
/// assert_eq!(INSTANT.breaker(), None);
/// assert!(!INSTANT.budget().is_limited());
/// ```
pub const INSTANT: Policy = Policy::DEFAULT
    .with_attempts(3)
    .with_backoff(Backoff::NONE)
    .without_deadline()
    .without_attempt_timeout()
    .with_budget(Budget::NONE)
    .without_breaker();
