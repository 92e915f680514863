//! What calls follow of what they are made for.

use core::fmt;

use super::Explanation;

impl Explanation<'_> {
    /// The section, if anything is followed.
    pub(super) fn followed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy;
        if !policy.follows_any() {
            return Ok(());
        }
        f.write_str("\n\nFollowed")?;
        if policy.follows_deadline() {
            f.write_str("\n  The deadline of what a call is made for, if that is sooner.")?;
        }
        if policy.follows_criticality() {
            f.write_str("\n  The criticality of what a call is made for: sheddable ones ")?;
            self.gated(f)?;
        }
        Ok(())
    }

    /// What is not for the sheddable.
    fn gated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy;
        let is_funded = policy.attempts() > 1 && policy.budget().is_limited();
        let effects = [
            (is_funded, "leave half of the retry budget"),
            (policy.hedge().is_some(), "are never raced"),
            (policy.throttle().is_some(), "are throttled first"),
        ];
        let count = effects.iter().filter(|(holds, _)| *holds).count();
        let held = effects.into_iter().filter(|(holds, _)| *holds).zip(1..);
        for ((_, effect), number) in held {
            f.write_str(match number {
                1 => "",
                _ if number == count => " and ",
                _ => ", ",
            })?;
            f.write_str(effect)?;
        }
        match count {
            0 => f.write_str("are like any."),
            _ => f.write_str("."),
        }
    }
}
