//! Who hears what happens in a call.

use crate::event::Event;

/// Hears every event of the calls it is attached to.
///
/// Called in the call's own task, under no lock: a slow listener slows the
/// call. A panic propagates, and the call leaks nothing.
///
/// ```
/// use core::cell::Cell;
/// use steadfast_core::{Event, EventKind, Listener};
///
/// struct Calls(Cell<u32>);
///
/// impl Listener for Calls {
///     fn on_event(&self, event: &Event) {
///         if event.is_terminal() {
///             self.0.set(self.0.get() + 1);
///         }
///     }
/// }
///
/// let calls = Calls(Cell::new(0));
/// calls.on_event(&Event::new(EventKind::Succeeded, 1));
/// assert_eq!(calls.0.get(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a listener",
    note = "a closure that captures nothing can be a `fn`: `let log: fn(&Event) = |event| println!(\"{{event}}\");`",
    note = "anything else: `impl steadfast::Listener` for a type of yours, and lend it: `.listen(&it)`"
)]
pub trait Listener {
    /// Hears one event.
    fn on_event(&self, event: &Event);

    /// Tells whether anybody listens; when not, no event is built.
    fn is_listening(&self) -> bool {
        true
    }
}

/// Nobody listens: no event is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoListener;

impl Listener for NoListener {
    fn on_event(&self, _: &Event) {}

    fn is_listening(&self) -> bool {
        false
    }
}

impl<L: Listener + ?Sized> Listener for &L {
    fn on_event(&self, event: &Event) {
        (**self).on_event(event);
    }

    fn is_listening(&self) -> bool {
        (**self).is_listening()
    }
}

/// Both hear every event, the first one first.
impl<A: Listener, B: Listener> Listener for (A, B) {
    fn on_event(&self, event: &Event) {
        self.0.on_event(event);
        self.1.on_event(event);
    }

    fn is_listening(&self) -> bool {
        self.0.is_listening() || self.1.is_listening()
    }
}

impl Listener for fn(&Event) {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}
