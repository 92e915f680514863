use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::policy::backoff::{Backoff, Jitter};
use crate::policy::budget::Budget;
use crate::policy::problem::Problem;
use proptest::prelude::*;

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

const SHORT_DEADLINE: &str = "\
(unnamed): 3 attempts, deadline 5s, attempt timeout 10s

Bound first
  The deadline: it cuts attempt 1 after 5.00s, 50% of its 10s; attempts 2 to 3 never start.

Worst case, when every attempt hangs
      0.00s  attempt 1 until 5.00s, cut short by the deadline
      5.00s  the call has ended

Waits
  0s to 100ms before attempt 2, 0s to 1s when throttled,
  2x as long before each further one, at most 30s.
  A wait that the dependency asks for is kept to; more than 30s ends the call.

Load
  At most 3x the calls, over time 1.1x plus 3 a second.

Retry budget
  A success funds 10% of a retry, a second funds 3; at most 30 at once.

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
  The deadline: it cuts attempt 3 after 9.70s, 97% of its 10s.

Worst case, when every attempt hangs
      0.00s  attempt 1 until 10.00s
     10.00s  wait 0s to 100ms
     10.10s  attempt 2 until 20.10s
     20.10s  wait 0s to 200ms
     20.30s  attempt 3 until 30.00s, cut short by the deadline
     30.00s  the call has ended

Waits
  0s to 100ms before attempt 2, 0s to 1s when throttled,
  2x as long before each further one, at most 30s.
  A wait that the dependency asks for is kept to; more than 30s ends the call.

Load
  At most 3x the calls, over time 1.1x plus 3 a second.

Retry budget
  A success funds 10% of a retry, a second funds 3; at most 30 at once.

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
        "The attempt timeout: the call ends after 2.00s, 28s of the deadline unused."
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
    for state in [BreakerState::HalfOpen, BreakerState::Isolated] {
        let explained = Policy::NONE.explain().with_breaker(state, None);
        assert_eq!(
            section(&explained, "Bound first"),
            std::format!("The breaker, which is {state}.")
        );
    }
    for state in [BreakerState::Closed, BreakerState::Disabled] {
        let explained = Policy::NONE.explain().with_breaker(state, None);
        assert!(section(&explained, "Bound first").starts_with("Nothing"));
    }
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

// core-12.20
#[test]
fn nothing_bounds_a_bare_call() {
    assert_eq!(
        bound_first(&Policy::NONE),
        "Nothing: a call that hangs, hangs for ever."
    );
    assert_eq!(Policy::NONE.explain().worst_case(), None);
}

// core-12.22
#[test]
fn a_long_walk_is_cut_off() {
    let policy = Policy::NONE
        .with_attempts(5_000)
        .with_attempt_timeout(secs(1));
    assert_eq!(policy.explain().worst_case(), Some(secs(1_000)));
    assert_eq!(
        bound_first(&policy),
        "The number of attempts, after 16.67m or more."
    );
    let rows = section(&policy.explain(), "Worst case");
    assert!(
        rows.ends_with("...  attempts 7 to 1000\n16.67m  and so on"),
        "{rows}"
    );
}

#[test]
fn a_wait_without_room_ends_the_call() {
    let policy = Policy::DEFAULT
        .with_attempts(4)
        .with_attempt_timeout(secs(2));
    let steady = Backoff::constant(secs(1)).with_jitter(Jitter::None);
    let exact = policy
        .with_backoff(steady)
        .with_deadline(Duration::from_millis(5_500));
    assert_eq!(
        bound_first(&exact),
        "The deadline: after attempt 2 it has no room for a wait of 1s; attempts 3 to 4 never start."
    );
    assert_eq!(exact.explain().worst_case(), Some(secs(5)));
    let drawn = exact.with_backoff(steady.with_jitter(Jitter::Full));
    assert_eq!(
        drawn.explain().worst_case(),
        Some(Duration::from_millis(5_500))
    );
    assert!(section(&drawn.explain(), "Worst case").ends_with(
        "5.00s  no time to wait 0s to 1s, unless the draw is short\n5.50s  the call has ended"
    ));
}

#[test]
fn an_attempt_may_end_with_the_deadline() {
    let policy = Policy::DEFAULT.with_attempts(1).with_deadline(secs(10));
    assert_eq!(
        bound_first(&policy),
        "The deadline: attempt 1 ends with it."
    );
    assert_eq!(
        bound_first(&policy.with_attempts(2).without_attempt_timeout()),
        "The deadline: attempt 1 may take 10.00s; attempt 2 never starts."
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
    assert_eq!(bound_first(&policy), "The deadline: no attempt starts.");
    assert_eq!(policy.explain().worst_case(), Some(Duration::ZERO));
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
Opens after 5 failures in a row,
or when 50% of the calls fail,
or when 80% of the calls take 2s or more.
Shares count from 20 calls in 30s on.
Breaks for 7.5s to 15s, doubling up to 2m.
Then lets 1 probe through at once; 2 successes close it.
Now closed.
Shared with other guards."
    );
    assert!(
        section(&explained, "Retry budget").ends_with("Spent: 12.5%.\nShared with other guards.")
    );
}

#[test]
fn load_without_a_budget_is_unbounded() {
    let policy = Policy::DEFAULT.with_budget(Budget::NONE);
    assert_eq!(
        section(&policy.explain(), "Load"),
        "At most 3x the calls, for as long as the dependency fails."
    );
}

#[test]
fn presets_give_no_warning() {
    assert_eq!(warnings(Policy::DEFAULT), []);
    assert_eq!(warnings(Policy::NONE), []);
    assert_eq!(warnings(Policy::DEFAULT.with_breaker(Breaker::DEFAULT)), []);
    assert_eq!(warnings(Policy::DEFAULT.with_attempts(1)), []);
}

//
#[test]
fn a_hot_loop_is_warned_of() {
    let policy = Policy::DEFAULT.with_backoff(Backoff::NONE);
    assert_eq!(warnings(policy), [Warning::RetriesWithoutWait]);
    assert_eq!(warnings(policy.with_attempts(1)), []);
}

#[test]
fn pointless_settings_are_warned_of() {
    let base = Policy::DEFAULT;
    let steady = Backoff::constant(secs(10)).with_jitter(Jitter::Equal);
    let slow = |threshold| Breaker::DEFAULT.with_slow_calls(threshold, Ratio::percent(50));
    let cases = [
        (
            base.with_deadline(secs(10)),
            Warning::TimeoutNotBelowDeadline,
        ),
        (
            base.without_attempt_timeout(),
            Warning::RetriesWithoutTimeout,
        ),
        (
            base.with_backoff(Backoff::constant(secs(30))),
            Warning::WaitsUseUpDeadline,
        ),
        (
            base.with_attempts(7).with_backoff(steady),
            Warning::WaitsUseUpDeadline,
        ),
        (
            base.with_backoff(Backoff::DEFAULT.with_jitter(Jitter::None)),
            Warning::RetriesInStep,
        ),
        (
            base.with_attempts(1)
                .with_budget(Budget::new(Ratio::percent(20), 1)),
            Warning::IdleBudget,
        ),
        (
            base.with_breaker(Breaker::DEFAULT.with_jitter(Jitter::None)),
            Warning::ProbesInStep,
        ),
        (
            base.with_breaker(slow(secs(10))),
            Warning::SlowCallsNeverCount,
        ),
    ];
    for (policy, warning) in cases {
        assert_eq!(warnings(policy), [warning]);
    }
    assert_eq!(warnings(base.with_attempts(6).with_backoff(steady)), []);
    assert_eq!(warnings(base.with_breaker(slow(secs(9)))), []);
}

#[test]
fn a_missing_seed_matters_with_jitter() {
    let unseeded = |policy: Policy| policy.explain().unseeded().warnings().count();
    assert_eq!(unseeded(Policy::DEFAULT), 1);
    assert_eq!(unseeded(Policy::NONE), 0);
    assert_eq!(unseeded(Policy::NONE.with_breaker(Breaker::DEFAULT)), 1);
    let explained = Policy::DEFAULT.explain().unseeded();
    assert_eq!(
        section(&explained, "Warnings"),
        std::format!("- {}", Warning::Unseeded)
    );
}

proptest! {
    #[test]
    fn every_policy_can_be_explained(
        attempts: u32, deadline: u64, timeout: u64, base: u64, maximum: u64, ppm: u32,
    ) {
        let backoff = Backoff::exponential(Duration::from_nanos(base))
            .with_maximum(Duration::from_nanos(maximum))
            .with_factor(Ratio::ppm(ppm));
        let policy = Policy::DEFAULT
            .with_attempts(attempts)
            .with_deadline(Duration::from_nanos(deadline))
            .with_attempt_timeout(Duration::from_nanos(timeout))
            .with_backoff(backoff);
        prop_assert!(!policy.explain().to_string().is_empty());
        prop_assert!(policy.explain().worst_case() <= policy.deadline());
    }
}
