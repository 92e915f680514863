//! A timer that threads can share; its sleeps never end.

use std::future::{Pending, pending};

use steadfast_core::{Clock, Instant};
use steadfast_runtime::Timer;

#[derive(Clone)]
pub(crate) struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
}

impl Timer for NoTime {
    type Sleep = Pending<()>;

    fn sleep_until(&self, _: Instant) -> Self::Sleep {
        pending()
    }

    fn seed(&self) -> u64 {
        0
    }
}
