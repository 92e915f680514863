//! One key with its guard.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use steadfast_core::{Instant, Lanes, Memory};

use super::hashed::Hashed;
use super::ring::Lodger;
use crate::guard::Guard;

/// One key with its guard.
#[derive(Debug)]
pub(super) struct Entry<K, G> {
    pub(super) key: Hashed<K>,
    pub(super) guard: G,
    /// It was looked up since the last time somebody asked.
    used: AtomicBool,
}

impl<K, G> Entry<K, G> {
    pub(super) const fn new(key: Hashed<K>, guard: G) -> Self {
        Self {
            key,
            guard,
            used: AtomicBool::new(false),
        }
    }

    /// Notes a look-up. Written only when it is news.
    pub(super) fn mark(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// How many handles there are besides the two that the scope holds.
    pub(super) fn handles(self: &Arc<Self>) -> usize {
        Arc::strong_count(self).saturating_sub(2)
    }
}

impl<K, T, C, R, L, M, H> Lodger for Arc<Entry<K, Guard<T, C, R, L, M, H>>>
where
    M: Memory,
    H: Lanes,
{
    fn take_mark(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    fn is_held(&self, now: Instant) -> bool {
        self.handles() > 0 || self.guard.is_refusing(now)
    }
}
