//! The choice `pad` of `pad_mm`: pad matrices of odd sizes with zeros, and multiply these.
//!
//! Both choices multiply with the crate `gemm` on one thread. `pad` copies the operands that need it into zeroed memory with
//! m, k and n rounded up to [`ALIGNMENT`], multiplies, and copies the product back; the copies are part of it.
//!
//! On a processor padding rarely pays, because `gemm` handles edges with masks and packs as it goes: with a kernel of our
//! own for the padded product, `pad` won on 9 of 300 drawn inputs. GPUs are where the question is real.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use super::mm::MatMul;

/// The multiple to which sizes are padded: a cache line of f32.
pub const ALIGNMENT: usize = 16;

/// The multiplication of both choices.
pub const PRODUCT: MatMul = MatMul::Gemm;

/// Memory for the padded operands and product, which calls reuse.
#[derive(Debug, Default)]
pub struct Padded([Array2<f32>; 3]);

/// Writes `a · b` to `c`: the choice `pad`. `orig` is [`PRODUCT`].
///
/// # Panics
/// If the shapes do not fit.
pub fn run(a: ArrayView2<f32>, b: ArrayView2<f32>, mut c: ArrayViewMut2<f32>, memory: &mut Padded) {
    assert_eq!((b.nrows(), c.dim()), (a.ncols(), (a.nrows(), b.ncols())), "the shapes do not fit");
    let [memory_a, memory_b, product] = &mut memory.0;
    let a = pad(&a, memory_a);
    let b = pad(&b, memory_b);
    let padded = (a.nrows(), b.ncols());
    if padded == c.dim() {
        return PRODUCT.run(a, b, c);
    }
    resize(product, padded);
    PRODUCT.run(a, b, product.view_mut());
    c.assign(&product.slice(s![..c.nrows(), ..c.ncols()]));
}

/// An operand with padded sizes, copied into `memory` unless it has them.
fn pad<'a>(mat: &'a ArrayView2<f32>, memory: &'a mut Array2<f32>) -> ArrayView2<'a, f32> {
    let (rows, cols) = mat.dim();
    let padded = (rows.next_multiple_of(ALIGNMENT), cols.next_multiple_of(ALIGNMENT));
    if padded == (rows, cols) {
        return mat.view();
    }
    resize(memory, padded);
    memory.fill(0.0);
    memory.slice_mut(s![..rows, ..cols]).assign(mat);
    memory.view()
}

fn resize(memory: &mut Array2<f32>, shape: (usize, usize)) {
    if memory.dim() != shape {
        *memory = Array2::zeros(shape);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::relative_error;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn it_agrees_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70, transposed: [bool; 2],
            values in prop::collection::vec(-1.0_f32..1.0, 70 * 70),
        ) {
            let view = |rows, cols, transposed| match transposed {
                true => ArrayView2::from_shape((cols, rows), &values[..rows * cols]).unwrap().reversed_axes(),
                false => ArrayView2::from_shape((rows, cols), &values[..rows * cols]).unwrap(),
            };
            let a = view(m, k, transposed[0]);
            let b = view(k, n, transposed[1]);
            let mut c = Array2::from_elem((m, n), f32::NAN);
            run(a, b, c.view_mut(), &mut Padded::default());
            let error = relative_error(a, b, &c);
            prop_assert!(error < 1e-5, "{error}");
        }
    }

    #[test]
    fn stale_memory_and_empty_dimensions() {
        let mut memory = Padded::default();
        for [m, k, n] in [[33, 33, 33], [35, 37, 34], [3, 5, 7], [3, 0, 7], [0, 5, 7], [3, 5, 0]] {
            let (a, b, mut c) =
                (Array2::ones((m, k)), Array2::ones((k, n)), Array2::from_elem((m, n), f32::NAN));
            run(a.view(), b.view(), c.view_mut(), &mut memory);
            assert!(c.iter().all(|&x| x == k as f32), "{m}×{k}×{n}");
        }
    }
}
