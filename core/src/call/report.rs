//! How a call ended, in numbers.

use core::time::Duration;

use super::log::Ending;
use crate::breaker_state::BreakerState;
use crate::limited::Limit;
use crate::reason::Reason;
use crate::verdict::Verdict;

/// How a call ended, before it is told to anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Why it ended.
    pub reason: Reason,
    /// How many attempts were judged.
    pub attempts: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// The verdict on the last attempt; Ok when there was none.
    pub verdict: Verdict,
    /// What the last attempt ended with.
    pub ending: Ending,
    /// The deadline that held for this call.
    pub deadline: Option<Duration>,
    /// The bound that cut the last attempt, if the call ended with that.
    pub cut_after: Option<Duration>,
    /// When another call is worth making, if anybody knows.
    pub hint: Option<Duration>,
    /// What the breaker was when it refused, if that ended the call.
    pub refused_in: Option<BreakerState>,
    /// The limit of this process that refused the last attempt, if one did.
    pub limited_by: Option<Limit>,
    /// An attempt was made that neither a limit nor a hook refused.
    pub has_sent: bool,
    /// The name of the policy.
    pub policy: Option<&'static str>,
}
