//! How large a latency window is.

use core::fmt::Debug;

use crate::memory::{Memory, Word};

/// The size of a latency window: its cells, slices and counters.
///
/// A type, not a Cargo feature, so that one program may use several. There are
/// [`Server`], [`Chip`] and [`Unmeasured`]; this one counts from 1 ms to 1 s in 240 bytes.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{LatencyWindow, Local, Memory, Narrow, Profile};
///
/// #[derive(Debug)]
/// struct Sensor;
///
/// impl Profile for Sensor {
///     type Cells<M: Memory> = [[Narrow<M>; 80]; 3];
///     const FIRST: u8 = 80;
/// }
///
/// type Window = LatencyWindow<Local, Sensor>;
/// const WINDOW: Window = Window::new(Duration::from_secs(30));
/// assert!(size_of_val(&WINDOW) <= 240 + 24);
/// ```
pub trait Profile: Debug + 'static {
    /// The counters: an array of slices, each an array of cells.
    ///
    /// From 1 to 7 slices, `[[Narrow<M>; CELLS]; SLICES]` or [`Wide`] ones.
    type Cells<M: Memory>: Grid;
    /// The cell that stands first, of the 256 from 1.024 µs to 73 min.
    ///
    /// Eight of them double a latency: cell `8 * n` begins at 1.024 µs times
    /// 2 to the power of `n`. What is shorter counts as this cell, what is too
    /// long as the last.
    const FIRST: u8;
    /// Whether there are any cells.
    const MEASURES: bool = true;
}

/// All latencies from 1 µs to 73 min, in 2 KiB.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{LatencyWindow, Server, Shared};
///
/// static WINDOW: LatencyWindow<Shared, Server> =
///     LatencyWindow::new(Duration::from_secs(30));
/// assert!(size_of_val(&WINDOW) <= 2_072);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Server;

impl Profile for Server {
    type Cells<M: Memory> = [[Wide<M>; 256]; 4];
    const FIRST: u8 = 0;
}

/// Latencies from 0.26 ms to 17 s, in 408 bytes, for one thread.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Chip, LatencyWindow, Local};
///
/// const WINDOW: LatencyWindow<Local, Chip> =
///     LatencyWindow::new(Duration::from_secs(30));
/// assert!(size_of_val(&WINDOW) <= 408);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chip;

impl Profile for Chip {
    type Cells<M: Memory> = [[Narrow<M>; 128]; 3];
    const FIRST: u8 = 64;
}

/// No latencies: a guard that must be small, and whose bounds are all constants.
///
/// ```
/// use core::time::Duration;
/// use steadfast_core::{Instant, LatencyWindow, Quantile, Ratio, Shared, Unmeasured};
///
/// type Memory = Shared<Unmeasured>;
///
/// static WINDOW: LatencyWindow<Memory, Unmeasured> =
///     LatencyWindow::new(Duration::from_secs(30));
/// static MEDIAN: Quantile<Memory> = Quantile::new(Ratio::percent(50), 1);
/// assert!(size_of_val(&WINDOW) <= 40);
///
/// WINDOW.record(Instant::ZERO, Duration::from_millis(1));
/// assert_eq!(WINDOW.quantile(Instant::ZERO, &MEDIAN), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unmeasured;

impl Profile for Unmeasured {
    type Cells<M: Memory> = [[Narrow<M>; 0]; 1];
    const FIRST: u8 = 0;
    const MEASURES: bool = false;
}

/// A counter of 8 bits, for windows that few threads share.
///
/// More than 90 threads that count in one cell at the same instant could
/// overflow it, which loses samples and nothing else.
///
/// ```
/// use steadfast_core::{Local, Narrow};
///
/// assert_eq!(size_of::<Narrow<Local>>(), 1);
/// ```
#[derive(Debug)]
pub struct Narrow<M: Memory>(M::U8);

/// A counter of 16 bits, for any number of threads.
///
/// ```
/// use steadfast_core::{Shared, Wide};
///
/// assert_eq!(size_of::<Wide<Shared>>(), 2);
/// ```
#[derive(Debug)]
pub struct Wide<M: Memory>(M::U16);

/// A small number of samples.
pub trait Counter: Debug + 'static {
    /// No samples.
    const ZERO: Self;
    /// Where it stops, far enough from an overflow for every thread that may
    /// have looked before it adds.
    const FULL: u16;

    /// Returns the samples.
    fn load(&self) -> u16;
    /// Adds one sample.
    fn increment(&self);
    /// Takes samples away.
    fn subtract(&self, samples: u16);
    /// Forgets all samples.
    fn clear(&self);
}

impl<M: Memory> Counter for Narrow<M> {
    const ZERO: Self = Self(M::U8::ZERO);
    const FULL: u16 = 160;

    fn load(&self) -> u16 {
        self.0.load().into()
    }
    fn increment(&self) {
        self.0.fetch_add(1);
    }
    fn subtract(&self, samples: u16) {
        self.0.fetch_sub(u8::try_from(samples).unwrap_or(0));
    }
    fn clear(&self) {
        self.0.store(0);
    }
}

impl<M: Memory> Counter for Wide<M> {
    const ZERO: Self = Self(M::U16::ZERO);
    const FULL: u16 = 4_096;

    fn load(&self) -> u16 {
        self.0.load()
    }
    fn increment(&self) {
        self.0.fetch_add(1);
    }
    fn subtract(&self, samples: u16) {
        self.0.fetch_sub(samples);
    }
    fn clear(&self) {
        self.0.store(0);
    }
}

/// The counters of all slices.
pub trait Grid: Debug + 'static {
    /// The counters of the cells.
    type Counter: Counter;
    /// No samples at all.
    const ZERO: Self;
    /// The number of slices.
    const SLICES: usize;
    /// The number of cells a slice.
    const WIDTH: usize;

    /// Returns the cells of a slice, none if there is no such slice.
    fn slice(&self, slice: usize) -> &[Self::Counter];
    /// Returns the counter of a cell.
    fn counter(&self, slice: usize, cell: usize) -> Option<&Self::Counter>;
}

impl<C: Counter, const WIDTH: usize, const SLICES: usize> Grid for [[C; WIDTH]; SLICES] {
    type Counter = C;
    const ZERO: Self = [const { [const { C::ZERO }; WIDTH] }; SLICES];
    const SLICES: usize = SLICES;
    const WIDTH: usize = WIDTH;

    fn slice(&self, slice: usize) -> &[C] {
        self.get(slice).map_or(&[], |cells| cells)
    }
    fn counter(&self, slice: usize, cell: usize) -> Option<&C> {
        self.get(slice)?.get(cell)
    }
}
