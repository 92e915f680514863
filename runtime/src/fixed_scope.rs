//! A guard a key, for a fixed number of keys and without an allocator.

mod keyed;
mod seat;

use core::cell::Cell;
use core::fmt;
use core::mem;
use core::time::Duration;

use critical_section::Mutex;
use steadfast_core::{
    ByError, Draining, Lanes, Memory, NoListener, NoRules, Occupancy, Policy, PolicyError, Shared,
    Single, Word,
};

pub use self::keyed::FixedKeyed;
use self::seat::{Claim, Seat};
use crate::guard::Guard;
use crate::lanes::Flights;
use crate::listed::Listed;
use crate::plan::Plan;
use crate::timer::{StaticTimer, Timer};

/// A guard a key (bus address, device, peer), for `N` keys and without an allocator.
///
/// One key's failures are no other's: each has a breaker, a budget and estimates of
/// its own. Parts that the template [borrows](Plan::with_budget) are shared by all.
/// Hold it for the life of the program, as a guard, best in a `static`.
///
/// It consists of `N` guards, and one for all keys that have no room. When all places
/// are taken, a new key takes the place of one that was not looked up for a while; that
/// guard [starts afresh](Guard::reset). A key with handles keeps its place, and so does
/// one whose calls are refused (breaker open, budget spent until time refills it):
/// while all are of that kind, a new key gets the guard that all such keys share. A key
/// that left and comes back starts afresh.
///
/// A look-up compares the key with each of the `N`, so it is for tens of keys, not for
/// thousands. Keys are read and written in a critical section of a few instructions, none
/// of them anybody else's; the program brings an implementation of `critical-section`,
/// as chips' support crates do.
///
/// Each key takes its guard and 16 bytes or so: 6.3 KB with the windows of latencies of a
/// [`Server`](steadfast_core::Server), 2.9 KB with those of a
/// [`Chip`](steadfast_core::Chip), 2.2 KB [without](steadfast_core::Unmeasured).
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Backoff, Breaker, Policy};
/// use steadfast_runtime::{FixedScope, StdTimer};
///
/// static SENSORS: FixedScope<u8, StdTimer, 4> = FixedScope::new(
///     Policy::DEFAULT
///         .with_deadline(Duration::from_millis(50))
///         .with_attempt_timeout(Duration::from_millis(10))
///         .with_backoff(Backoff::exponential(Duration::from_millis(1)))
///         .with_breaker(Breaker::DEFAULT),
/// );
///
/// async fn read(address: u8) -> std::io::Result<u16> {
///     Ok(u16::from(address))
/// }
///
/// # futures_lite::future::block_on(async {
/// let measured = SENSORS.get(0x48).call(|_| read(0x48)).await;
/// assert_eq!(measured.unwrap(), 0x48);
/// assert_eq!(SENSORS.len(), 1);
/// # });
/// ```
pub struct FixedScope<
    K,
    T,
    const N: usize,
    C = ByError,
    R = NoRules,
    L = NoListener,
    M: Memory = Shared,
    H: Lanes = Single,
> {
    timer: T,
    seats: [SeatOf<K, T, C, R, L, M, H>; N],
    shared: Guard<T, C, R, L, M, H>,
    /// Handles of the shared guard.
    crowd: Occupancy,
    /// Who is asked next to leave, counted on and on.
    hand: <Shared as Memory>::U32,
    /// How many have moved in, so that nobody moves in twice.
    moves: Mutex<Cell<u32>>,
    draining: Draining,
}

/// The handle that [`FixedScope::get`] gives.
type Found<'s, K, T, C, R, L, M, H> = FixedKeyed<'s, K, Guard<T, C, R, L, M, H>>;
type SeatOf<K, T, C, R, L, M, H> = Seat<K, Guard<T, C, R, L, M, H>>;
type ClaimOf<'s, K, T, C, R, L, M, H> = Claim<'s, K, Guard<T, C, R, L, M, H>>;

impl<K, T, const N: usize, M, H> FixedScope<K, T, N, ByError, NoRules, NoListener, M, H>
where
    T: StaticTimer,
    M: Memory,
    H: Lanes,
{
    /// Makes a scope whose guards ask each error what it means.
    ///
    /// # Panics
    ///
    /// When the policy cannot work or there is no room, naming every problem; in a
    /// `static` that is a compile error. See [`FixedScope::try_on`].
    #[must_use]
    #[track_caller]
    pub const fn new(policy: Policy) -> Self {
        Self::planned(Plan::of(policy, ByError, NoRules, NoListener))
    }
}

impl<K, T, const N: usize, C, R, L, M, H> FixedScope<K, T, N, C, R, L, M, H>
where
    T: StaticTimer,
    C: Copy,
    R: Copy,
    L: Copy,
    M: Memory,
    H: Lanes,
{
    /// Makes a scope of a plan: a classifier, rules, a listener, shared parts.
    ///
    /// # Panics
    ///
    /// As [`FixedScope::new`].
    #[must_use]
    #[track_caller]
    pub const fn planned(plan: Plan<C, R, L, M>) -> Self {
        let _works = plan.policy_in_force().checked_for_keys::<M, H>(N);
        let mut seats = [const { Seat::new() }; N];
        let mut at = 0;
        while at < N {
            // Nothing is dropped in a constant, and there is nothing to drop.
            let seat = Seat::with(Guard::planned(plan));
            mem::forget(mem::replace(&mut seats[at], seat));
            at += 1;
        }
        Self::of(T::TIMER, seats, Guard::planned(plan))
    }
}

impl<K, T, const N: usize, C, R, L, M, H> FixedScope<K, T, N, C, R, L, M, H>
where
    M: Memory,
    H: Lanes,
{
    /// Makes a scope on a timer that is a value, of a policy that is known at run time
    /// only.
    ///
    /// # Errors
    ///
    /// When the policy cannot work or there is no room, with every problem.
    pub fn try_on(timer: T, plan: Plan<C, R, L, M>) -> Result<Self, PolicyError>
    where
        T: Clone,
        C: Copy,
        R: Copy,
        L: Copy,
    {
        plan.policy_in_force().try_checked_for_keys::<M, H>(N)?;
        let shared = Guard::try_on(timer.clone(), plan)?;
        let mut seats = [const { Seat::new() }; N];
        for seat in &mut seats {
            *seat = Seat::with(Guard::try_on(timer.clone(), plan)?);
        }
        Ok(Self::of(timer, seats, shared))
    }

    const fn of(
        timer: T,
        seats: [SeatOf<K, T, C, R, L, M, H>; N],
        shared: Guard<T, C, R, L, M, H>,
    ) -> Self {
        Self {
            timer,
            seats,
            shared,
            crowd: Occupancy::new(),
            hand: <<Shared as Memory>::U32 as Word<u32>>::ZERO,
            moves: Mutex::new(Cell::new(0)),
            draining: Draining::new(),
        }
    }

    /// Returns for how many keys there is room.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        N
    }

    /// Returns the guard of all keys that had no room; its policy is the template.
    #[must_use]
    pub const fn shared(&self) -> &Guard<T, C, R, L, M, H> {
        &self.shared
    }
}

impl<K, T, const N: usize, C, R, L, M, H> FixedScope<K, T, N, C, R, L, M, H>
where
    K: Copy + Eq,
    T: Timer,
    M: Memory,
    H: Flights,
{
    /// Returns the guard of a key.
    pub fn get(&self, key: K) -> Found<'_, K, T, C, R, L, M, H> {
        let mut moves = self.moves();
        if let Some(known) = self.find(key) {
            return known;
        }
        let Some(mut claim) = self.claim() else {
            return self.crowded();
        };
        claim.guard().reset();
        if self.draining.is_draining() {
            self.drain_one(claim.guard());
        }
        loop {
            match claim.hand_over(key, &self.moves, moves) {
                Ok(mine) => return mine,
                // Somebody has moved in meanwhile; perhaps with the same key.
                Err(back) => claim = back,
            }
            moves = self.moves();
            if let Some(known) = self.find(key) {
                return known;
            }
        }
    }

    /// How many have moved in so far.
    fn moves(&self) -> u32 {
        critical_section::with(|section| self.moves.borrow(section).get())
    }

    fn find(&self, key: K) -> Option<Found<'_, K, T, C, R, L, M, H>> {
        self.seats.iter().find_map(|seat| seat.find(key))
    }

    /// Takes over a place that is free, or whose key has to leave.
    fn claim(&self) -> Option<ClaimOf<'_, K, T, C, R, L, M, H>> {
        let mut free = self.seats.iter().filter(|seat| seat.key().is_none());
        if let Some(claim) = free.find_map(Seat::claim) {
            return Some(claim);
        }
        let now = self.timer.now();
        // Twice round: whoever was used is spared once.
        for _ in 0..N.saturating_mul(2) {
            let turn = usize::try_from(Word::fetch_add(&self.hand, 1)).unwrap_or_default();
            let seat = self.seats.get(turn.checked_rem(N)?)?;
            if seat.is_held(now) || seat.occupancy.take_mark() {
                continue;
            }
            if let Some(claim) = seat.claim() {
                return Some(claim);
            }
        }
        None
    }

    /// A handle of the guard that is shared.
    fn crowded(&self) -> Found<'_, K, T, C, R, L, M, H> {
        FixedKeyed::shared(&self.shared, &self.crowd)
    }

    /// Returns how many keys have a guard of their own.
    #[must_use]
    pub fn len(&self) -> usize {
        let is_there = |seat: &&Seat<K, _>| seat.lodger().is_some();
        self.seats.iter().filter(is_there).count()
    }

    /// Tells whether no key has a guard of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lists the keys as they stand right now, and then the shared guard.
    pub fn list(&self) -> impl Iterator<Item = Listed<K>> {
        let now = self.timer.now();
        let own = self.seats.iter().filter_map(move |seat| {
            let (key, handles) = seat.lodger()?;
            Some(Listed::of(Some(key), seat.guard()?, in_use(handles), now))
        });
        let handles = self.crowd.occupants().unwrap_or_default();
        let shared = Listed::of(None, &self.shared, in_use(handles), now);
        own.chain([shared])
    }

    /// Lets a key leave that nobody uses; true if it did.
    ///
    /// One with handles stays, as its guard is in use.
    pub fn remove(&self, key: K) -> bool {
        let mut mine = self.seats.iter().filter(|seat| seat.key() == Some(key));
        mine.any(|seat| {
            seat.occupancy.take_mark();
            // It may have become another's meanwhile.
            seat.claim().is_some_and(|claim| claim.vacate(key))
        })
    }

    /// Starts all guards afresh; keys that nobody uses leave.
    pub fn reset(&self) {
        for seat in &self.seats {
            if let Some(guard) = seat.guard() {
                guard.reset();
            }
            seat.occupancy.take_mark();
            drop(seat.claim());
        }
        self.shared.reset();
        self.draining.reset();
    }

    /// Lets every guard drain, also those of keys to come: see [`Guard::drain`].
    pub fn drain(&self, grace: Duration) {
        self.draining.begin(self.timer.now(), grace);
        for guard in self.seats.iter().filter_map(Seat::guard) {
            self.drain_one(guard);
        }
        self.drain_one(&self.shared);
    }

    fn drain_one(&self, guard: &Guard<T, C, R, L, M, H>) {
        let left = self.draining.left(self.timer.now());
        guard.drain(left.unwrap_or(Duration::MAX));
    }
}

/// Handles as the listing counts them.
fn in_use(handles: u32) -> usize {
    usize::try_from(handles).unwrap_or(usize::MAX)
}

impl<K, T, const N: usize, C, R, L, M, H> fmt::Debug for FixedScope<K, T, N, C, R, L, M, H>
where
    M: Memory,
    H: Lanes,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedScope")
            .field("capacity", &N)
            .finish_non_exhaustive()
    }
}
