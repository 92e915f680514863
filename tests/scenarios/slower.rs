//! A dependency that becomes slower for good: bounds and hedges follow it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use steadfast::{
    Backoff, Event, EventKind, Hedge, HedgedGuard, Listener, Measured, MeasuredBase, Plan, Policy,
    random,
};
use steadfast_testing::{VirtualTimer, World};

use crate::stage::{at, ms, secs};

/// What became of the calls that began in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    calls: u32,
    succeeded: u32,
    copies: u32,
    measured: Measured,
}

/// Counts the copies of the calls that began in one second.
struct Copies<'a> {
    second: u64,
    trace: &'a RefCell<BTreeMap<u64, Second>>,
}

impl Listener for Copies<'_> {
    fn on_event(&self, event: &Event) {
        if event.kind() == EventKind::HedgeStarted {
            let mut trace = self.trace.borrow_mut();
            trace.entry(self.second).or_default().copies += 1;
        }
    }
}

/// A dependency by its median in milliseconds as time goes by; zero is nobody
/// calling.
type Life = &'static [(Range<u64>, u64)];

/// Calls a hundred times a second; each takes the median of the hour, more or
/// less by `spread` percent.
fn live(policy: Policy, life: Life, spread: u64, seed: u64) -> BTreeMap<u64, Second> {
    let world = World::seeded(seed);
    let guard: HedgedGuard<VirtualTimer> =
        HedgedGuard::try_on(world.timer(), Plan::new(policy)).expect("a policy that works");
    let (guard, draws) = (Rc::new(guard), Rc::new(Cell::new(0)));
    let trace = Rc::new(RefCell::new(BTreeMap::<u64, Second>::new()));
    let median = move |second| {
        let mut phases = life.iter();
        let phase = phases.find(|(phase, _)| phase.contains(&second));
        phase.map_or(0, |phase| phase.1)
    };
    let end = life.last().map_or(0, |phase| phase.0.end);
    for tick in 0..end * 100 {
        let second = tick / 100;
        let (guard, trace, draws) = (Rc::clone(&guard), Rc::clone(&trace), Rc::clone(&draws));
        let here = world.clone();
        let call = async move {
            here.sleep_until(at(ms(10 * tick))).await;
            if median(second) == 0 {
                trace.borrow_mut().entry(second).or_default().measured = guard.measured();
                return;
            }
            let operation = |_| {
                let draw = u64::from(random(seed, draws.replace(draws.get() + 1)));
                let micros = median(here.elapsed().as_secs().min(end - 1)) * 1_000;
                let most = micros * spread / 50;
                let took = micros - most / 2 + ((most * draw) >> 32);
                let sleep = here.sleep(Duration::from_micros(took));
                async {
                    sleep.await;
                    io::Result::Ok(())
                }
            };
            let copies = Copies {
                second,
                trace: &trace,
            };
            let answer = guard.call(operation).listen(copies).await;
            let mut trace = trace.borrow_mut();
            let row = trace.entry(second).or_default();
            row.calls += 1;
            row.succeeded += u32::from(answer.is_ok());
            row.measured = guard.measured();
        };
        world.spawn("call", call).detach();
    }
    world.advance(secs(end + 60));
    assert_eq!(world.live_tasks(), 0);
    drop(world);
    trace.take()
}

fn sum(trace: &BTreeMap<u64, Second>, seconds: Range<u64>, of: fn(&Second) -> u32) -> u32 {
    trace.range(seconds).map(|(_, second)| of(second)).sum()
}

// Every call takes 200 ms more than 10 ms from the sixtieth second on. The
// ceiling was 50 ms and cuts all; three cuts in a row open it.
#[test]
fn a_step_in_latency_is_outlived() {
    const STEP: Life = &[(0..60, 10), (60..120, 210)];
    for (spread, seed) in [(5, 1), (10, 2), (10, 3), (20, 4), (40, 5)] {
        let trace = live(
            Policy::DEFAULT.with_hedge(Hedge::DEFAULT),
            STEP,
            spread,
            seed,
        );
        let what = format!("{spread} % more or less, seed {seed}");
        assert_eq!(
            sum(&trace, 0..60, |second| second.succeeded),
            6_000,
            "{what}"
        );
        assert!(
            sum(&trace, 60..120, |second| second.succeeded) >= 5_880,
            "{what}"
        );
        // Succeeds again within a second.
        assert_eq!(
            sum(&trace, 61..120, |second| second.succeeded),
            5_900,
            "{what}"
        );
        // A tenth of the calls, once there were two seconds to learn.
        let copies = sum(&trace, 62..120, |second| second.copies);
        assert!(copies <= 580, "{what}: {copies} copies");
        // Single seconds just after the step are above that, as the budget allows.
        let most = trace.range(62..120).map(|(_, second)| second.copies).max();
        assert!(most <= Some(18), "{what}: {most:?} copies in a second");
        let late = sum(&trace, 80..120, |second| second.copies);
        assert!(late <= 40, "{what}: {late} copies when all is learnt");
    }
}

// core-04, core-05: what is measured follows the dependency up, down, through
// silence and back.
#[test]
fn measures_follow_the_dependency() {
    const LIFE: Life = &[
        (0..60, 10),
        (60..120, 210),
        (120..180, 10),
        (180..240, 0),
        (240..260, 10),
    ];
    let policy = Policy::DEFAULT
        .with_hedge(Hedge::DEFAULT)
        .with_backoff(Backoff::DEFAULT.with_measured_base(MeasuredBase::DEFAULT))
        .with_history(secs(30));
    let trace = live(policy, LIFE, 10, 1);
    let millis = |span: Option<Duration>| span.map_or(0, |span| span.as_millis());
    // Ceiling, hedge, base; in milliseconds, at the end of that second.
    let seen = [0, 59, 60, 62, 72, 90, 119, 130, 145, 179, 239, 240, 259].map(|second| {
        let at = trace[&second].measured;
        (
            second,
            millis(at.attempt_ceiling),
            millis(at.hedge_threshold),
            millis(at.backoff_base),
        )
    });
    assert_eq!(
        seen,
        [
            (0, 50, 11, 10),
            (59, 50, 11, 10),
            // It doubled until it let an attempt live.
            (60, 400, 11, 10),
            // A twentieth of the window is slow, and the tail knows.
            (62, 679, 226, 10),
            (72, 736, 226, 11),
            // Half of the window is slow, and the median knows.
            (90, 736, 245, 217),
            (119, 736, 245, 217),
            // Down again: first the median, then the tail.
            (130, 736, 245, 199),
            (145, 50, 11, 10),
            (179, 50, 11, 10),
            // A minute of silence emptied the windows.
            (239, 0, 0, 0),
            (240, 50, 11, 10),
            (259, 50, 11, 10),
        ]
    );
    // What failed was under way when the step came.
    let failed = |seconds| sum(&trace, seconds, |second| second.calls - second.succeeded);
    assert_eq!(failed(0..260), failed(60..61));
    assert!(failed(60..61) < 50, "{}", failed(60..61));
}
