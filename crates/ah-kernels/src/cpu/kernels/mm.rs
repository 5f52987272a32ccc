//! The choices of `mm`: one product, many kernels.
//!
//! Two libraries (`gemm`, `matrixmultiply`) and our own unpacked kernel (`direct`) in several instruction
//! sets, on one thread or on all threads of the current rayon pool. Which one is fastest depends on the
//! shape, the layouts and the processor.
//!
//! Each choice wins on some inputs. Left out, because without them the best choice takes less than 0.1 %
//! longer: packed, cache-blocked kernels of our own (`gemm` packs as well), further tile sizes, and
//! `matrixmultiply` and the portable kernel on all threads.

use super::direct::DirectProduct;
use super::error::KernelError;
use super::instruction_set::InstructionSet;
use super::libraries::{gemm_crate, matrixmultiply_crate};
use super::matrix::{MatMut, MatRef, Tile, check_product};
use super::scratch::{AlignedBuffer, Scratch};
use super::threads::Threads;
use rayon::prelude::*;

/// The kernel that computes one block of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kernel {
    /// The crate `gemm`, which does its own threading.
    Gemm,
    /// The crate `matrixmultiply`, single-threaded; we cut the output into blocks.
    MatrixMultiply,
    /// Ours, with tiles of at most `mr` rows × `nv` vectors.
    Direct { set: InstructionSet, mr: usize, nv: usize },
}

/// A choice of `mm`: a way to compute `c = a · b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatMul {
    kernel: Kernel,
    threads: Threads,
}

impl MatMul {
    /// Returns every choice, whether this processor can run it or not, in a fixed order.
    pub fn choices() -> Vec<Self> {
        use Threads::{All, One};
        let direct = |set, mr, nv| Kernel::Direct { set, mr, nv };
        let (avx2, avx512) = (direct(InstructionSet::Avx2, 6, 2), direct(InstructionSet::Avx512, 8, 3));
        [
            (Kernel::Gemm, One),
            (Kernel::Gemm, All),
            (Kernel::MatrixMultiply, One),
            (direct(InstructionSet::Portable, 4, 2), One),
            (avx2, One),
            (avx2, All),
            (avx512, One),
            (avx512, All),
        ]
        .map(|(kernel, threads)| Self { kernel, threads })
        .to_vec()
    }

    /// Returns the crate `gemm` on all threads: the general-purpose answer.
    pub fn fallback() -> Self {
        Self { kernel: Kernel::Gemm, threads: Threads::All }
    }

    /// Returns the stable name, for example `direct_avx2_MR=6_NR=16_threads=1`.
    pub fn name(&self) -> String {
        let threads = self.threads.name();
        match self.kernel {
            Kernel::Gemm => format!("gemm_threads={threads}"),
            Kernel::MatrixMultiply => format!("matrixmultiply_threads={threads}"),
            Kernel::Direct { set, mr, nv } => {
                let nr = nv * set.lanes();
                format!("direct_{}_MR={mr}_NR={nr}_threads={threads}", set.name())
            }
        }
    }

    /// Checks that this processor can run the choice. The libraries choose their instruction set at run time.
    pub fn available(&self) -> Result<(), String> {
        match self.kernel {
            Kernel::Gemm | Kernel::MatrixMultiply => Ok(()),
            Kernel::Direct { set, .. } => set.available(),
        }
    }

    /// Computes `c = a · b`. The former contents of `c` do not matter; nothing outside it is touched.
    pub fn run(
        &self,
        a: MatRef,
        b: MatRef,
        c: &mut MatMut,
        scratch: &mut Scratch,
    ) -> Result<(), KernelError> {
        check_product(a, b, c)?;
        self.available().map_err(|reason| KernelError::Unavailable { choice: self.name(), reason })?;
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let c = c.tile();
        let threads = self.threads.count();
        if self.kernel == Kernel::Gemm {
            gemm_crate(a, b, c, self.threads);
            return Ok(());
        }
        if threads == 1 {
            return self.run_block(a, b, c, &mut scratch.copies(1)[0]);
        }
        // One block of the output for each thread. Each thread copies what it needs, so none waits for
        // another one's copy.
        let (rows, cols) = block_shape(c.rows, c.cols, threads);
        let down = c.rows.div_ceil(rows);
        let blocks = down * c.cols.div_ceil(cols);
        scratch.copies(blocks).par_iter_mut().enumerate().try_for_each(|(block, copy)| {
            let (i, j) = (block % down * rows, block / down * cols);
            let c = c.block(i, j, rows, cols);
            self.run_block(a.block(i, 0, rows, a.cols), b.block(0, j, b.rows, cols), c, copy)
        })
    }

    fn run_block(&self, a: MatRef, b: MatRef, c: Tile, copy: &mut AlignedBuffer) -> Result<(), KernelError> {
        match self.kernel {
            Kernel::Gemm => gemm_crate(a, b, c, Threads::One),
            Kernel::MatrixMultiply => matrixmultiply_crate(a, b, c),
            // A tile of 6 × 2 uses 12 of the 16 registers of AVX2 for sums; 8 × 3 uses 24 of the 32 of
            // AVX-512.
            Kernel::Direct { set, mr: 4, nv: 2 } => DirectProduct::<4, 2> { a, b, c, copy }.run(set)?,
            Kernel::Direct { set, mr: 6, nv: 2 } => DirectProduct::<6, 2> { a, b, c, copy }.run(set)?,
            Kernel::Direct { set, mr: 8, nv: 3 } => DirectProduct::<8, 3> { a, b, c, copy }.run(set)?,
            Kernel::Direct { mr, nv, .. } => unreachable!("no tile of {mr} rows × {nv} vectors is compiled"),
        }
        Ok(())
    }
}

/// Returns the block of the output that each of `threads` threads computes: as square as possible, because
/// a block reads `rows + cols` vectors of length k for `rows · cols` sums. Multiples of 48 rows and columns
/// fill every tile.
fn block_shape(rows: usize, cols: usize, threads: usize) -> (usize, usize) {
    const STEP: usize = 48;
    let part = |size: usize, parts: usize| size.div_ceil(parts).next_multiple_of(STEP).clamp(1, size.max(1));
    let shape = |down: usize| (part(rows, down), part(cols, threads / down));
    let cost = |&(r, c): &(usize, usize)| (r * c, r + c);
    (1..=threads).map(shape).min_by_key(cost).unwrap_or((rows, cols))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::reference;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const GUARD: f32 = 12345.0;

    fn values(seed: u32, len: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 16) as u16) / 32768.0 - 1.0
        };
        (0..len).map(|_| next()).collect()
    }

    /// Runs `choice` on random operands in an output with gaps and a guard zone behind it.
    fn check(choice: MatMul, [m, k, n]: [usize; 3], [ta, tb]: [bool; 2], gap: usize, seed: u32) {
        let (a, b) = (values(seed, (m + gap) * (k + gap)), values(!seed, (k + gap) * (n + gap)));
        let view = |data, rows, cols, transposed| match transposed {
            false => MatRef::new(data, rows, cols, cols + gap, 1).unwrap(),
            true => MatRef::new(data, rows, cols, 1, rows + gap).unwrap(),
        };
        let (a, b) = (view(&a, m, k, ta), view(&b, k, n, tb));
        let stride = n + gap;
        let mut c = vec![GUARD; m * stride + 64];
        let mut view = MatMut::new(&mut c, m, n, stride).unwrap();
        choice.run(a, b, &mut view, &mut Scratch::default()).unwrap();

        let found: Vec<f32> = c.chunks(stride.max(1)).take(m).flat_map(|r| r[..n].to_vec()).collect();
        let error = reference::relative_error(&found, &reference::product(a, b));
        assert!(error < 1e-5, "{}: m={m} k={k} n={n}: {error}", choice.name());
        let outside = |&(at, _): &(usize, &f32)| at >= m * stride || at % stride.max(1) >= n;
        let touched = c.iter().enumerate().filter(outside).find(|(_, x)| **x != GUARD);
        assert_eq!(touched, None, "{} wrote outside its output", choice.name());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_choice_agrees_with_the_reference(
            m in 1_usize..70, k in 1_usize..70, n in 1_usize..70,
            transposed: [bool; 2], gap in 0_usize..3, seed: u32,
        ) {
            for choice in MatMul::choices().into_iter().filter(|c| c.available().is_ok()) {
                check(choice, [m, k, n], transposed, gap, seed);
            }
        }
    }

    #[test]
    fn sizes_beyond_one_block_and_empty_ones() {
        let shapes = [[1, 600, 1], [130, 530, 300], [300, 3, 2100], [5, 0, 7], [0, 5, 7], [1, 1, 70]];
        for choice in MatMul::choices().into_iter().filter(|c| c.available().is_ok()) {
            for shape in shapes {
                check(choice, shape, [false, false], 0, 7);
                check(choice, shape, [true, true], 1, 7);
            }
        }
    }

    #[test]
    fn all_threads_of_a_larger_pool_cover_the_output() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
        pool.install(|| {
            for choice in MatMul::choices().into_iter().filter(|c| c.available().is_ok()) {
                check(choice, [101, 33, 203], [false, true], 0, 3);
                check(choice, [1, 33, 500], [false, false], 0, 3);
            }
        });
    }

    #[test]
    fn names_are_unique_and_the_fallback_has_one() {
        let names: HashSet<String> = MatMul::choices().iter().map(MatMul::name).collect();
        assert_eq!(names.len(), MatMul::choices().len());
        assert!(names.contains(&MatMul::fallback().name()) && names.contains("gemm_threads=all"));
    }

    #[test]
    fn each_refusal_gives_its_reason() {
        let mut data = [GUARD; 4];
        for choice in MatMul::choices() {
            let Err(reason) = choice.available() else {
                continue;
            };
            let a = MatRef::row_major(&[0.0; 4], 2, 2).unwrap();
            let mut c = MatMut::row_major(&mut data, 2, 2).unwrap();
            let error = choice.run(a, a, &mut c, &mut Scratch::default()).unwrap_err();
            assert_eq!(error, KernelError::Unavailable { choice: choice.name(), reason });
        }
        assert_eq!(data, [GUARD; 4]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let (a, mut c) = (MatRef::row_major(&[0.0; 6], 2, 3).unwrap(), [GUARD; 4]);
        let mut c = MatMut::row_major(&mut c, 2, 2).unwrap();
        let error = MatMul::fallback().run(a, a, &mut c, &mut Scratch::default()).unwrap_err();
        assert!(error.to_string().contains("2×3 · 2×3 = 2×2"), "{error}");
    }

    #[test]
    fn a_copy_that_fits_no_memory_is_an_error() {
        // Strides of 0 make a huge matrix of one element; k times the width of a vector wraps.
        let (one, k) = ([1.0], 1 << 61);
        let (a, b) = (MatRef::new(&one, 1, k, 0, 0).unwrap(), MatRef::new(&one, k, 1, 0, 0).unwrap());
        let direct = |choice: &MatMul| matches!(choice.kernel, Kernel::Direct { .. });
        for choice in MatMul::choices().into_iter().filter(|c| direct(c) && c.available().is_ok()) {
            let mut c = [GUARD];
            let mut view = MatMut::row_major(&mut c, 1, 1).unwrap();
            let error = choice.run(a, b, &mut view, &mut Scratch::default()).unwrap_err();
            assert!(matches!(error, KernelError::OutOfMemory { .. }), "{}: {error}", choice.name());
        }
    }

    #[test]
    fn a_stride_that_is_never_used_may_have_any_value() {
        let (x, huge) = (values(5, 40), usize::MAX);
        let (row, column) =
            (MatRef::new(&x, 1, 40, huge, 1).unwrap(), MatRef::new(&x, 40, 1, 1, huge).unwrap());
        for choice in MatMul::choices().into_iter().filter(|c| c.available().is_ok()) {
            for (a, b) in [(row, column), (column, row)] {
                let mut c = vec![GUARD; a.rows * b.cols];
                let mut view = MatMut::row_major(&mut c, a.rows, b.cols).unwrap();
                choice.run(a, b, &mut view, &mut Scratch::default()).unwrap();
                let error = reference::relative_error(&c, &reference::product(a, b));
                assert!(error < 1e-5, "{}: {error}", choice.name());
            }
        }
    }
}
