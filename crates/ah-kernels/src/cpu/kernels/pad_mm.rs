//! The choices of `pad_mm`: multiply matrices of odd sizes as they are, or pad them with zeros first.
//!
//! Both multiply with the crate `gemm` on one thread. `pad` copies the operands that need it into zeroed memory with m, k
//! and n rounded up to [`ALIGNMENT`], multiplies, and copies the product back; the copies are part of it. A side that is
//! *prepadded* lies in padded memory already and costs `pad` no copy, as in PyTorch's `pad_mm`.
//!
//! On a processor padding rarely pays, because `gemm` handles edges with masks and packs as it goes: with a kernel of our
//! own for the padded product, `pad` won on 9 of 300 drawn inputs, 8 of them prepadded. GPUs are where the question is real.

use super::error::KernelError;
use super::matrix::{MatRef, check_product};
use super::mm::MatMul;
use super::threads::Threads;

/// The multiple to which sizes are padded: a cache line of f32.
pub const ALIGNMENT: usize = 16;

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

    /// Returns an operand that lies padded in memory: the first `rows × cols` elements of `padded`, whose own sizes are the
    /// multiples of [`ALIGNMENT`] above. The rest of `padded` must be zeros.
    ///
    /// # Errors
    /// `padded` has other sizes.
    pub fn prepadded(padded: MatRef<'a>, rows: usize, cols: usize) -> Result<Self, KernelError> {
        let up = |size: usize| size.checked_next_multiple_of(ALIGNMENT);
        if (Some(padded.rows()), Some(padded.cols())) != (up(rows), up(cols)) {
            return Err(KernelError::ShapeMismatch {
                expected: format!("{rows}×{cols}, padded to multiples of {ALIGNMENT}"),
                found: format!("{}×{}", padded.rows(), padded.cols()),
            });
        }
        Ok(Self { mat: padded.corner(rows, cols), padded: Some(padded) })
    }

    /// Returns the operand without its padding.
    pub fn mat(&self) -> MatRef<'a> {
        self.mat
    }

    /// Returns the padded operand, copied into `buffer` unless it exists.
    fn pad<'b>(self, buffer: &'b mut Vec<f32>) -> Result<MatRef<'b>, KernelError>
    where
        'a: 'b,
    {
        if let Some(padded) = self.padded {
            return Ok(padded);
        }
        let (rows, cols) = (self.mat.rows(), self.mat.cols());
        let (tall, wide) = (rows.next_multiple_of(ALIGNMENT), cols.next_multiple_of(ALIGNMENT));
        if (tall, wide) == (rows, cols) {
            return Ok(self.mat);
        }
        buffer.clear();
        buffer.resize(tall * wide, 0.0);
        for (i, row) in buffer.chunks_exact_mut(wide.max(1)).take(rows).enumerate() {
            for (j, to) in row.iter_mut().take(cols).enumerate() {
                *to = self.mat.at(i, j);
            }
        }
        MatRef::row_major(buffer, tall, wide)
    }
}

/// Memory for the padded operands and product, which calls reuse.
#[derive(Debug, Default)]
pub struct Padded([Vec<f32>; 3]);

/// Writes `a · b` to `c`, row-major: the choice `pad`. `orig` is [`MatMul::Gemm`] on one thread.
///
/// # Errors
/// The shapes do not fit.
pub fn run(a: Side, b: Side, c: &mut [f32], memory: &mut Padded) -> Result<(), KernelError> {
    const PRODUCT: MatMul = MatMul::Gemm(Threads::One);
    check_product(a.mat, b.mat, c)?;
    let n = b.mat.cols();
    if c.is_empty() {
        return Ok(());
    }
    let [memory_a, memory_b, product] = &mut memory.0;
    let (a, b) = (a.pad(memory_a)?, b.pad(memory_b)?);
    if a.rows() * b.cols() == c.len() {
        return PRODUCT.run(a, b, c);
    }
    product.resize(a.rows() * b.cols(), 0.0);
    PRODUCT.run(a, b, product)?;
    for (to, from) in c.chunks_exact_mut(n).zip(product.chunks_exact(b.cols())) {
        to.copy_from_slice(&from[..n]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    /// `rows × cols` inside zeros up to the alignment, stored by rows or by columns.
    fn padded_values(values: &[f32], rows: usize, cols: usize, transposed: bool) -> Vec<f32> {
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
        let strides = if transposed { (1, tall) } else { (wide, 1) };
        if ready {
            Side::prepadded(MatRef::new(values, tall, wide, strides).unwrap(), rows, cols).unwrap()
        } else {
            Side::new(MatRef::new(values, rows, cols, strides).unwrap())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn it_agrees_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70, transposed: [bool; 2], ready: [bool; 2],
            values in prop::collection::vec(-1.0_f32..1.0, 70 * 70),
        ) {
            let (a, b) = (padded_values(&values, m, k, transposed[0]), padded_values(&values, k, n, transposed[1]));
            let a = side(&a, m, k, transposed[0], ready[0]);
            let b = side(&b, k, n, transposed[1], ready[1]);
            let expected = reference::product(a.mat(), b.mat());
            let mut c = vec![f32::NAN; m * n];
            run(a, b, &mut c, &mut Padded::default()).unwrap();
            let error = reference::relative_error(&c, &expected);
            prop_assert!(error < 1e-5, "{error}");
        }
    }

    #[test]
    fn stale_memory_and_empty_dimensions() {
        let ones = vec![1.0; 64 * 64];
        let mut memory = Padded::default();
        for [m, k, n] in [[33, 33, 33], [3, 5, 7], [3, 0, 7], [0, 5, 7], [3, 5, 0]] {
            let mut c = vec![f32::NAN; m * n];
            let a = Side::new(MatRef::row_major(&ones, m, k).unwrap());
            let b = Side::new(MatRef::row_major(&ones, k, n).unwrap());
            run(a, b, &mut c, &mut memory).unwrap();
            assert!(c.iter().all(|&x| x == k as f32), "{m}×{k}×{n}");
        }
    }

    #[test]
    fn a_prepadded_side_must_have_padded_sizes() {
        let data = [0.0; 64];
        let error = Side::prepadded(MatRef::row_major(&data, 7, 7).unwrap(), 7, 7).unwrap_err();
        assert!(error.to_string().contains("7×7, padded to multiples of 16, found 7×7"), "{error}");
    }
}
