use std::string::{String, ToString};

use super::*;
use crate::math::ratio::Ratio;
use crate::policy::backoff::Jitter;
use crate::policy::breaker::Breaker;
use crate::policy::budget::Budget;
use proptest::prelude::*;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Attempts of 1 s and nothing else.
const fn seconds(attempts: u32) -> Policy {
    Policy::NONE
        .with_attempts(attempts)
        .with_attempt_timeout(secs(1))
}

fn steady(delay: Duration) -> Backoff {
    Backoff::constant(delay).with_jitter(Jitter::None)
}

fn worst(policy: &Policy) -> Option<Duration> {
    policy.explain().worst_case()
}

fn bound_first(policy: &Policy) -> String {
    let text = policy.explain().to_string();
    let mut lines = text.lines().skip_while(|line| *line != "Bound first");
    lines.nth(1).unwrap_or_default().trim().into()
}

fn last_lines(policy: &Policy) -> String {
    let text = Timeline::of(policy).to_string();
    let from = text.find("...").unwrap_or_default();
    text.get(from..).unwrap_or_default().into()
}

#[test]
fn a_wait_without_room_ends_the_call() {
    let exact = seconds(4)
        .with_attempt_timeout(secs(2))
        .with_backoff(steady(secs(1)))
        .with_deadline(ms(5_500));
    assert_eq!(
        bound_first(&exact),
        "The deadline: when every attempt hangs, there is no room for a wait of 1s after attempt 2, and attempts 3 to 4 never start."
    );
    assert_eq!(worst(&exact), Some(secs(5)));
    let drawn = exact.with_backoff(Backoff::constant(secs(1)));
    assert_eq!(worst(&drawn), Some(ms(5_500)));
    let text = Timeline::of(&drawn).to_string();
    assert!(text.ends_with(
        "5.00s  no time to wait 0s to 1s, unless the draw is short\n      5.50s  the call has ended"
    ));
}

#[test]
fn short_draws_let_attempts_start() {
    let drawn = |attempts, deadline| {
        seconds(attempts)
            .with_deadline(deadline)
            .with_backoff(Backoff::constant(secs(2)))
    };
    assert_eq!(
        bound_first(&drawn(4, secs(5))),
        "The deadline: when every attempt hangs, there is no room for a wait of 0s to 2s after attempt 2; attempts 3 to 4 start only after short waits."
    );
    assert_eq!(
        bound_first(&drawn(3, secs(5))),
        "The deadline: when every attempt hangs, there is no room for a wait of 0s to 2s after attempt 2; attempt 3 starts only after short waits."
    );
    assert_eq!(
        bound_first(&drawn(100, secs(5))),
        "The deadline: when every attempt hangs, there is no room for a wait of 0s to 2s after attempt 2; attempts 3 to 5 start only after short waits, attempts 6 to 100 never."
    );
    // 0 to 1, 3 to 4, and 6 on.
    assert_eq!(
        bound_first(&drawn(8, ms(6_500))),
        "The deadline: when every attempt hangs, it cuts attempt 3 after 0.50s, 50% of its 1s; attempts 4 to 7 start only after short waits, attempt 8 never."
    );
}

#[test]
fn a_draw_that_is_never_short_is_no_excuse() {
    let policy = seconds(3)
        .with_deadline(secs(2))
        .with_backoff(Backoff::constant(secs(3)).with_jitter(Jitter::Equal));
    assert_eq!(worst(&policy), Some(secs(1)));
    assert!(bound_first(&policy).ends_with(", and attempts 2 to 3 never start."));
    assert!(!Timeline::of(&policy).to_string().contains("unless"));
}

// core-12.22: a walk whose waits no longer change is followed to its end.
#[test]
fn a_long_walk_is_followed_to_its_end() {
    let policy = seconds(5_000);
    assert_eq!(worst(&policy), Some(secs(5_000)));
    assert_eq!(
        bound_first(&policy),
        "The attempt timeout: when every attempt hangs, the call ends after 83.33m."
    );
    assert_eq!(
        last_lines(&policy),
        "...  attempts 7 to 5000\n     83.33m  the call has ended"
    );
    assert_eq!(worst(&seconds(u32::MAX)), Some(secs(u32::MAX.into())));
}

#[test]
fn a_long_walk_meets_its_deadline() {
    let policy = seconds(5_000).with_deadline(secs(3_600));
    assert_eq!(worst(&policy), Some(secs(3_600)));
    assert_eq!(
        bound_first(&policy),
        "The deadline: when every attempt hangs, attempt 3600 ends with it, and attempts 3601 to 5000 never start."
    );
    assert_eq!(
        last_lines(&policy),
        "...  attempts 7 to 3600\n     60.00m  the call has ended"
    );
    let waits = seconds(u32::MAX)
        .with_deadline(secs(100_000))
        .with_backoff(Backoff::DEFAULT);
    assert_eq!(worst(&waits), Some(secs(100_000)));
    // 51.1 s of growing waits up to attempt 10, then rounds of 31 s.
    assert_eq!(
        bound_first(&waits),
        "The deadline: when every attempt hangs, there is no room for a wait of 0s to 30s after attempt 3233; attempts 3234 to 100000 start only after short waits, attempts 100001 to 4294967295 never."
    );
}

#[test]
fn waits_that_still_change_are_bounded() {
    let slow = Backoff::exponential(secs(1))
        .with_factor(Ratio::permille(1_001))
        .with_maximum(secs(1_000))
        .with_jitter(Jitter::None);
    let policy = seconds(2_000).with_backoff(slow);
    let real = (2..=2_000)
        .map(|number| slow.curve(number, Kind::Transient))
        .fold(secs(2_000), Duration::saturating_add);
    let worst_case = worst(&policy).unwrap_or_default();
    assert!(
        worst_case >= real && worst_case < real * 2,
        "{worst_case:?}"
    );
    assert!(bound_first(&policy).starts_with("The number of attempts: when every attempt hangs"));
    assert!(bound_first(&policy).ends_with("at the latest."));
    assert!(last_lines(&policy).ends_with("the call has ended, at the latest"));
    let bounded = policy.with_deadline(secs(5_000));
    assert_eq!(worst(&bounded), Some(secs(5_000)));
    assert!(bound_first(&bounded).starts_with("The deadline or the number of attempts:"));
}

#[test]
fn a_breakers_refusal_counts() {
    let policy = Policy::NONE
        .with_attempts(2)
        .with_attempt_timeout(ms(10))
        .with_breaker(Breaker::DEFAULT);
    assert_eq!(worst(&policy), Some(ms(110)));
    assert_eq!(
        bound_first(&policy),
        "A refusal, which is held back up to 100ms: when every attempt hangs, the call ends after 0.11s."
    );
    assert!(
        Timeline::of(&policy)
            .to_string()
            .ends_with("0.11s  the call has ended: a refusal is told after 100ms")
    );
    assert_eq!(worst(&policy.with_attempts(1)), Some(ms(100)));
    assert_eq!(worst(&policy.with_deadline(ms(50))), Some(ms(50)));
    assert_eq!(worst(&policy.without_breaker()), Some(ms(20)));
    assert_eq!(worst(&policy.with_attempt_timeout(ms(200))), Some(ms(400)));
}

#[test]
fn a_budgets_refusal_counts() {
    let policy = Policy::NONE
        .with_attempts(3)
        .with_attempt_timeout(ms(10))
        .with_backoff(steady(ms(5)))
        .with_budget(Budget::DEFAULT);
    // Attempt 2 ends after 25 ms, and then a retry is refused.
    assert_eq!(worst(&policy), Some(ms(125)));
    assert_eq!(worst(&policy.with_attempts(1)), Some(ms(10)));
    assert_eq!(worst(&policy.with_deadline(ms(60))), Some(ms(60)));
    // The budget is asked before the deadline is.
    let no_room = policy.with_backoff(steady(secs(9))).with_deadline(secs(2));
    assert_eq!(worst(&no_room), Some(ms(110)));
}

#[test]
fn a_walk_past_all_time_has_no_end() {
    let policy = Policy::NONE
        .with_attempts(u32::MAX)
        .with_attempt_timeout(secs(u64::MAX / 4));
    assert_eq!(worst(&policy), None);
}

proptest! {
    /// Follows every attempt, one by one.
    #[test]
    fn no_shortcut_changes_the_end(
        attempts in 1..3_000_u32,
        timeout in 1..50_u64,
        base in 0..20_u64,
        maximum in 0..200_u64,
        percent in 1..400_u32,
        deadline in proptest::option::of(1..100_000_u64),
    ) {
        let backoff = Backoff::exponential(ms(base))
            .with_maximum(ms(maximum))
            .with_factor(Ratio::percent(percent))
            .with_jitter(Jitter::None);
        let policy = Policy::NONE
            .with_attempts(attempts)
            .with_attempt_timeout(ms(timeout))
            .with_deadline(deadline.map_or(Duration::MAX, ms))
            .with_backoff(backoff);
        let bound = policy.deadline().unwrap_or(Duration::MAX);
        let mut end = Duration::ZERO;
        for number in 1..=attempts {
            end = bound.min(end + ms(timeout));
            if number == attempts || end == bound {
                break;
            }
            let wait = backoff.curve(number + 1, Kind::Transient);
            if wait >= bound.saturating_sub(end) {
                break;
            }
            end += wait;
        }
        let ending = Timeline::of(&policy).ending();
        if ending.end == End::TooLong {
            prop_assert!(ending.worst >= Some(end));
        } else {
            prop_assert_eq!(ending.worst, Some(end));
        }
    }
}
