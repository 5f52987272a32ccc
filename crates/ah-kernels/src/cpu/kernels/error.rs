//! The errors of the kernels.

use thiserror::Error;

use super::extent::Extent;

/// The reason why a kernel refused to run. It has computed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum KernelError {
    /// The slice ends before the last element of the matrix.
    #[error(
        "a {}×{} matrix with strides ({}, {}) needs {needed} elements, the slice has {found}",
        extent.rows, extent.cols, extent.row_stride, extent.col_stride
    )]
    SliceTooShort {
        extent: Extent,
        /// Elements that the matrix spans; `usize::MAX` if the span overflows.
        needed: usize,
        found: usize,
    },
    /// The rows of an output would overlap.
    #[error("an output of {cols} columns needs a row stride of at least {cols}, found {row_stride}")]
    OverlappingRows { cols: usize, row_stride: usize },
    /// The operands do not fit together.
    #[error("shapes do not fit: expected {expected}, found {found}")]
    ShapeMismatch { expected: String, found: String },
    /// The memory for a copy of an operand is not there.
    #[error("no memory for a copy of {elements} elements")]
    OutOfMemory {
        /// Elements of the copy; `usize::MAX` if their number overflows.
        elements: usize,
    },
    /// The choice needs an instruction set that this processor lacks.
    #[error("{choice} cannot run here: {reason}")]
    Unavailable { choice: String, reason: String },
}
