//! Views of matrices: a slice, a shape and strides, checked once.
//!
//! The elements of every [`MatRef`] and [`MatMut`] lie inside its slice, and two elements of a [`MatMut`]
//! never share an address. The unsafe code of the kernels relies on both.

use super::error::KernelError;

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

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of elements from one row to the next.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Returns the number of elements from one column to the next.
    #[must_use]
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    /// Returns the element in row `i`, column `j`.
    ///
    /// # Panics
    /// If the element lies outside the matrix.
    #[must_use]
    pub fn at(&self, i: usize, j: usize) -> f32 {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) outside {}×{}", self.rows, self.cols);
        self.data[i * self.row_stride + j * self.col_stride]
    }

    /// Returns the same elements with rows and columns exchanged.
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

    /// Returns the block of `rows × cols` elements that starts at (`i`, `j`), clipped to the matrix.
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

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of elements from one row to the next.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Returns row `i`.
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

/// A rectangle of an output, which kernels pass to each other and to other threads.
///
/// The maker of a tile owns its elements while the tile is in use. Tiles that are in use at the same time come
/// from [`Tile::block`] with disjoint ranges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub ptr: *mut f32,
    pub rows: usize,
    pub cols: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

// SAFETY: a tile points to elements that nobody else uses (see above), so another thread races with nobody;
// f32 itself is Send.
unsafe impl Send for Tile {}
// SAFETY: as above. A shared tile is only cut into blocks.
unsafe impl Sync for Tile {}

impl Tile {
    /// Returns the block that starts at (`i`, `j`), clipped to the tile.
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
