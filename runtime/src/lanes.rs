//! Room for the attempts of one call that fly side by side.

use core::pin::Pin;

use pin_project_lite::pin_project;
use steadfast_core::{Hedged, Lanes, Machine, Memory, Single};

/// Lanes that a call has room for: [`Single`], or [`Hedged`] of two or three.
pub trait Flights: Lanes {
    /// A place for an operation in each lane.
    type Places<Fut>: Places<Fut>;
}

/// Lanes that let no attempt run beside another: [`Single`] alone.
///
/// Asked by the forms of a call that can have one attempt at a time only: what
/// is lent, a thread and a stream cannot be had twice.
#[diagnostic::on_unimplemented(
    message = "a guard that races attempts can neither lend, block nor stream",
    label = "this runs one attempt at a time",
    note = "two attempts of one call cannot borrow the same thing, hold the same thread or feed \
            the same stream",
    note = "give this operation a `Guard`, with a policy that has no hedge; two guards can share \
            a breaker and a budget, see `Plan`"
)]
pub trait OneAtATime: Flights + Sized {
    /// Returns the machine of such a call, as it is.
    fn single<M: Memory, J>(machine: Machine<'_, M, J, Self>) -> Machine<'_, M, J>;
}

impl OneAtATime for Single {
    fn single<M: Memory, J>(machine: Machine<'_, M, J>) -> Machine<'_, M, J> {
        machine
    }
}

/// A place for an operation in each lane.
pub trait Places<Fut> {
    /// Makes empty places.
    fn new() -> Self;

    /// Returns the place of a lane, the first being 0.
    fn place(self: Pin<&mut Self>, lane: usize) -> Option<Pin<&mut Option<Fut>>>;

    /// Drops whatever flies.
    fn clear(self: Pin<&mut Self>);

    /// Tells whether nothing flies.
    fn is_empty(&self) -> bool;
}

macro_rules! places {
    ($(#[doc = $doc:literal])* $name:ident { $($place:ident = $lane:literal),* } for $lanes:ty) => {
        pin_project! {
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub struct $name<Fut> {
                $(
                    #[pin]
                    $place: Option<Fut>,
                )*
            }
        }

        impl Flights for $lanes {
            type Places<Fut> = $name<Fut>;
        }

        impl<Fut> Places<Fut> for $name<Fut> {
            fn new() -> Self {
                Self { $($place: None),* }
            }

            fn place(self: Pin<&mut Self>, lane: usize) -> Option<Pin<&mut Option<Fut>>> {
                let this = self.project();
                match lane {
                    $($lane => Some(this.$place),)*
                    _ => None,
                }
            }

            fn clear(self: Pin<&mut Self>) {
                let this = self.project();
                $(
                    let mut place = this.$place;
                    place.set(None);
                )*
            }

            fn is_empty(&self) -> bool {
                $(self.$place.is_none())&&*
            }
        }
    };
}

places! {
    /// Room for one operation.
    One { first = 0 } for Single
}

places! {
    /// Room for two operations.
    Two { first = 0, second = 1 } for Hedged<2>
}

places! {
    /// Room for three operations.
    Three { first = 0, second = 1, third = 2 } for Hedged<3>
}
