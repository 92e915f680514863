//! The guard of one key, while somebody uses it.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::entry::Entry;

/// The guard of one key: what [`Scope::get`](crate::Scope::get) gives.
///
/// Use it as the guard it stands for. While it is held, its key is the last to leave
/// the scope; it stays usable if the key leaves all the same.
pub struct Keyed<'s, K, G>(Held<'s, K, G>);

enum Held<'s, K, G> {
    Own(Arc<Entry<K, G>>),
    Shared(&'s Crowd<G>),
}

/// A guard for all keys that have no room, and how many handles it has.
#[derive(Debug)]
pub(super) struct Crowd<G> {
    pub(super) guard: G,
    pub(super) handles: AtomicUsize,
}

impl<'s, K, G> Keyed<'s, K, G> {
    pub(super) const fn own(entry: Arc<Entry<K, G>>) -> Self {
        Self(Held::Own(entry))
    }

    pub(super) fn shared(crowd: &'s Crowd<G>) -> Self {
        crowd.handles.fetch_add(1, Ordering::Relaxed);
        Self(Held::Shared(crowd))
    }

    /// Returns the key; `None` where it had no room and shares a guard.
    #[must_use]
    pub fn key(&self) -> Option<&K> {
        match &self.0 {
            Held::Own(entry) => Some(&entry.key.key),
            Held::Shared(_) => None,
        }
    }

    /// Tells whether its key had no room and shares a guard with others of that kind.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Held::Shared(_))
    }
}

impl<K, G> Deref for Keyed<'_, K, G> {
    type Target = G;

    fn deref(&self) -> &G {
        match &self.0 {
            Held::Own(entry) => &entry.guard,
            Held::Shared(crowd) => &crowd.guard,
        }
    }
}

impl<K, G> Drop for Keyed<'_, K, G> {
    fn drop(&mut self) {
        if let Held::Shared(crowd) = &self.0 {
            crowd.handles.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<K: fmt::Debug, G: fmt::Debug> fmt::Debug for Keyed<'_, K, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("key", &self.key())
            .field("guard", &**self)
            .finish()
    }
}
