//! Room for the attempts of one call that fly side by side.

use core::pin::Pin;

use pin_project_lite::pin_project;
use steadfast_core::{Hedged, Lanes, Single};

/// Lanes that a call has room for: [`Single`], or [`Hedged`] of two or three.
pub trait Flights: Lanes {
    /// A place for an operation in each lane.
    type Places<Fut>: Places<Fut>;
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
