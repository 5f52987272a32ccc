//! The micro-kernel: a tile of `MR` rows × `NV` vectors of the product, in registers.
//!
//! One inner step multiplies `MR` elements of a column of A, each broadcast, with `NV` vectors of a row of
//! B: `MR · NV` vector multiply-adds on `MR + NV` loads. The method is BLIS's (Van Zee and van de Geijn,
//! ACM TOMS 41(3), 2015).

use super::matrix::Tile;
use pulp::{Scalar128b, Simd};
use std::any::TypeId;

/// Returns `a · b + c`, fused where the instruction set can. The portable set has no fused form, and
/// emulating it costs a library call an element.
#[inline(always)]
pub(super) fn multiply_add<S: Simd>(s: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    if TypeId::of::<S>() == TypeId::of::<Scalar128b>() {
        s.add_f32s(s.mul_f32s(a, b), c)
    } else {
        s.mul_add_e_f32s(a, b, c)
    }
}

/// Loads one vector from an address of any alignment.
///
/// # Safety
/// `S::F32_LANES` elements from `p` are readable.
#[inline(always)]
pub(super) unsafe fn load<S: Simd>(p: *const f32) -> S::f32s {
    // SAFETY: the caller's promise; `f32s` is plain old data.
    unsafe { p.cast::<S::f32s>().read_unaligned() }
}

/// The sums of a tile.
pub(super) type Sums<S, const MR: usize, const NV: usize> = [[<S as Simd>::f32s; NV]; MR];

/// Multiplies `MR` rows of A with `NV` vectors of each row of B over `k` steps.
///
/// # Safety
/// For every `p < k`: `rows[i] + p * a_step` is readable, and so are `NV * S::F32_LANES` elements from
/// `b + p * b_step`.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    k: usize,
    rows: [*const f32; MR],
    a_step: usize,
    b: *const f32,
    b_step: usize,
) -> Sums<S, MR, NV> {
    let zero = s.splat_f32s(0.0);
    let mut sums = [[zero; NV]; MR];
    for p in 0..k {
        let mut vectors = [zero; NV];
        for (j, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: vector j of row p, by the caller's promise.
            *vector = unsafe { load::<S>(b.add(p * b_step + j * S::F32_LANES)) };
        }
        for i in 0..MR {
            // SAFETY: step p of row i, by the caller's promise.
            let a = s.splat_f32s(unsafe { *rows[i].add(p * a_step) });
            for j in 0..NV {
                sums[i][j] = multiply_add(s, a, vectors[j], sums[i][j]);
            }
        }
    }
    sums
}

/// Writes the tile's sums to `c`. Sums outside `c` are dropped.
///
/// # Safety
/// The elements of `c` are valid for writes and used by nobody else; `c` has at most `MR` rows and
/// `NV * S::F32_LANES` columns.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, const MR: usize, const NV: usize>(_: S, sums: &Sums<S, MR, NV>, c: Tile) {
    if c.rows == MR && c.cols == NV * S::F32_LANES && c.col_stride == 1 {
        for (i, row) in sums.iter().enumerate() {
            for (j, &sum) in row.iter().enumerate() {
                // SAFETY: row i and vector j lie inside the full tile.
                unsafe {
                    let to = c.ptr.add(i * c.row_stride + j * S::F32_LANES);
                    to.cast::<S::f32s>().write_unaligned(sum);
                }
            }
        }
    } else {
        // A copy, so that the sums themselves need no address and stay in registers.
        let spilled = *sums;
        let from = spilled.as_ptr().cast::<f32>();
        for i in 0..c.rows.min(MR) {
            for j in 0..c.cols.min(NV * S::F32_LANES) {
                // SAFETY: (i, j) lies inside both the tile of sums and `c`.
                unsafe {
                    *c.ptr.add(i * c.row_stride + j * c.col_stride) = *from.add(i * NV * S::F32_LANES + j);
                }
            }
        }
    }
}
