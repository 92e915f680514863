//! Somebody who waits for a place.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use event_listener::{EventListener, Listener as _};

use super::control::{Control, Entry};
use super::{Place, Queue};

/// Somebody who wants a place, in line from now on.
///
/// Dropped at any point it leaves no trace: a grant that was on its way to it
/// goes to the next.
#[derive(Debug)]
pub(super) struct Waiter<'q> {
    queue: &'q Queue,
    /// `None` once it was woken.
    listener: Option<EventListener>,
    /// Counted as waiting.
    is_registered: bool,
}

impl<'q> Waiter<'q> {
    /// Gets in line, then takes what is there, if anything is.
    ///
    /// In that order: who gives a place back to a queue in which this one counts
    /// as waiting finds somebody to wake.
    pub(super) fn new(queue: &'q Queue) -> (Self, Entry) {
        let mut waiter = Self {
            queue,
            listener: Some(queue.event.listen()),
            is_registered: false,
        };
        let entry = queue.change(|word| word.enter(queue.permits(), queue.most));
        waiter.is_registered = entry == Entry::Wait;
        if waiter.is_registered {
            // Permits may have been added meanwhile.
            queue.grant();
        }
        (waiter, entry)
    }

    /// Waits for a grant; `None` when the queue was closed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Place<'q>>> {
        if let Some(listener) = &mut self.listener {
            ready!(Pin::new(listener).poll(cx));
            self.listener = None;
        }
        if !core::mem::take(&mut self.is_registered) {
            return Poll::Pending;
        }
        let entry = self.queue.change(Control::arrive);
        // A place that is made and dropped would be given back.
        Poll::Ready((entry == Entry::Taken).then(|| Place { queue: self.queue }))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        // First it does not count any more: who gives a place back meanwhile
        // then does not wake it, or its grant is found below.
        if core::mem::take(&mut self.is_registered) {
            self.queue.change(|word| (word.give_up(), ()));
        }
        if self.listener.take().is_some_and(EventListener::discard) {
            self.queue.pass_on();
        }
    }
}
