//! Notices guards that are made for every request, in debug builds.
//!
//! Such a guard never learns: its ceiling stays cold, its budget full, its
//! breaker closed. Nothing fails, so only a count can show it. With `std` and
//! debug assertions a guard counts its calls, and a scope its look-ups; elsewhere
//! this is empty.

#[cfg(all(feature = "std", debug_assertions))]
mod tally;

#[cfg(all(feature = "std", debug_assertions))]
pub(crate) use debug::Watch;

#[cfg(not(all(feature = "std", debug_assertions)))]
use steadfast_core::Policy;

/// Where nobody watches.
#[cfg(not(all(feature = "std", debug_assertions)))]
#[derive(Debug)]
pub(crate) struct Watch;

#[cfg(not(all(feature = "std", debug_assertions)))]
impl Watch {
    pub(crate) const fn of(_: &Policy, _: bool) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "stands in for the one that counts")]
    pub(crate) const fn count_call(&self) {}
}

#[cfg(all(feature = "std", debug_assertions))]
mod debug {
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::io::Write as _;
    use std::sync::Mutex;

    use steadfast_core::Policy;

    use super::tally::Tally;

    static DROPPED: Mutex<Tally> = Mutex::new(Tally::NEW);

    /// Counts the calls of one guard; tells the tally when it is dropped cold.
    #[derive(Debug)]
    pub(crate) struct Watch {
        policy: Option<&'static str>,
        /// So many successes warm it; zero where nobody watches.
        needed: u32,
        calls: AtomicU32,
    }

    impl Watch {
        /// Watches a guard with that policy, if it is to and has anything to learn.
        pub(crate) const fn of(policy: &Policy, is_watched: bool) -> Self {
            let needed = match (policy.attempt_ceiling(), policy.backoff().measured_base()) {
                _ if !is_watched => 0,
                (Some(law), _) => law.minimum_samples(),
                (None, Some(law)) => law.minimum_samples(),
                (None, None) => 0,
            };
            Self {
                policy: policy.name(),
                needed,
                calls: AtomicU32::new(0),
            }
        }

        /// Counts a call; enough of them count no further.
        pub(crate) fn count_call(&self) {
            if self.calls.load(Ordering::Relaxed) < self.needed {
                self.calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let calls = *self.calls.get_mut();
            // A call gives one success at most.
            if calls == 0 || calls >= self.needed {
                return;
            }
            // Who meets another thread here leaves this drop uncounted.
            let Ok(mut dropped) = DROPPED.try_lock() else {
                return;
            };
            let warning = dropped.count(self.policy);
            drop(dropped);
            if let Some(warning) = warning {
                // A closed standard error is no reason to panic in a drop.
                let _ = writeln!(std::io::stderr(), "{warning}");
            }
        }
    }
}
