//! Who says what an outcome means.

use crate::verdict::Verdict;

/// Says what an outcome means.
///
/// Implemented by [`ByError`], [`AnyError`] and every `Fn(&O) -> Verdict`, so a
/// function pointer works in a `static`. Runs once for each outcome, under no
/// lock. An error judged [`Verdict::OK`] counts as permanent.
///
/// ```
/// use steadfast_core::{Classify, Verdict};
///
/// fn by_status(reply: &Result<u16, ()>) -> Verdict {
///     match reply {
///         Ok(503) | Err(()) => Verdict::TRANSIENT,
///         Ok(_) => Verdict::OK,
///     }
/// }
///
/// assert_eq!(by_status.classify(&Ok(503)), Verdict::TRANSIENT);
/// ```
#[diagnostic::on_unimplemented(
    message = "the guard's classifier cannot say what `{O}` means",
    label = "the operation gives `{O}`, which this guard's classifier does not take",
    note = "with the `Guard` of your runtime, `steadfast::tokio::Guard` for one:",
    note = "every error worth a retry: `static G: Guard<AnyError> = Guard::classified(POLICY, AnyError);`",
    note = "your own rule: `static G: Guard<fn(&{O}) -> Verdict> = Guard::classified(POLICY, rule);`"
)]
pub trait Classify<O> {
    /// Says what `outcome` means.
    fn classify(&self, outcome: &O) -> Verdict;
}

impl<O, F: Fn(&O) -> Verdict> Classify<O> for F {
    fn classify(&self, outcome: &O) -> Verdict {
        self(outcome)
    }
}

/// A classifier that somebody else owns: what a guard lends to its calls.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'c, C>(pub &'c C);

impl<O, C: Classify<O>> Classify<O> for Lent<'_, C> {
    fn classify(&self, outcome: &O) -> Verdict {
        self.0.classify(outcome)
    }
}

/// Says what an error means.
///
/// Implement it for your own error type, and [`ByError`] (what a guard asks
/// unless told otherwise) will use it.
///
/// ```
/// use steadfast_core::{Meaning, Verdict};
///
/// enum Fault {
///     Lost,
///     Denied,
/// }
///
/// impl Meaning for Fault {
///     fn verdict(&self) -> Verdict {
///         match self {
///             Self::Lost => Verdict::TRANSIENT,
///             Self::Denied => Verdict::PERMANENT,
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which of its errors are worth a retry",
    label = "the error type of this operation has no meaning yet",
    note = "if the type is yours: `impl steadfast::Meaning for {Self}`",
    note = "otherwise, with the `Guard` of your runtime, `steadfast::tokio::Guard` for one:",
    note = "if every error is worth a retry: `static G: Guard<AnyError> = Guard::classified(POLICY, AnyError);`",
    note = "if a rule decides: `static G: Guard<fn(&Result<u32, {Self}>) -> Verdict> = Guard::classified(POLICY, rule);`"
)]
pub trait Meaning {
    /// Says what this error means.
    fn verdict(&self) -> Verdict;
}

impl<E: Meaning + ?Sized> Meaning for &E {
    fn verdict(&self) -> Verdict {
        (**self).verdict()
    }
}

/// No error at all: nothing to retry.
impl Meaning for core::convert::Infallible {
    fn verdict(&self) -> Verdict {
        match *self {}
    }
}

/// By kind: what the caller got wrong is permanent, anything else transient.
///
/// Permanent: not found, permission denied, already exists, invalid input or
/// data, unsupported, not a directory, is a directory, directory not empty,
/// read-only, file too large, invalid name, not seekable, other devices, too
/// many links, too long a list of arguments. A resolver that fails, a network
/// that is down and everything the standard library has no name for may go
/// better next time.
#[cfg(any(test, feature = "std"))]
impl Meaning for std::io::Error {
    fn verdict(&self) -> Verdict {
        use std::io::ErrorKind as Is;
        match self.kind() {
            Is::NotFound
            | Is::PermissionDenied
            | Is::AlreadyExists
            | Is::InvalidInput
            | Is::InvalidData
            | Is::Unsupported
            | Is::NotADirectory
            | Is::IsADirectory
            | Is::DirectoryNotEmpty
            | Is::ReadOnlyFilesystem
            | Is::FileTooLarge
            | Is::InvalidFilename
            | Is::NotSeekable
            | Is::CrossesDevices
            | Is::TooManyLinks
            | Is::ArgumentListTooLong => Verdict::PERMANENT,
            _ => Verdict::TRANSIENT,
        }
    }
}

/// Asks the error what it means; every value is accepted.
///
/// What a guard asks unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByError;

impl<T, E: Meaning> Classify<Result<T, E>> for ByError {
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        match outcome {
            Ok(_) => Verdict::OK,
            Err(error) => error.verdict(),
        }
    }
}

/// Calls every error transient; every value is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyError;

impl<T, E> Classify<Result<T, E>> for AnyError {
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        match outcome {
            Ok(_) => Verdict::OK,
            Err(_) => Verdict::TRANSIENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind as Is};

    use super::*;

    /// Asserts what errors of `kinds` mean.
    #[track_caller]
    fn mean(verdict: Verdict, kinds: &[Is]) {
        for kind in kinds {
            let failure = Err::<(), _>(Error::from(*kind));
            assert_eq!(ByError.classify(&failure), verdict, "{kind:?}");
        }
    }

    // core-02.1
    #[test]
    fn a_network_error_is_transient() {
        mean(
            Verdict::TRANSIENT,
            &[
                Is::ConnectionRefused,
                Is::ConnectionReset,
                Is::ConnectionAborted,
                Is::NotConnected,
                Is::BrokenPipe,
                Is::TimedOut,
                Is::Interrupted,
                Is::WouldBlock,
                Is::UnexpectedEof,
                Is::HostUnreachable,
                Is::NetworkUnreachable,
                Is::NetworkDown,
                Is::AddrInUse,
                Is::AddrNotAvailable,
                Is::ResourceBusy,
                Is::Other,
            ],
        );
        // What the standard library has no name for, as a resolver's failure.
        let unnamed = Err::<(), _>(Error::from_raw_os_error(i32::MAX));
        assert_eq!(ByError.classify(&unnamed), Verdict::TRANSIENT);
    }

    // core-02.1
    #[test]
    fn a_mistake_of_the_caller_is_permanent() {
        mean(
            Verdict::PERMANENT,
            &[
                Is::NotFound,
                Is::PermissionDenied,
                Is::AlreadyExists,
                Is::InvalidInput,
                Is::InvalidData,
                Is::Unsupported,
                Is::NotADirectory,
                Is::IsADirectory,
                Is::DirectoryNotEmpty,
                Is::ReadOnlyFilesystem,
                Is::FileTooLarge,
                Is::InvalidFilename,
                Is::NotSeekable,
                Is::CrossesDevices,
                Is::TooManyLinks,
                Is::ArgumentListTooLong,
            ],
        );
    }

    // core-02.6
    #[test]
    fn any_error_is_transient() {
        assert_eq!(
            AnyError.classify(&Err::<(), _>("whatever")),
            Verdict::TRANSIENT
        );
        assert_eq!(AnyError.classify(&Ok::<_, ()>(1)), Verdict::OK);
    }
}
