//! The unpacked product: both operands are read where they lie.
//!
//! The loop follows the direction in which neighbours are contiguous in memory:
//!
//! | contiguous | loop |
//! | --- | --- |
//! | rows of B | vectors along a row of B, times broadcast elements of A: [`rows_of_b`] |
//! | columns of A | the same for the transposed product, Cᵀ = Bᵀ·Aᵀ |
//! | rows of A and columns of B | dot products, vectors along the inner dimension: [`dot_products`] |
//! | nothing | the first, on a copy of B |
//!
//! There is no packing and no blocking over k. So the kernel wins where packing costs more than it saves
//! (small products, few rows or few columns) and loses where an operand is read repeatedly from beyond the
//! caches.
//!
//! Remainders need neither masks nor a scalar loop: the last tile overlaps the one before it, or a smaller
//! tile covers the rest. Computing an element twice gives the same value twice.

use super::copy::copy_rows;
use super::error::KernelError;
use super::instruction_set::InstructionSet;
use super::matrix::{MatRef, Tile};
use super::micro::{load, multiply, multiply_add, store};
use super::scratch::AlignedBuffer;
use pulp::{Simd, WithSimd};

/// `c = a · b` on one thread. The largest tile has `MR` rows × `NV` vectors.
pub(super) struct DirectProduct<'a, const MR: usize, const NV: usize> {
    pub a: MatRef<'a>,
    pub b: MatRef<'a>,
    /// Owned by this call, see [`Tile`].
    pub c: Tile,
    pub copy: &'a mut AlignedBuffer,
}

impl<const MR: usize, const NV: usize> DirectProduct<'_, MR, NV> {
    /// Computes the product with the vectors of `set`.
    pub fn run(self, set: InstructionSet) -> Result<(), KernelError> {
        set.run(self)
    }
}

impl<const MR: usize, const NV: usize> WithSimd for DirectProduct<'_, MR, NV> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> Self::Output {
        let Self { a, b, c, copy } = self;
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let rows_of_b_are_contiguous = b.col_stride == 1 || b.cols == 1;
        let columns_of_a_are_contiguous = a.row_stride == 1 || a.rows == 1;
        let too_narrow = c.cols < S::F32_LANES && c.cols < c.rows;
        // SAFETY: the caller of `run` has checked the shapes and owns `c`. No dimension is 0, and each
        // branch has checked which direction is contiguous.
        unsafe {
            if a.cols == 0 {
                c.fill_zero();
            } else if columns_of_a_are_contiguous && (too_narrow || !rows_of_b_are_contiguous) {
                rows_of_b::<S, MR, NV>(s, b.transposed(), a.transposed(), c.transposed(), copy)?;
            } else if rows_of_b_are_contiguous {
                rows_of_b::<S, MR, NV>(s, a, b, c, copy)?;
            } else if a.col_stride == 1 && b.row_stride == 1 {
                dot_products(s, a, b, c);
            } else {
                let mut whole = AlignedBuffer::default();
                let b = copy_rows(b, b.rows, b.cols, &mut whole)?;
                rows_of_b::<S, MR, NV>(s, a, b, c, copy)?;
            }
        }
        Ok(())
    }
}

/// Heights of the compiled tiles in rows, and their widths in vectors.
const HEIGHTS: &[usize] = &[8, 6, 4, 2, 1];
const WIDTHS: &[usize] = &[8, 4, 3, 2, 1];
/// Rows and columns of the compiled tiles of dot products.
const DOT_SIZES: &[usize] = &[4, 2, 1];

/// Returns the next span that helps to cover `0..len`, as its start and its length: `done` elements are
/// covered already. Its length is one of `lengths` (which descend to 1) and at most `longest`.
///
/// The shortest span that covers all the rest is preferred, and may begin before `done`.
#[inline(always)]
fn next_span(done: usize, len: usize, longest: usize, lengths: &[usize]) -> (usize, usize) {
    let rest = len - done;
    let covering = lengths.iter().rev().find(|l| **l >= rest && **l <= longest && **l <= len);
    let within = || lengths.iter().find(|l| **l <= rest && **l <= longest);
    match covering {
        Some(length) => (len - length, *length),
        None => (done, *within().unwrap_or(&1)),
    }
}

/// Multiplies with vectors along the rows of B.
///
/// # Safety
/// The shapes fit, no dimension is 0, the rows of `b` are contiguous, and the elements of `c` are valid
/// and used by nobody else.
#[inline(always)]
unsafe fn rows_of_b<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    a: MatRef,
    b: MatRef,
    c: Tile,
    copy: &mut AlignedBuffer,
) -> Result<(), KernelError> {
    let (k, lanes) = (a.cols, S::F32_LANES);
    // A row of B that is shorter than a vector gets zeros behind it.
    let b = if c.cols < lanes { copy_rows(b, k, lanes, copy)? } else { b };
    let vectors = (c.cols / lanes).max(1);
    // Few rows need a wide tile: a sum is a chain of multiply-adds that wait for each other.
    let widest = match c.rows {
        1 => 8,
        2 | 3 => 4,
        _ => NV,
    };
    let mut j = 0;
    while j < c.cols {
        let rest = (c.cols - j).div_ceil(lanes);
        let of = vectors.max(rest);
        let (_, width) = next_span(of - rest, of, widest.min(vectors), WIDTHS);
        let start = j.min(c.cols.saturating_sub(width * lanes));
        let columns = b.block(0, start, k, width * lanes);
        let mut i = 0;
        while i < c.rows {
            let (top, height) = next_span(i, c.rows, MR, HEIGHTS);
            let to = c.block(top, start, height, width * lanes);
            // SAFETY: `columns` has k contiguous rows of `width` vectors; the rest is the caller's promise.
            unsafe { tile::<S, MR, NV>(s, width, a.block(top, 0, height, k), columns, to) };
            i = top + height;
        }
        j = start + width * lanes;
    }
    Ok(())
}

/// Computes one tile of the product.
///
/// # Safety
/// As [`rows_of_b`]; `b` has `width` whole vectors a row, and the size of the tile is compiled.
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize>(s: S, width: usize, a: MatRef, b: MatRef, c: Tile) {
    macro_rules! compiled {
        ($($mr:literal: $($nv:literal)*);*) => {
            match (a.rows, width) {
                $($(
                    ($mr, $nv) if $mr <= MR && ($mr <= 2 || $nv <= NV) => {
                        let rows = std::array::from_fn(|r| a.as_ptr().wrapping_add(r * a.row_stride));
                        let (steps, b) = ((a.col_stride, b.row_stride), b.as_ptr());
                        // SAFETY: `a` has $mr rows of k elements; `b` is the caller's promise.
                        unsafe {
                            let sums = multiply::<S, $mr, $nv>(s, a.cols, rows, steps.0, b, steps.1);
                            store::<S, $mr, $nv>(s, &sums, c);
                        }
                    }
                )*)*
                (rows, width) => unreachable!("no tile of {rows} rows × {width} vectors is compiled"),
            }
        };
    }
    compiled!(1: 1 2 3 4 8; 2: 1 2 3 4; 4: 1 2 3; 6: 1 2 3; 8: 1 2 3);
}

/// Multiplies with vectors along the inner dimension.
///
/// # Safety
/// As [`rows_of_b`], but the rows of `a` and the columns of `b` are contiguous.
#[inline(always)]
unsafe fn dot_products<S: Simd>(s: S, a: MatRef, b: MatRef, c: Tile) {
    let widest = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
    let mut i = 0;
    while i < c.rows {
        let (top, height) = next_span(i, c.rows, 4, DOT_SIZES);
        let rows = a.block(top, 0, height, a.cols);
        let mut j = 0;
        while j < c.cols {
            let (left, width) = next_span(j, c.cols, widest, DOT_SIZES);
            let columns = b.block(0, left, b.rows, width);
            let to = c.block(top, left, height, width);
            macro_rules! compiled {
                ($($mr:literal: $($nr:literal)*);*) => {
                    match (height, width) {
                        // SAFETY: the blocks have these sizes; the rest is the caller's promise.
                        $($(($mr, $nr) => unsafe { dots::<S, $mr, $nr>(s, rows, columns, to) },)*)*
                        _ => unreachable!("no tile of {height} × {width} dot products is compiled"),
                    }
                };
            }
            compiled!(4: 4 2 1; 2: 4 2 1; 1: 4 2 1);
            j = left + width;
        }
        i = top + height;
    }
}

/// Adds the products of one vector of each row with one vector of each column to the sums.
#[inline(always)]
fn add_products<S: Simd, const MR: usize, const NR: usize>(
    s: S,
    rows: [*const f32; MR],
    columns: [*const f32; NR],
    load: impl Fn(*const f32) -> S::f32s,
    sums: &mut [[S::f32s; NR]; MR],
) {
    let y = columns.map(&load);
    for r in 0..MR {
        let x = load(rows[r]);
        for q in 0..NR {
            sums[r][q] = multiply_add(s, x, y[q], sums[r][q]);
        }
    }
}

/// Computes `MR × NR` dot products.
///
/// # Safety
/// As [`dot_products`]; `a` has `MR` rows, `b` has `NR` columns, and `c` is as large.
#[inline(always)]
unsafe fn dots<S: Simd, const MR: usize, const NR: usize>(s: S, a: MatRef, b: MatRef, c: Tile) {
    let k = a.cols;
    let rows: [*const f32; MR] = std::array::from_fn(|r| a.as_ptr().wrapping_add(r * a.row_stride));
    let columns: [*const f32; NR] = std::array::from_fn(|q| b.as_ptr().wrapping_add(q * b.col_stride));
    let mut sums = [[s.splat_f32s(0.0); NR]; MR];
    let whole = k / S::F32_LANES * S::F32_LANES;
    for p in (0..whole).step_by(S::F32_LANES) {
        // SAFETY: every row of A and every column of B has k contiguous elements.
        add_products(s, rows, columns, |from| unsafe { load::<S>(from.add(p)) }, &mut sums);
    }
    if whole < k {
        // SAFETY: as above.
        let rest = |from: *const f32| unsafe { std::slice::from_raw_parts(from.add(whole), k - whole) };
        add_products(s, rows, columns, |from| s.partial_load_f32s(rest(from)), &mut sums);
    }
    for (r, sums) in sums.into_iter().enumerate() {
        for (q, sum) in sums.into_iter().enumerate() {
            // SAFETY: (r, q) lies inside `c`.
            unsafe { *c.ptr.add(r * c.row_stride + q * c.col_stride) = s.reduce_sum_f32s(sum) };
        }
    }
}
