//! What is counted while a run goes on.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use steadfast_core::{Criticality, Event, EventKind, Instant, Listener};

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
    timeline: Option<RefCell<Vec<(Duration, Event)>>>,
    now: Cell<Instant>,
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
    pub(crate) fn new(expected: usize, span: Duration, is_recording: bool) -> Self {
        let seconds = usize::try_from(span.as_secs()).unwrap_or(0).min(1 << 20);
        Self {
            kinds: [const { Cell::new(0) }; KINDS],
            refused: Cell::new(0),
            reached: Cell::new(0),
            calls: RefCell::new(Vec::with_capacity(expected)),
            seconds: RefCell::new(Vec::with_capacity(seconds + 64)),
            timeline: is_recording.then(RefCell::default),
            now: Cell::new(Instant::ZERO),
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

    /// Says what time it is, for events.
    pub(crate) fn tick(&self, now: Instant) {
        self.now.set(now);
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

    pub(crate) fn take(self) -> Counted {
        Counted {
            kinds: self.kinds.map(Cell::into_inner),
            refused: self.refused.get(),
            reached: self.reached.get(),
            calls: self.calls.into_inner(),
            seconds: self.seconds.into_inner(),
            timeline: self.timeline.map(RefCell::into_inner),
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
            let now = self.now.get().saturating_since(Instant::ZERO);
            timeline.borrow_mut().push((now, *event));
        }
    }
}
