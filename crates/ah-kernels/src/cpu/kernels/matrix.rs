//! Matrices as the kernels see them: a slice, a shape, strides, checked once.
//!
//! A [`MatRef`] or [`MatMut`] that exists lies wholly inside its slice, and two elements of a
//! [`MatMut`] never share an address. The unsafe code of the kernels rests on these two facts.

use thiserror::Error;

/// Why a kernel refused to run. Nothing has been computed then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KernelError {
    /// The slice ends before the last element of the matrix.
    #[error(
        "a {rows}×{cols} matrix with strides ({row_stride}, {col_stride}) needs {needed} elements, \
         the slice has {found}"
    )]
    SliceTooShort {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// Elements between two rows.
        row_stride: usize,
        /// Elements between two columns.
        col_stride: usize,
        /// Elements that the matrix spans; `usize::MAX` if the span overflows.
        needed: usize,
        /// Elements in the slice.
        found: usize,
    },
    /// The rows of an output would overlap.
    #[error("an output of {cols} columns needs a row stride of at least {cols}, found {row_stride}")]
    OverlappingRows {
        /// Columns asked for.
        cols: usize,
        /// Elements between two rows.
        row_stride: usize,
    },
    /// The operands do not fit together.
    #[error("shapes do not fit: expected {expected}, found {found}")]
    ShapeMismatch {
        /// What the operation needs.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// The memory for a copy of an operand is not there.
    #[error("no memory for a copy of {elements} elements")]
    OutOfMemory {
        /// Elements of the copy; `usize::MAX` if their number overflows.
        elements: usize,
    },
    /// The choice needs an instruction set that this processor lacks.
    #[error("{choice} cannot run here: {reason}")]
    Unavailable {
        /// The choice's name.
        choice: String,
        /// What is missing.
        reason: String,
    },
}

/// A read-only `rows × cols` matrix; element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

fn span(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let last_row = (rows - 1).checked_mul(row_stride)?;
    let last_col = (cols - 1).checked_mul(col_stride)?;
    last_row.checked_add(last_col)?.checked_add(1)
}

fn check_span(
    found: usize,
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
) -> Result<(), KernelError> {
    match span(rows, cols, row_stride, col_stride) {
        Some(needed) if needed <= found => Ok(()),
        needed => Err(KernelError::SliceTooShort {
            rows,
            cols,
            row_stride,
            col_stride,
            needed: needed.unwrap_or(usize::MAX),
            found,
        }),
    }
}

impl<'a> MatRef<'a> {
    /// Views `data` as a matrix. Strides count elements and may take any value, 0 included.
    ///
    /// # Errors
    /// [`KernelError::SliceTooShort`] if the last element lies behind the slice.
    pub fn new(
        data: &'a [f32],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, KernelError> {
        check_span(data.len(), rows, cols, row_stride, col_stride)?;
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// Views `data` as a matrix whose rows follow each other without a gap.
    ///
    /// # Errors
    /// As [`MatRef::new`].
    pub fn row_major(data: &'a [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, cols, 1)
    }

    /// Views `data` as a matrix whose columns follow each other without a gap.
    ///
    /// # Errors
    /// As [`MatRef::new`].
    pub fn col_major(data: &'a [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, 1, rows)
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements between two rows.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Elements between two columns.
    #[must_use]
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    /// The element in row `i`, column `j`.
    ///
    /// # Panics
    /// If the element lies outside the matrix.
    #[must_use]
    pub fn at(&self, i: usize, j: usize) -> f32 {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) outside {}×{}", self.rows, self.cols);
        self.data[i * self.row_stride + j * self.col_stride]
    }

    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// The block of `rows × cols` elements that starts at (`i`, `j`), clipped to the matrix.
    #[must_use]
    pub fn block(self, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let (i, j) = (i.min(self.rows), j.min(self.cols));
        let (rows, cols) = (rows.min(self.rows - i), cols.min(self.cols - j));
        let start = if rows == 0 || cols == 0 { 0 } else { i * self.row_stride + j * self.col_stride };
        Self { data: &self.data[start..], rows, cols, ..self }
    }

    pub(super) fn as_ptr(&self) -> *const f32 {
        self.data.as_ptr()
    }

    pub(super) fn as_slice(&self) -> &'a [f32] {
        self.data
    }
}

/// A writable row-major `rows × cols` matrix; element (i, j) is `data[i * row_stride + j]`.
#[derive(Debug)]
pub struct MatMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a> MatMut<'a> {
    /// Views `data` as a writable matrix.
    ///
    /// # Errors
    /// [`KernelError::SliceTooShort`] if the last element lies behind the slice,
    /// [`KernelError::OverlappingRows`] if `row_stride < cols`.
    pub fn new(
        data: &'a mut [f32],
        rows: usize,
        cols: usize,
        row_stride: usize,
    ) -> Result<Self, KernelError> {
        if row_stride < cols && rows > 1 {
            return Err(KernelError::OverlappingRows { cols, row_stride });
        }
        check_span(data.len(), rows, cols, row_stride, 1)?;
        Ok(Self { data, rows, cols, row_stride })
    }

    /// Views `data` as a writable matrix whose rows follow each other without a gap.
    ///
    /// # Errors
    /// As [`MatMut::new`].
    pub fn row_major(data: &'a mut [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, cols)
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements between two rows.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        // A matrix without columns may lie in a slice without elements, whatever its stride.
        let start = if self.cols == 0 { 0 } else { i * self.row_stride };
        &mut self.data[start..][..self.cols]
    }

    pub(super) fn tile(&mut self) -> Tile {
        Tile {
            ptr: self.data.as_mut_ptr(),
            rows: self.rows,
            cols: self.cols,
            row_stride: self.row_stride,
            col_stride: 1,
        }
    }
}

/// A rectangle of an output, as the kernels hand it on to each other and to other threads.
///
/// Whoever makes one owns its elements for as long as it is in use: tiles in use at the same time
/// come from [`Tile::block`] with disjoint ranges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub ptr: *mut f32,
    pub rows: usize,
    pub cols: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

// SAFETY: a tile is a pointer to elements that nobody else uses (see above), so using it from
// another thread races with nothing; f32 itself is Send.
unsafe impl Send for Tile {}
// SAFETY: as above; a shared tile is only cut into blocks.
unsafe impl Sync for Tile {}

impl Tile {
    /// The block that starts at (`i`, `j`), clipped to the tile.
    pub fn block(self, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let (i, j) = (i.min(self.rows), j.min(self.cols));
        let (rows, cols) = (rows.min(self.rows - i), cols.min(self.cols - j));
        // An empty block may begin behind the matrix, where the offset may wrap.
        let start = if rows == 0 || cols == 0 { 0 } else { i * self.row_stride + j * self.col_stride };
        Self { ptr: self.ptr.wrapping_add(start), rows, cols, ..self }
    }

    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Sets every element to zero: the product over an empty inner dimension.
    ///
    /// # Safety
    /// The tile's elements are valid for writes and used by nobody else.
    pub unsafe fn fill_zero(self) {
        for i in 0..self.rows {
            for j in 0..self.cols {
                // SAFETY: (i, j) lies inside the tile.
                unsafe { *self.ptr.add(i * self.row_stride + j * self.col_stride) = 0.0 };
            }
        }
    }
}

/// Checks that `c` can hold `a · b`.
pub(super) fn check_product(a: MatRef, b: MatRef, c: &MatMut) -> Result<(), KernelError> {
    if a.cols == b.rows && c.rows == a.rows && c.cols == b.cols {
        return Ok(());
    }
    Err(KernelError::ShapeMismatch {
        expected: "m×k · k×n = m×n".to_owned(),
        found: format!("{}×{} · {}×{} = {}×{}", a.rows, a.cols, b.rows, b.cols, c.rows, c.cols),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_end_early_are_refused() {
        let data = [0.0; 12];
        assert!(MatRef::new(&data, 3, 4, 4, 1).is_ok());
        assert!(MatRef::new(&data, 4, 3, 1, 4).is_ok());
        assert!(MatRef::new(&data, 3, 4, 5, 1).is_err());
        assert!(MatRef::new(&data, usize::MAX, 2, usize::MAX, 1).is_err());
        assert!(MatRef::new(&[], 0, 4, 4, 1).is_ok());
        let message = MatRef::new(&data, 3, 5, 5, 1).unwrap_err().to_string();
        assert!(message.contains("needs 15 elements, the slice has 12"), "{message}");
    }

    #[test]
    fn outputs_with_overlapping_rows_are_refused() {
        let mut data = [0.0; 12];
        assert_eq!(
            MatMut::new(&mut data, 2, 4, 3).unwrap_err(),
            KernelError::OverlappingRows { cols: 4, row_stride: 3 }
        );
        assert!(MatMut::new(&mut data, 1, 4, 0).is_ok());
    }

    #[test]
    fn a_block_is_clipped_to_the_matrix() {
        let data: Vec<f32> = (0_u8..12).map(f32::from).collect();
        let a = MatRef::row_major(&data, 3, 4).unwrap();
        let b = a.block(1, 2, 9, 9);
        assert_eq!((b.rows(), b.cols(), b.at(1, 1)), (2, 2, 11.0));
        assert_eq!(a.block(3, 4, 1, 1).rows(), 0);
        assert_eq!(a.transposed().at(3, 2), a.at(2, 3));
    }
}
