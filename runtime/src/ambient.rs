//! What the work in hand is told by the one it is made for, following its task.
//!
//! A server wraps the work on a request in [`follow`]; every call inside whose
//! policy follows [the deadline](steadfast_core::Policy::with_ambient_deadline) or
//! [the criticality](steadfast_core::Policy::with_ambient_criticality) then knows
//! them. [`run`] does the same for a closure, [`current`] tells what holds right now.
//!
//! ```
//! use core::time::Duration;
//! use steadfast_core::{Ambient, Policy};
//! use steadfast_runtime::{Guard, StdTimer, ambient};
//!
//! static STOCK: Guard<StdTimer> = Guard::new(Policy::DEFAULT.with_ambient_deadline(true));
//!
//! async fn handle() -> std::io::Result<u32> {
//!     // Ends with the request, however much the policy allows.
//!     Ok(STOCK.call(|_| async { std::io::Result::Ok(3) }).await.unwrap())
//! }
//!
//! # futures_lite::future::block_on(async {
//! let request = Ambient::NONE.within(Duration::from_millis(200), &StdTimer);
//! assert_eq!(ambient::follow(request, handle()).await.unwrap(), 3);
//! # });
//! ```
//!
//! # Tasks
//!
//! A task that is spawned inside begins with nothing said: the facts belong to the
//! future, not to the thread, so that no neighbour sees them. Hand them over where
//! the new task works for the same request:
//!
//! ```
//! use steadfast_runtime::ambient;
//!
//! # async fn audit() {}
//! # fn spawn<F: Future>(_: F) {}
//! spawn(ambient::follow(ambient::current(), audit()));
//! ```
//!
//! An executor that is driven inside, a nested `block_on` for instance, lets all of
//! its tasks see them.
//!
//! # Attempts
//!
//! An attempt ends sooner than its call, and is perhaps made again. Who calls
//! further guards in it, or writes a header, tells them
//! [what it is](steadfast_core::Attempt::ambient):
//!
//! ```
//! use steadfast_core::Policy;
//! use steadfast_runtime::{Guard, StdTimer, ambient};
//!
//! static OUTER: Guard<StdTimer> = Guard::new(Policy::DEFAULT);
//!
//! # async fn inner() -> std::io::Result<()> { Ok(()) }
//! # async fn example() {
//! let answer = OUTER.call(|attempt| ambient::follow(attempt.ambient(), inner())).await;
//! # }
//! ```

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;
use pin_project_lite::pin_project;
use steadfast_core::Ambient;

std::thread_local! {
    /// Of whatever runs on this thread right now.
    static CURRENT: Cell<Ambient> = const { Cell::new(Ambient::NONE) };
}

/// Returns what holds for the work in hand.
///
/// [`Ambient::NONE`] outside of [`follow`] and [`run`].
#[must_use]
pub fn current() -> Ambient {
    CURRENT.get()
}

/// Lets a future, or a stream, know what it is made for.
///
/// What `facts` does not say holds as it does around it. The facts hold whenever the
/// future is polled and when it is dropped, on whichever thread, and never between:
/// any executor will do, and other tasks see nothing of them.
///
/// ```
/// use steadfast_core::{Ambient, Criticality};
/// use steadfast_runtime::ambient;
///
/// # futures_lite::future::block_on(async {
/// let batch = Ambient::NONE.with_criticality(Criticality::Sheddable);
/// let level = async { ambient::current().criticality() };
/// assert_eq!(ambient::follow(batch, level).await, Some(Criticality::Sheddable));
/// assert_eq!(ambient::current(), Ambient::NONE);
/// # });
/// ```
pub const fn follow<F>(facts: Ambient, future: F) -> Following<F> {
    Following {
        inner: Some(future),
        facts,
    }
}

/// Runs a closure that knows what it is made for.
///
/// As [`follow`], for code that blocks. What it spawns, or sends to another thread,
/// begins with nothing said.
///
/// ```
/// use steadfast_core::{Ambient, Criticality};
/// use steadfast_runtime::ambient;
///
/// let batch = Ambient::NONE.with_criticality(Criticality::Sheddable);
/// let level = ambient::run(batch, || ambient::current().criticality());
/// assert_eq!(level, Some(Criticality::Sheddable));
/// ```
pub fn run<R>(facts: Ambient, work: impl FnOnce() -> R) -> R {
    let _entered = Entered::with(facts);
    work()
}

/// Puts back what held before, however what runs in between ends.
struct Entered {
    outer: Ambient,
}

impl Entered {
    fn with(facts: Ambient) -> Self {
        let outer = CURRENT.get();
        CURRENT.set(facts.over(outer));
        Self { outer }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

pin_project! {
    /// A future, or a stream, that knows what it is made for: what [`follow`] gives.
    #[derive(Debug)]
    #[must_use = "it does nothing unless it is polled"]
    pub struct Following<F> {
        // Empty only while it is dropped.
        #[pin]
        inner: Option<F>,
        facts: Ambient,
    }

    impl<F> PinnedDrop for Following<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = Entered::with(*this.facts);
            this.inner.set(None);
        }
    }
}

impl<F: Future> Future for Following<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(inner) = this.inner.as_pin_mut() else {
            return Poll::Pending;
        };
        let _entered = Entered::with(*this.facts);
        inner.poll(cx)
    }
}

impl<S: Stream> Stream for Following<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let Some(inner) = this.inner.as_pin_mut() else {
            return Poll::Ready(None);
        };
        let _entered = Entered::with(*this.facts);
        inner.poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.as_ref().map_or((0, Some(0)), Stream::size_hint)
    }
}
