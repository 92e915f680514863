//! How many guards of each policy were dropped cold.

use core::fmt;

/// How many guards of each policy were dropped cold.
#[derive(Debug)]
pub(super) struct Tally {
    policies: [(Option<&'static str>, u32); Self::ROOM],
    told: bool,
}

impl Tally {
    pub(super) const NEW: Self = Self {
        policies: [(None, 0); Self::ROOM],
        told: false,
    };

    /// Policies that are told apart; those that come later are not counted.
    const ROOM: usize = 16;

    /// Counts a guard of that policy; `Some` when it is time to say so,
    /// which is once.
    pub(super) fn count(&mut self, policy: Option<&'static str>) -> Option<Warning> {
        let mut places = self.policies.iter_mut();
        let (name, dropped) = places.find(|(name, dropped)| *dropped == 0 || *name == policy)?;
        *name = policy;
        *dropped = dropped.saturating_add(1);
        if self.told || *dropped < MANY {
            return None;
        }
        self.told = true;
        Some(Warning { policy })
    }
}

/// How many guards of one policy nobody makes on purpose.
pub(super) const MANY: u32 = 100;

/// What to say of guards that never learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    policy: Option<&'static str>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steadfast: {MANY} guards of ")?;
        match self.policy {
            Some(name) => write!(f, "policy `{name}`")?,
            None => f.write_str("an unnamed policy")?,
        }
        f.write_str(" were dropped after a few calls each, before they could learn ")?;
        f.write_str("how long a call normally takes; their breakers and retry budgets ")?;
        f.write_str("started afresh each time, too. A guard belongs to the dependency, ")?;
        f.write_str("not to the request: make it once and keep it, best in a ")?;
        f.write_str("`static GUARD: Guard = Guard::new(POLICY);`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    fn count(tally: &mut Tally, policy: Option<&'static str>, times: u32) -> u32 {
        let told = (0..times).filter(|_| tally.count(policy).is_some());
        u32::try_from(told.count()).expect("few")
    }

    #[test]
    fn many_are_told_once() {
        let mut tally = Tally::NEW;
        assert_eq!(count(&mut tally, Some("search"), MANY - 1), 0);
        assert_eq!(count(&mut tally, None, MANY - 1), 0);
        let warning = tally.count(Some("search")).expect("a hundred");
        assert!(
            warning
                .to_string()
                .starts_with("steadfast: 100 guards of policy `search` were dropped")
        );
        assert_eq!(warning.to_string().lines().count(), 1);
        assert_eq!(count(&mut tally, Some("search"), 3 * MANY), 0);
        assert_eq!(count(&mut tally, None, MANY), 0);
    }

    #[test]
    fn an_unnamed_policy_is_one() {
        let mut tally = Tally::NEW;
        assert_eq!(count(&mut tally, None, MANY - 1), 0);
        let warning = tally.count(None).expect("a hundred");
        assert!(warning.to_string().contains("of an unnamed policy were"));
    }

    #[test]
    fn more_policies_than_room_do_no_harm() {
        const NAMES: &str = "abcdefghijklmnopqrstuvwxyz";
        let mut tally = Tally::NEW;
        for at in 0..NAMES.len() {
            assert_eq!(tally.count(NAMES.get(at..=at)), None);
        }
        assert_eq!(count(&mut tally, Some("z"), 2 * MANY), 0);
        assert_eq!(count(&mut tally, Some("a"), MANY), 1);
    }
}
