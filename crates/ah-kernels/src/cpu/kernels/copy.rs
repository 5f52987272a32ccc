//! Copies of operands: row-major, aligned, padded with zeros.

use super::error::KernelError;
use super::matrix::MatRef;
use super::scratch::AlignedBuffer;

/// Side of the squares in which a matrix is transposed: one cache line of f32, so that each line is
/// touched once while it is in the cache.
const SQUARE: usize = 16;

/// Copies `from` into `buffer` as a row-major `rows × cols` matrix, which is at least as large. The rest
/// is zeros.
pub(super) fn copy_rows<'b>(
    from: MatRef,
    rows: usize,
    cols: usize,
    buffer: &'b mut AlignedBuffer,
) -> Result<MatRef<'b>, KernelError> {
    let to = buffer.take(rows.checked_mul(cols))?;
    let (tall, wide) = (from.rows, from.cols);
    if tall == 0 || wide == 0 {
        to.fill(0.0);
        return MatRef::row_major(to, rows, cols);
    }
    let data = from.as_slice();
    let (rs, cs) = (from.row_stride, from.col_stride);
    to[tall * cols..].fill(0.0);
    for (i, row) in to.chunks_exact_mut(cols).take(tall).enumerate() {
        if cs == 1 {
            row[..wide].copy_from_slice(&data[i * rs..][..wide]);
        }
        row[wide..].fill(0.0);
    }
    if cs != 1 {
        for i in (0..tall).step_by(SQUARE) {
            for j in (0..wide).step_by(SQUARE) {
                for r in i..tall.min(i + SQUARE) {
                    for c in j..wide.min(j + SQUARE) {
                        to[r * cols + c] = data[r * rs + c * cs];
                    }
                }
            }
        }
    }
    MatRef::row_major(to, rows, cols)
}
