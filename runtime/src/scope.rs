//! A guard a key, for a bounded number of keys.

mod entry;
mod hashed;
mod keyed;
mod make;
mod ring;

use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasherDefault, Hash};
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use papaya::HashMap;
use steadfast_core::{
    ByError, Draining, Lanes, Memory, NoListener, NoRules, Policy, PolicyError, Shared, Single,
};

use self::entry::Entry;
use self::hashed::{Asked, Hashed, Known};
use self::keyed::Crowd;
pub use self::keyed::Keyed;
use self::ring::{Ring, Room};
use crate::guard::Guard;
use crate::lanes::Flights;
use crate::listed::Listed;
use crate::plan::Plan;
use crate::timer::Timer;
use crate::watch::Watch;

/// A guard a key (tenant, host, shard), made of one template.
///
/// One key's failures are no other's: each has a breaker, a budget and estimates of
/// its own. Parts that the template [borrows](Plan::with_budget) are shared by all.
/// Hold it for the life of the program, as a guard; it can be a `static`.
///
/// It has room for a number of keys. When that is used up, a new key takes the place
/// of the one that was not looked up for the longest time. A key whose calls are
/// refused (breaker open, budget spent until time refills it) and one with calls in
/// flight leave last: while all are of that kind, a new key gets a guard that all such
/// keys share, so that no flood of keys makes anybody's state forgotten or the memory
/// grow. While half of the places are held like that, whoever is looked up each second
/// keeps its place. A key that left and comes back starts afresh.
///
/// Each key takes its guard and some 150 bytes: 6.3 KB with the windows of latencies of a
/// [`Server`](steadfast_core::Server), 3 KB with those of a
/// [`Chip`](steadfast_core::Chip), 2.2 KB [without](steadfast_core::Unmeasured).
///
/// ```
/// use steadfast_core::{Breaker, Policy};
/// use steadfast_runtime::{Scope, StdTimer};
///
/// static TENANTS: Scope<String, StdTimer> =
///     Scope::new(Policy::DEFAULT.with_breaker(Breaker::DEFAULT), 1024);
///
/// async fn query(tenant: &str) -> std::io::Result<u32> {
///     Ok(tenant.len() as u32)
/// }
///
/// # futures_lite::future::block_on(async {
/// let rows = TENANTS.get("blue").call(|_| query("blue")).await;
/// assert_eq!(rows.unwrap(), 4);
/// assert_eq!(TENANTS.len(), 1);
/// # });
/// ```
pub struct Scope<
    K,
    T,
    C = ByError,
    R = NoRules,
    L = NoListener,
    M: Memory = Shared,
    H: Lanes = Single,
    S = Alike,
> {
    timer: T,
    plan: Plan<C, R, L, M>,
    shape: S,
    capacity: usize,
    draining: Draining,
    crowd: Crowd<Guard<T, C, R, L, M, H>>,
    table: OnceLock<TableOf<K, T, C, R, L, M, H>>,
    /// Counts look-ups as a guard's counts calls.
    watch: Watch,
}

/// All keys follow the template.
#[derive(Clone, Copy, Debug)]
pub struct Alike;

type GuardOf<'s, K, T, C, R, L, M, H> = Keyed<'s, K, Guard<T, C, R, L, M, H>>;
type Found<'s, K, T, C, R, L, M, H> = Result<GuardOf<'s, K, T, C, R, L, M, H>, PolicyError>;
type TableOf<K, T, C, R, L, M, H> = Table<K, Guard<T, C, R, L, M, H>>;

/// Looking up never waits: who finds its key takes no lock.
struct Table<K, G> {
    hashes: RandomState,
    map: HashMap<Hashed<K>, Arc<Entry<K, G>>, BuildHasherDefault<Known>>,
    /// Held for a few looks, and never while code of others runs.
    ring: Mutex<Ring<Arc<Entry<K, G>>>>,
}

impl<K, T, C, R, L, M, H, S> Scope<K, T, C, R, L, M, H, S>
where
    K: Hash + Eq + Clone,
    T: Timer + Clone,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Flights,
{
    /// Finds a key that is there.
    fn find<Q>(&self, asked: &Asked<'_, Q>) -> Option<GuardOf<'_, K, T, C, R, L, M, H>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.watch.count_call();
        let map = self.table().map.pin();
        let entry = map.get(asked)?;
        entry.mark();
        Some(Keyed::own(Arc::clone(entry)))
    }

    /// Gives a new key a place, or the shared guard.
    fn admit(&self, key: Hashed<K>, plan: Plan<C, R, L, M>) -> Found<'_, K, T, C, R, L, M, H> {
        let table = self.table();
        let room = table.ring().reserve(self.timer.now());
        let leaver = match room {
            Room::None => return Ok(Keyed::shared(&self.crowd)),
            Room::Free => None,
            Room::Of(leaver) => Some(leaver),
        };
        let mut place = Reserved {
            table,
            owner: leaver,
        };
        place.clear();
        let guard = Guard::try_on(self.timer.clone(), plan)?;
        let entry = Arc::new(Entry::new(key.clone(), guard));
        let map = table.map.pin();
        if let Err(occupied) = map.try_insert(key, Arc::clone(&entry)) {
            // Somebody else has just brought the same key.
            occupied.current.mark();
            return Ok(Keyed::own(Arc::clone(occupied.current)));
        }
        place.move_in(Arc::clone(&entry));
        if self.draining.is_draining() {
            self.drain_one(&entry.guard);
        }
        Ok(Keyed::own(entry))
    }

    /// Returns how many keys have a guard of their own.
    #[must_use]
    pub fn len(&self) -> usize {
        let count = self.table.get().map_or(0, |table| table.map.len());
        // Added up from several counters while keys may come and go.
        count.min(self.capacity)
    }

    /// Tells whether no key has been looked up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns for how many keys there is room.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the guard of all keys that had no room; its policy is the template.
    #[must_use]
    pub const fn shared(&self) -> &Guard<T, C, R, L, M, H> {
        &self.crowd.guard
    }

    /// Lists the keys as they stand right now, in no order, and then the shared guard.
    #[must_use]
    pub fn list(&self) -> Vec<Listed<K>> {
        let now = self.timer.now();
        let mut all = Vec::with_capacity(self.len().saturating_add(1));
        if let Some(table) = self.table.get() {
            for (key, entry) in &table.map.pin() {
                all.push(Listed::of(
                    Some(key.key.clone()),
                    &entry.guard,
                    entry.handles(),
                    now,
                ));
            }
        }
        let handles = self.crowd.handles.load(Ordering::Relaxed);
        all.push(Listed::of(None, &self.crowd.guard, handles, now));
        all
    }

    /// Lets a key leave; true if it was there. Looks at every place.
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let table = self.table();
        let asked = Asked::new(key, &table.hashes);
        let Some(entry) = table.map.pin().remove(&asked).cloned() else {
            return false;
        };
        let gone = table.ring().remove(|other| Arc::ptr_eq(other, &entry));
        drop(gone);
        true
    }

    /// Lets every key leave, and starts the shared guard afresh; a scope that drains no
    /// longer does.
    pub fn reset(&self) {
        if let Some(table) = self.table.get() {
            // Out of the line first: who is only in the map would never leave it.
            let leavers = table.ring().reserve_all();
            let places: Vec<_> = leavers
                .into_iter()
                .map(|leaver| Reserved {
                    table,
                    owner: Some(leaver),
                })
                .collect();
            for mut place in places {
                place.clear();
            }
        }
        self.crowd.guard.reset();
        self.draining.reset();
    }

    /// Lets every guard drain, also those of keys to come: see [`Guard::drain`].
    pub fn drain(&self, grace: Duration) {
        self.draining.begin(self.timer.now(), grace);
        if let Some(table) = self.table.get() {
            for entry in table.map.pin().values() {
                self.drain_one(&entry.guard);
            }
        }
        self.drain_one(&self.crowd.guard);
    }

    fn drain_one(&self, guard: &Guard<T, C, R, L, M, H>) {
        let left = self.draining.left(self.timer.now());
        guard.drain(left.unwrap_or(Duration::MAX));
    }

    fn table(&self) -> &TableOf<K, T, C, R, L, M, H> {
        self.table.get_or_init(|| Table {
            hashes: RandomState::new(),
            map: HashMap::default(),
            ring: Mutex::new(Ring::new(self.capacity)),
        })
    }
}

impl<K, T, C, R, L, M, H> Scope<K, T, C, R, L, M, H>
where
    K: Hash + Eq + Clone,
    T: Timer + Clone,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Flights,
{
    /// Returns the guard of a key.
    ///
    /// A known key costs a look-up and allocates nothing.
    pub fn get<Q>(&self, key: &Q) -> GuardOf<'_, K, T, C, R, L, M, H>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let asked = Asked::new(key, &self.table().hashes);
        self.find(&asked).unwrap_or_else(|| {
            let admitted = self.admit(asked.kept(key.to_owned()), self.plan);
            // The template was checked when the scope was made.
            admitted.unwrap_or_else(|_| Keyed::shared(&self.crowd))
        })
    }
}

impl<K, T, C, R, L, M, H, S> Scope<K, T, C, R, L, M, H, S>
where
    K: Hash + Eq + Clone,
    T: Timer + Clone,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Flights,
    S: Fn(&K) -> Policy,
{
    /// Returns the guard of a key, whose shape is asked for its policy when it is new.
    ///
    /// # Errors
    ///
    /// When that policy cannot work, with every problem; nothing is kept.
    pub fn get<Q>(&self, key: &Q) -> Found<'_, K, T, C, R, L, M, H>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let asked = Asked::new(key, &self.table().hashes);
        if let Some(known) = self.find(&asked) {
            return Ok(known);
        }
        let key = key.to_owned();
        let plan = self.plan.with_policy((self.shape)(&key));
        // Before anybody has to leave for it.
        plan.policy_in_force().try_checked_for::<M, H>()?;
        self.admit(asked.kept(key), plan)
    }
}

impl<K: Eq, G> Table<K, G> {
    fn ring(&self) -> MutexGuard<'_, Ring<Arc<Entry<K, G>>>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a key out, unless it has come back meanwhile.
    fn forget(&self, leaver: &Arc<Entry<K, G>>) {
        let map = self.map.pin();
        let is_same = |_: &Hashed<K>, entry: &Arc<Entry<K, G>>| Arc::ptr_eq(entry, leaver);
        let _ = map.remove_if(&leaver.key, is_same);
    }
}

/// A place for a key that is about to move in; given back when dropped.
///
/// Also when a key panics as it is hashed or compared: whoever was to leave stays.
struct Reserved<'t, K: Eq, G> {
    table: &'t Table<K, G>,
    /// Whose place it is or will be.
    owner: Option<Arc<Entry<K, G>>>,
}

impl<K: Eq, G> Reserved<'_, K, G> {
    /// Lets whoever has to leave do so.
    fn clear(&mut self) {
        if let Some(leaver) = &self.owner {
            self.table.forget(leaver);
        }
        self.owner = None;
    }

    fn move_in(mut self, entry: Arc<Entry<K, G>>) {
        self.owner = Some(entry);
    }
}

impl<K: Eq, G> Drop for Reserved<'_, K, G> {
    fn drop(&mut self) {
        let mut ring = self.table.ring();
        match self.owner.take() {
            Some(lodger) => ring.move_in(lodger),
            None => ring.give_up(),
        }
    }
}

impl<K, T, C, R, L, M, H, S> fmt::Debug for Scope<K, T, C, R, L, M, H, S>
where
    M: Memory,
    H: Lanes,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}
