//! The choices of `mm`: one product, two libraries.
//!
//! Which one is fastest depends on the shape, the layouts and the processor. `matrixmultiply` has no choice of threads
//! for a single call.

use ndarray::{ArrayView2, ShapeBuilder as _};

/// Why a kernel refused to run. It has computed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("shapes do not fit: expected {expected}, found {found}")]
pub struct KernelError {
    pub(super) expected: String,
    pub(super) found: String,
}

/// A read-only matrix.
pub type MatRef<'a> = ArrayView2<'a, f32>;

/// Views `data` as a matrix. Element (i, j) is `data[i * strides.0 + j * strides.1]`.
///
/// # Errors
/// The slice ends before the last element.
pub fn matrix(
    data: &[f32],
    shape: (usize, usize),
    strides: (usize, usize),
) -> Result<MatRef<'_>, KernelError> {
    let is_empty = shape.0 == 0 || shape.1 == 0;
    let strides = if is_empty { (0, 0) } else { strides };
    ArrayView2::from_shape(shape.strides(strides), data).map_err(|e| KernelError {
        expected: format!("a {}×{} matrix with strides {strides:?}", shape.0, shape.1),
        found: format!("{} elements: {e}", data.len()),
    })
}

/// Checks that `c` is as large as `a · b`.
pub(super) fn check_product(a: MatRef, b: MatRef, c: &[f32]) -> Result<(), KernelError> {
    let ((m, k), (rows, n)) = (a.dim(), b.dim());
    if k == rows && m.checked_mul(n) == Some(c.len()) {
        return Ok(());
    }
    Err(KernelError {
        expected: "m×k · k×n = m·n elements".to_owned(),
        found: format!("{m}×{k} · {rows}×{n} = {} elements", c.len()),
    })
}

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
        let ((m, k), n) = (a.dim(), b.ncols());
        let [(a_down, a_right), (b_down, b_right)] = [a.strides(), b.strides()].map(|x| (x[0], x[1]));
        let (a, b, c, row) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), n.cast_signed());
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
                        m, n, k, c, 1, row, false, a, a_right, a_down, b, b_right, b_down, 0.0, 1.0_f32,
                        false, false, false, threads,
                    );
                }
            }
            // SAFETY: as above.
            Self::MatrixMultiply => unsafe {
                matrixmultiply::sgemm(m, k, n, 1.0, a, a_down, a_right, b, b_down, b_right, 0.0, c, row, 1);
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
            matrix(data, (rows, cols), if transposed { (1, rows + gap) } else { (cols + gap, 1) }).unwrap()
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
        let (a, mut c) = (matrix(&[0.0; 6], (2, 3), (3, 1)).unwrap(), [7.0; 4]);
        let error = MatMul::FALLBACK.run(a, a, &mut c).unwrap_err();
        assert!(error.to_string().contains("2×3 · 2×3 = 4 elements"), "{error}");
        assert_eq!(c, [7.0; 4]);
    }

    #[test]
    fn slices_that_end_early_are_refused() {
        let data = [0.0; 12];
        assert!(matrix(&data, (3, 4), (4, 1)).is_ok() && matrix(&data, (4, 3), (1, 4)).is_ok());
        assert!(matrix(&data, (3, 4), (5, 1)).is_err() && matrix(&data, (usize::MAX, 2), (2, 1)).is_err());
        assert!(matrix(&[], (0, 4), (4, 1)).is_ok());
    }
}
