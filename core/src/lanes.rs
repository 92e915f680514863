//! How many attempts of one call may fly side by side.

use core::array;
use core::fmt::Debug;

use crate::memory::{Memory, Nowhere};

/// How many attempts of one call may fly side by side.
///
/// [`Single`], or [`Hedged`] with two or more. A type, because each lane costs
/// a call the room of one more operation, and nobody else should pay.
pub trait Lanes: Debug + 'static {
    /// How many lanes there are; at least one.
    const COUNT: usize;
    /// One thing a lane.
    type Each<T>: AsRef<[T]> + AsMut<[T]>;
    /// Where what only hedging needs keeps its words.
    type Memory<M: Memory>: Memory;

    /// Makes one thing a lane.
    fn each<T>(make: impl FnMut(usize) -> T) -> Self::Each<T>;
}

/// One attempt at a time.
///
/// ```
/// use steadfast_core::{Lanes, Single};
///
/// assert_eq!(Single::COUNT, 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Single;

impl Lanes for Single {
    const COUNT: usize = 1;
    type Each<T> = [T; 1];
    type Memory<M: Memory> = Nowhere;

    fn each<T>(make: impl FnMut(usize) -> T) -> [T; 1] {
        array::from_fn(make)
    }
}

/// Up to `N` attempts at once, two or three: a slow one is raced by another copy.
///
/// ```
/// use steadfast_core::{Hedged, Lanes};
///
/// assert_eq!(Hedged::<3>::COUNT, 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hedged<const N: usize = 2>;

impl<const N: usize> Lanes for Hedged<N> {
    const COUNT: usize = {
        assert!(
            N == 2 || N == 3,
            "two or three attempts of a call can race, no more and no fewer"
        );
        N
    };
    type Each<T> = [T; N];
    type Memory<M: Memory> = M;

    fn each<T>(make: impl FnMut(usize) -> T) -> [T; N] {
        array::from_fn(make)
    }
}
