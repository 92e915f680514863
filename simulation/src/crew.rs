//! Many futures of one kind, without an allocation each.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use steadfast_testing::World;

/// Seats for futures of one kind, in a world; one that has ended makes room for the
/// next.
///
/// There are as many seats as there were futures at once; then nothing is allocated.
pub(crate) struct Crew<F> {
    world: World,
    shared: Rc<RefCell<Vec<Rc<Seat<F>>>>>,
    seats: RefCell<usize>,
}

/// A place for one future, which a task of the world polls for ever.
struct Seat<F> {
    future: RefCell<Pin<Box<Option<F>>>>,
    waker: RefCell<Waker>,
}

impl<F: Future<Output = ()> + 'static> Crew<F> {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            shared: Rc::default(),
            seats: RefCell::new(0),
        }
    }

    /// Starts a future; it runs when the world comes to it.
    pub(crate) fn start(&self, future: F) {
        let free = self.shared.borrow_mut().pop();
        if let Some(seat) = free {
            seat.future.borrow_mut().set(Some(future));
            seat.waker.borrow().wake_by_ref();
            return;
        }
        let seat = Rc::new(Seat {
            future: RefCell::new(Box::pin(Some(future))),
            waker: RefCell::new(Waker::noop().clone()),
        });
        *self.seats.borrow_mut() += 1;
        let free = Rc::clone(&self.shared);
        self.world.spawn("call", Sitting { seat, free }).detach();
    }

    /// Waits until all have ended, or nothing is left that could end them.
    pub(crate) async fn finish(&self) {
        // The last one to be started has not run yet.
        give_way().await;
        while self.busy() > 0 {
            match self.world.next_timer() {
                Some(at) => self.world.sleep_until(at).await,
                None => return,
            }
        }
    }

    /// Returns how many have not ended.
    pub(crate) fn busy(&self) -> usize {
        *self.seats.borrow() - self.shared.borrow().len()
    }
}

/// Lets everything else that can run do so.
fn give_way() -> impl Future<Output = ()> {
    let mut has_waited = false;
    poll_fn(move |cx| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Polls whoever sits in a seat.
struct Sitting<F> {
    seat: Rc<Seat<F>>,
    free: Rc<RefCell<Vec<Rc<Seat<F>>>>>,
}

impl<F: Future<Output = ()>> Future for Sitting<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut place = self.seat.future.borrow_mut();
        let Some(future) = place.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        if future.poll(cx).is_pending() {
            return Poll::Pending;
        }
        place.set(None);
        drop(place);
        let mut waker = self.seat.waker.borrow_mut();
        if !waker.will_wake(cx.waker()) {
            waker.clone_from(cx.waker());
        }
        drop(waker);
        self.free.borrow_mut().push(Rc::clone(&self.seat));
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_seat_is_used_again() {
        let world = World::new();
        let crew = Crew::new(&world);
        let ended = Rc::new(Cell::new(0));
        for round in 1..=5 {
            for n in 0..3 {
                let (world, ended) = (world.clone(), Rc::clone(&ended));
                crew.start(async move {
                    world.sleep(Duration::from_millis(n)).await;
                    ended.set(ended.get() + 1);
                });
            }
            assert_eq!(crew.busy(), 3);
            world.advance(Duration::from_millis(5));
            assert_eq!((crew.busy(), ended.get()), (0, round * 3));
            assert_eq!(world.live_tasks(), 3);
        }
    }
}
