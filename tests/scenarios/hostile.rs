//! Timers that do what no timer should.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use steadfast::{Clock, Guard, Instant, Plan, Policy, Timer};
use steadfast_testing::{VirtualTimer, World};

/// How a hostile timer lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// It fires so long before it is due, again and again.
    Early(Duration),
    /// It fires so long after it is due.
    Late(Duration),
    /// It wakes its task so often without being ready.
    Spurious(Duration),
    /// It is always ready.
    Instantly,
}

/// A timer on virtual time whose clock is right and whose sleeps are not.
#[derive(Debug)]
pub(crate) struct Hostile {
    timer: VirtualTimer,
    manner: Manner,
    pub(crate) sleeps: Cell<u32>,
}

impl Clock for Hostile {
    fn now(&self) -> Instant {
        self.timer.now()
    }
}

impl Timer for Hostile {
    type Sleep = Pin<Box<dyn Future<Output = ()>>>;

    fn sleep_until(&self, at: Instant) -> Self::Sleep {
        self.sleeps.set(self.sleeps.get() + 1);
        let timer = self.timer.clone();
        match self.manner {
            Manner::Early(by) => {
                // The last stretch is exact, or time would stand still.
                let early = at.saturating_sub(by);
                let at = if timer.now() < early { early } else { at };
                Box::pin(timer.sleep_until(at))
            }
            Manner::Late(by) => Box::pin(timer.sleep_until(at.saturating_add(by))),
            Manner::Spurious(every) => Box::pin(async move {
                while timer.now() < at {
                    let tick = timer.now().saturating_add(every).min(at);
                    timer.sleep_until(tick).await;
                }
            }),
            Manner::Instantly => Box::pin(std::future::ready(())),
        }
    }

    fn seed(&self) -> u64 {
        7
    }
}

/// Puts a guard on a hostile timer.
#[track_caller]
pub(crate) fn hostile(world: &World, manner: Manner, policy: Policy) -> Guard<Hostile> {
    let timer = Hostile {
        timer: world.timer(),
        manner,
        sleeps: Cell::new(0),
    };
    Guard::try_on(timer, Plan::new(policy)).expect("a policy that works")
}

/// Gives way once, waking itself.
pub(crate) fn give_way() -> impl Future<Output = ()> {
    let mut given = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}
