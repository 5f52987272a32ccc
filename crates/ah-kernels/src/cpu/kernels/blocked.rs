//! The packed, cache-blocked product: panels of A stay in the second-level cache, a panel of B in
//! the first, the tile in registers.
//!
//! The loops are BLIS's five around the micro-kernel. B is packed a block of `KC × NC` at a time
//! into panels of the tile's width, A a block of `MC × KC` into panels of the tile's height, both
//! padded with zeros, so that the inner loop knows no edges and no strides. Packing moves
//! `m·k + k·n` elements once for `m·n·k` multiply-adds: little for cubes, half the time for a
//! product with few rows.

use super::InstructionSet;
use super::matrix::{MatRef, Tile};
use super::micro::{multiply, store};
use super::scratch::Panels;
use pulp::{Simd, WithSimd};

/// The block sizes, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Blocking {
    pub mc: usize,
    pub kc: usize,
    pub nc: usize,
}

/// `c = a · b`, one thread. The tile is `MR` rows × `NV` vectors.
pub(super) struct Blocked<'a, const MR: usize, const NV: usize> {
    pub a: MatRef<'a>,
    pub b: MatRef<'a>,
    /// Owned by this call, see [`Tile`].
    pub c: Tile,
    pub blocking: Blocking,
    pub panels: &'a mut Panels,
}

impl<const MR: usize, const NV: usize> Blocked<'_, MR, NV> {
    pub fn run(self, set: InstructionSet) {
        set.run(self);
    }
}

impl<const MR: usize, const NV: usize> WithSimd for Blocked<'_, MR, NV> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { a, b, c, blocking: Blocking { mc, kc, nc }, panels } = self;
        let nr = NV * S::F32_LANES;
        let (m, n, k) = (c.rows, c.cols, a.cols());
        if k == 0 {
            // SAFETY: the caller of `run` owns `c`.
            unsafe { c.fill_zero() };
            return;
        }
        let packed_a = panels.a.take(mc.min(m).next_multiple_of(MR) * kc.min(k));
        let packed_b = panels.b.take(nc.min(n).next_multiple_of(nr) * kc.min(k));
        for j in (0..n).step_by(nc) {
            for p in (0..k).step_by(kc) {
                let b = b.block(p, j, kc, nc);
                pack(b.transposed(), nr, packed_b);
                for i in (0..m).step_by(mc) {
                    let a = a.block(i, p, mc, kc);
                    pack(a, MR, packed_a);
                    let c = c.block(i, j, mc, nc);
                    // SAFETY: `pack` has filled all panels of the two blocks over `a.cols()` steps,
                    // and the caller of `run` owns `c`.
                    unsafe {
                        panel_product::<S, MR, NV>(s, a.cols(), packed_a, packed_b, c, p > 0);
                    }
                }
            }
        }
    }
}

/// Multiplies the packed panels, tile by tile.
///
/// # Safety
/// `a` holds `c.rows / MR` and `b` holds `c.cols / (NV * lanes)` panels of `k` steps, both rounded
/// up; the elements of `c` are valid and used by nobody else.
#[inline(always)]
unsafe fn panel_product<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    k: usize,
    a: &[f32],
    b: &[f32],
    c: Tile,
    accumulate: bool,
) {
    let nr = NV * S::F32_LANES;
    for j in (0..c.cols).step_by(nr) {
        let b = &b[j * k..][..nr * k];
        for i in (0..c.rows).step_by(MR) {
            let a = &a[i * k..][..MR * k];
            let rows = std::array::from_fn(|r| a.as_ptr().wrapping_add(r));
            // SAFETY: the slices hold k steps of MR and of nr elements; `c` is the caller's.
            unsafe {
                let sums = multiply::<S, MR, NV>(s, k, rows, MR, b.as_ptr(), nr);
                store::<S, MR, NV>(s, &sums, c.block(i, j, MR, nr), accumulate);
            }
        }
    }
}

/// Packs the rows of `from` into panels of `height` rows, step by step; missing rows become zeros.
#[inline(always)]
pub(super) fn pack(from: MatRef, height: usize, panels: &mut [f32]) {
    let k = from.cols();
    for (panel, to) in panels.chunks_exact_mut((height * k).max(1)).enumerate() {
        let first = panel * height;
        if first >= from.rows() {
            return;
        }
        let rows = from.block(first, 0, height, k);
        if rows.row_stride() == 1 {
            pack_contiguous(rows, height, to);
        } else {
            pack_strided(rows, height, to);
        }
    }
}

/// The rows of a step lie side by side: copy them whole.
#[inline(always)]
fn pack_contiguous(from: MatRef, height: usize, to: &mut [f32]) {
    let (step, live) = (from.col_stride(), from.rows());
    let data = from.as_slice();
    for (p, to) in to.chunks_exact_mut(height).enumerate() {
        to[..live].copy_from_slice(&data[p * step..][..live]);
        to[live..].fill(0.0);
    }
}

/// The steps of a row lie side by side (or nothing does): gather them, eight steps of every row
/// at a time, so that each line of the panel is touched once while it is in the cache.
#[inline(always)]
fn pack_strided(from: MatRef, height: usize, to: &mut [f32]) {
    const STEPS: usize = 8;
    let (rs, cs, live) = (from.row_stride(), from.col_stride(), from.rows());
    let data = from.as_slice();
    for (chunk, to) in to.chunks_mut(height * STEPS).enumerate() {
        let steps = to.len() / height;
        for r in 0..live {
            let row = &data[r * rs + chunk * STEPS * cs..];
            if cs == 1 && steps == STEPS {
                let row: &[f32; STEPS] = row[..STEPS].try_into().expect("eight steps");
                for (p, &x) in row.iter().enumerate() {
                    to[p * height + r] = x;
                }
            } else {
                for p in 0..steps {
                    to[p * height + r] = row[p * cs];
                }
            }
        }
        for r in live..height {
            for p in 0..steps {
                to[p * height + r] = 0.0;
            }
        }
    }
}
