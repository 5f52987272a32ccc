//! A view of a matrix: a slice, a shape and strides, checked once; and the errors of all kernels.

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

/// A read-only matrix. Element (i, j) is `data[i * strides.0 + j * strides.1]`, and lies inside the slice: the unsafe
/// calls of the libraries rely on it.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    strides: (usize, usize),
}

impl<'a> MatRef<'a> {
    /// Views `data` as a matrix. Strides count elements and may take any value, 0 included.
    ///
    /// # Errors
    /// The slice ends before the last element.
    pub fn new(
        data: &'a [f32],
        rows: usize,
        cols: usize,
        strides: (usize, usize),
    ) -> Result<Self, KernelError> {
        let last = |size: usize, stride: usize| (size - 1).checked_mul(stride);
        let fits = rows == 0
            || cols == 0
            || last(rows, strides.0)
                .zip(last(cols, strides.1))
                .and_then(|(down, right)| down.checked_add(right))
                .is_some_and(|last| last < data.len());
        if fits {
            return Ok(Self { data, rows, cols, strides });
        }
        Err(KernelError::SliceTooShort { rows, cols, strides, found: data.len() })
    }

    /// Views `data` as a matrix whose rows follow each other without a gap.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn row_major(data: &'a [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, (cols, 1))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the element in row `i`, column `j`.
    ///
    /// # Panics
    /// If the element lies outside the matrix.
    pub fn at(&self, i: usize, j: usize) -> f32 {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) outside {}×{}", self.rows, self.cols);
        self.data[i * self.strides.0 + j * self.strides.1]
    }

    pub(super) fn as_ptr(&self) -> *const f32 {
        self.data.as_ptr()
    }

    /// Returns the strides as libraries want them. Only a dimension of one element can have a stride beyond `isize`, and
    /// such a stride is never used.
    pub(super) fn signed_strides(&self) -> (isize, isize) {
        let signed = |stride| isize::try_from(stride).unwrap_or(0);
        (signed(self.strides.0), signed(self.strides.1))
    }
}

/// Checks that `c` is as large as `a · b`.
pub(super) fn check_product(a: MatRef, b: MatRef, c: &[f32]) -> Result<(), KernelError> {
    if a.cols == b.rows && a.rows.checked_mul(b.cols) == Some(c.len()) {
        return Ok(());
    }
    Err(KernelError::ShapeMismatch {
        expected: "m×k · k×n = m·n elements".to_owned(),
        found: format!("{}×{} · {}×{} = {} elements", a.rows, a.cols, b.rows, b.cols, c.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_end_early_are_refused() {
        let data = [0.0; 12];
        assert!(MatRef::new(&data, 3, 4, (4, 1)).is_ok());
        assert!(MatRef::new(&data, 4, 3, (1, 4)).is_ok());
        assert!(MatRef::new(&data, 3, 4, (5, 1)).is_err());
        assert!(MatRef::new(&data, usize::MAX, 2, (usize::MAX, 1)).is_err());
        assert!(MatRef::new(&[], 0, 4, (4, 1)).is_ok());
        let message = MatRef::row_major(&data, 3, 5).unwrap_err().to_string();
        assert_eq!(message, "a 3×5 matrix with strides (5, 1) does not fit a slice of 12 elements");
    }
}
