//! Keys whose hash is known.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash, Hasher};

use papaya::Equivalent;

/// A key with its hash.
///
/// The map hashes keys anew when it grows, and would not survive a key that panics
/// then; nobody else's code runs there as the hash is taken beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashed<K> {
    hash: u64,
    pub(super) key: K,
}

/// What a key is looked up by, with its hash.
#[derive(Debug)]
pub(super) struct Asked<'q, Q: ?Sized> {
    hash: u64,
    key: &'q Q,
}

impl<'q, Q: Hash + ?Sized> Asked<'q, Q> {
    pub(super) fn new<S: BuildHasher>(key: &'q Q, hashes: &S) -> Self {
        Self {
            hash: hashes.hash_one(key),
            key,
        }
    }

    /// The key to keep, with the same hash.
    pub(super) fn kept<K>(&self, key: K) -> Hashed<K> {
        Hashed {
            hash: self.hash,
            key,
        }
    }
}

impl<Q: ?Sized> Hash for Asked<'_, Q> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: Borrow<Q>, Q: Eq + ?Sized> Equivalent<Hashed<K>> for Asked<'_, Q> {
    fn equivalent(&self, other: &Hashed<K>) -> bool {
        self.hash == other.hash && self.key == other.key.borrow()
    }
}

impl<K> Hash for Hashed<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<K: PartialEq> PartialEq for Hashed<K> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }
}

impl<K: Eq> Eq for Hashed<K> {}

/// Hands a known hash on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known(u64);

impl Hasher for Known {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
