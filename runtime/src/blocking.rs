//! The driver that holds its thread.

use steadfast_core::{Attempt, CallError, Classify, Conclude, Journal, Listener, Memory, Rules};

use crate::conduct::Turn;
use crate::guard::Guard;
use crate::lanes::{Flights, OneAtATime};
use crate::prepared::Prepared;
use crate::timer::{Block, Timer};

impl<T: Timer + Block, C, R, L, M: Memory, H: Flights> Guard<T, C, R, L, M, H> {
    /// Calls an operation that blocks, and blocks while it waits.
    ///
    /// An attempt cannot be cut short from outside: its bounds are checked when
    /// it returns, so give it a timeout of its own, [`Attempt::timeout`] says
    /// which. Never call this from async code.
    ///
    /// ```
    /// use std::net::TcpStream;
    /// use steadfast_core::Policy;
    /// use steadfast_runtime::{Guard, StdTimer};
    ///
    /// static PRINTER: Guard<StdTimer> = Guard::new(Policy::DEFAULT.with_attempts(2));
    ///
    /// fn connect() -> Option<TcpStream> {
    ///     PRINTER.call_blocking(|_| TcpStream::connect("127.0.0.1:631")).ok()
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As a call does: when it failed and its last attempt gave no value.
    pub fn call_blocking<F, V, E>(&self, operation: F) -> Result<V, CallError<E>>
    where
        F: FnMut(Attempt) -> Result<V, E>,
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
        L: Listener,
        H: OneAtATime,
    {
        self.prepare().call_blocking(operation)
    }
}

impl<T, C, R, L, M, J, H> Prepared<'_, T, C, R, L, M, J, H>
where
    T: Timer + Block,
    M: Memory,
    J: Journal,
    H: Flights,
{
    /// Calls an operation that blocks, as [`Guard::call_blocking`] does.
    pub fn call_blocking<F, V, E>(self, mut operation: F) -> J::Output
    where
        F: FnMut(Attempt) -> Result<V, E>,
        C: Classify<Result<V, E>>,
        R: Rules<V, E>,
        L: Listener,
        J: Conclude<V, E>,
        H: OneAtATime,
    {
        let mut conduct = self.conduct.single();
        let timer = conduct.timer;
        let mut last = None;
        let mut now = timer.now();
        loop {
            match conduct.next(&mut now, &mut last) {
                Turn::Run(attempt, lane, _) => {
                    let outcome = operation(attempt);
                    conduct.judge(lane, &mut now, outcome, &mut last);
                }
                Turn::Wait(at) => {
                    timer.block_until(at);
                    // A wait that was served counts: a clock that stands still,
                    // paused by a test, must not hold the thread for ever.
                    now = timer.now().max(at);
                }
                Turn::Cut(lane) => conduct.cut::<V, E>(lane, now),
                Turn::Again => {}
                Turn::Finish(_) => return conduct.conclude(now, last),
            }
        }
    }
}
