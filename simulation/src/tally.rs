//! What is counted while a run goes on.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use steadfast_core::{Clock, Criticality, Event, EventKind, Instant, Listener};
use steadfast_testing::VirtualTimer;

/// How many kinds of events can be counted.
const KINDS: usize = 64;

/// What is counted while a run goes on; a listener of its calls.
#[derive(Debug)]
pub(crate) struct Tally {
    kinds: [Cell<u64>; KINDS],
    refused: Cell<u64>,
    reached: Cell<u64>,
    calls: RefCell<Vec<Call>>,
    seconds: RefCell<Vec<Second>>,
    /// What was heard and when, if that is asked for.
    timeline: Option<Timeline>,
}

/// What was heard, and the clock that says when.
#[derive(Debug)]
struct Timeline {
    clock: VirtualTimer,
    heard: RefCell<Vec<(Duration, Event)>>,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) start: Instant,
    pub(crate) took: Duration,
    pub(crate) level: Criticality,
    pub(crate) is_ok: bool,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Second {
    /// Calls that began.
    pub started: u32,
    /// Attempts that reached the dependency.
    pub reached: u32,
    /// Calls that ended well.
    pub succeeded: u32,
    /// Calls that ended otherwise.
    pub failed: u32,
    /// The longest call that ended.
    pub slowest: Duration,
}

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun(usize);

impl Tally {
    /// With room for so many calls; with a clock, every event is kept.
    pub(crate) fn new(expected: usize, span: Duration, clock: Option<VirtualTimer>) -> Self {
        let seconds = usize::try_from(span.as_secs()).unwrap_or(0).min(1 << 20);
        Self {
            kinds: [const { Cell::new(0) }; KINDS],
            refused: Cell::new(0),
            reached: Cell::new(0),
            calls: RefCell::new(Vec::with_capacity(expected)),
            seconds: RefCell::new(Vec::with_capacity(seconds + 64)),
            timeline: clock.map(|clock| Timeline {
                clock,
                heard: RefCell::default(),
            }),
        }
    }

    pub(crate) fn begin(&self, now: Instant, level: Criticality) -> Begun {
        self.second(now, |second| second.started += 1);
        let mut calls = self.calls.borrow_mut();
        calls.push(Call {
            start: now,
            took: Duration::ZERO,
            level,
            is_ok: false,
        });
        Begun(calls.len() - 1)
    }

    pub(crate) fn end(&self, call: Begun, now: Instant, is_ok: bool) {
        let took = {
            let mut calls = self.calls.borrow_mut();
            let Some(call) = calls.get_mut(call.0) else {
                return;
            };
            call.took = now.saturating_since(call.start);
            call.is_ok = is_ok;
            call.took
        };
        self.second(now, |second| {
            second.slowest = second.slowest.max(took);
            if is_ok {
                second.succeeded += 1;
            } else {
                second.failed += 1;
            }
        });
    }

    /// Counts an attempt that reaches the dependency.
    pub(crate) fn reach(&self, now: Instant) {
        self.reached.set(self.reached.get() + 1);
        self.second(now, |second| second.reached += 1);
    }

    fn second(&self, now: Instant, change: impl FnOnce(&mut Second)) {
        let index = usize::try_from(now.saturating_since(Instant::ZERO).as_secs());
        let mut seconds = self.seconds.borrow_mut();
        let index = index.unwrap_or(usize::MAX).min(1 << 20);
        if seconds.len() <= index {
            seconds.resize(index + 1, Second::default());
        }
        if let Some(second) = seconds.get_mut(index) {
            change(second);
        }
    }

    /// Takes what was counted.
    pub(crate) fn take(&self) -> Counted {
        Counted {
            kinds: self.kinds.each_ref().map(Cell::get),
            refused: self.refused.get(),
            reached: self.reached.get(),
            calls: self.calls.take(),
            seconds: self.seconds.take(),
            timeline: self.timeline.as_ref().map(|timeline| timeline.heard.take()),
        }
    }
}

/// What was counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) kinds: [u64; KINDS],
    pub(crate) refused: u64,
    pub(crate) reached: u64,
    pub(crate) calls: Vec<Call>,
    pub(crate) seconds: Vec<Second>,
    pub(crate) timeline: Option<Vec<(Duration, Event)>>,
}

impl Listener for Tally {
    fn on_event(&self, event: &Event) {
        if let Some(count) = self.kinds.get(event.kind() as usize) {
            count.set(count.get() + 1);
        }
        if event.kind() == EventKind::Attempt && event.limit().is_some() {
            self.refused.set(self.refused.get() + 1);
        }
        if let Some(timeline) = &self.timeline {
            let now = timeline.clock.now().saturating_since(Instant::ZERO);
            timeline.heard.borrow_mut().push((now, *event));
        }
    }
}
