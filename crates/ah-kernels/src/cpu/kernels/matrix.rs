//! Views of matrices: a slice, a shape and strides, checked once.
//!
//! The elements of every [`MatRef`] and [`MatMut`] lie inside its slice, and two elements of a [`MatMut`]
//! never share an address. The unsafe code of the kernels relies on both.

use std::ops::Deref;

use super::error::KernelError;
use super::extent::Extent;

/// Checks that a slice of `found` elements holds the matrix.
fn check(extent: Extent, found: usize) -> Result<Extent, KernelError> {
    match extent.span() {
        Some(needed) if needed <= found => Ok(extent),
        needed => Err(KernelError::SliceTooShort { extent, needed: needed.unwrap_or(usize::MAX), found }),
    }
}

/// A read-only matrix.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a> {
    data: &'a [f32],
    extent: Extent,
}

impl Deref for MatRef<'_> {
    type Target = Extent;

    fn deref(&self) -> &Extent {
        &self.extent
    }
}

impl<'a> MatRef<'a> {
    /// Views `data` as a matrix. Strides count elements and may take any value, 0 included.
    pub fn new(
        data: &'a [f32],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, KernelError> {
        let extent = check(Extent { rows, cols, row_stride, col_stride }, data.len())?;
        Ok(Self { data, extent })
    }

    /// Views `data` as a matrix whose rows follow each other without a gap.
    pub fn row_major(data: &'a [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, cols, 1)
    }

    /// Returns the element in row `i`, column `j`.
    ///
    /// # Panics
    /// If the element lies outside the matrix.
    pub fn at(&self, i: usize, j: usize) -> f32 {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) outside {}×{}", self.rows, self.cols);
        self.data[i * self.row_stride + j * self.col_stride]
    }

    /// Returns the same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { extent: self.extent.transposed(), ..self }
    }

    /// Returns the block of `rows × cols` elements that starts at (`i`, `j`), clipped to the matrix.
    #[must_use]
    pub fn block(self, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let (extent, start) = self.extent.block(i, j, rows, cols);
        Self { data: &self.data[start..], extent }
    }

    pub(super) fn as_ptr(&self) -> *const f32 {
        self.data.as_ptr()
    }

    pub(super) fn as_slice(&self) -> &'a [f32] {
        self.data
    }
}

/// A writable row-major matrix.
#[derive(Debug)]
pub struct MatMut<'a> {
    data: &'a mut [f32],
    extent: Extent,
}

impl Deref for MatMut<'_> {
    type Target = Extent;

    fn deref(&self) -> &Extent {
        &self.extent
    }
}

impl<'a> MatMut<'a> {
    /// Views `data` as a writable matrix.
    pub fn new(
        data: &'a mut [f32],
        rows: usize,
        cols: usize,
        row_stride: usize,
    ) -> Result<Self, KernelError> {
        if row_stride < cols && rows > 1 {
            return Err(KernelError::OverlappingRows { cols, row_stride });
        }
        let extent = check(Extent { rows, cols, row_stride, col_stride: 1 }, data.len())?;
        Ok(Self { data, extent })
    }

    /// Views `data` as a writable matrix whose rows follow each other without a gap.
    pub fn row_major(data: &'a mut [f32], rows: usize, cols: usize) -> Result<Self, KernelError> {
        Self::new(data, rows, cols, cols)
    }

    /// Returns row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let Extent { rows, cols, row_stride, .. } = self.extent;
        assert!(i < rows, "row {i} of {rows}");
        // A matrix without columns may lie in a slice without elements, whatever its stride.
        let start = if cols == 0 { 0 } else { i * row_stride };
        &mut self.data[start..][..cols]
    }

    pub(super) fn tile(&mut self) -> Tile {
        Tile { ptr: self.data.as_mut_ptr(), extent: self.extent }
    }
}

/// A rectangle of an output, which kernels pass to each other and to other threads.
///
/// The maker of a tile owns its elements while the tile is in use. Tiles that are in use at the same time come
/// from [`Tile::block`] with disjoint ranges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub ptr: *mut f32,
    extent: Extent,
}

impl Deref for Tile {
    type Target = Extent;

    fn deref(&self) -> &Extent {
        &self.extent
    }
}

// SAFETY: a tile points to elements that nobody else uses (see above), so another thread races with nobody;
// f32 itself is Send.
unsafe impl Send for Tile {}
// SAFETY: as above. A shared tile is only cut into blocks.
unsafe impl Sync for Tile {}

impl Tile {
    /// Returns the block that starts at (`i`, `j`), clipped to the tile.
    pub fn block(self, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let (extent, start) = self.extent.block(i, j, rows, cols);
        Self { ptr: self.ptr.wrapping_add(start), extent }
    }

    pub fn transposed(self) -> Self {
        Self { extent: self.extent.transposed(), ..self }
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
        assert_eq!((b.rows, b.cols, b.at(1, 1)), (2, 2, 11.0));
        assert_eq!(a.block(3, 4, 1, 1).rows, 0);
        assert_eq!(a.transposed().at(3, 2), a.at(2, 3));
    }
}
