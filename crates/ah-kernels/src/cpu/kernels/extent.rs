//! The shape of a matrix and the places of its elements.

/// A shape and its strides, both in elements; element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// From one row to the next.
    pub row_stride: usize,
    /// From one column to the next.
    pub col_stride: usize,
}

impl Extent {
    /// Returns the elements from the first to the last one; `None` if their number overflows.
    pub(super) fn span(self) -> Option<usize> {
        if self.rows == 0 || self.cols == 0 {
            return Some(0);
        }
        let last_row = (self.rows - 1).checked_mul(self.row_stride)?;
        let last_col = (self.cols - 1).checked_mul(self.col_stride)?;
        last_row.checked_add(last_col)?.checked_add(1)
    }

    /// Returns rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        let Self { rows, cols, row_stride, col_stride } = self;
        Self { rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// Returns the block that starts at (`i`, `j`), clipped to the matrix, and the place of its first element.
    pub(super) fn block(self, i: usize, j: usize, rows: usize, cols: usize) -> (Self, usize) {
        let (i, j) = (i.min(self.rows), j.min(self.cols));
        let (rows, cols) = (rows.min(self.rows - i), cols.min(self.cols - j));
        // An empty block may begin behind the matrix, where the offset may wrap.
        let start = if rows == 0 || cols == 0 { 0 } else { i * self.row_stride + j * self.col_stride };
        (Self { rows, cols, ..self }, start)
    }
}
