//! One key with its guard.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use steadfast_core::{Instant, Lanes, Memory};

use super::hashed::Hashed;
use super::ring::Lodger;
use crate::guard::Guard;

/// One key with its guard.
///
/// The line of a scope holds one `Arc` of it and every handle another one, so it can
/// leave only while nobody uses it; the map holds a weak one, so who has left cannot be
/// found. The guard has an allocation of its own: it is free as soon as nobody uses it,
/// however long the map keeps what it no longer needs.
#[derive(Debug)]
pub(super) struct Entry<K, G> {
    pub(super) key: Hashed<K>,
    pub(super) guard: Box<G>,
    /// It was looked up since the last time somebody asked.
    used: AtomicBool,
    /// It was taken out of the map by its key.
    removed: AtomicBool,
}

impl<K, G> Entry<K, G> {
    pub(super) fn new(key: Hashed<K>, guard: G) -> Self {
        Self {
            key,
            guard: Box::new(guard),
            used: AtomicBool::new(false),
            removed: AtomicBool::new(false),
        }
    }

    /// Notes a look-up. Written only when it is news.
    pub(super) fn mark(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that it was taken out of the map, before whoever has not put it in line
    /// yet does so.
    pub(super) fn remove(&self) {
        self.removed.store(true, Ordering::Release);
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }
}

impl<K, T, C, R, L, M, H> Lodger for Arc<Entry<K, Guard<T, C, R, L, M, H>>>
where
    M: Memory,
    H: Lanes,
{
    type Gone = Entry<K, Guard<T, C, R, L, M, H>>;

    fn take_mark(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    fn is_held(&self, now: Instant) -> bool {
        Self::strong_count(self) > 1 || self.guard.is_refusing(now)
    }

    fn leave(self) -> Result<Self::Gone, Self> {
        Self::try_unwrap(self)
    }
}
