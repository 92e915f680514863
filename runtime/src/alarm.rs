//! A sleep that is armed for one instant at a time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;
use steadfast_core::Instant;

use crate::timer::Timer;

pin_project! {
    /// A sleep that is armed for one instant at a time.
    pub(crate) struct Alarm<T: Timer> {
        #[pin]
        sleep: Option<T::Sleep>,
        // What `sleep` is armed for; `ZERO` is nothing.
        armed: Instant,
    }
}

impl<T: Timer> Alarm<T> {
    pub(crate) const fn new() -> Self {
        Self {
            sleep: None,
            armed: Instant::ZERO,
        }
    }

    /// Waits for the timer. Whether it is due the caller asks the clock: a timer may
    /// be early.
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        timer: &T,
        at: Instant,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if at == Instant::MAX {
            return Poll::Pending;
        }
        let mut this = self.project();
        if *this.armed != at {
            timer.rearm(this.sleep.as_mut(), at);
            *this.armed = at;
        }
        if let Some(sleep) = this.sleep.as_mut().as_pin_mut()
            && sleep.poll(cx).is_pending()
        {
            return Poll::Pending;
        }
        *this.armed = Instant::ZERO;
        Poll::Ready(())
    }

    pub(crate) fn clear(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.sleep.set(None);
        *this.armed = Instant::ZERO;
    }
}
