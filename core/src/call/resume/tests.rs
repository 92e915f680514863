use core::cell::RefCell;
use std::vec::Vec;

use super::*;
use crate::ambient::Ambient;
use crate::call::machine::Order;
use crate::event::Event;
use crate::math::ratio::Ratio;
use crate::memory::Local;
use crate::policy::backoff::{Backoff, Jitter};
use crate::policy::breaker::Breaker;
use crate::policy::budget::Budget;
use crate::policy::concurrency::Concurrency;
use crate::policy::policy::Policy;
use crate::policy::restarts::Restarts;
use crate::state::dependency::Dependency;

const MS: fn(u64) -> Duration = Duration::from_millis;

const POLICY: Policy = Policy::DEFAULT
    .with_deadline(Duration::from_secs(10))
    .with_attempt_timeout(Duration::from_secs(4))
    .with_backoff(
        Backoff::exponential(Duration::from_millis(100))
            .with_jitter(Jitter::None)
            .with_maximum(Duration::from_secs(5)),
    )
    .with_budget(Budget::new(Ratio::percent(10), 0).with_burst(5));

/// Kind, number, delay in ms and reason of everything told.
#[derive(Default)]
struct Heard(RefCell<Vec<Told>>);

type Told = (EventKind, u32, Option<u64>, Option<Reason>);

impl Listener for Heard {
    fn on_event(&self, event: &Event) {
        let delay = event
            .delay()
            .map(|delay| u64::try_from(delay.as_millis()).expect("a short one"));
        let told = (event.kind(), event.number(), delay, event.reason());
        self.0.borrow_mut().push(told);
    }
}

/// A stream that is told facts at plain instants.
struct Streamed<'a> {
    machine: Machine<'a, Local, ()>,
    flow: Flow,
    heard: &'a Heard,
}

impl<'a> Streamed<'a> {
    fn new(live: &'a Dependency<Local>, heard: &'a Heard) -> Self {
        let mut machine = Machine::new(live);
        machine.make_lasting();
        Self {
            flow: Flow::of(&machine),
            machine,
            heard,
        }
    }

    fn around(&self) -> Surroundings<'a, Heard, fn() -> u64> {
        Surroundings {
            listener: self.heard,
            error: "Lost",
            seed: || 7,
            draining: None,
            ambient: || Ambient::NONE,
        }
    }

    fn step(&mut self, ms: u64) -> Order {
        let around = self.around();
        self.machine.step(at(ms), &around)
    }

    /// Opens a source that gives its first item 10 ms later.
    #[track_caller]
    fn open(&mut self, ms: u64) {
        assert_eq!(self.step(ms), Order::Start);
        let around = self.around();
        let launched = self.machine.launch(at(ms), &around).expect("in time");
        launched.expect("no limit refuses");
        let rule = |retry: &Retry<'_>| retry.delay();
        let (now, lane) = (at(ms + 10), self.machine.lane());
        self.machine
            .settle(lane, now, Ending::Value, Verdict::OK, &around, rule);
        assert_eq!(self.step(ms + 10), Order::Finish(Reason::Succeeded));
        self.flow.begin(now);
    }

    /// The source fails while an item is waited for; the wait before it is opened
    /// again.
    fn fail(&mut self, ms: u64, verdict: Verdict) -> Option<Duration> {
        let (around, now) = (self.around(), at(ms));
        self.flow.wait(now);
        let rule = |retry: &Retry<'_>| retry.delay();
        let resumed =
            self.machine
                .resume(&mut self.flow, Ending::Error, verdict, now, &around, rule);
        let is_last = self.broken_for().is_some();
        (resumed && !is_last).then(|| self.machine.wake().saturating_since(now))
    }

    /// Why the stream was not resumed.
    fn broken_for(&self) -> Option<Reason> {
        let told = self.heard.0.borrow();
        let (kind, _, _, reason) = *told.last()?;
        (kind == EventKind::StreamBroken).then_some(reason)?
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO.saturating_add(MS(ms))
}

fn tokens(live: &Dependency<Local>, now: Instant) -> usize {
    let budget = live.budget().expect("a budget");
    let taken: Vec<_> = core::iter::from_fn(|| budget.take(now)).collect();
    taken.len()
}

// core-11.14
#[test]
fn a_restart_is_told_and_waits_as_a_retry_does() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert_eq!(stream.fail(500, Verdict::TRANSIENT), Some(MS(100)));
    assert_eq!(stream.step(500), Order::Wait(at(600)));
    stream.open(600);
    // The next one in a row waits longer.
    assert_eq!(stream.fail(700, Verdict::TRANSIENT), Some(MS(200)));
    assert_eq!(stream.flow.restarts(), 2);
    let told = heard.0.take();
    assert_eq!(
        told,
        [
            (EventKind::Attempt, 1, None, None),
            (EventKind::Succeeded, 1, None, Some(Reason::Succeeded)),
            (EventKind::StreamResumed, 1, Some(100), None),
            (EventKind::Attempt, 1, None, None),
            (EventKind::Succeeded, 1, None, Some(Reason::Succeeded)),
            (EventKind::StreamResumed, 2, Some(200), None),
        ]
    );
}

#[test]
fn a_restart_costs_a_token() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert_eq!(tokens(&live, at(20)), 5);
    assert!(stream.fail(500, Verdict::TRANSIENT).is_some());
    // Held while it waits, and back when the stream is dropped before it is used.
    assert_eq!(tokens(&live, at(500)), 4);
    drop(stream);
    assert_eq!(tokens(&live, at(500)), 5);

    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert!(stream.fail(500, Verdict::TRANSIENT).is_some());
    stream.open(600);
    drop(stream);
    // Four and the tenth of a token that each start paid in.
    assert_eq!(tokens(&live, at(700)), 4);
}

#[test]
fn items_pay_as_successes_do() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let budget = live.budget().expect("a budget");
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    while let Some(token) = budget.take(at(20)) {
        token.spend();
    }
    for _ in 0..9 {
        stream.flow.deliver();
    }
    // Nine tenths and the one of the start, which was paid into a full bucket.
    assert_eq!(stream.fail(500, Verdict::TRANSIENT), None);
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    for _ in 0..u32::MAX / (1 << 20) {
        stream.flow.deliver();
    }
    // However many items, they pay for the restart and its two retries only.
    assert!(stream.fail(500, Verdict::TRANSIENT).is_some());
    assert_eq!(tokens(&live, at(500)), 3);
    // And nothing where there is none.
    stream.open(600);
    for _ in 0..300 {
        stream.flow.deliver();
    }
    assert_eq!(stream.fail(700, Verdict::PERMANENT), None);
    assert_eq!(tokens(&live, at(700)), 3);
}

#[test]
fn an_empty_budget_resumes_nothing() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    let budget = live.budget().expect("a budget");
    while let Some(token) = budget.take(at(20)) {
        token.spend();
    }
    assert_eq!(stream.fail(500, Verdict::TRANSIENT), None);
    assert_eq!(stream.broken_for(), Some(Reason::BudgetExhausted));
    // Said after a pause, so that who asks in a loop is held up.
    assert_eq!(stream.step(500), Order::Wait(at(600)));
    assert_eq!(stream.step(600), Order::Finish(Reason::BudgetExhausted));
    let report = stream.machine.report(at(600));
    assert!(report.has_sent && report.reason == Reason::BudgetExhausted);
}

// core-11.15, core-11.17, core-11.21
#[test]
fn restarts_have_a_cap_of_their_own() {
    for (limit, attempts) in [(0, 3), (1, 3), (2, 1)] {
        let policy = POLICY
            .with_restarts(Restarts::at_most(limit))
            .with_attempts(attempts);
        let (live, heard) = (Dependency::new(&policy), Heard::default());
        let mut stream = Streamed::new(&live, &heard);
        let mut now = 0;
        for _ in 0..limit {
            stream.open(now);
            let wait = stream.fail(now + 20, Verdict::TRANSIENT);
            now += 20 + u64::try_from(wait.expect("a restart").as_millis()).expect("short");
        }
        stream.open(now);
        assert_eq!(stream.fail(now + 20, Verdict::TRANSIENT), None);
        assert_eq!(stream.broken_for(), Some(Reason::AttemptsExhausted));
    }
    assert_eq!(Policy::NONE.restarts(), Restarts::NONE);
}

// core-11.19
#[test]
fn a_spent_deadline_resumes_nothing() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(9_000);
    // Nine seconds later the source breaks, short of health.
    assert_eq!(stream.fail(19_000, Verdict::TRANSIENT), None);
    assert_eq!(stream.broken_for(), Some(Reason::DeadlineExceeded));
    // Nor if the wait would use up what is left.
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert_eq!(stream.fail(9_900, Verdict::TRANSIENT), None);
    assert_eq!(stream.broken_for(), Some(Reason::DeadlineExceeded));
}

#[test]
fn health_begins_all_anew() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    let mut now = 10;
    // Each stretch is longer than the deadline; count and wait begin anew.
    for _ in 0..4 {
        now += 10_000;
        assert_eq!(stream.fail(now, Verdict::TRANSIENT), Some(MS(100)));
        assert_eq!(stream.flow.restarts(), 1);
        stream.open(now + 100);
        now += 110;
    }
    // As does the deadline: it is counted from the last break after a healthy one.
    assert_eq!(stream.fail(now + 9_000, Verdict::TRANSIENT), Some(MS(200)));
    assert_eq!(stream.step(now + 9_200), Order::Start);
    assert_eq!(stream.machine.left(at(now + 9_200)), MS(690));
}

// Or there would be a time after the deadline in which nothing is resumed.
#[test]
fn a_deadline_shorter_than_health_renews_it() {
    let policy = POLICY.with_deadline(MS(5_000));
    let (live, heard) = (Dependency::new(&policy), Heard::default());
    for broken in [1_000, 4_000, 5_010, 6_000, 9_000, 10_000, 11_000] {
        let mut stream = Streamed::new(&live, &heard);
        stream.open(0);
        assert!(
            stream.fail(broken, Verdict::TRANSIENT).is_some(),
            "{broken}"
        );
    }
}

// core-11.19: the reference's law has that time.
#[test]
fn under_the_reference_a_deadline_is_never_renewed() {
    let policy = POLICY
        .with_deadline(MS(5_000))
        .with_restarts(Restarts::REFERENCE);
    let (live, heard) = (Dependency::new(&policy), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert_eq!(stream.fail(6_000, Verdict::TRANSIENT), None);
    assert_eq!(stream.broken_for(), Some(Reason::DeadlineExceeded));
}

// What a consumer does between two items is not the source's health.
#[test]
fn a_slow_consumer_is_no_health() {
    let (live, heard) = (
        Dependency::new(&POLICY.without_deadline()),
        Heard::default(),
    );
    let mut stream = Streamed::new(&live, &heard);
    let mut restarts = 0;
    for round in 0..10 {
        let now = round * 20_000;
        stream.open(now);
        // It failed at the first pull after the item, ten seconds later.
        let (around, flow) = (stream.around(), &mut stream.flow);
        let (rule, at) = (|retry: &Retry<'_>| retry.delay(), at(now + 10_010));
        let verdict = Verdict::TRANSIENT;
        if !stream
            .machine
            .resume(flow, Ending::Error, verdict, at, &around, rule)
        {
            break;
        }
        restarts += 1;
    }
    assert_eq!(restarts, 3);
}

// A deadline that began anew is told as what it is.
#[test]
fn after_health_a_report_is_that_of_a_new_call() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert!(stream.fail(3_600_000, Verdict::TRANSIENT).is_some());
    let report = stream.machine.report(at(3_601_000));
    assert_eq!(report.deadline, Some(MS(10_000)));
    assert_eq!(report.elapsed, MS(1_000));
}

#[test]
fn silence_is_no_health() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    // Items for eight seconds, then nothing for ten.
    stream.flow.wait(at(8_010));
    stream.flow.wait(at(9_000));
    assert_eq!(stream.flow.due(MS(4_000)), at(12_010));
    assert_eq!(stream.fail(18_010, Verdict::TRANSIENT), None);
    assert_eq!(stream.broken_for(), Some(Reason::DeadlineExceeded));
}

#[test]
fn a_reference_rule_knows_no_health() {
    let policy = POLICY.with_restarts(Restarts::REFERENCE).without_deadline();
    let (live, heard) = (Dependency::new(&policy), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    let mut now = 0;
    for _ in 0..3 {
        stream.open(now);
        now += 1_000_000_000;
        assert!(stream.fail(now, Verdict::TRANSIENT).is_some());
        now += 1_000;
    }
    stream.open(now);
    assert_eq!(stream.fail(now + 1_000_000_000, Verdict::TRANSIENT), None);
}

#[test]
fn what_would_come_again_ends_a_stream() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    for verdict in [Verdict::PERMANENT, Verdict::OK] {
        let mut stream = Streamed::new(&live, &heard);
        stream.open(0);
        assert_eq!(stream.fail(500, verdict), None);
        assert_eq!(stream.broken_for(), Some(Reason::Permanent));
    }
    let mut once = Streamed::new(&live, &heard);
    once.machine.make_once();
    once.open(0);
    assert_eq!(once.fail(500, Verdict::TRANSIENT), None);
    assert_eq!(once.broken_for(), Some(Reason::AttemptsExhausted));
}

#[test]
fn a_hint_is_waited_for_or_ends_it() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    let hint = Verdict::throttled_for(MS(3_000));
    assert_eq!(stream.fail(500, hint), Some(MS(3_000)));
    stream.open(3_500);
    let hint = Verdict::throttled_for(MS(5_001));
    assert_eq!(stream.fail(3_600, hint), None);
    assert_eq!(stream.broken_for(), Some(Reason::Throttled));
    assert_eq!(tokens(&live, at(3_600)), 4);
}

// core-11.18
#[test]
fn a_restart_has_all_attempts_and_asks_the_breaker() {
    let breaker = Breaker::DEFAULT.with_consecutive_failures(3);
    let policy = POLICY.with_breaker(breaker).with_attempts(2);
    let (live, heard) = (Dependency::new(&policy), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert!(stream.fail(500, Verdict::TRANSIENT).is_some());
    heard.0.take();
    let mut now = 600;
    for number in [1, 2] {
        assert_eq!(stream.step(now), Order::Start);
        let around = stream.around();
        let attempt = stream.machine.launch(at(now), &around).expect("in time");
        assert_eq!(attempt.expect("no limit refuses").number(), number);
        let rule = |_: &Retry<'_>| Duration::ZERO;
        stream.machine.settle(
            0,
            at(now + 5),
            Ending::Error,
            Verdict::TRANSIENT,
            &around,
            rule,
        );
        now += 5;
    }
    assert_eq!(stream.step(now), Order::Finish(Reason::AttemptsExhausted));
    let report = stream.machine.report(at(now));
    assert_eq!((report.attempts, report.elapsed), (2, MS(now)));

    // Opened again after the breaker has opened.
    let mut stream = Streamed::new(&live, &heard);
    stream.open(1_000);
    live.breaker().expect("a breaker").isolate();
    assert!(stream.fail(1_500, Verdict::TRANSIENT).is_some());
    assert_eq!(stream.step(1_600), Order::Wait(at(1_700)));
    assert_eq!(
        stream.step(1_700),
        Order::Finish(Reason::DependencyUnavailable)
    );
    // It was sent, if not this time.
    assert!(stream.machine.report(at(1_700)).has_sent);
}

//
#[test]
fn a_stream_keeps_its_place() {
    let policy = POLICY.with_concurrency(Concurrency::fixed(1));
    let (live, heard) = (Dependency::new(&policy), Heard::default());
    let places = || live.concurrency().expect("a limit").in_flight();
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    assert_eq!(places(), 1);
    // Also while it waits to be opened again, or another one would take it.
    assert!(stream.fail(500, Verdict::TRANSIENT).is_some());
    assert_eq!(places(), 1);
    stream.open(600);
    assert_eq!(places(), 1);
    assert_eq!(stream.fail(700, Verdict::PERMANENT), None);
    assert_eq!(places(), 0);
    let mut stream = Streamed::new(&live, &heard);
    stream.open(800);
    stream.machine.release();
    assert_eq!(places(), 0);

    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    drop(stream);
    assert_eq!(places(), 0);

    // A plain call gives it back as it succeeds.
    let mut call = Machine::<Local>::new(&live);
    let around = Streamed::new(&live, &heard).around();
    assert_eq!(call.step(at(0), &around), Order::Start);
    assert!(call.launch(at(0), &around).expect("in time").is_ok());
    assert_eq!(places(), 1);
    call.settle(0, at(1), Ending::Value, Verdict::OK, &around, |retry| {
        retry.delay()
    });
    assert_eq!(places(), 0);
}

#[test]
fn only_what_flows_breaks() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    assert_eq!(stream.fail(0, Verdict::TRANSIENT), None);
    assert_eq!(stream.step(0), Order::Start);
    assert_eq!(stream.fail(0, Verdict::TRANSIENT), None);
    assert!(heard.0.borrow().is_empty());
}

#[test]
fn a_wait_is_forgiven_once() {
    let live = Dependency::<Local>::new(&POLICY);
    let mut flow = Flow::of(&Machine::<Local>::new(&live));
    flow.begin(at(0));
    flow.wait(at(100));
    assert!(flow.forgive(at(9_000)) && !flow.forgive(at(9_500)));
    assert_eq!(flow.due(MS(4_000)), at(13_000));
    // It was quiet since the first pull, for health.
    assert_eq!(flow.ran(), MS(100));
    flow.deliver();
    flow.wait(at(10_000));
    assert!(flow.forgive(at(90_000)));
}

// core-14.18
#[test]
fn a_stall_is_told_and_ends_nothing() {
    let (live, heard) = (Dependency::new(&POLICY), Heard::default());
    let mut stream = Streamed::new(&live, &heard);
    stream.open(0);
    let around = stream.around();
    stream.machine.stall(MS(4_000), at(4_010), &around);
    let told = heard.0.take();
    assert_eq!(
        told.last(),
        Some(&(EventKind::Stalled, 1, Some(4_000), None))
    );
    let over = told.iter().filter(|event| event.0.is_terminal()).count();
    assert_eq!(over, 1);
}
