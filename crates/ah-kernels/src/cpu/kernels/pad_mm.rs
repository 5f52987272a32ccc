//! The choices of `pad_mm`: multiply matrices of odd sizes as they are, or pad them with zeros to
//! the vector width first and multiply those.
//!
//! Both choices end in the same kernel, a plain register-tiled one on one thread, such as a
//! compiler's vectoriser makes from a loop nest: it reads its operands where they lie, with full
//! vectors as far as they go and one element at a time for what remains. A packing kernel
//! (`blocked`) pads as it packs and would make the question moot; this one makes it real:
//!
//! - `orig` walks the remainder of a row (or of the inner dimension, where B is transposed)
//!   element by element, and its vectors straddle cache lines when a row's length is odd.
//! - `pad` copies both operands into zeroed memory with m, k and n rounded up to 16, multiplies
//!   full tiles from aligned, row-major rows, and copies the product back. The copies are part of
//!   it: `m·k + k·n + m·n` elements, against `m·n·k` multiply-adds. Rounded sizes that are a
//!   multiple of a large power of two make the rows of B collide in the cache, so padding can lose
//!   on large matrices too.
//!
//! A side that is *prepadded* lies in memory padded already, and costs `pad` no copy, as in
//! PyTorch's `pad_mm`.

use super::direct::row_band;
use super::matrix::{Tile, check_product};
use super::micro::{load, multiply_add};
use super::scratch::Panels;
use super::{InstructionSet, KernelError, MatMut, MatRef, Scratch};
use pulp::{Simd, WithSimd};

/// Sizes are padded to a multiple of this: one cache line of f32, the widest vector.
pub const ALIGNMENT: usize = 16;

/// One operand, and the same operand padded, if it lies in memory padded already.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    mat: MatRef<'a>,
    padded: Option<MatRef<'a>>,
}

impl<'a> Side<'a> {
    /// An operand that `pad` has to pad.
    #[must_use]
    pub fn new(mat: MatRef<'a>) -> Self {
        Self { mat, padded: None }
    }

    /// An operand that lies padded in memory: the first `rows × cols` elements of `padded`, whose
    /// own sizes are the multiples of [`ALIGNMENT`] above. The rest of `padded` must be zeros;
    /// what else stands there ends up in no result but in wasted arithmetic (or in NaN).
    ///
    /// # Errors
    /// [`KernelError::ShapeMismatch`] if the sizes of `padded` are not those multiples.
    pub fn prepadded(padded: MatRef<'a>, rows: usize, cols: usize) -> Result<Self, KernelError> {
        let expected = (rows.next_multiple_of(ALIGNMENT), cols.next_multiple_of(ALIGNMENT));
        if (padded.rows(), padded.cols()) != expected {
            return Err(KernelError::ShapeMismatch {
                expected: format!("{rows}×{cols} padded to {}×{}", expected.0, expected.1),
                found: format!("{}×{}", padded.rows(), padded.cols()),
            });
        }
        Ok(Self { mat: padded.block(0, 0, rows, cols), padded: Some(padded) })
    }

    /// The operand without its padding.
    #[must_use]
    pub fn mat(&self) -> MatRef<'a> {
        self.mat
    }

    /// The padded operand, copied into `buffer` unless it exists.
    fn pad<'b>(self, buffer: &'b mut [f32], rows: usize, cols: usize) -> MatRef<'b>
    where
        'a: 'b,
    {
        if let Some(padded) = self.padded {
            return padded;
        }
        copy_padded(self.mat, buffer, cols);
        MatRef::row_major(buffer, rows, cols).expect("the buffer has rows × cols elements")
    }
}

/// A choice of `pad_mm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PadMm {
    /// The product of the operands as they are.
    Orig,
    /// Pad, multiply, slice.
    Pad,
}

impl PadMm {
    /// Both, the fallback first.
    #[must_use]
    pub fn choices() -> Vec<Self> {
        vec![Self::Orig, Self::Pad]
    }

    /// PyTorch's name of the choice.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Orig => "orig",
            Self::Pad => "pad",
        }
    }

    /// Computes `c = a · b` with the widest vectors that the processor has.
    ///
    /// # Errors
    /// [`KernelError::ShapeMismatch`].
    pub fn run(self, a: Side, b: Side, c: &mut MatMut, scratch: &mut Scratch) -> Result<(), KernelError> {
        self.run_with(InstructionSet::widest(), a, b, c, scratch)
    }

    fn run_with(
        self,
        set: InstructionSet,
        a: Side,
        b: Side,
        c: &mut MatMut,
        scratch: &mut Scratch,
    ) -> Result<(), KernelError> {
        check_product(a.mat, b.mat, c)?;
        let (panels, [buffer_a, buffer_b, buffer_c]) = scratch.split();
        if self == Self::Orig {
            set.run(Tiled { a: a.mat, b: b.mat, c: c.tile(), panels });
            return Ok(());
        }
        let [m, k, n] = [c.rows(), a.mat.cols(), c.cols()].map(|size| size.next_multiple_of(ALIGNMENT));
        let a = a.pad(buffer_a.take(m * k), m, k);
        let b = b.pad(buffer_b.take(k * n), k, n);
        if (m, n) == (c.rows(), c.cols()) && c.row_stride() == n {
            set.run(Tiled { a, b, c: c.tile(), panels });
            return Ok(());
        }
        let product = buffer_c.take(m * n);
        let mut padded_c = MatMut::row_major(product, m, n)?;
        set.run(Tiled { a, b, c: padded_c.tile(), panels });
        for i in 0..c.rows() {
            let row = c.row_mut(i);
            row.copy_from_slice(&product[i * n..][..row.len()]);
        }
        Ok(())
    }
}

/// Copies `from` row by row into `to`, whose rows are `cols` long, and zeroes the rest.
fn copy_padded(from: MatRef, to: &mut [f32], cols: usize) {
    const STEP: usize = 16;
    to[from.rows() * cols..].fill(0.0);
    for row in to.chunks_exact_mut(cols.max(1)).take(from.rows()) {
        row[from.cols()..].fill(0.0);
    }
    let data = from.as_slice();
    let (rs, cs) = (from.row_stride(), from.col_stride());
    if cs == 1 {
        for (i, row) in to.chunks_exact_mut(cols.max(1)).take(from.rows()).enumerate() {
            row[..from.cols()].copy_from_slice(&data[i * rs..][..from.cols()]);
        }
        return;
    }
    // A transposition in squares of one cache line a row, so that each line is touched once.
    for i in (0..from.rows()).step_by(STEP) {
        for j in (0..from.cols()).step_by(STEP) {
            for r in i..from.rows().min(i + STEP) {
                for c in j..from.cols().min(j + STEP) {
                    to[r * cols + c] = data[r * rs + c * cs];
                }
            }
        }
    }
}

/// The plain tiled product, for operands of any strides.
struct Tiled<'a> {
    a: MatRef<'a>,
    b: MatRef<'a>,
    /// Owned by this call, see [`Tile`].
    c: Tile,
    panels: &'a mut Panels,
}

impl WithSimd for Tiled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { a, b, c, panels } = self;
        if c.rows == 0 || c.cols == 0 {
            return;
        }
        // SAFETY: `PadMm::run` has checked the shapes and owns `c`; each branch calls a kernel
        // that reads contiguously where the strides are 1.
        unsafe {
            if a.cols() == 0 {
                c.fill_zero();
            } else if b.col_stride() == 1 || b.cols() == 1 {
                rows_of_b(s, a, b, c);
            } else if a.row_stride() == 1 || a.rows() == 1 {
                rows_of_b(s, b.transposed(), a.transposed(), c.transposed());
            } else if a.col_stride() == 1 && b.row_stride() == 1 {
                dot_products(s, a, b, c);
            } else {
                let copy = panels.b.take(b.rows() * b.cols());
                copy_padded(b, copy, b.cols());
                let b = MatRef::row_major(copy, b.rows(), b.cols()).expect("just sized");
                rows_of_b(s, a, b, c);
            }
        }
    }
}

/// Rows in a tile.
const MR: usize = 4;
/// Vectors of a row of B in a tile.
const NV: usize = 2;

/// Vectors along the rows of B, which are contiguous; the last columns one element at a time.
///
/// # Safety
/// The shapes fit and are not empty; the elements of `c` are valid and used by nobody else.
#[inline(always)]
unsafe fn rows_of_b<S: Simd>(s: S, a: MatRef, b: MatRef, c: Tile) {
    let (k, nr) = (a.cols(), NV * S::F32_LANES);
    let full = c.cols / nr * nr;
    for i in (0..c.rows).step_by(MR) {
        let a = a.block(i, 0, MR, k);
        for j in (0..full).step_by(nr) {
            let b = b.block(0, j, k, nr);
            // SAFETY: columns j..j + nr exist in B and C.
            unsafe {
                row_band::<S, MR, NV>(s, a, b.as_ptr(), b.row_stride(), c.block(i, j, MR, nr));
            };
        }
        for r in 0..a.rows() {
            for j in full..c.cols {
                let mut sum = 0.0;
                for p in 0..k {
                    // SAFETY: row r of the block, column j of B, p below their shared dimension.
                    unsafe {
                        let x = *a.as_ptr().add(r * a.row_stride() + p * a.col_stride());
                        sum += x * *b.as_ptr().add(p * b.row_stride() + j * b.col_stride());
                    }
                }
                // SAFETY: (i + r, j) lies inside `c`.
                unsafe { *c.ptr.add((i + r) * c.row_stride + j * c.col_stride) = sum };
            }
        }
    }
}

/// Columns in a tile of dot products.
const DOT_COLS: usize = 2;

/// Vectors along the inner dimension, where both rows of A and columns of B are contiguous; its
/// remainder one element at a time.
///
/// # Safety
/// As [`rows_of_b`].
#[inline(always)]
unsafe fn dot_products<S: Simd>(s: S, a: MatRef, b: MatRef, c: Tile) {
    let k = a.cols();
    let full = k / S::F32_LANES * S::F32_LANES;
    for i in (0..c.rows).step_by(MR) {
        for j in (0..c.cols).step_by(DOT_COLS) {
            // The last row and column stand in for missing ones, as in `row_band`.
            let row = |r: usize| a.as_ptr().wrapping_add((i + r).min(c.rows - 1) * a.row_stride());
            let col = |q: usize| b.as_ptr().wrapping_add((j + q).min(c.cols - 1) * b.col_stride());
            let rows: [*const f32; MR] = std::array::from_fn(row);
            let cols: [*const f32; DOT_COLS] = std::array::from_fn(col);
            let mut sums = [[s.splat_f32s(0.0); DOT_COLS]; MR];
            for p in (0..full).step_by(S::F32_LANES) {
                // SAFETY: p + lanes ≤ k, the length of every row of A and column of B.
                let columns = cols.map(|col| unsafe { load::<S>(col.add(p)) });
                for r in 0..MR {
                    // SAFETY: as above.
                    let x = unsafe { load::<S>(rows[r].add(p)) };
                    for q in 0..DOT_COLS {
                        sums[r][q] = multiply_add(s, x, columns[q], sums[r][q]);
                    }
                }
            }
            for r in 0..MR.min(c.rows - i) {
                for q in 0..DOT_COLS.min(c.cols - j) {
                    let mut sum = s.reduce_sum_f32s(sums[r][q]);
                    for p in full..k {
                        // SAFETY: p < k.
                        sum += unsafe { *rows[r].add(p) * *cols[q].add(p) };
                    }
                    // SAFETY: (i + r, j + q) lies inside `c`.
                    unsafe { *c.ptr.add((i + r) * c.row_stride + (j + q) * c.col_stride) = sum };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::reference;
    use proptest::prelude::*;

    const GUARD: f32 = 12345.0;

    /// `rows × cols` inside zeros up to the alignment, stored by rows or by columns.
    fn padded(values: &[f32], rows: usize, cols: usize, transposed: bool) -> Vec<f32> {
        let [tall, wide] = [rows, cols].map(|size| size.next_multiple_of(ALIGNMENT));
        let mut data = vec![0.0; tall * wide];
        for i in 0..rows {
            for j in 0..cols {
                data[if transposed { j * tall + i } else { i * wide + j }] = values[i * cols + j];
            }
        }
        data
    }

    fn side(values: &[f32], rows: usize, cols: usize, transposed: bool, ready: bool) -> Side<'_> {
        let [tall, wide] = [rows, cols].map(|size| size.next_multiple_of(ALIGNMENT));
        match (ready, transposed) {
            (true, false) => Side::prepadded(MatRef::row_major(values, tall, wide).unwrap(), rows, cols),
            (true, true) => Side::prepadded(MatRef::col_major(values, tall, wide).unwrap(), rows, cols),
            (false, false) => MatRef::new(values, rows, cols, wide, 1).map(Side::new),
            (false, true) => MatRef::new(values, rows, cols, 1, tall).map(Side::new),
        }
        .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn both_choices_agree_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70, gap in 0_usize..2,
            transposed: [bool; 2], ready: [bool; 2],
            values in prop::collection::vec(-1.0_f32..1.0, 70 * 70),
        ) {
            let (a, b) = (padded(&values, m, k, transposed[0]), padded(&values, k, n, transposed[1]));
            let a = side(&a, m, k, transposed[0], ready[0]);
            let b = side(&b, k, n, transposed[1], ready[1]);
            let expected = reference::product(a.mat(), b.mat());
            for set in InstructionSet::ALL.into_iter().filter(|set| set.available().is_ok()) {
                for choice in PadMm::choices() {
                    let stride = n + gap;
                    let mut c = vec![GUARD; m * stride + 64];
                    let mut view = MatMut::new(&mut c, m, n, stride).unwrap();
                    choice.run_with(set, a, b, &mut view, &mut Scratch::default()).unwrap();
                    let found: Vec<f32> =
                        c.chunks(stride).take(m).flat_map(|row| row[..n].to_vec()).collect();
                    let error = reference::relative_error(&found, &expected);
                    prop_assert!(error < 1e-5, "{} {}: {error}", choice.name(), set.name());
                    let outside = c.iter().enumerate().filter(|(at, _)| *at >= m * stride || at % stride >= n);
                    prop_assert!(outside.into_iter().all(|(_, &x)| x == GUARD), "{}", choice.name());
                }
            }
        }
    }

    #[test]
    fn strides_without_a_contiguous_direction() {
        let data: Vec<f32> = (0_u8..200).map(f32::from).collect();
        let a = MatRef::new(&data, 5, 6, 17, 2).unwrap();
        let b = MatRef::new(&data, 6, 7, 3, 19).unwrap();
        for choice in PadMm::choices() {
            let mut c = [0.0; 35];
            let mut view = MatMut::row_major(&mut c, 5, 7).unwrap();
            choice.run(Side::new(a), Side::new(b), &mut view, &mut Scratch::default()).unwrap();
            let error = reference::relative_error(&c, &reference::product(a, b));
            assert!(error < 1e-5, "{}: {error}", choice.name());
        }
    }

    #[test]
    fn stale_scratch_and_empty_dimensions() {
        let ones = vec![1.0; 64 * 64];
        let mut scratch = Scratch::default();
        for [m, k, n] in [[33, 33, 33], [3, 5, 7], [3, 0, 7], [0, 5, 7], [3, 5, 0]] {
            for choice in PadMm::choices() {
                let mut c = vec![GUARD; m * n];
                let a = Side::new(MatRef::row_major(&ones, m, k).unwrap());
                let b = Side::new(MatRef::row_major(&ones, k, n).unwrap());
                let mut view = MatMut::row_major(&mut c, m, n).unwrap();
                choice.run(a, b, &mut view, &mut scratch).unwrap();
                assert!(c.iter().all(|&x| x == k as f32), "{} {m}×{k}×{n}", choice.name());
            }
        }
    }

    #[test]
    fn a_prepadded_side_must_have_padded_sizes() {
        let data = [0.0; 64];
        let error = Side::prepadded(MatRef::row_major(&data, 8, 8).unwrap(), 7, 7).unwrap_err();
        assert!(error.to_string().contains("7×7 padded to 16×16"), "{error}");
    }
}
