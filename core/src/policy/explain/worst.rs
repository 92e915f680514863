//! The worst case, with everything as it stands.

use core::fmt;
use core::time::Duration;

use super::Explanation;
use crate::breaker_state::BreakerState;
use crate::policy::span::Moment;
use crate::policy::timeline::Timeline;

impl Explanation<'_> {
    pub(super) fn worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (walk, bound) = (self.timeline(), self.bound());
        f.write_str("\n\nWorst case")?;
        if walk.differs(&bound) {
            f.write_str(" as measured now")?;
        }
        write!(f, ", when every attempt hangs\n{walk}")?;
        if self.policy.hedge().is_some() {
            f.write_str(
                "\n  A copy of a slow attempt runs alongside and makes none of this longer.",
            )?;
        }
        match bound.ending().worst {
            worst if worst == walk.ending().worst => Ok(()),
            None => f.write_str("\n  Should too little be known again, nothing ends the call."),
            Some(worst) => {
                let worst = Moment(worst);
                write!(
                    f,
                    "\n  Whatever is measured, the call has ended by {worst}."
                )
            }
        }
    }

    /// The walk, with everything as it stands.
    pub(super) fn timeline(&self) -> Timeline {
        let timeline = match self.measured {
            Some(_) => Timeline::measured(self.policy, self.attempt_bound(), self.backoff_now()),
            None => Timeline::of(self.policy),
        };
        self.with_refusals_as_they_are(timeline)
    }

    /// The walk that holds whatever is measured.
    pub(super) fn bound(&self) -> Timeline {
        self.with_refusals_as_they_are(Timeline::of(self.policy))
    }

    /// How long an attempt may take as it stands, the deadline aside.
    pub(super) fn attempt_bound(&self) -> Option<Duration> {
        self.ceiling_now().or(self.policy.attempt_timeout())
    }

    fn with_refusals_as_they_are(&self, timeline: Timeline) -> Timeline {
        let timeline = if self.budget_observes {
            timeline.without_budget()
        } else {
            timeline
        };
        if self.can_breaker_refuse() {
            timeline
        } else {
            timeline.without_breaker()
        }
    }

    pub(super) fn can_breaker_refuse(&self) -> bool {
        let is_disabled = matches!(self.breaker, Some((BreakerState::Disabled, _)));
        !self.observes && !is_disabled
    }
}
