//! One call before it has an operation.

use core::fmt;
use core::future::Future;
use core::time::Duration;

use steadfast_core::{
    Attempt, AttemptLog, Classify, Criticality, Journal, Lanes, Listener, Memory, Shared, Single,
};

use crate::call::Call;
use crate::conduct::Conduct;
use crate::lanes::Flights;
use crate::timer::Timer;

/// One call before it has an operation: what belongs to it alone.
///
/// Made by [`Guard::prepare`](crate::Guard::prepare); ends in `call`,
/// `call_with`, `call_blocking` or a stream.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{AnyError, Policy};
/// use steadfast_runtime::{Guard, StdTimer};
///
/// struct Bus;
///
/// impl Bus {
///     async fn write(&mut self, byte: u8) -> Result<(), u8> {
///         Err(byte)
///     }
/// }
///
/// static MOTOR: Guard<StdTimer, AnyError> = Guard::classified(Policy::DEFAULT, AnyError);
///
/// /// A step must not be made twice.
/// async fn step(bus: &mut Bus) -> bool {
///     MOTOR
///         .prepare()
///         .once()
///         .within(Duration::from_millis(5))
///         .call_with(bus, async |bus: &mut Bus, _| bus.write(1).await)
///         .await
///         .is_ok()
/// }
/// ```
#[must_use = "a prepared call does nothing unless it is called"]
pub struct Prepared<'g, T, C, R, L, M: Memory = Shared, J = (), H: Lanes = Single> {
    pub(crate) conduct: Conduct<'g, T, M, C, R, L, J, H>,
}

impl<'g, T, C, R, L, M: Memory, J: Journal, H: Lanes> Prepared<'g, T, C, R, L, M, J, H> {
    pub(crate) fn new(conduct: Conduct<'g, T, M, C, R, L, J, H>) -> Self {
        Self { conduct }
    }

    /// Says that the operation must not be repeated: one attempt, no retry.
    ///
    /// Nor does the measured ceiling cut it: it could not be tried again, and what
    /// became of it would not be known. The attempt timeout does.
    pub fn once(self) -> Self {
        Self::new(self.conduct.once())
    }

    /// Says how much it matters that this call is answered.
    ///
    /// Unless said it is what the policy
    /// [follows](steadfast_core::Policy::with_ambient_criticality), else
    /// [`Criticality::Critical`]. Sheddable calls are never hedged, leave half of the
    /// retry budget to others, and are throttled first.
    pub fn criticality(self, criticality: Criticality) -> Self {
        Self::new(self.conduct.criticality(criticality))
    }

    /// Bounds this call, if that is less than the policy's deadline.
    pub fn within(self, bound: Duration) -> Self {
        Self::new(self.conduct.within(bound))
    }

    /// Lets `classifier` judge the outcomes, not the guard's.
    pub fn classified<D>(self, classifier: D) -> Prepared<'g, T, D, R, L, M, J, H> {
        Prepared::new(self.conduct.classified(classifier))
    }

    /// Uses other hooks and another delay rule than the guard's.
    pub fn ruled<S>(self, rules: S) -> Prepared<'g, T, C, S, L, M, J, H> {
        Prepared::new(self.conduct.ruled(rules))
    }

    /// Lets `listener` hear this call's events, after the guard's own.
    pub fn listen<K: Listener>(self, listener: K) -> Prepared<'g, T, C, R, (L, K), M, J, H> {
        Prepared::new(self.conduct.heard_by(listener))
    }

    /// Keeps a log, and gives an [`Outcome`](steadfast_core::Outcome) that is
    /// never an error by itself.
    pub fn outcome(self) -> Prepared<'g, T, C, R, L, M, AttemptLog, H> {
        Prepared::new(self.conduct.logged())
    }

    /// Calls an operation, as [`Guard::call`](crate::Guard::call) does.
    pub fn call<F, Fut, V, E>(self, operation: F) -> Call<'g, T, F, Fut, C, R, L, M, J, H>
    where
        T: Timer,
        H: Flights,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
        C: Classify<Result<V, E>>,
    {
        Call::new(self.conduct, operation)
    }
}

impl<T, C, R, L, M: Memory, J, H: Lanes> fmt::Debug for Prepared<'_, T, C, R, L, M, J, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("machine", &self.conduct.machine)
            .finish_non_exhaustive()
    }
}
