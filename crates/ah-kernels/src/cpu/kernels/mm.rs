//! The choices of `mm`: one product, many kernels.
//!
//! Two libraries (`gemm`, `matrixmultiply`) and our own packed (`blocked`) and
//! unpacked (`direct`) kernels in several tile sizes and instruction sets, each on one
//! thread and on all threads of the current rayon pool. Which is fastest depends on the shape and
//! on the processor.

use super::blocked::{Blocked, Blocking};
use super::direct::Direct;
use super::matrix::{Tile, check_product};
use super::scratch::Panels;
use super::{InstructionSet, KernelError, MatMut, MatRef, Scratch};
use rayon::prelude::*;

/// How many threads a choice uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Threads {
    /// The calling one.
    One,
    /// All of the current rayon pool.
    All,
}

impl Threads {
    /// The part of a choice's name that says so.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::All => "all",
        }
    }

    pub(super) fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads(),
        }
    }
}

/// Who computes the product of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kernel {
    /// The crate `gemm`, which does its own threading.
    Gemm,
    /// The crate `matrixmultiply`, single-threaded; we cut the output into blocks.
    MatrixMultiply,
    Blocked {
        set: InstructionSet,
        mr: usize,
        nv: usize,
        blocking: Blocking,
    },
    Direct {
        set: InstructionSet,
        mr: usize,
        nv: usize,
    },
}

/// A choice of `mm`: a way to compute `c = a · b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatMul {
    kernel: Kernel,
    threads: Threads,
}

/// Calls `$op::<MR, NV>` for the tile sizes that are compiled. AVX2 has 16 registers, of which
/// 6 × 2 uses 12 for sums (4 × 3 uses as many, but the compiler spills: half the rate); AVX-512 has
/// 32, of which 14 × 2 and 8 × 3 use 28 and 24.
macro_rules! with_tile {
    ($mr:expr, $nv:expr, $op:ident { $($field:tt)* }.run($set:expr)) => {
        match ($mr, $nv) {
            (1, 8) => $op::<1, 8> { $($field)* }.run($set),
            (4, 2) => $op::<4, 2> { $($field)* }.run($set),
            (6, 2) => $op::<6, 2> { $($field)* }.run($set),
            (8, 3) => $op::<8, 3> { $($field)* }.run($set),
            (14, 2) => $op::<14, 2> { $($field)* }.run($set),
            (mr, nv) => unreachable!("no tile of {mr} rows × {nv} vectors is compiled"),
        }
    };
}

impl MatMul {
    /// Every choice, whether this processor can run it or not, in a fixed order.
    #[must_use]
    pub fn choices() -> Vec<Self> {
        use InstructionSet::{Avx2, Avx512, Portable};
        let blocked =
            |set, mr, nv, mc, kc, nc| Kernel::Blocked { set, mr, nv, blocking: Blocking { mc, kc, nc } };
        let direct = |set, mr, nv| Kernel::Direct { set, mr, nv };
        let kernels = [
            Kernel::Gemm,
            Kernel::MatrixMultiply,
            blocked(Portable, 4, 2, 128, 256, 2048),
            blocked(Avx2, 6, 2, 72, 256, 4080),
            blocked(Avx2, 6, 2, 240, 512, 2048),
            blocked(Avx2, 4, 2, 192, 256, 4096),
            blocked(Avx512, 14, 2, 140, 256, 4096),
            blocked(Avx512, 14, 2, 280, 512, 2048),
            blocked(Avx512, 8, 3, 192, 256, 4080),
            direct(Portable, 4, 2),
            direct(Avx2, 6, 2),
            direct(Avx2, 4, 2),
            direct(Avx2, 1, 8),
            direct(Avx512, 6, 2),
            direct(Avx512, 8, 3),
            direct(Avx512, 1, 8),
        ];
        let threads = [Threads::One, Threads::All];
        kernels.into_iter().flat_map(|kernel| threads.map(|threads| Self { kernel, threads })).collect()
    }

    /// The choice with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::choices().into_iter().find(|choice| choice.name() == name)
    }

    /// The crate `gemm` on all threads: the general-purpose answer, and the fallback.
    #[must_use]
    pub fn fallback() -> Self {
        Self { kernel: Kernel::Gemm, threads: Threads::All }
    }

    /// The stable name, for example `blocked_avx2_MR=6_NR=16_MC=72_KC=256_NC=4080_threads=1`.
    #[must_use]
    pub fn name(&self) -> String {
        let threads = self.threads.name();
        match self.kernel {
            Kernel::Gemm => format!("gemm_threads={threads}"),
            Kernel::MatrixMultiply => format!("matrixmultiply_threads={threads}"),
            Kernel::Blocked { set, mr, nv, blocking: Blocking { mc, kc, nc } } => {
                let nr = nv * set.lanes();
                let set = set.name();
                format!("blocked_{set}_MR={mr}_NR={nr}_MC={mc}_KC={kc}_NC={nc}_threads={threads}")
            }
            Kernel::Direct { set, mr, nv } => {
                let nr = nv * set.lanes();
                format!("direct_{}_MR={mr}_NR={nr}_threads={threads}", set.name())
            }
        }
    }

    /// The instruction set that the choice needs. The libraries choose theirs at run time.
    #[must_use]
    pub fn requires(&self) -> InstructionSet {
        match self.kernel {
            Kernel::Gemm | Kernel::MatrixMultiply => InstructionSet::Portable,
            Kernel::Blocked { set, .. } | Kernel::Direct { set, .. } => set,
        }
    }

    /// How many threads the choice uses.
    #[must_use]
    pub fn threads(&self) -> Threads {
        self.threads
    }

    /// Whether this processor can run the choice.
    ///
    /// # Errors
    /// What is missing, for people.
    pub fn available(&self) -> Result<(), String> {
        self.requires().available()
    }

    /// Computes `c = a · b`. What `c` held before does not matter; nothing outside it is touched.
    ///
    /// # Errors
    /// [`KernelError::ShapeMismatch`], or [`KernelError::Unavailable`] on the wrong processor.
    pub fn run(
        &self,
        a: MatRef,
        b: MatRef,
        c: &mut MatMut,
        scratch: &mut Scratch,
    ) -> Result<(), KernelError> {
        check_product(a, b, c)?;
        self.available().map_err(|reason| KernelError::Unavailable { choice: self.name(), reason })?;
        if c.rows() == 0 || c.cols() == 0 {
            return Ok(());
        }
        match self.kernel {
            Kernel::Gemm => gemm_crate(a, b, c.tile(), self.threads),
            _ => self.run_blocks(a, b, c.tile(), scratch),
        }
        Ok(())
    }

    /// Cuts the output into one block a thread. Each packs what it needs for itself: a little of
    /// the packing is done twice, and no thread ever waits for another one's.
    fn run_blocks(&self, a: MatRef, b: MatRef, c: Tile, scratch: &mut Scratch) {
        let threads = self.threads.count();
        if threads == 1 {
            return self.run_block(a, b, c, &mut scratch.panels(1)[0]);
        }
        let (rows, cols) = block_shape(c.rows, c.cols, threads);
        let down = c.rows.div_ceil(rows);
        let blocks = down * c.cols.div_ceil(cols);
        scratch.panels(blocks).par_iter_mut().enumerate().for_each(|(block, panels)| {
            let (i, j) = (block % down * rows, block / down * cols);
            let c = c.block(i, j, rows, cols);
            self.run_block(a.block(i, 0, rows, a.cols()), b.block(0, j, b.rows(), cols), c, panels);
        });
    }

    fn run_block(&self, a: MatRef, b: MatRef, c: Tile, panels: &mut Panels) {
        match self.kernel {
            Kernel::Gemm => gemm_crate(a, b, c, Threads::One),
            Kernel::MatrixMultiply => matrixmultiply_crate(a, b, c),
            Kernel::Blocked { set, mr, nv, blocking } => {
                with_tile!(mr, nv, Blocked { a, b, c, blocking, panels }.run(set));
            }
            Kernel::Direct { set, mr, nv } => {
                with_tile!(mr, nv, Direct { a, b, c, panels }.run(set));
            }
        }
    }
}

/// The block of the output that each of `threads` threads computes: as square as can be, because
/// a block reads `rows + cols` vectors of length k for `rows · cols` sums. Multiples of 48 rows and
/// columns fill every tile that we have but the 14-row one.
fn block_shape(rows: usize, cols: usize, threads: usize) -> (usize, usize) {
    const STEP: usize = 48;
    let shape = |down: usize| {
        let across = threads / down;
        let part =
            |size: usize, parts: usize| size.div_ceil(parts).next_multiple_of(STEP).clamp(1, size.max(1));
        (part(rows, down), part(cols, across))
    };
    let cost = |&(r, c): &(usize, usize)| (r * c, r + c);
    (1..=threads).map(shape).min_by_key(cost).unwrap_or((rows, cols))
}

#[expect(clippy::cast_possible_wrap, reason = "a slice has at most isize::MAX bytes")]
fn gemm_crate(a: MatRef, b: MatRef, c: Tile, threads: Threads) {
    let parallelism = match threads {
        Threads::One => gemm::Parallelism::None,
        Threads::All => gemm::Parallelism::Rayon(0),
    };
    // SAFETY: the operands lie inside their slices, `c` belongs to this call, and the shapes fit:
    // `run` has checked them.
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            a.cols(),
            c.ptr,
            c.col_stride as isize,
            c.row_stride as isize,
            false,
            a.as_ptr(),
            a.col_stride() as isize,
            a.row_stride() as isize,
            b.as_ptr(),
            b.col_stride() as isize,
            b.row_stride() as isize,
            0.0,
            1.0_f32,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[expect(clippy::cast_possible_wrap, reason = "a slice has at most isize::MAX bytes")]
fn matrixmultiply_crate(a: MatRef, b: MatRef, c: Tile) {
    // SAFETY: as in `gemm_crate`.
    unsafe {
        matrixmultiply::sgemm(
            c.rows,
            a.cols(),
            c.cols,
            1.0,
            a.as_ptr(),
            a.row_stride() as isize,
            a.col_stride() as isize,
            b.as_ptr(),
            b.row_stride() as isize,
            b.col_stride() as isize,
            0.0,
            c.ptr,
            c.row_stride as isize,
            c.col_stride as isize,
        );
    }
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
    fn names_are_unique_and_read_back() {
        let choices = MatMul::choices();
        let names: HashSet<String> = choices.iter().map(MatMul::name).collect();
        assert_eq!(names.len(), choices.len());
        for choice in choices {
            assert_eq!(MatMul::from_name(&choice.name()), Some(choice));
        }
        assert_eq!(MatMul::from_name("gemm_threads=2"), None);
        assert_eq!(MatMul::from_name("gemm_threads=all"), Some(MatMul::fallback()));
    }

    #[test]
    fn what_cannot_run_says_why() {
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
}
