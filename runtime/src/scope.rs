//! A guard a key, for a bounded number of keys.

mod entry;
mod hashed;
mod keyed;
mod make;
mod ring;

use alloc::borrow::ToOwned;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasherDefault, Hash};
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use papaya::{Compute, HashMap, Operation};
use steadfast_core::{
    ByError, Draining, Instant, Lanes, Memory, NoListener, NoRules, Policy, PolicyError, Shared,
    Single,
};

use self::entry::Entry;
use self::hashed::{Asked, Hashed, Known};
use self::keyed::Crowd;
pub use self::keyed::Keyed;
use self::ring::{Lodger, Ring};
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
/// of the first that was not looked up since it was asked to leave last. A key whose calls are
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
    map: HashMap<Hashed<K>, Weak<Entry<K, G>>, BuildHasherDefault<Known>>,
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
        let entry = self.table().map.pin().get(asked)?.upgrade()?;
        entry.mark();
        Some(Keyed::own(entry))
    }

    /// Gives a new key a place, or what those have who find none.
    fn admit(&self, key: Hashed<K>, plan: Plan<C, R, L, M>) -> Found<'_, K, T, C, R, L, M, H> {
        let (table, now) = (self.table(), self.timer.now());
        if table.ring().is_crowded(now) {
            return self.crowd(key, plan);
        }
        let guard = Guard::try_on(self.timer.clone(), plan)?;
        let entry = Arc::new(Entry::new(key.clone(), guard));
        if let Some(known) = table.offer(key, &entry) {
            // Somebody else has just brought the same key.
            known.mark();
            return Ok(Keyed::own(known));
        }
        // In the map before the line: nobody has to leave for a key that is there.
        match table.move_in(&entry, now) {
            Ok(gone) => {
                if let Some(gone) = gone {
                    table.forget(&gone.key);
                }
                if self.draining.is_draining() {
                    self.drain_one(&entry.guard);
                }
                Ok(Keyed::own(entry))
            }
            Err(refused) => {
                drop(refused);
                table.withdraw(&entry);
                self.crowd(entry.key.clone(), plan)
            }
        }
    }

    /// What a key has that found no place: the shared guard, or if its policy is another
    /// one a guard that is forgotten with its handle.
    fn crowd(&self, key: Hashed<K>, plan: Plan<C, R, L, M>) -> Found<'_, K, T, C, R, L, M, H> {
        if plan.policy == self.plan.policy {
            return Ok(Keyed::shared(&self.crowd));
        }
        let guard = Guard::try_on(self.timer.clone(), plan)?;
        Ok(Keyed::own(Arc::new(Entry::new(key, guard))))
    }

    /// Returns how many keys have a guard of their own.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.get().map_or(0, |table| table.ring().len())
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
            let entries: Vec<_> = {
                let map = table.map.pin();
                map.values().filter_map(Weak::upgrade).collect()
            };
            for entry in entries {
                let key = entry.key.key.clone();
                // Without the line and this list.
                let handles = Arc::strong_count(&entry).saturating_sub(2);
                all.push(Listed::of(Some(key), &*entry.guard, handles, now));
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
        let Some(entry) = table.map.pin().remove(&asked).and_then(Weak::upgrade) else {
            return false;
        };
        entry.remove();
        let gone = table.ring().remove(|other| Arc::ptr_eq(other, &entry));
        drop(gone);
        true
    }

    /// Lets every key leave, and starts the shared guard afresh; a scope that drains no
    /// longer does.
    pub fn reset(&self) {
        if let Some(table) = self.table.get() {
            let mut leavers = Vec::new();
            table.map.pin().retain(|_, entry| {
                let entry = entry.upgrade();
                if let Some(entry) = &entry {
                    entry.remove();
                }
                leavers.extend(entry);
                false
            });
            let gone = table.ring().remove(|entry| entry.is_removed());
            drop((gone, leavers));
        }
        self.crowd.guard.reset();
        self.draining.reset();
    }

    /// Lets every guard drain, also those of keys to come: see [`Guard::drain`].
    pub fn drain(&self, grace: Duration) {
        self.draining.begin(self.timer.now(), grace);
        if let Some(table) = self.table.get() {
            for entry in table.map.pin().values().filter_map(Weak::upgrade) {
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

    /// Puts a key into the map; whoever is there already stays.
    fn offer(&self, key: Hashed<K>, entry: &Arc<Entry<K, G>>) -> Option<Arc<Entry<K, G>>> {
        let map = self.map.pin();
        let offered = map.compute(key, |known| match known.and_then(|(_, it)| it.upgrade()) {
            Some(known) => Operation::Abort(known),
            None => Operation::Insert(Arc::downgrade(entry)),
        });
        match offered {
            Compute::Aborted(known) => Some(known),
            _ => None,
        }
    }

    /// Puts somebody who is in the map into the line.
    fn move_in<E>(
        &self,
        entry: &Arc<Entry<K, G>>,
        now: Instant,
    ) -> Result<Option<E>, Arc<Entry<K, G>>>
    where
        Arc<Entry<K, G>>: Lodger<Gone = E>,
    {
        let newcomer = Arc::clone(entry);
        let mut ring = self.ring();
        if newcomer.is_removed() {
            return Ok(None);
        }
        ring.move_in(newcomer, now)
    }

    /// Takes a key of somebody who has left out of the map, unless it has come back.
    fn forget(&self, key: &Hashed<K>) {
        let map = self.map.pin();
        let _ = map.remove_if(key, |_, entry| entry.strong_count() == 0);
    }

    /// Takes somebody out of the map who found no place.
    fn withdraw(&self, entry: &Arc<Entry<K, G>>) {
        let map = self.map.pin();
        let is_same = |_: &Hashed<K>, other: &Weak<_>| Weak::as_ptr(other) == Arc::as_ptr(entry);
        let _ = map.remove_if(&entry.key, is_same);
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
