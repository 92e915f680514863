use super::*;
use crate::policy::ceiling::AttemptCeiling;
use crate::policy::hedge::Hedge;
use crate::policy::measured_base::MeasuredBase;
use crate::policy::saturation::Saturation;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Cold, and it has seen nothing.
fn cold() -> Measured {
    Measured {
        successes: Some(0),
        attempts: Some(0),
        ..Measured::default()
    }
}

fn with_ceiling(ceiling: Duration) -> Measured {
    Measured {
        attempt_ceiling: Some(ceiling),
        ..cold()
    }
}

fn rows(policy: Policy, measured: Measured) -> String {
    section(&policy.explain().with_measured(measured), "Measured now")
}

const EVERYTHING: Policy = Policy::DEFAULT
    .with_backoff(Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT))
    .with_hedge(Hedge::DEFAULT);

const COLD: &str = "\n\
    Until enough is known the constants hold. A guard learns for as long as it lives:\n\
    make it once and keep it, best in a `static`. One made for each request never learns.";

// core-12.15
#[test]
fn what_is_cold_says_what_it_needs() {
    assert_eq!(
        rows(Policy::DEFAULT, cold()),
        std::format!(
            "attempt ceiling  cold, 0 of 20 successes: 3x the p95 of the last 5m, at least 50ms\n\
             backoff base     not configured\n\
             hedge threshold  not configured\n\
             queue delay      not configured{COLD}"
        )
    );
    let some = Measured {
        successes: Some(7),
        attempts: Some(9),
        ..Measured::default()
    };
    assert_eq!(
        rows(EVERYTHING, some),
        std::format!(
            "attempt ceiling  cold, 7 of 20 successes: 3x the p95 of the last 5m, at least 50ms and 3x the hedge threshold\n\
             backoff base     cold, 7 of 20 successes: the p50 of the last 5m, from 10ms to 1s\n\
             hedge threshold  cold, 9 of 20 attempts: the p95 of the last 30s, at least 10ms\n\
             queue delay      not configured{COLD}"
        )
    );
}

#[test]
fn what_is_warm_says_its_value() {
    let warm = Measured {
        attempt_ceiling: Some(Duration::from_nanos(130_547_712)),
        backoff_base: Some(ms(41)),
        hedge_threshold: Some(ms(44)),
        ..cold()
    };
    assert_eq!(
        rows(EVERYTHING, warm),
        "attempt ceiling  130.55ms: 3x the p95 of the last 5m, at least 50ms and 3x the hedge threshold\n\
         backoff base     41ms: the p50 of the last 5m, from 10ms to 1s\n\
         hedge threshold  44ms: the p95 of the last 30s, at least 10ms\n\
         queue delay      not configured"
    );
    let slow = rows(Policy::DEFAULT, with_ceiling(secs(11)));
    assert!(slow.starts_with("attempt ceiling  11s, so the attempt timeout holds: 3x"));
}

#[test]
fn a_normal_latency_is_the_breakers() {
    let known = Measured {
        normal_latency: Some(ms(40)),
        ..with_ceiling(secs(1))
    };
    assert!(
        rows(Policy::DEFAULT, known)
            .ends_with("\nnormal latency   40ms: what the breaker compares with")
    );
}

#[test]
fn a_queue_delay_says_when_it_matters() {
    let policy = Policy::DEFAULT.with_saturation(Saturation::DEFAULT);
    let delay = |text: String| text.lines().nth(3).unwrap_or_default().to_string();
    let law = "learning stops at 5x what is normal, at least 20ms";
    assert_eq!(
        delay(section(&policy.explain(), "Measured by a guard")),
        std::format!("queue delay      {law}, from 20 probes on")
    );
    assert_eq!(
        delay(rows(policy, cold())),
        std::format!("queue delay      cold, fewer than 20 probes: {law}")
    );
    let known = Measured {
        queue_delay: Some(Duration::from_micros(50)),
        ..cold()
    };
    assert_eq!(
        delay(rows(policy, known)),
        std::format!("queue delay      50us: {law}")
    );
}

#[test]
fn laws_are_told_without_a_guard() {
    let fussy = Policy::DEFAULT
        .with_history(secs(60))
        .with_attempt_ceiling(
            AttemptCeiling::DEFAULT
                .with_multiple(Ratio::percent(250))
                .with_quantile(Ratio::permille(985))
                .with_minimum_samples(1),
        )
        .with_backoff(
            Backoff::DEFAULT
                .with_measured_base(MeasuredBase::DEFAULT.with_multiple(Ratio::times(2))),
        )
        .with_hedge(Hedge::DEFAULT.with_minimum_delay(Duration::ZERO));
    assert_eq!(
        section(&fussy.explain(), "Measured by a guard"),
        "attempt ceiling  2.5x the p98.5 of the last 1m, at least 50ms and 2.5x the hedge threshold, from 1 success on\n\
         backoff base     2x the p50 of the last 1m, from 10ms to 1s, from 20 successes on\n\
         hedge threshold  the p95 of the last 30s, from 20 attempts on\n\
         queue delay      not configured"
    );
}

#[test]
fn who_measures_nothing_says_why() {
    let rigid = Policy::DEFAULT.with_adaptive(false);
    assert_eq!(
        rows(rigid, Measured::default()),
        "Nothing: the policy is not adaptive, its constants hold."
    );
    assert_eq!(
        rows(Policy::DEFAULT, Measured::default()),
        "Nothing: the guard's memory is `Unmeasured`, so the constants hold."
    );
    let broken = Policy::DEFAULT.with_attempts(0);
    assert_eq!(
        section(&broken.explain(), "Measured by"),
        "Nothing: the policy cannot work."
    );
    let off = rows(
        Policy::DEFAULT.without_attempt_ceiling(),
        Measured::default(),
    );
    assert!(off.starts_with("attempt ceiling  not configured\n"));
    assert!(!off.contains("Until"), "{off}");
}

// core-12.21
#[test]
fn a_warm_ceiling_bounds_first() {
    let ceiling = Duration::from_micros(122_880);
    let explained = Policy::DEFAULT
        .explain()
        .with_measured(with_ceiling(ceiling));
    assert_eq!(
        section(&explained, "Bound first"),
        "The measured attempt ceiling, now 122.88ms: when every attempt hangs, the call ends after 0.67s, 29.33s of the deadline unused."
    );
    assert_eq!(
        section(&explained, "Worst case as measured now"),
        "0.00s  attempt 1 until 0.12s\n\
         0.12s  wait 0s to 100ms\n\
         0.22s  attempt 2 until 0.35s\n\
         0.35s  wait 0s to 200ms\n\
         0.55s  attempt 3 until 0.67s\n\
         0.67s  the call has ended\n\
         Whatever is measured, the call has ended by 30.00s."
    );
    assert_eq!(explained.worst_case(), Some(secs(30)));
}

#[test]
fn a_ceiling_above_the_timeout_bounds_nothing() {
    let bare = Policy::DEFAULT.explain();
    for ceiling in [secs(10), secs(11)] {
        let explained = bare.with_measured(with_ceiling(ceiling));
        for heading in ["Bound first", "Worst case"] {
            assert_eq!(section(&explained, heading), section(&bare, heading));
        }
    }
}

#[test]
fn a_ceiling_bounds_alone() {
    let policy = Policy::NONE
        .with_adaptive(true)
        .with_attempts(2)
        .with_attempt_ceiling(AttemptCeiling::DEFAULT);
    let limited = policy.with_budget(Budget::DEFAULT);
    assert_eq!(warnings(limited), [Warning::RetriesWithoutWait]);
    let cold = policy.explain().with_measured(cold());
    assert!(section(&cold, "Bound first").starts_with("Nothing"));
    let warm = policy.explain().with_measured(with_ceiling(secs(1)));
    assert_eq!(
        section(&warm, "Bound first"),
        "The measured attempt ceiling, now 1s: when every attempt hangs, the call ends after 2.00s."
    );
    assert!(
        section(&warm, "Worst case as measured now")
            .ends_with("\nShould too little be known again, nothing ends the call.")
    );
    assert_eq!(warm.worst_case(), None);
}

#[test]
fn the_deadline_cuts_by_the_ceiling() {
    let policy = Policy::DEFAULT.with_deadline(secs(5));
    let warm = policy.explain().with_measured(with_ceiling(secs(4)));
    assert_eq!(
        section(&warm, "Bound first"),
        "The deadline: when every attempt hangs, it cuts attempt 2 after 0.90s, 23% of its 4s, and attempt 3 never starts."
    );
}

#[test]
fn a_measured_base_is_walked() {
    let policy = EVERYTHING.without_hedge();
    let waits = |explained: Explanation<'_>| section(&explained, "Waits");
    let range = "The first wait follows what a call normally takes, from 10ms to 1s";
    let bare = policy.explain();
    assert!(waits(bare).contains(&std::format!("{range}; 100ms until that is known.\n")));
    // The longest base that may be measured.
    assert!(section(&bare, "Worst case").contains("wait 0s to 1s\n"));
    let warm = Measured {
        backoff_base: Some(ms(40)),
        ..cold()
    };
    let warm = bare.with_measured(warm);
    assert!(waits(warm).starts_with("0s to 40ms before attempt 2,"));
    assert!(waits(warm).contains(&std::format!("{range}.\n")));
    let walk = section(&warm, "Worst case as measured now");
    assert!(walk.contains("wait 0s to 40ms\n") && walk.contains("wait 0s to 80ms\n"));
    let cold = bare.with_measured(cold());
    assert!(section(&cold, "Worst case as measured now").contains("wait 0s to 100ms\n"));
}

// What is measured may leave room for another attempt, which then hangs.
#[test]
fn shorter_waits_are_in_the_worst_case() {
    let base = Backoff::exponential(ms(100)).with_jitter(Jitter::None);
    let policy = Policy::DEFAULT
        .without_attempt_ceiling()
        .with_attempt_timeout(secs(2))
        .with_deadline(ms(5_500))
        .with_backoff(base.with_measured_base(MeasuredBase::DEFAULT));
    assert_eq!(policy.explain().worst_case(), Some(ms(5_500)));
    assert!(
        section(&policy.explain(), "Worst case")
            .contains("no time to wait 2s, unless less is measured\n")
    );
}

#[test]
fn a_hedge_is_load_and_runs_alongside() {
    let hedged = EVERYTHING.explain();
    assert_eq!(
        section(&hedged, "Load"),
        "At most 3 attempts a call; the classifier says which failures are retried.\n\
         About 5% of them are raced by a copy for being slow; a copy is one of the 3.\n\
         Over time, retries and copies are at most 10% of the calls that succeed, plus 1 in 30s.\n\
         A refusal is told after 100ms, or at the deadline if that is sooner."
    );
    assert!(
        section(&hedged, "Worst case")
            .ends_with("\nA copy of a slow attempt runs alongside and makes none of this longer.")
    );
}
