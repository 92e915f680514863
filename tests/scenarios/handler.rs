//! handler
