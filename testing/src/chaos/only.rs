//! Faults for some calls only.

use steadfast_core::Attempt;
use steadfast_runtime::Timer;

use super::injected::Injected;
use super::injector::FaultInjector;
use super::wrap;
use crate::fault::Fault;

/// A [`FaultInjector`] behind a gate.
///
/// Made by [`FaultInjector::only`].
#[derive(Clone, Copy, Debug)]
#[must_use = "it injects nothing by itself"]
pub struct Only<'a, G> {
    injector: &'a FaultInjector,
    gate: G,
}

impl<'a, G: FnMut(Attempt) -> bool> Only<'a, G> {
    pub(super) const fn new(injector: &'a FaultInjector, gate: G) -> Self {
        Self { injector, gate }
    }

    /// Wraps an operation whose error can be made of a [`Fault`], as
    /// [`FaultInjector::wrap`].
    pub fn wrap<T, F, Fut, V, E>(
        self,
        timer: T,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, Fut, Result<V, E>>
    where
        T: Timer,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<V, E>>,
        E: From<Fault>,
    {
        let fault = self.injector.profile().fault();
        self.wrap_with(timer, move || Err(E::from(fault)), operation)
    }

    /// Wraps an operation and says what a failing call ends with, as
    /// [`FaultInjector::wrap_with`].
    pub fn wrap_with<T, O, F, W, V>(
        self,
        timer: T,
        outcome: O,
        operation: F,
    ) -> impl FnMut(Attempt) -> Injected<T::Sleep, W, V>
    where
        T: Timer,
        O: FnMut() -> V,
        F: FnMut(Attempt) -> W,
    {
        let Self { injector, mut gate } = self;
        let decide = move |timer: &T, attempt| injector.decide_if(timer, || gate(attempt));
        wrap::composed(decide, timer, outcome, operation)
    }
}
