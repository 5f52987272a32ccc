//! The unpacked product: B's rows are read where they lie, A is broadcast from where it lies.
//!
//! Nothing is copied but what must be: the last columns of B, if they do not fill a tile, and all
//! of B if its rows are not contiguous. So it wins where packing costs more than it saves: few
//! rows, small matrices. It has no blocking over k, and a row of B a step: large matrices run out
//! of cache and of translation entries.

use super::InstructionSet;
use super::blocked::pack;
use super::matrix::{MatRef, Tile};
use super::micro::{multiply, store};
use super::scratch::Panels;
use pulp::{Simd, WithSimd};

/// `c = a · b`, one thread. The tile is `MR` rows × `NV` vectors.
pub(super) struct Direct<'a, const MR: usize, const NV: usize> {
    pub a: MatRef<'a>,
    pub b: MatRef<'a>,
    /// Owned by this call, see [`Tile`].
    pub c: Tile,
    pub panels: &'a mut Panels,
}

impl<const MR: usize, const NV: usize> Direct<'_, MR, NV> {
    pub fn run(self, set: InstructionSet) {
        set.run(self);
    }
}

impl<const MR: usize, const NV: usize> WithSimd for Direct<'_, MR, NV> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { a, b, c, panels } = self;
        let nr = NV * S::F32_LANES;
        let k = a.cols();
        if k == 0 {
            // SAFETY: the caller of `run` owns `c`.
            unsafe { c.fill_zero() };
            return;
        }
        for j in (0..c.cols).step_by(nr) {
            let block = b.block(0, j, k, nr);
            let (b, b_step) = if block.cols() == nr && block.col_stride() == 1 {
                (block.as_ptr(), block.row_stride())
            } else {
                let packed = panels.b.take(nr * k);
                pack(block.transposed(), nr, packed);
                (packed.as_ptr(), nr)
            };
            for i in (0..c.rows).step_by(MR) {
                // SAFETY: `b` has k rows of nr elements, either way; the caller owns `c`.
                unsafe {
                    row_band::<S, MR, NV>(s, a.block(i, 0, MR, k), b, b_step, c.block(i, j, MR, nr));
                };
            }
        }
    }
}

/// One tile of the product. Where fewer than `MR` rows are left, the last one stands in for the
/// missing ones: that costs what a full tile costs, and needs no second kernel.
///
/// # Safety
/// `b` has `a.cols()` rows, `b_step` apart, of `NV * S::F32_LANES` readable elements; `a` is not
/// empty; the elements of `c` are valid and used by nobody else.
#[inline(always)]
pub(super) unsafe fn row_band<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    a: MatRef,
    b: *const f32,
    b_step: usize,
    c: Tile,
) {
    let last = a.rows() - 1;
    let rows = std::array::from_fn(|r| a.as_ptr().wrapping_add(r.min(last) * a.row_stride()));
    // SAFETY: the rows start inside `a` and have `a.cols()` elements; the rest is the caller's.
    unsafe {
        let sums = multiply::<S, MR, NV>(s, a.cols(), rows, a.col_stride(), b, b_step);
        store::<S, MR, NV>(s, &sums, c, false);
    }
}
