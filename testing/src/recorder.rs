//! A listener that keeps what it hears.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use steadfast_core::{Event, EventKind, Listener};

/// Keeps every event it hears, in order; any number of threads may record.
///
/// It has no bound, so it belongs into tests. Displays one event a line.
///
/// ```
/// use steadfast_core::{Event, EventKind, Listener};
/// use steadfast_testing::Recorder;
///
/// static RECORDER: Recorder = Recorder::new();
///
/// RECORDER.on_event(&Event::new(EventKind::Attempt, 1));
/// RECORDER.on_event(&Event::new(EventKind::Succeeded, 1));
/// assert_eq!(RECORDER.kinds(), [EventKind::Attempt, EventKind::Succeeded]);
/// assert_eq!(RECORDER.single(EventKind::Succeeded).number(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<Event>>);

impl Recorder {
    /// Makes a recorder that has heard nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.held().clear();
    }

    /// Returns the events.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.held().clone()
    }

    /// Returns what happened, the events' kinds alone.
    #[must_use]
    pub fn kinds(&self) -> Vec<EventKind> {
        self.held().iter().map(Event::kind).collect()
    }

    /// Returns the events as text.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.held().iter().map(Event::to_string).collect()
    }

    /// Returns event number `index`, the first being 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Event> {
        self.held().get(index).copied()
    }

    /// Returns the most recent event.
    #[must_use]
    pub fn last(&self) -> Option<Event> {
        self.held().last().copied()
    }

    /// Returns the events of one kind.
    #[must_use]
    pub fn of_kind(&self, kind: EventKind) -> Vec<Event> {
        let held = self.held();
        held.iter().filter(|e| e.kind() == kind).copied().collect()
    }

    /// Returns the only event of one kind.
    ///
    /// # Panics
    ///
    /// It is an assertion: panics when there is none, or more than one.
    #[must_use]
    #[track_caller]
    pub fn single(&self, kind: EventKind) -> Event {
        let count = self.count_of(kind);
        assert_eq!(count, 1, "{count} events {kind} where one was due:\n{self}");
        self.of_kind(kind)[0]
    }

    /// Returns how many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held().len()
    }

    /// Tells whether it has heard nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    /// Returns how many events of one kind there are.
    #[must_use]
    pub fn count_of(&self, kind: EventKind) -> usize {
        self.held().iter().filter(|e| e.kind() == kind).count()
    }

    /// Tells whether there is an event of one kind.
    #[must_use]
    pub fn contains(&self, kind: EventKind) -> bool {
        self.count_of(kind) > 0
    }

    /// A panic elsewhere does not spoil what was heard.
    fn held(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Recorder {
    fn on_event(&self, event: &Event) {
        self.held().push(*event);
    }
}

impl fmt::Display for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events().iter().try_for_each(|e| writeln!(f, "{e}"))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    use std::thread;
    use std::time::Duration;

    use steadfast_core::Verdict;

    use super::*;

    fn recorded(kinds: &[EventKind]) -> Recorder {
        let recorder = Recorder::new();
        for (&kind, number) in kinds.iter().zip(1..) {
            recorder.on_event(&Event::new(kind, number));
        }
        recorder
    }

    fn refusal(recorder: &Recorder, kind: EventKind) -> Option<String> {
        let refused = catch_unwind(AssertUnwindSafe(|| recorder.single(kind))).err()?;
        refused.downcast_ref::<String>().cloned()
    }

    // test-01.12
    #[test]
    fn single_refuses_none_and_two() {
        let recorder = recorded(&[EventKind::Retrying, EventKind::Attempt, EventKind::Retrying]);
        assert_eq!(recorder.single(EventKind::Attempt).number(), 2);
        let two = refusal(&recorder, EventKind::Retrying).unwrap_or_default();
        assert!(
            two.contains("2 events Retrying where one was due:"),
            "{two}"
        );
        assert!(
            two.contains("Attempt #2 Ok (0ms)\nRetrying #3 Ok (0ms)"),
            "{two}"
        );
        let none = refusal(&recorder, EventKind::Succeeded).unwrap_or_default();
        assert!(none.contains("0 events Succeeded"), "{none}");
    }

    #[test]
    fn text_is_one_event_a_line() {
        let recorder = Recorder::new();
        let attempt = Event::new(EventKind::Attempt, 1).with_policy("api");
        recorder.on_event(&attempt.with_verdict(Verdict::TRANSIENT));
        recorder
            .on_event(&Event::new(EventKind::Retrying, 2).with_delay(Duration::from_millis(200)));
        assert_eq!(
            recorder.lines(),
            [
                "[api] Attempt #1 Transient (0ms)",
                "Retrying #2 Ok (0ms) +200ms"
            ]
        );
        assert_eq!(recorder.to_string(), recorder.lines().join("\n") + "\n");
    }

    #[test]
    fn it_answers_by_kind() {
        let recorder = recorded(&[EventKind::Attempt, EventKind::Retrying, EventKind::Attempt]);
        assert_eq!(recorder.len(), 3);
        assert_eq!(recorder.count_of(EventKind::Attempt), 2);
        assert!(recorder.contains(EventKind::Retrying));
        assert!(!recorder.contains(EventKind::Exhausted));
        let numbers: Vec<_> = recorder
            .of_kind(EventKind::Attempt)
            .iter()
            .map(Event::number)
            .collect();
        assert_eq!(numbers, [1, 3]);
        assert_eq!(recorder.get(1).map(|e| e.kind()), Some(EventKind::Retrying));
        assert_eq!(recorder.get(3), None);
        assert_eq!(recorder.last().map(|e| e.number()), Some(3));
        recorder.clear();
        assert!(recorder.is_empty());
    }

    #[test]
    fn threads_lose_no_event() {
        let recorder = Recorder::new();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..100 {
                        recorder.on_event(&Event::new(EventKind::Attempt, number));
                    }
                });
            }
        });
        assert_eq!(recorder.len(), 400);
    }
}
