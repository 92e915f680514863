//! The guard of one key, while somebody uses it.

use core::fmt;
use core::ops::Deref;

use steadfast_core::Occupancy;

/// The guard of one key: what [`FixedScope::get`](crate::FixedScope::get) gives.
///
/// Use it as the guard it stands for. While it is held, its key keeps its place.
///
/// ```
/// use steadfast_core::Policy;
/// use steadfast_runtime::{FixedScope, StdTimer};
///
/// static PEERS: FixedScope<char, StdTimer, 1> = FixedScope::new(Policy::DEFAULT);
///
/// let (a, b) = (PEERS.get('a'), PEERS.get('b'));
/// assert_eq!((a.key(), a.is_shared()), (Some(&'a'), false));
/// // There is one place, and it is in use.
/// assert_eq!((b.key(), b.is_shared()), (None, true));
/// ```
pub struct FixedKeyed<'s, K, G> {
    key: Option<K>,
    guard: &'s G,
    /// Where it has entered.
    occupancy: Option<&'s Occupancy>,
}

impl<'s, K, G> FixedKeyed<'s, K, G> {
    /// For who has entered.
    pub(super) const fn own(key: K, guard: &'s G, occupancy: &'s Occupancy) -> Self {
        Self {
            key: Some(key),
            guard,
            occupancy: Some(occupancy),
        }
    }

    pub(super) fn shared(guard: &'s G, crowd: &'s Occupancy) -> Self {
        Self {
            key: None,
            guard,
            occupancy: crowd.enter().then_some(crowd),
        }
    }

    /// Returns the key; `None` where it had no room and shares a guard.
    #[must_use]
    pub fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }

    /// Tells whether its key had no room and shares a guard with others of that kind.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.key.is_none()
    }
}

impl<K, G> Deref for FixedKeyed<'_, K, G> {
    type Target = G;

    fn deref(&self) -> &G {
        self.guard
    }
}

impl<K, G> Drop for FixedKeyed<'_, K, G> {
    fn drop(&mut self) {
        if let Some(occupancy) = self.occupancy {
            occupancy.leave();
        }
    }
}

impl<K: fmt::Debug, G: fmt::Debug> fmt::Debug for FixedKeyed<'_, K, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedKeyed")
            .field("key", &self.key)
            .field("guard", &self.guard)
            .finish()
    }
}
