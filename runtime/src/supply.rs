//! Where the sources of a stream come from.

use core::fmt;

use steadfast_core::Attempt;

/// Opens a stream's source, anew for every attempt.
///
/// [`Anew`] begins at the same place each time, [`Resumed`] where the last item
/// was.
pub trait Supply<V> {
    /// The source.
    type Source;

    /// Whether a stream that broke can be opened where it was.
    const RESUMES: bool;

    /// Opens a source.
    fn open(&mut self, attempt: Attempt) -> Self::Source;

    /// Notes an item that is about to be handed over.
    fn note(&mut self, item: &V);
}

/// Opens the same source each time: what [`Guard::stream`] makes of its operation.
///
/// [`Guard::stream`]: crate::Guard::stream
pub struct Anew<F>(pub(crate) F);

impl<V, S, F: FnMut(Attempt) -> S> Supply<V> for Anew<F> {
    type Source = S;

    const RESUMES: bool = false;

    fn open(&mut self, attempt: Attempt) -> S {
        (self.0)(attempt)
    }

    fn note(&mut self, _: &V) {}
}

/// Opens a source at a checkpoint: what [`Guard::stream_from`] makes of its
/// operation.
///
/// [`Guard::stream_from`]: crate::Guard::stream_from
pub struct Resumed<P, F, G> {
    pub(crate) at: P,
    pub(crate) open: F,
    pub(crate) checkpoint: G,
}

impl<V, P, S, F, G> Supply<V> for Resumed<P, F, G>
where
    P: Clone,
    F: FnMut(P, Attempt) -> S,
    G: FnMut(&V) -> P,
{
    type Source = S;

    const RESUMES: bool = true;

    fn open(&mut self, attempt: Attempt) -> S {
        (self.open)(self.at.clone(), attempt)
    }

    fn note(&mut self, item: &V) {
        self.at = (self.checkpoint)(item);
    }
}

impl<F> fmt::Debug for Anew<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anew").finish_non_exhaustive()
    }
}

impl<P: fmt::Debug, F, G> fmt::Debug for Resumed<P, F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}
