//! Faults at every item of a stream, with each bound the tightest in turn.

use std::cell::{Cell, RefCell};
use std::pin::pin;

use futures_lite::StreamExt;
use steadfast::{
    Breaker, BreakerState, Budget, Concurrency, EventKind, Jitter, Policy, Ratio, Reason, Restarts,
};
use steadfast_testing::{Beat, Fault, StreamScript};

use super::{Item, STREAM};
use crate::stage::{Stage, backoff, ms, secs};

const LEN: u32 = 6;

/// What goes wrong, once, after so many items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The source fails.
    Drops,
    /// It gives nothing more.
    Stalls,
    /// It fails, and the next one cannot be opened.
    Ends,
}

const WRONGS: [Wrong; 3] = [Wrong::Drops, Wrong::Stalls, Wrong::Ends];

/// Which bound is the tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tight {
    Nothing,
    Budget,
    Breaker,
    Restarts,
    Deadline,
}

impl Tight {
    const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Budget,
        Self::Breaker,
        Self::Restarts,
        Self::Deadline,
    ];

    const fn policy(self) -> Policy {
        let policy = STREAM
            .with_attempts(1)
            .with_backoff(backoff(ms(100)))
            .with_restarts(Restarts::at_most(9))
            .with_budget(Budget::new(Ratio::ppm(1), 0).with_burst(9))
            .with_concurrency(Concurrency::fixed(1))
            .with_breaker(TOLERANT)
            .with_deadline(secs(60));
        match self {
            Self::Nothing => policy,
            Self::Budget => policy.with_budget(Budget::new(Ratio::ppm(1), 0).with_burst(1)),
            Self::Breaker => policy.with_breaker(TOLERANT.with_consecutive_failures(1)),
            Self::Restarts => policy.with_restarts(Restarts::at_most(1)),
            Self::Deadline => policy.with_deadline(ms(1_500)),
        }
    }

    /// The reasons for which it may give a stream up.
    fn reasons(self) -> &'static [Reason] {
        match self {
            Self::Nothing | Self::Breaker => &[],
            Self::Budget => &[Reason::BudgetExhausted],
            Self::Restarts => &[Reason::AttemptsExhausted],
            Self::Deadline => &[Reason::DeadlineExceeded],
        }
    }
}

const TOLERANT: Breaker = Breaker::REFERENCE
    .with_consecutive_failures(50)
    .with_jitter(Jitter::None);

/// The faults that are left, in order, and the sources they made.
struct Feed<'s> {
    stage: &'s Stage,
    faults: RefCell<Vec<(u32, Wrong)>>,
    cannot_open: Cell<bool>,
    alive: RefCell<Vec<StreamScript<u32>>>,
}

impl<'s> Feed<'s> {
    fn new(stage: &'s Stage, faults: &[(u32, Wrong)]) -> Self {
        Self {
            stage,
            faults: RefCell::new(faults.to_vec()),
            cannot_open: Cell::new(false),
            alive: RefCell::default(),
        }
    }

    /// Opens the source of the items after `seen`.
    fn open(&self, seen: u32) -> steadfast_testing::Source<u32> {
        assert_eq!(self.alive(), 0, "the source before is still open");
        let script = StreamScript::on(self.stage.world.timer());
        let script = if self.cannot_open.take() {
            script.fails(Fault::Transient)
        } else {
            script.plays(self.beats(seen))
        };
        self.alive.borrow_mut().push(script.clone());
        script.open()
    }

    fn beats(&self, seen: u32) -> Vec<Beat<u32>> {
        let mut faults = self.faults.borrow_mut();
        // One at a place that is behind is over; one at this very place comes first.
        let fault = faults.iter().position(|&(at, _)| at >= seen);
        let fault = fault.map(|place| faults.remove(place));
        let end = fault.map_or(LEN, |(at, _)| at);
        let items = (seen + 1..=end).flat_map(|item| [Beat::Pause(ms(10)), Beat::Item(item)]);
        let mut beats: Vec<_> = items.collect();
        match fault {
            None => {}
            Some((_, Wrong::Stalls)) => beats.push(Beat::Hang),
            Some((_, wrong)) => {
                self.cannot_open.set(wrong == Wrong::Ends);
                beats.push(Beat::Failure(Fault::Transient));
            }
        }
        beats
    }

    fn alive(&self) -> usize {
        self.alive.borrow().iter().map(StreamScript::alive).sum()
    }
}

/// Reads a stream with these faults, of which the consumer takes `wanted` items.
fn read(tight: Tight, faults: &[(u32, Wrong)], wanted: usize) {
    let about = format!("{tight:?}, {faults:?}, {wanted} wanted");
    let stage = Stage::new(tight.policy());
    let tokens = stage.tokens();
    let feed = Feed::new(&stage, faults);
    let call = stage.guard.prepare().listen(&stage.heard);
    let stream = call.stream_from(0, |seen, _| feed.open(seen), |&item| item);
    let items: Vec<Item> = stage.world.block_on(async {
        let mut stream = pin!(stream);
        let mut items = Vec::new();
        while items.len() < wanted
            && let Some(item) = stream.next().await
        {
            assert!(feed.alive() <= 1, "{about}");
            items.push(item);
        }
        items
    });

    // Each once and in order, then at most one error, which is the last.
    let given: Vec<_> = items.iter().map_while(|item| item.as_ref().ok()).collect();
    let expected: Vec<_> = (1..=LEN).collect();
    let whole = expected.iter().take(given.len());
    assert!(given.iter().copied().eq(whole), "{about}: {given:?}");
    assert!(items.len() - given.len() <= 1, "{about}");
    let is_cut_short = items.len() == wanted;
    let has_failed = items.len() > given.len();
    if !has_failed && !is_cut_short {
        assert_eq!(given.len(), expected.len(), "{about}");
    }

    // Every reason is one that this bound gives.
    for event in stage.heard.of_kind(EventKind::StreamBroken) {
        let reason = event.reason().expect("a reason");
        assert!(tight.reasons().contains(&reason), "{about}: {reason}");
    }
    let resumed = stage.heard.count_of(EventKind::StreamResumed);
    match tight {
        Tight::Budget | Tight::Restarts => assert!(resumed <= 1, "{about}"),
        _ => assert!(resumed <= faults.len(), "{about}"),
    }

    // Nothing is left behind: sources, places, tokens, probes.
    assert_eq!(feed.alive(), 0, "{about}");
    let limit = stage.guard.concurrency().expect("a limit");
    assert_eq!(limit.in_flight(), 0, "{about}");
    assert!(stage.tokens() + resumed >= tokens, "{about}");
    stage.world.advance(secs(3600));
    let breaker = stage.guard.breaker().expect("a breaker");
    let probe = breaker.admit(stage.world.now());
    assert!(probe.is_ok(), "{about}");
    drop(probe);
    assert_ne!(
        breaker.state(stage.world.now()),
        BreakerState::Open,
        "{about}"
    );
}

const ALL: usize = usize::MAX;

#[test]
fn one_fault_at_every_item() {
    for tight in Tight::ALL {
        for at in 0..=LEN {
            for wrong in WRONGS {
                read(tight, &[(at, wrong)], ALL);
            }
        }
    }
}

#[test]
fn two_faults_at_every_pair_of_items() {
    for tight in Tight::ALL {
        for (first, second) in (0..=LEN).flat_map(|at| (at..=LEN).map(move |next| (at, next))) {
            for wrong in WRONGS {
                for other in WRONGS {
                    read(tight, &[(first, wrong), (second, other)], ALL);
                }
            }
        }
    }
}

#[test]
fn a_consumer_may_leave_after_every_item() {
    for tight in Tight::ALL {
        for wanted in 0..=LEN as usize {
            for at in 0..=LEN {
                for wrong in WRONGS {
                    read(tight, &[(at, wrong), (at, wrong)], wanted);
                }
            }
        }
    }
}

// Dropped at every poll, wherever that is: before it flows, in a gap, in a wait.
#[test]
fn a_consumer_may_leave_at_every_poll() {
    for tight in Tight::ALL {
        for wrong in WRONGS {
            for polls in 0..40 {
                let stage = Stage::new(tight.policy());
                let tokens = stage.tokens();
                let feed = Feed::new(&stage, &[(2, wrong), (4, wrong)]);
                let call = stage.guard.prepare().listen(&stage.heard);
                let stream = call.stream_from(0, |seen, _| feed.open(seen), |&item| item);
                crate::stage::drop_after(&stage.world, polls, async {
                    let mut stream = pin!(stream);
                    while stream.next().await.is_some() {}
                });
                let about = format!("{tight:?}, {wrong:?}, {polls} polls");
                assert_eq!(feed.alive(), 0, "{about}");
                let limit = stage.guard.concurrency().expect("a limit");
                assert_eq!(limit.in_flight(), 0, "{about}");
                let resumed = stage.heard.count_of(EventKind::StreamResumed);
                assert!(stage.tokens() + resumed >= tokens, "{about}");
            }
        }
    }
}

// With room for all of it, whatever goes wrong is mended.
#[test]
fn with_room_enough_nothing_is_missed() {
    for first in 1..=LEN {
        for second in first + 1..=LEN {
            let stage = Stage::new(Tight::Nothing.policy());
            let feed = Feed::new(&stage, &[(first, Wrong::Stalls), (second, Wrong::Drops)]);
            let stream = stage
                .guard
                .stream_from(0, |seen, _| feed.open(seen), |&item| item);
            let items: Vec<Item> = stage.world.block_on(pin!(stream).collect());
            assert!(
                items.iter().all(Result::is_ok),
                "{first}, {second}: {items:?}"
            );
            assert_eq!(items.len(), LEN as usize);
        }
    }
}
