//! The libraries that multiply matrices: `gemm` and `matrixmultiply`.

use super::matrix::{MatRef, Tile};
use super::threads::Threads;

/// Returns a stride as the libraries want it. Only a dimension of one element can have a stride beyond
/// `isize`, and such a stride is never used.
fn signed(stride: usize) -> isize {
    isize::try_from(stride).unwrap_or(0)
}

/// Computes `c = a · b` with the crate `gemm`. The shapes must fit.
pub(super) fn gemm_crate(a: MatRef, b: MatRef, c: Tile, threads: Threads) {
    let parallelism = match threads {
        Threads::One => gemm::Parallelism::None,
        Threads::All => gemm::Parallelism::Rayon(0),
    };
    // SAFETY: the operands lie inside their slices, `c` belongs to this call, and the shapes fit.
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            a.cols,
            c.ptr,
            signed(c.col_stride),
            signed(c.row_stride),
            false,
            a.as_ptr(),
            signed(a.col_stride),
            signed(a.row_stride),
            b.as_ptr(),
            signed(b.col_stride),
            signed(b.row_stride),
            0.0,
            1.0_f32,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Computes `c = a · b` with the crate `matrixmultiply`. The shapes must fit.
pub(super) fn matrixmultiply_crate(a: MatRef, b: MatRef, c: Tile) {
    // SAFETY: as in `gemm_crate`.
    unsafe {
        matrixmultiply::sgemm(
            c.rows,
            a.cols,
            c.cols,
            1.0,
            a.as_ptr(),
            signed(a.row_stride),
            signed(a.col_stride),
            b.as_ptr(),
            signed(b.row_stride),
            signed(b.col_stride),
            0.0,
            c.ptr,
            signed(c.row_stride),
            signed(c.col_stride),
        );
    }
}
