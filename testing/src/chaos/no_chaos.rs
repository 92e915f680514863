//! Nothing injected, known when the program is compiled.

use steadfast_core::Attempt;

/// Stands where a [`FaultInjector`](crate::FaultInjector) could, and gives each
/// operation back as it is.
///
/// For builds that must be able to inject nothing: the wrapped operation is the
/// operation, of the same type.
///
/// ```
/// use steadfast_core::Ratio;
/// use steadfast_testing::{Chaos, FaultInjector, INSTANT, NoChaos, World};
///
/// # macro_rules! build { ($($tokens:tt)*) => {} }
/// # build! {
/// #[cfg(feature = "game-day")]
/// static CHAOS: FaultInjector = FaultInjector::new(Chaos::OFF.with_faults(Ratio::percent(5)));
/// #[cfg(not(feature = "game-day"))]
/// # }
/// static CHAOS: NoChaos = NoChaos;
///
/// let world = World::new();
/// let guard = world.guard(INSTANT);
/// let answer = guard.call(CHAOS.wrap(world.timer(), async |_| std::io::Result::Ok(42)));
/// assert_eq!(world.block_on(answer).unwrap(), 42);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoChaos;

impl NoChaos {
    /// Gives the operation back.
    pub fn wrap<T, F, W>(&self, timer: T, operation: F) -> F
    where
        F: FnMut(Attempt) -> W,
    {
        drop(timer);
        operation
    }

    /// Gives the operation back.
    pub fn wrap_with<T, O, F, W, V>(&self, timer: T, outcome: O, operation: F) -> F
    where
        O: FnMut() -> V,
        F: FnMut(Attempt) -> W,
    {
        drop((timer, outcome));
        operation
    }

    /// Asks no gate.
    #[must_use]
    pub fn only<G: FnMut(Attempt) -> bool>(&self, gate: G) -> Self {
        drop(gate);
        Self
    }
}
