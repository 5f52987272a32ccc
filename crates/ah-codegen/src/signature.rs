//! The signature of generated code: what a caller gives.

/// The logged features that a caller gives, by slot, with their identifiers.
pub type Signature = Vec<(usize, String)>;
