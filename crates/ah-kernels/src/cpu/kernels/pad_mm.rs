//! The choice `pad` of `pad_mm`: pad matrices of odd sizes with zeros, and multiply these.
//!
//! Both choices multiply with the crate `gemm` on one thread. `pad` copies the operands that need it into zeroed memory with
//! m, k and n rounded up to [`ALIGNMENT`], multiplies, and copies the product back; the copies are part of it.
//!
//! On a processor padding rarely pays, because `gemm` handles edges with masks and packs as it goes: with a kernel of our
//! own for the padded product, `pad` won on 9 of 300 drawn inputs. GPUs are where the question is real.

use ndarray::{ArrayView2, ArrayViewMut2, s};

use super::mm::{KernelError, MatMul, MatRef, Threads, check_product};

/// The multiple to which sizes are padded: a cache line of f32.
pub const ALIGNMENT: usize = 16;

/// The multiplication of both choices.
pub const PRODUCT: MatMul = MatMul::Gemm(Threads::One);

/// Memory for the padded operands and product, which calls reuse.
#[derive(Debug, Default)]
pub struct Padded([Vec<f32>; 3]);

/// Writes `a · b` to `c`, row-major: the choice `pad`. `orig` is [`PRODUCT`].
///
/// # Errors
/// The shapes do not fit.
pub fn run(a: MatRef, b: MatRef, c: &mut [f32], memory: &mut Padded) -> Result<(), KernelError> {
    check_product(a, b, c)?;
    if c.is_empty() {
        return Ok(());
    }
    let [memory_a, memory_b, product] = &mut memory.0;
    let ((m, n), a, b) = ((a.nrows(), b.ncols()), pad(&a, memory_a), pad(&b, memory_b));
    let padded = (a.nrows(), b.ncols());
    if padded == (m, n) {
        return PRODUCT.run(a, b, c);
    }
    product.resize(padded.0 * padded.1, 0.0);
    PRODUCT.run(a, b, product)?;
    for (to, from) in c.chunks_exact_mut(n).zip(product.chunks_exact(padded.1)) {
        to.copy_from_slice(&from[..n]);
    }
    Ok(())
}

/// Returns an operand with padded sizes, copied into `buffer` unless it has them.
fn pad<'a>(mat: &'a MatRef, buffer: &'a mut Vec<f32>) -> MatRef<'a> {
    let (rows, cols) = mat.dim();
    let padded = (rows.next_multiple_of(ALIGNMENT), cols.next_multiple_of(ALIGNMENT));
    if padded == (rows, cols) {
        return mat.view();
    }
    buffer.clear();
    buffer.resize(padded.0 * padded.1, 0.0);
    let fits = "the buffer has this size";
    ArrayViewMut2::from_shape(padded, &mut *buffer).expect(fits).slice_mut(s![..rows, ..cols]).assign(mat);
    ArrayView2::from_shape(padded, &*buffer).expect(fits)
}

#[cfg(test)]
mod tests {
    use super::super::mm::matrix;
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn it_agrees_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70, transposed: [bool; 2],
            values in prop::collection::vec(-1.0_f32..1.0, 70 * 70),
        ) {
            let view = |rows, cols, transposed| {
                matrix(&values, (rows, cols), if transposed { (1, rows) } else { (cols, 1) }).unwrap()
            };
            let (a, b) = (view(m, k, transposed[0]), view(k, n, transposed[1]));
            let mut c = vec![f32::NAN; m * n];
            run(a, b, &mut c, &mut Padded::default()).unwrap();
            let error = reference::relative_error(&c, &reference::product(a, b));
            prop_assert!(error < 1e-5, "{error}");
        }
    }

    #[test]
    fn stale_memory_and_empty_dimensions() {
        let ones = vec![1.0; 64 * 64];
        let mut memory = Padded::default();
        for [m, k, n] in [[33, 33, 33], [3, 5, 7], [3, 0, 7], [0, 5, 7], [3, 5, 0]] {
            let mut c = vec![f32::NAN; m * n];
            let [a, b] = [(m, k), (k, n)].map(|shape| matrix(&ones, shape, (shape.1, 1)).unwrap());
            run(a, b, &mut c, &mut memory).unwrap();
            assert!(c.iter().all(|&x| x == k as f32), "{m}×{k}×{n}");
        }
    }
}
