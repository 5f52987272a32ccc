//! The errors of the kernels.

use thiserror::Error;

/// The reason why a kernel refused to run. It has computed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum KernelError {
    /// The slice ends before the last element of the matrix, or its place overflows.
    #[error(
        "a {rows}×{cols} matrix with strides ({}, {}) does not fit a slice of {found} elements",
        strides.0, strides.1
    )]
    SliceTooShort { rows: usize, cols: usize, strides: (usize, usize), found: usize },
    /// The operands do not fit together.
    #[error("shapes do not fit: expected {expected}, found {found}")]
    ShapeMismatch { expected: String, found: String },
}
