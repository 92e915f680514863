//! Seeds from the system, another one for every guard.

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::LazyLock;

/// Keyed by the system once a process.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

static GIVEN: AtomicU64 = AtomicU64::new(0);

/// Returns a seed that differs between processes and between calls.
///
/// For adapters on std; see [`Timer::seed`](crate::Timer::seed).
///
/// ```
/// use steadfast_runtime::system_seed;
///
/// assert_ne!(system_seed(), system_seed());
/// ```
#[must_use]
pub fn system_seed() -> u64 {
    let mut hasher = KEYS.build_hasher();
    hasher.write_u64(GIVEN.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}
