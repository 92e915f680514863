use super::*;

const REPORT: Report = Report {
    reason: Reason::AttemptsExhausted,
    attempts: 3,
    elapsed: Duration::from_millis(1_200),
    verdict: Verdict::TRANSIENT,
    ending: Ending::Error,
    deadline: Some(Duration::from_secs(10)),
    cut_after: None,
    hint: None,
    refused_in: None,
    limited_by: None,
    has_sent: true,
    policy: Some("payments"),
};

#[test]
fn text_says_what_happened() {
    let cases = [
        (REPORT, "payments: failed after 3 attempts in 1.2s"),
        (
            Report {
                reason: Reason::DeadlineExceeded,
                attempts: 1,
                elapsed: Duration::from_secs(10),
                ending: Ending::Cut,
                policy: None,
                ..REPORT
            },
            "deadline of 10s exceeded, 1 attempt in 10s; the last attempt timed out",
        ),
        (
            Report {
                ending: Ending::Cut,
                cut_after: Some(Duration::from_millis(400)),
                ..REPORT
            },
            "payments: failed after 3 attempts in 1.2s; the last attempt timed out after 400ms",
        ),
        (
            Report {
                reason: Reason::DependencyUnavailable,
                attempts: 0,
                ending: Ending::Refused,
                has_sent: false,
                hint: Some(Duration::from_millis(12_340)),
                refused_in: Some(BreakerState::Open),
                ..REPORT
            },
            "payments: not called: the circuit breaker is open; try again in 12.34s",
        ),
        (
            Report {
                reason: Reason::DependencyUnavailable,
                attempts: 2,
                refused_in: Some(BreakerState::HalfOpen),
                ..REPORT
            },
            "payments: not retried after 2 attempts: the circuit breaker is half-open",
        ),
        (
            Report {
                reason: Reason::Draining,
                attempts: 1,
                ..REPORT
            },
            "payments: not retried after 1 attempt: draining before a stop",
        ),
        (
            Report {
                reason: Reason::DeadlineExceeded,
                attempts: 0,
                elapsed: Duration::ZERO,
                deadline: Some(Duration::ZERO),
                has_sent: false,
                ..REPORT
            },
            "payments: not called: no time was left when it began",
        ),
        (
            Report {
                reason: Reason::DeadlineExceeded,
                attempts: 1,
                hint: Some(Duration::from_secs(25)),
                ..REPORT
            },
            "payments: no time for another attempt before the deadline of 10s, 1 attempt in 1.2s; try again in 25s",
        ),
        (
            Report {
                reason: Reason::Permanent,
                attempts: 1,
                ..REPORT
            },
            "payments: failed on attempt 1, not worth a retry",
        ),
    ];
    for (report, text) in cases {
        assert_eq!(CallError::<()>::new(&report, None).to_string(), text);
    }
}

#[test]
fn it_adds_at_most_64_bytes() {
    assert!(size_of::<CallError<()>>() <= 64);
    assert!(size_of::<CallError<u64>>() <= 64 + size_of::<u64>());
    assert!(size_of::<CallError<[u64; 9]>>() <= 64 + size_of::<[u64; 9]>());
    assert!(size_of::<CallError<String>>() <= 64 + size_of::<String>());
}

#[test]
fn a_guard_around_it_knows_what_it_means() {
    let hint = Some(Duration::from_secs(3));
    let meant = |reason, attempts, hint| {
        let report = Report {
            reason,
            attempts,
            hint,
            has_sent: attempts > 0,
            ..REPORT
        };
        CallError::<()>::new(&report, None).verdict()
    };
    let three = Duration::from_secs(3);
    assert_eq!(
        meant(Reason::DependencyUnavailable, 0, hint),
        Verdict::self_imposed_for(three)
    );
    assert_eq!(
        meant(Reason::DependencyUnavailable, 1, hint),
        Verdict::throttled_for(three)
    );
    assert_eq!(meant(Reason::BudgetExhausted, 1, None), Verdict::THROTTLED);
    assert_eq!(meant(Reason::DeadlineExceeded, 1, None), Verdict::TRANSIENT);
    assert_eq!(
        meant(Reason::DeadlineExceeded, 0, None),
        Verdict::SELF_IMPOSED
    );
    assert_eq!(
        meant(Reason::AttemptsExhausted, 3, hint),
        Verdict::TRANSIENT.with_pushback(three)
    );
    let throttled = Report {
        verdict: Verdict::throttled_for(three),
        hint,
        ..REPORT
    };
    assert_eq!(
        CallError::<()>::new(&throttled, None).verdict(),
        Verdict::throttled_for(three)
    );
    assert_eq!(meant(Reason::Permanent, 1, None), Verdict::PERMANENT);
    // A guard around it would retry what must not be retried any more.
    for attempts in [0, 1] {
        assert_eq!(meant(Reason::Draining, attempts, hint), Verdict::PERMANENT);
    }
    let refused = Report {
        has_sent: false,
        verdict: Verdict::self_imposed_for(three),
        ..throttled
    };
    assert_eq!(
        CallError::<()>::new(&refused, None).verdict(),
        Verdict::self_imposed_for(three)
    );
}

#[test]
fn text_says_who_refused() {
    let refused = Report {
        ending: Ending::Refused,
        verdict: Verdict::SELF_IMPOSED,
        limited_by: Some(Limit::Concurrency),
        has_sent: false,
        ..REPORT
    };
    let once = Report {
        attempts: 1,
        elapsed: Duration::ZERO,
        limited_by: Some(Limit::Rate),
        hint: Some(Duration::from_millis(250)),
        ..refused
    };
    let sent = Report {
        has_sent: true,
        ..refused
    };
    let hook = Report {
        limited_by: None,
        ..refused
    };
    let long = |report| Report {
        reason: Reason::Throttled,
        attempts: 1,
        hint: Some(Duration::from_secs(45)),
        ..report
    };
    let late = Report {
        reason: Reason::DeadlineExceeded,
        ..once
    };
    let cases = [
        (
            refused,
            "not called: all 3 attempts in 1.2s refused, the last by the concurrency limit of this process",
        ),
        (
            once,
            "not called: refused by the rate limit of this process; try again in 250ms",
        ),
        (
            hook,
            "not called: all 3 attempts in 1.2s refused, the last by the `admit` hook",
        ),
        (
            sent,
            "failed after 3 attempts in 1.2s; the last attempt was refused by the concurrency limit of this process",
        ),
        (
            Report {
                limited_by: None,
                ..sent
            },
            "failed after 3 attempts in 1.2s; the last attempt was refused by the `admit` hook",
        ),
        (
            long(once),
            "not called: the rate limit of this process asks for a longer pause than the policy allows; try again in 45s",
        ),
        (
            long(hook),
            "not called: the `admit` hook asks for a longer pause than the policy allows; try again in 45s",
        ),
        (
            long(sent),
            "not retried after 1 attempt: the concurrency limit of this process asks for a longer pause than the policy allows; try again in 45s",
        ),
        (
            late,
            "no time for another attempt before the deadline of 10s, 1 attempt in 0s; the last attempt was refused by the rate limit of this process; try again in 250ms",
        ),
    ];
    for (report, text) in cases {
        let error = CallError::<()>::new(&report, None);
        assert_eq!(error.to_string(), std::format!("payments: {text}"));
    }
}

#[test]
fn the_own_error_is_the_source() {
    let error = CallError::new(&REPORT, Some(std::io::Error::other("lost")));
    assert_eq!(error.source().expect("a source").to_string(), "lost");
}

#[test]
fn whoever_refused_survives_packing() {
    // A new variant must also join `ALL`.
    assert_eq!(Limit::ALL.len(), Limit::Closed as usize + 1);
    assert_eq!(BreakerState::ALL.len(), BreakerState::Disabled as usize + 1);
    for limit in Limit::ALL {
        let report = Report {
            limited_by: Some(limit),
            ..REPORT
        };
        let error = CallError::<()>::new(&report, None);
        assert_eq!(error.limited_by(), Some(limit));
        assert_eq!(error.breaker_state(), None);
        assert!(error.is_sent());
    }
    for state in BreakerState::ALL {
        let report = Report {
            refused_in: Some(state),
            ..REPORT
        };
        let error = CallError::<()>::new(&report, None);
        assert_eq!(error.breaker_state(), Some(state));
        assert_eq!(error.limited_by(), None);
        let unsent = Report {
            has_sent: false,
            ..report
        };
        let unsent = CallError::<()>::new(&unsent, None);
        assert_eq!(unsent.breaker_state(), Some(state));
        assert!(!unsent.is_sent());
    }
}
