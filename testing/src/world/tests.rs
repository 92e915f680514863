use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn, ready};
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::task::Waker;
use std::thread;

use steadfast_runtime::Block;

use super::*;

mod stuck;
mod tasks;
mod time;

type Log = Rc<RefCell<Vec<String>>>;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

/// Gives the thread away once.
async fn yield_now() {
    let mut given = false;
    poll_fn(|cx| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Spawns a task that sleeps and then writes its name and the time.
fn sleeper(world: &World, log: &Log, name: &'static str, span: Duration) -> Task<()> {
    let (clock, log) = (world.clone(), Rc::clone(log));
    world.spawn(name, async move {
        clock.sleep(span).await;
        let line = format!("{name} {:?}", clock.elapsed());
        log.borrow_mut().push(line);
    })
}

fn panic_text(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}
