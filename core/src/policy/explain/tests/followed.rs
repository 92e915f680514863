use super::*;
use crate::policy::hedge::Hedge;
use crate::policy::throttle::Throttle;

fn followed(policy: Policy) -> String {
    section(&policy.explain(), "Followed")
}

#[test]
fn what_is_followed_is_explained() {
    assert_eq!(followed(Policy::DEFAULT), "");
    let policy = Policy::DEFAULT.with_ambient_deadline(true);
    let deadline = "The deadline of what a call is made for, if that is sooner.";
    assert_eq!(followed(policy), deadline);
    let both = policy.with_ambient_criticality(true);
    let level = "The criticality of what a call is made for: sheddable ones ";
    assert_eq!(
        followed(both),
        format!("{deadline}\n{level}leave half of the retry budget.")
    );
    assert_eq!(
        followed(
            both.with_ambient_deadline(false)
                .with_hedge(Hedge::DEFAULT)
                .with_throttle(Throttle::DEFAULT)
        ),
        format!("{level}leave half of the retry budget, are never raced and are throttled first.")
    );
    let idle = Policy::NONE.with_ambient_criticality(true);
    assert_eq!(followed(idle), format!("{level}are like any."));
}
