//! An operation with faults in it.

use std::time::Duration;

use steadfast_core::Attempt;
use steadfast_runtime::Timer;

use super::injected::Injected;
use super::injector::Injection;
use crate::due::due;

/// Asks what to inject for each attempt, and makes its future accordingly.
pub(super) fn composed<D, T, O, F, W, V>(
    mut decide: D,
    timer: T,
    mut outcome: O,
    mut operation: F,
) -> impl FnMut(Attempt) -> Injected<T::Sleep, W, V>
where
    D: FnMut(&T, Attempt) -> Injection,
    T: Timer,
    O: FnMut() -> V,
    F: FnMut(Attempt) -> W,
{
    move |attempt| {
        let injection = decide(&timer, attempt);
        let delay = injection.latency().unwrap_or(Duration::ZERO);
        let sleep = due(&timer, delay).map(|at| timer.sleep_until(at));
        if injection.fails() {
            Injected::failing(sleep, outcome())
        } else {
            Injected::passing(sleep, operation(attempt))
        }
    }
}
