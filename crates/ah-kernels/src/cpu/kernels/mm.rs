//! The choices of `mm`: one product, two libraries.
//!
//! Which one is fastest depends on the shape, the layouts and the processor. `matrixmultiply` has no choice of threads
//! for a single call.

use super::matrix::{KernelError, MatRef, check_product};

/// The number of threads that a choice uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// The calling one.
    One,
    /// All of the current rayon pool.
    All,
}

impl Threads {
    /// Returns the number's part of a choice's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::All => "all",
        }
    }
}

/// A choice of `mm`: a way to compute `c = a · b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatMul {
    /// The crate `gemm`.
    Gemm(Threads),
    /// The crate `matrixmultiply`, on one thread.
    MatrixMultiply,
}

impl MatMul {
    /// All choices.
    pub const CHOICES: [Self; 3] = [Self::Gemm(Threads::One), Self::Gemm(Threads::All), Self::MatrixMultiply];

    /// The general-purpose answer.
    pub const FALLBACK: Self = Self::Gemm(Threads::All);

    /// Returns the stable name, for example `gemm_threads=all`.
    pub fn name(&self) -> String {
        match self {
            Self::Gemm(threads) => format!("gemm_threads={}", threads.name()),
            Self::MatrixMultiply => "matrixmultiply_threads=1".to_owned(),
        }
    }

    /// Writes `a · b` to `c`, row-major. The former contents of `c` do not matter.
    ///
    /// # Errors
    /// The shapes do not fit.
    pub fn run(self, a: MatRef, b: MatRef, c: &mut [f32]) -> Result<(), KernelError> {
        check_product(a, b, c)?;
        if c.is_empty() {
            return Ok(());
        }
        let (m, k, n) = (a.rows(), a.cols(), b.cols());
        let (a_strides, b_strides, row) = (a.signed_strides(), b.signed_strides(), n.cast_signed());
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        match self {
            Self::Gemm(threads) => {
                let threads = match threads {
                    Threads::One => gemm::Parallelism::None,
                    Threads::All => gemm::Parallelism::Rayon(0),
                };
                // SAFETY: the elements of `a` and `b` lie inside their slices, `c` has m·n elements and belongs to this
                // call alone.
                unsafe {
                    gemm::gemm(
                        m,
                        n,
                        k,
                        c,
                        1,
                        row,
                        false,
                        a,
                        a_strides.1,
                        a_strides.0,
                        b,
                        b_strides.1,
                        b_strides.0,
                        0.0,
                        1.0_f32,
                        false,
                        false,
                        false,
                        threads,
                    );
                }
            }
            // SAFETY: as above.
            Self::MatrixMultiply => unsafe {
                matrixmultiply::sgemm(
                    m,
                    k,
                    n,
                    1.0,
                    a,
                    a_strides.0,
                    a_strides.1,
                    b,
                    b_strides.0,
                    b_strides.1,
                    0.0,
                    c,
                    row,
                    1,
                );
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    fn values(seed: u32, len: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 16) as u16) / 32768.0 - 1.0
        };
        (0..len).map(|_| next()).collect()
    }

    /// Compares `choice` on random operands, whose rows have gaps between them, with the reference.
    fn check(choice: MatMul, [m, k, n]: [usize; 3], [ta, tb]: [bool; 2], gap: usize, seed: u32) {
        let (a, b) = (values(seed, (m + gap) * (k + gap)), values(!seed, (k + gap) * (n + gap)));
        let view = |data, rows, cols, transposed| {
            MatRef::new(data, rows, cols, if transposed { (1, rows + gap) } else { (cols + gap, 1) }).unwrap()
        };
        let (a, b) = (view(&a, m, k, ta), view(&b, k, n, tb));
        let mut c = vec![f32::NAN; m * n];
        choice.run(a, b, &mut c).unwrap();
        let error = reference::relative_error(&c, &reference::product(a, b));
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

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let (a, mut c) = (MatRef::row_major(&[0.0; 6], 2, 3).unwrap(), [7.0; 4]);
        let error = MatMul::FALLBACK.run(a, a, &mut c).unwrap_err();
        assert!(error.to_string().contains("2×3 · 2×3 = 4 elements"), "{error}");
        assert_eq!(c, [7.0; 4]);
    }

    #[test]
    fn a_stride_that_is_never_used_may_have_any_value() {
        let (x, huge) = (values(5, 40), usize::MAX);
        let (row, column) =
            (MatRef::new(&x, 1, 40, (huge, 1)).unwrap(), MatRef::new(&x, 40, 1, (1, huge)).unwrap());
        for choice in MatMul::CHOICES {
            for (a, b) in [(row, column), (column, row)] {
                let mut c = vec![f32::NAN; a.rows() * b.cols()];
                choice.run(a, b, &mut c).unwrap();
                let error = reference::relative_error(&c, &reference::product(a, b));
                assert!(error < 1e-5, "{}: {error}", choice.name());
            }
        }
    }
}
