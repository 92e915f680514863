//! How much of what a script has handed out is alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Alive {
    now: AtomicUsize,
    peak: AtomicUsize,
}

/// Counts one until it is dropped.
#[derive(Debug)]
pub(crate) struct Life(Arc<Alive>);

impl Alive {
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::Acquire)
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Acquire)
    }
}

impl Life {
    pub(crate) fn begin(alive: &Arc<Alive>) -> Self {
        let now = alive.now.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        alive.peak.fetch_max(now, Ordering::AcqRel);
        Self(Arc::clone(alive))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::AcqRel);
    }
}
