use super::*;
use crate::policy::concurrency::{Baseline, Concurrency};
use crate::policy::rate::Rate;
use crate::policy::throttle::Throttle;
use crate::standing::{ConcurrencyStanding, RateStanding, ThrottleStanding};

const ALL: Policy = Policy::DEFAULT
    .with_concurrency(Concurrency::ADAPTIVE)
    .with_rate(Rate::per_second(10))
    .with_throttle(Throttle::DEFAULT);

fn limits(policy: Policy) -> String {
    section(&policy.explain(), "Limits")
}

#[test]
fn each_limit_has_a_row() {
    assert_eq!(
        limits(ALL),
        "concurrency  4 to 200 attempts in flight, 20 at first: less when they take 2x what one\n\
         takes unloaded, which short probes find out.\n\
         rate         10 attempts a second, 10 at once.\n\
         throttle     sends 1.1x what the dependency took in 30s, and at least 10% of the calls;\n\
         the rest it refuses by chance, the less critical first.\n\
         An attempt that one of them refuses is not sent. It counts as one of the attempts,\n\
         and costs no token of the budget; the next one waits 0s to 1s, or until there is a permit."
    );
    assert!(!Policy::DEFAULT.explain().to_string().contains("Limits"));
}

#[test]
fn what_follows_a_refusal_is_said() {
    let last = |policy| limits(policy).lines().last().map(String::from);
    let fixed = Policy::DEFAULT.with_concurrency(Concurrency::fixed(1));
    assert_eq!(
        limits(fixed.with_attempts(1)),
        "concurrency  at most 1 attempt in flight.\n\
         An attempt that one of them refuses is not sent, and the call ends."
    );
    let ending = |text: &str| Some(std::format!("and costs no token of the budget; {text}"));
    assert_eq!(last(fixed), ending("the next one waits 0s to 1s."));
    let rate = Policy::DEFAULT.with_rate(Rate::per_window(3, secs(60)));
    assert_eq!(
        last(rate),
        ending("the next one waits until there is a permit.")
    );
    let at_once = fixed.with_backoff(Backoff::NONE);
    assert_eq!(last(at_once), ending("the next one follows at once."));
    assert!(limits(rate).starts_with("rate         at most 3 attempts in 1m.\n"));
    let tracked = Concurrency::ADAPTIVE.with_baseline(Baseline::Tracked);
    let text = limits(Policy::DEFAULT.with_concurrency(tracked));
    assert!(
        text.contains("unloaded, which is the best of five minutes."),
        "{text}"
    );
}

#[test]
fn a_guard_says_how_they_stand() {
    let standing = Standing {
        concurrency: Some(ConcurrencyStanding {
            allowed: 42,
            in_flight: 37,
            unloaded: Some(Duration::from_millis(12)),
            is_observing: true,
            is_shared: false,
        }),
        rate: Some(RateStanding {
            free: 3,
            is_observing: false,
            is_shared: true,
        }),
        throttle: Some(ThrottleStanding {
            chance: Ratio::permille(125),
            is_observing: true,
            is_shared: true,
        }),
    };
    let text = section(&ALL.explain().with_standing(standing), "Limits");
    for row in [
        "find out. Now 37 of 42, unloaded 12ms. It only observes.",
        "10 at once. Now 3 free. Shared with other guards.",
        "critical first. Now it refuses 12.5%. It only observes. Shared with other guards.",
    ] {
        assert!(text.contains(row), "{row} in\n{text}");
    }
}

#[test]
fn limits_of_little_use_are_warned_of() {
    let policy = Policy::DEFAULT;
    let adaptive = Concurrency::fixed(20).with_baseline(Baseline::Tracked);
    let hedged = policy.with_hedge(crate::policy::hedge::Hedge::DEFAULT);
    let hasty = policy
        .with_deadline(Duration::from_millis(400))
        .with_attempt_timeout(Duration::from_millis(100));
    let alone = Concurrency::fixed(1);
    let cases = [
        (
            policy.with_rate(Rate::per_second(2)),
            Warning::RateBelowAttempts,
        ),
        (hedged.with_concurrency(alone), Warning::NoRoomForHedges),
        (
            hedged.with_attempt_timeout(Duration::from_millis(10)),
            Warning::HedgesNeverDue,
        ),
        (
            policy.with_concurrency(adaptive),
            Warning::FixedConcurrencyAdapts,
        ),
        (
            hasty.with_concurrency(alone),
            Warning::RefusalsUseUpDeadline,
        ),
        (
            hasty.with_throttle(Throttle::DEFAULT),
            Warning::RefusalsUseUpDeadline,
        ),
    ];
    for (policy, warning) in cases {
        assert_eq!(warnings(policy), [warning], "{policy:?}");
    }
    assert_eq!(warnings(ALL), []);
    assert_eq!(warnings(hasty.with_rate(Rate::per_second(9))), []);
    assert_eq!(warnings(policy.with_concurrency(alone)), []);
}
