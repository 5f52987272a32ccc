//! The choices of `mm`: one product, two libraries.
//!
//! Which one is fastest depends on the shape, the layouts and the processor. `matrixmultiply` has no choice of threads
//! for a single call.

use gemm_common::Parallelism;
use ndarray::{ArrayView2, ArrayViewMut2};

/// A choice of `mm`: a way to compute `c = a · b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatMul {
    /// The crate `gemm`, by its part for this type, `gemm-f32`, on the calling thread.
    Gemm,
    /// The same on all threads of the current rayon pool.
    GemmOnAllThreads,
    /// The crate `matrixmultiply`, on the calling thread.
    MatrixMultiply,
}

impl MatMul {
    /// All choices.
    pub const CHOICES: [Self; 3] = [Self::Gemm, Self::GemmOnAllThreads, Self::MatrixMultiply];

    /// The stable name.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Gemm => "gemm_threads=1",
            Self::GemmOnAllThreads => "gemm_threads=all",
            Self::MatrixMultiply => "matrixmultiply_threads=1",
        };
        name.to_owned()
    }

    /// Writes `a · b` to `c`. The former contents of `c` do not matter.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn run(self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut c: ArrayViewMut2<f32>) {
        let ((m, k), n) = (a.dim(), b.ncols());
        assert_eq!((b.nrows(), c.dim()), (k, (m, n)), "the shapes of {m}×{k} · k×{n} do not fit");
        if c.is_empty() {
            return;
        }
        let strides = [a.strides(), b.strides(), c.strides()].map(|x| (x[0], x[1]));
        let [(a_down, a_right), (b_down, b_right), (c_down, c_right)] = strides;
        let a = a.as_ptr();
        let b = b.as_ptr();
        let c = c.as_mut_ptr();
        match self {
            Self::Gemm | Self::GemmOnAllThreads => {
                let on_one_thread = self == Self::Gemm;
                let threads = if on_one_thread { Parallelism::None } else { Parallelism::Rayon(0) };
                // Its kernels write columns, so it computes the transposed product, as the crate `gemm` does.
                // SAFETY: the views have these sizes and strides, and `c` belongs to this call alone.
                unsafe {
                    gemm_f32::gemm::f32::get_gemm_fn()(
                        n, m, k, c, c_down, c_right, false, b, b_down, b_right, a, a_down, a_right, 0.0, 1.0,
                        false, false, false, threads,
                    );
                }
            }
            // SAFETY: as above.
            Self::MatrixMultiply => unsafe {
                matrixmultiply::sgemm(
                    m, k, n, 1.0, a, a_down, a_right, b, b_down, b_right, 0.0, c, c_down, c_right,
                );
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::relative_error;
    use super::*;
    use ndarray::{Array2, s};
    use proptest::prelude::*;

    fn values(seed: u32, shape: (usize, usize)) -> Array2<f32> {
        let mut state = seed;
        Array2::from_shape_simple_fn(shape, || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 16) as u16) / 32768.0 - 1.0
        })
    }

    /// Compares `choice` on random operands, whose rows have gaps between them, with the reference.
    fn check(choice: MatMul, [m, k, n]: [usize; 3], transposed: [bool; 2], gap: usize, seed: u32) {
        let operand = |seed, (rows, cols), transposed| {
            let stored = values(seed, if transposed { (cols, rows + gap) } else { (rows, cols + gap) });
            if transposed { stored.reversed_axes() } else { stored }
        };
        let a = operand(seed, (m, k), transposed[0]);
        let b = operand(!seed, (k, n), transposed[1]);
        let a = a.slice(s![..m, ..k]);
        let b = b.slice(s![..k, ..n]);
        let mut c = Array2::from_elem((m, n), f32::NAN);
        choice.run(a, b, c.view_mut());
        let error = relative_error(a, b, &c);
        assert!(error < 1e-5, "{}: m={m} k={k} n={n}: {error}", choice.name());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_choice_agrees_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70,
            transposed: [bool; 2], gap in 0_usize..3, seed: u32,
        ) {
            for choice in MatMul::CHOICES {
                check(choice, [m, k, n], transposed, gap, seed);
            }
        }
    }

    #[test]
    fn large_and_empty_sizes() {
        for choice in MatMul::CHOICES {
            for shape in [[1, 600, 1], [130, 530, 300], [300, 3, 2100], [5, 0, 7], [0, 5, 7], [1, 1, 70]] {
                check(choice, shape, [false, false], 0, 7);
                check(choice, shape, [true, true], 1, 7);
            }
        }
    }
}
