use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::math::significance::RelativeTrip;
use crate::policy::backoff::{Backoff, Jitter};
use crate::policy::breaker::Breaker;
use crate::policy::budget::Budget;
use crate::policy::problem::Problem;
use crate::policy::recovery::Recovery;
use crate::policy::slow_trip::SlowTrip;
use proptest::prelude::*;

mod followed;
mod limits;
mod measured;
mod warnings;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The lines of one section, joined.
fn section(text: &impl ToString, heading: &str) -> String {
    let text = text.to_string();
    let mut lines = text.lines().skip_while(|line| !line.starts_with(heading));
    let _ = lines.next();
    lines
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\n")
}

fn bound_first(policy: &Policy) -> String {
    section(&policy.explain(), "Bound first")
}

fn warnings(policy: Policy) -> Vec<Warning> {
    policy.explain().warnings().collect()
}

// core-12.16
#[test]
fn a_short_deadline_is_explained() {
    let policy = Policy::DEFAULT.with_deadline(secs(5));
    assert_eq!(policy.explain().to_string(), SHORT_DEADLINE);
}

#[test]
fn what_drains_is_explained() {
    let draining = |left| section(&Policy::DEFAULT.explain().draining(left), "Draining now");
    let stopped = "Nothing is retried, raced or resumed any more";
    assert_eq!(draining(Duration::MAX), [stopped, "."].concat());
    assert_eq!(
        draining(secs(3)),
        [stopped, "; a call that begins now has 3s."].concat()
    );
    assert_eq!(
        draining(Duration::ZERO),
        [stopped, ", and no call begins: the grace is over."].concat()
    );
    assert_eq!(section(&Policy::DEFAULT.explain(), "Draining now"), "");
}

const SHORT_DEADLINE: &str = "\
(unnamed): 3 attempts, deadline 5s, attempt timeout 10s

Bound first
  The deadline: when every attempt hangs, it cuts attempt 1 after 5.00s, 50% of its 10s, and attempts 2 to 3 never start.

Worst case, when every attempt hangs
      0.00s  attempt 1 until 5.00s, cut short by the deadline
      5.00s  the call has ended

Waits
  0s to 100ms before attempt 2, 0s to 1s if the dependency throttles;
  from attempt to attempt 2x as long, but never more than 30s.
  A wait that the dependency asks for is kept to; if it is above 30s, the call ends.

Load
  At most 3 attempts a call; the classifier says which failures are retried.
  Over time, retries are at most 10% of the calls that succeed, plus 1 in 30s.
  A refusal is told after 100ms, or at the deadline if that is sooner.

Retry budget
  A call that succeeds pays for 10% of a retry.
  It holds what was paid of late, half of it after 3s: at least 1 retry, at most 30. When empty, it refuses.
  After 30s without a retry one is allowed all the same; while no call succeeds, after 1m, then 2m, and so on.

Measured by a guard
  attempt ceiling  3x the p95 of the last 5m, at least 50ms, from 20 successes on
  backoff base     not configured
  hedge threshold  not configured
  queue delay      not configured

Breaker
  None.

Warnings
- the attempt timeout is not below the deadline, so one hanging attempt uses up the call: lower it";

// core-12.17
#[test]
fn the_default_is_explained() {
    assert_eq!(Policy::DEFAULT.explain().to_string(), DEFAULT);
    assert_eq!(Policy::DEFAULT.explain().worst_case(), Some(secs(30)));
}

const DEFAULT: &str = "\
(unnamed): 3 attempts, deadline 30s, attempt timeout 10s

Bound first
  The deadline: when every attempt hangs, it cuts attempt 3 after 9.70s, 97% of its 10s.

Worst case, when every attempt hangs
      0.00s  attempt 1 until 10.00s
     10.00s  wait 0s to 100ms
     10.10s  attempt 2 until 20.10s
     20.10s  wait 0s to 200ms
     20.30s  attempt 3 until 30.00s, cut short by the deadline
     30.00s  the call has ended

Waits
  0s to 100ms before attempt 2, 0s to 1s if the dependency throttles;
  from attempt to attempt 2x as long, but never more than 30s.
  A wait that the dependency asks for is kept to; if it is above 30s, the call ends.

Load
  At most 3 attempts a call; the classifier says which failures are retried.
  Over time, retries are at most 10% of the calls that succeed, plus 1 in 30s.
  A refusal is told after 100ms, or at the deadline if that is sooner.

Retry budget
  A call that succeeds pays for 10% of a retry.
  It holds what was paid of late, half of it after 3s: at least 1 retry, at most 30. When empty, it refuses.
  After 30s without a retry one is allowed all the same; while no call succeeds, after 1m, then 2m, and so on.

Measured by a guard
  attempt ceiling  3x the p95 of the last 5m, at least 50ms, from 20 successes on
  backoff base     not configured
  hedge threshold  not configured
  queue delay      not configured

Breaker
  None.";

// core-12.18
#[test]
fn an_unused_deadline_is_named() {
    let policy = Policy::DEFAULT
        .with_attempts(2)
        .with_attempt_timeout(secs(1))
        .with_backoff(Backoff::NONE);
    assert_eq!(
        bound_first(&policy),
        "The attempt timeout: when every attempt hangs, the call ends after 2.00s, 28s of the deadline unused."
    );
    assert_eq!(policy.explain().worst_case(), Some(secs(2)));
}

// core-12.19
#[test]
fn an_open_breaker_comes_first() {
    let explained = Policy::NONE
        .explain()
        .with_budget_spent(Ratio::ONE)
        .with_breaker(BreakerState::Open, Some(Duration::from_millis(3_210)));
    assert_eq!(
        section(&explained, "Bound first"),
        "The breaker, which is open and may be asked again in 3.21s."
    );
    let bound_first = |state, asked_again| {
        let explained = Policy::NONE.explain().with_breaker(state, asked_again);
        section(&explained, "Bound first")
    };
    assert_eq!(
        bound_first(BreakerState::Isolated, None),
        "The breaker, which is isolated."
    );
    assert_eq!(
        bound_first(BreakerState::Open, Some(Duration::ZERO)),
        "The breaker, which is open."
    );
    for state in [BreakerState::Closed, BreakerState::Disabled] {
        let explained = Policy::NONE.explain().with_breaker(state, None);
        assert!(section(&explained, "Bound first").starts_with("Nothing"));
    }
}

#[test]
fn a_breaker_on_its_way_back_lets_some_through() {
    for asked_again in [None, Some(Duration::ZERO)] {
        let policy = Policy::NONE.with_breaker(Breaker::DEFAULT.with_probes(2, 2));
        let explained = policy
            .explain()
            .with_breaker(BreakerState::HalfOpen, asked_again);
        assert_eq!(
            section(&explained, "Bound first"),
            "The breaker, which is half-open: it lets 2 probes through at a time and refuses the rest."
        );
    }
    let recovering = Policy::NONE
        .explain()
        .with_breaker(BreakerState::Recovering, None);
    assert_eq!(
        section(&recovering, "Bound first"),
        "The breaker, which is recovering: it lets a growing share through and refuses the rest."
    );
    let unknown = Policy::NONE
        .explain()
        .with_breaker(BreakerState::HalfOpen, None);
    assert_eq!(
        section(&unknown, "Bound first"),
        "The breaker, which is half-open: it lets probes through and refuses the rest."
    );
}

#[test]
fn an_observing_breaker_bounds_nothing() {
    let policy = Policy::NONE.with_breaker(Breaker::DEFAULT);
    let explained = policy
        .explain()
        .with_breaker(BreakerState::Open, Some(secs(3)))
        .observing();
    assert!(section(&explained, "Bound first").starts_with("Nothing"));
    assert!(
        section(&explained, "Breaker")
            .ends_with("Now open.\nIt only observes: it refuses nothing.")
    );
}

#[test]
fn a_spent_budget_comes_next() {
    let spent = |ppm| {
        let explained = Policy::DEFAULT.explain();
        section(&explained.with_budget_spent(Ratio::ppm(ppm)), "Bound first")
    };
    assert!(spent(1_000_000).starts_with("The retry budget"));
    assert!(spent(999_999).starts_with("The deadline"));
}

#[test]
fn an_observing_budget_bounds_nothing() {
    let policy = Policy::DEFAULT.with_attempts(2).without_deadline();
    let explained = policy.explain().with_budget_spent(Ratio::ONE);
    let observing = explained.with_observing_budget();
    assert!(section(&observing, "Bound first").starts_with("The attempt timeout"));
    assert!(!section(&observing, "Load").contains("refusal"));
    assert!(
        section(&observing, "Retry budget")
            .ends_with("Spent now: 100%.\nIt only observes: it refuses nothing.")
    );
}

// core-12.20
#[test]
fn nothing_bounds_a_bare_call() {
    assert_eq!(
        bound_first(&Policy::NONE),
        "Nothing: a call that hangs, hangs for ever."
    );
    assert_eq!(Policy::NONE.explain().worst_case(), None);
}

#[test]
fn an_attempt_may_end_with_the_deadline() {
    let policy = Policy::DEFAULT.with_attempts(1).with_deadline(secs(10));
    assert_eq!(
        bound_first(&policy),
        "The deadline: when every attempt hangs, attempt 1 ends with it."
    );
    assert_eq!(
        bound_first(&policy.with_attempts(2).without_attempt_timeout()),
        "The deadline: when every attempt hangs, it cuts attempt 1 after 10.00s, and attempt 2 never starts."
    );
}

#[test]
fn problems_are_listed_and_explained() {
    let policy = Policy::DEFAULT
        .with_attempts(0)
        .with_deadline(Duration::ZERO);
    let listed = section(&policy.explain(), "Problems");
    assert_eq!(
        listed,
        std::format!("- {}\n- {}", Problem::NoAttempts, Problem::ZeroDeadline)
    );
    assert_eq!(
        bound_first(&policy),
        "The number of attempts, which is 0: nothing is ever called."
    );
    assert_eq!(
        section(&policy.explain(), "Worst case"),
        "0.00s  nothing is called"
    );
    assert_eq!(
        section(&policy.explain(), "Load"),
        "None: nothing is ever called."
    );
    assert_eq!(policy.explain().worst_case(), Some(Duration::ZERO));
    let timeless = policy.with_attempts(1);
    assert_eq!(bound_first(&timeless), "The deadline: no attempt starts.");
    assert_eq!(timeless.explain().worst_case(), Some(Duration::ZERO));
}

#[test]
fn live_parts_are_described() {
    let breaker = Breaker::DEFAULT
        .with_failure_ratio(Ratio::percent(50))
        .with_slow_calls(secs(2), Ratio::percent(80));
    let policy = Policy::DEFAULT.with_breaker(breaker);
    let explained = policy
        .explain()
        .with_breaker(BreakerState::Closed, None)
        .with_shared_breaker()
        .with_budget_spent(Ratio::permille(125))
        .with_shared_budget();
    assert_eq!(
        section(&explained, "Breaker"),
        "\
Opens when 5 attempts in a row fail,
or when 50% of the attempts fail,
or when 5% or more of the attempts fail, 5x what is normal and more than chance,
or when 80% of the attempts succeed after 2s, or 3x the normal latency, or more.
Percentages are of the last 30s, and need 20 attempts in it.
Normal is what the 5m before showed, given 100 attempts in it.
The normal latency is what 50% of the successes of the last 5m keep to, given 20.
Breaks for 7.5s to 15s, doubling up to 2m.
Then lets 1 probe through at a time; 2 successes in a row close it.
Now closed.
Shared with other guards."
    );
    assert!(
        section(&explained, "Retry budget")
            .ends_with("Spent now: 12.5%.\nShared with other guards.")
    );
}

#[test]
fn a_breaker_says_what_it_calls_normal() {
    let explained = |breaker| {
        let policy = Policy::DEFAULT.with_breaker(breaker);
        section(&policy.explain(), "Breaker")
    };
    let breaks = "Breaks for 7.5s to 15s, doubling up to 2m.\n\
        Then lets 1 probe through at a time; 2 successes in a row close it.";
    assert_eq!(
        explained(Breaker::DEFAULT.with_adaptive(false)),
        std::format!("Opens when 5 attempts in a row fail.\n{breaks}")
    );
    let usual = SlowTrip::DEFAULT
        .with_multiple(Ratio::ppm(1_500_001))
        .with_usual_share(true);
    let recovering = Breaker::DEFAULT
        .without_relative_failures()
        .with_relative_slow_calls(usual, secs(600))
        .with_recovery(Recovery::DEFAULT)
        .with_probes(1, 1);
    assert_eq!(
        explained(recovering),
        "Opens when 5 attempts in a row fail,\n\
         or when 50% of the attempts succeed after 1.500001x the normal latency or more.\n\
         Percentages are of the last 30s, and need 20 attempts in it.\n\
         The normal latency is what 50% of the successes of the last 10m keep to, given 20;\n\
         what is usually slow opens nothing.\n\
         Breaks for 7.5s to 15s, doubling up to 2m.\n\
         Then lets 1 probe through at a time; one that succeeds lets it recover.\n\
         Recovering, it lets 5% of the attempts through at first, and all after 25% of the break,\n\
         but no sooner than 1s and no later than 30s; slow successes hold that back."
    );
    let law = RelativeTrip::DEFAULT
        .with_multiple(Ratio::percent(250))
        .with_minimum(50, 1)
        .with_deviations(0);
    assert_eq!(
        explained(
            Breaker::DEFAULT
                .with_relative_failures(law, secs(601))
                .without_relative_slow_calls()
        ),
        std::format!(
            "Opens when 5 attempts in a row fail,\n\
             or when 5% or more of the attempts fail, 2.5x what is normal.\n\
             Percentages are of the last 30s, and need 20 attempts in it.\n\
             Normal is what the 10.02m before showed, given 1 attempt in it;\n\
             it is compared with no fewer than 50.\n{breaks}"
        )
    );
}

#[test]
fn a_shared_budget_may_be_none() {
    let policy = Policy::DEFAULT.with_budget(Budget::NONE);
    assert_eq!(
        section(&policy.explain().with_shared_budget(), "Retry budget"),
        "None: every retry is allowed.\nShared with other guards."
    );
}

#[test]
fn a_small_budget_is_spelled_right() {
    let policy = Policy::DEFAULT.with_budget(Budget::new(Ratio::percent(5), 0));
    assert_eq!(
        section(&policy.explain(), "Retry budget"),
        "A call that succeeds pays for 5% of a retry.\nIt starts full and holds 1 retry; when empty, it refuses."
    );
}

#[test]
fn a_fading_budget_says_what_fades() {
    let law = Budget::new(Ratio::percent(20), 1)
        .with_half_life(secs(10))
        .with_spare(secs(90));
    let policy = Policy::DEFAULT.with_budget(law);
    assert_eq!(
        section(&policy.explain(), "Retry budget"),
        "\
A call that succeeds pays for 20% of a retry, and every second of time for 1 retry.
It holds what was paid of late, half of it after 10s: at least 1 retry, at most 10. When empty, it refuses.
After 1.5m without a retry one is allowed all the same; while no call succeeds, after 3m, then 6m, and so on."
    );
    assert!(
        section(&policy.explain(), "Load")
            .contains("at most 20% of the calls that succeed, plus 1 a second, plus 1 in 1.5m.")
    );
    let fading = Policy::DEFAULT.with_budget(law.without_spare());
    assert!(section(&fading.explain(), "Retry budget").ends_with("it refuses."));
}

#[test]
fn load_without_a_budget_is_unbounded() {
    let policy = Policy::DEFAULT.with_budget(Budget::NONE);
    let asked = "At most 3 attempts a call; the classifier says which failures are retried.";
    assert_eq!(
        section(&policy.explain(), "Load"),
        std::format!(
            "{asked}\nNo budget limits the retries: an outage makes the load 3 times as high, for as long as it lasts."
        )
    );
    assert_eq!(
        section(&policy.with_breaker(Breaker::DEFAULT).explain(), "Load"),
        std::format!(
            "{asked}\nNo budget limits the retries: an outage makes the load 3 times as high, until the breaker opens.\n\
             A refusal is told after 100ms, or at the deadline if that is sooner."
        )
    );
    assert_eq!(
        section(&policy.with_attempts(1).explain(), "Load"),
        "1 attempt a call: nothing is retried."
    );
}

#[test]
fn a_breaker_that_lets_all_through_promises_nothing() {
    let policy = Policy::DEFAULT
        .with_budget(Budget::NONE)
        .with_breaker(Breaker::DEFAULT)
        .with_attempt_timeout(Duration::from_millis(20));
    let refusing = policy.explain().to_string();
    assert!(refusing.contains("until the breaker opens"));
    let open = policy.explain().with_breaker(BreakerState::Open, None);
    let disabled = policy.explain().with_breaker(BreakerState::Disabled, None);
    for idle in [open.observing(), disabled] {
        let text = idle.to_string();
        assert!(text.contains("for as long as it lasts"), "{text}");
        assert!(!text.contains("A refusal"), "{text}");
    }
}
