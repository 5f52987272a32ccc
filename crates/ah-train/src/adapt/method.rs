//! The ways to adapt a model.

use serde::Serialize;

/// All ways, in the order of preference among equals.
pub const METHODS: [Method; 3] = [Method::Kept, Method::Corrected, Method::Retrained];

/// How the adapted model came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The old trees with their scores; only what they may take is calibrated again.
    Kept,
    /// The old trees with corrected scores.
    Corrected,
    /// Trees that are learned from the new inputs alone.
    Retrained,
}
