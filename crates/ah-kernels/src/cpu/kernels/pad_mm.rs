//! The choices of `pad_mm`: multiply matrices of odd sizes as they are, or pad them with zeros first and
//! multiply those.
//!
//! - `orig` is the answer of a library: the crate `gemm` on one thread.
//! - `pad` copies the operands that need it into zeroed memory with m, k and n rounded up to [`alignment`],
//!   multiplies whole tiles from aligned rows with no packing and no edges, and copies the product back.
//!   The copies are part of it: up to `m·k + k·n + m·n` elements, against `m·n·k` multiply-adds.
//!
//! A side that is *prepadded* lies in padded memory already and costs `pad` no copy, as in PyTorch's
//! `pad_mm`.
//!
//! On a processor padding rarely pays, because `gemm` handles edges with masks and packs as it goes: `pad`
//! won on 9 of 300 drawn inputs, 8 of them prepadded. GPUs are where the question is real.

use super::copy::copy_rows;
use super::direct::DirectProduct;
use super::error::KernelError;
use super::instruction_set::InstructionSet;
use super::libraries::gemm_crate;
use super::matrix::{MatMut, MatRef, check_product};
use super::scratch::{AlignedBuffer, Scratch};
use super::threads::Threads;

/// Returns the multiple to which sizes are padded: the width of the tile, two of the widest vectors that the
/// processor has.
pub fn alignment() -> usize {
    2 * InstructionSet::widest().lanes()
}

/// Rounds a size up to the [`alignment`].
fn padded(size: usize) -> Result<usize, KernelError> {
    size.checked_next_multiple_of(alignment()).ok_or(KernelError::OutOfMemory { elements: usize::MAX })
}

/// One operand, and the same operand padded, if it lies in padded memory.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    mat: MatRef<'a>,
    padded: Option<MatRef<'a>>,
}

impl<'a> Side<'a> {
    /// Returns an operand that `pad` has to pad.
    pub fn new(mat: MatRef<'a>) -> Self {
        Self { mat, padded: None }
    }

    /// Returns an operand that lies padded in memory: the first `rows × cols` elements of `padded`, whose own
    /// sizes are the multiples of [`alignment`] above. The rest of `padded` must be zeros: any other value
    /// there wastes arithmetic, and an infinity makes sums NaN.
    pub fn prepadded(mat: MatRef<'a>, rows: usize, cols: usize) -> Result<Self, KernelError> {
        let expected = (padded(rows)?, padded(cols)?);
        if (mat.rows, mat.cols) != expected {
            return Err(KernelError::ShapeMismatch {
                expected: format!("{rows}×{cols} padded to {}×{}", expected.0, expected.1),
                found: format!("{}×{}", mat.rows, mat.cols),
            });
        }
        Ok(Self { mat: mat.block(0, 0, rows, cols), padded: Some(mat) })
    }

    /// Returns the operand without its padding.
    pub fn mat(&self) -> MatRef<'a> {
        self.mat
    }

    /// Returns the padded operand, copied into `buffer` unless it exists or needs no padding.
    fn pad<'b>(self, buffer: &'b mut AlignedBuffer) -> Result<MatRef<'b>, KernelError>
    where
        'a: 'b,
    {
        let (rows, cols) = (padded(self.mat.rows)?, padded(self.mat.cols)?);
        match self.padded {
            Some(padded) => Ok(padded),
            None if (rows, cols) == (self.mat.rows, self.mat.cols) => Ok(self.mat),
            None => copy_rows(self.mat, rows, cols, buffer),
        }
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
    pub const CHOICES: [Self; 2] = [Self::Orig, Self::Pad];

    /// Returns PyTorch's name of the choice.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orig => "orig",
            Self::Pad => "pad",
        }
    }

    /// Computes `c = a · b`.
    pub fn run(self, a: Side, b: Side, c: &mut MatMut, scratch: &mut Scratch) -> Result<(), KernelError> {
        check_product(a.mat, b.mat, c)?;
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        if self == Self::Orig {
            gemm_crate(a.mat, b.mat, c.tile(), Threads::One);
            return Ok(());
        }
        let (m, n) = (padded(c.rows)?, padded(c.cols)?);
        let [buffer_a, buffer_b, buffer_c] = &mut scratch.padded;
        let (a, b) = (a.pad(buffer_a)?, b.pad(buffer_b)?);
        if (m, n) == (c.rows, c.cols) {
            return tiles(a, b, c);
        }
        let product = buffer_c.take(m.checked_mul(n))?;
        tiles(a, b, &mut MatMut::row_major(product, m, n)?)?;
        for i in 0..c.rows {
            let row = c.row_mut(i);
            row.copy_from_slice(&product[i * n..][..row.len()]);
        }
        Ok(())
    }
}

/// Multiplies padded operands in whole tiles.
fn tiles(a: MatRef, b: MatRef, c: &mut MatMut) -> Result<(), KernelError> {
    let (c, set) = (c.tile(), InstructionSet::widest());
    // Used only where a prepadded B has no contiguous direction.
    let copy = &mut AlignedBuffer::default();
    if set == InstructionSet::Avx512 {
        DirectProduct::<8, 2> { a, b, c, copy }.run(set)
    } else {
        DirectProduct::<4, 2> { a, b, c, copy }.run(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::reference;
    use proptest::prelude::*;

    const GUARD: f32 = 12345.0;

    /// `rows × cols` inside zeros up to the alignment, stored by rows or by columns.
    fn padded_values(values: &[f32], rows: usize, cols: usize, transposed: bool) -> Vec<f32> {
        let [tall, wide] = [rows, cols].map(|size| size.next_multiple_of(alignment()));
        let mut data = vec![0.0; tall * wide];
        for i in 0..rows {
            for j in 0..cols {
                data[if transposed { j * tall + i } else { i * wide + j }] = values[i * cols + j];
            }
        }
        data
    }

    fn side(values: &[f32], rows: usize, cols: usize, transposed: bool, ready: bool) -> Side<'_> {
        let [tall, wide] = [rows, cols].map(|size| size.next_multiple_of(alignment()));
        match (ready, transposed) {
            (true, false) => Side::prepadded(MatRef::row_major(values, tall, wide).unwrap(), rows, cols),
            (true, true) => Side::prepadded(MatRef::new(values, tall, wide, 1, tall).unwrap(), rows, cols),
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
            let (a, b) = (padded_values(&values, m, k, transposed[0]), padded_values(&values, k, n, transposed[1]));
            let a = side(&a, m, k, transposed[0], ready[0]);
            let b = side(&b, k, n, transposed[1], ready[1]);
            let expected = reference::product(a.mat(), b.mat());
            for choice in PadMm::CHOICES {
                let stride = n + gap;
                let mut c = vec![GUARD; m * stride + 64];
                let mut view = MatMut::new(&mut c, m, n, stride).unwrap();
                choice.run(a, b, &mut view, &mut Scratch::default()).unwrap();
                let found: Vec<f32> = c.chunks(stride).take(m).flat_map(|row| row[..n].to_vec()).collect();
                let error = reference::relative_error(&found, &expected);
                prop_assert!(error < 1e-5, "{}: {error}", choice.name());
                let outside = c.iter().enumerate().filter(|(at, _)| *at >= m * stride || at % stride >= n);
                prop_assert!(outside.into_iter().all(|(_, &x)| x == GUARD), "{}", choice.name());
            }
        }
    }

    #[test]
    fn strides_without_a_contiguous_direction() {
        let data: Vec<f32> = (0_u8..200).map(f32::from).collect();
        let a = MatRef::new(&data, 5, 6, 17, 2).unwrap();
        let b = MatRef::new(&data, 6, 7, 3, 19).unwrap();
        for choice in PadMm::CHOICES {
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
            for choice in PadMm::CHOICES {
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
        let (data, wide) = ([0.0; 64], alignment());
        let error = Side::prepadded(MatRef::row_major(&data, 7, 7).unwrap(), 7, 7).unwrap_err();
        assert!(error.to_string().contains(&format!("7×7 padded to {wide}×{wide}")), "{error}");
    }

    #[test]
    fn no_columns_may_lie_in_no_memory() {
        let (ones, none) = ([1.0; 15], []);
        for choice in PadMm::CHOICES {
            // Three rows, seven elements apart, of no element each: the slices may be empty.
            let a = Side::new(MatRef::row_major(&ones, 3, 5).unwrap());
            let b = Side::new(MatRef::new(&none, 5, 0, 7, 1).unwrap());
            let mut c: [f32; 0] = [];
            let mut view = MatMut::new(&mut c, 3, 0, 7).unwrap();
            choice.run(a, b, &mut view, &mut Scratch::default()).unwrap();
        }
    }

    #[test]
    fn sizes_that_wrap_are_errors() {
        let one = [1.0];
        for k in [usize::MAX, 1 << 61] {
            let a = Side::new(MatRef::new(&one, 1, k, 0, 0).unwrap());
            let b = Side::new(MatRef::new(&one, k, 1, 0, 0).unwrap());
            let mut c = [GUARD];
            let mut view = MatMut::row_major(&mut c, 1, 1).unwrap();
            let error = PadMm::Pad.run(a, b, &mut view, &mut Scratch::default()).unwrap_err();
            assert!(matches!(error, KernelError::OutOfMemory { .. }), "{error}");
        }
        let mat = MatRef::new(&one, 32, usize::MAX, 0, 0).unwrap();
        assert!(Side::prepadded(mat, 32, usize::MAX).is_err());
    }
}
