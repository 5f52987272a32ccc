//! Arithmetic on eight numbers at a time.
//!
//! Blocks are passed by value: the compiler turns such code into vector instructions. Only the mix
//! of 32-bit and 64-bit lanes in [`Lanes::add_squares`] needs intrinsics; they halve its time.
//!
//! Every implementation does the same operations in the same order, so all processors give the
//! same results.

#[cfg(target_arch = "x86_64")]
use pulp::Simd;

/// Eight whole numbers: a vector of 256 bits.
pub(super) type Block = [i32; 8];
/// The same lanes in double precision, where sums of their squares are exact enough.
pub(super) type WideBlock = [f64; 8];

/// The instructions that a processor offers.
pub(super) trait Lanes: Copy {
    /// Adds `left²` and `(all - left)²` to the two sums.
    fn add_squares(self, sums: [WideBlock; 2], left: Block, all: WideBlock) -> [WideBlock; 2];
}

/// The instructions that every processor has.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn add_squares(self, sums: [WideBlock; 2], left: Block, all: WideBlock) -> [WideBlock; 2] {
        let left = left.map(f64::from);
        let right = zip_map(all, left, |all, left| all - left);
        let plus = |sum: WideBlock, x: WideBlock| zip_map(sum, zip_map(x, x, |a, b| a * b), |a, b| a + b);
        [plus(sums[0], left), plus(sums[1], right)]
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    #[inline(always)]
    fn add_squares(self, sums: [WideBlock; 2], left: Block, all: WideBlock) -> [WideBlock; 2] {
        type Halves = [pulp::f64x4; 2];
        let (all, left): (Halves, [pulp::i32x4; 2]) = (pulp::cast(all), pulp::cast(left));
        let mut sums: [Halves; 2] = sums.map(pulp::cast);
        for half in 0..2 {
            let left = self.convert_i32x4_to_f64x4(left[half]);
            let right = self.sub_f64s(all[half], left);
            sums[0][half] = self.add_f64s(sums[0][half], self.mul_f64s(left, left));
            sums[1][half] = self.add_f64s(sums[1][half], self.mul_f64s(right, right));
        }
        sums.map(pulp::cast)
    }
}

/// A computation that is compiled once for each set of instructions. All functions that it calls
/// in its loops must be inlined.
pub(super) trait Run {
    type Output;
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// The instructions of the processor at hand.
#[derive(Clone, Copy)]
pub(super) enum Processor {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
}

impl Processor {
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = pulp::x86::V3::try_new() {
            return Self::Avx2(v3);
        }
        Self::Portable
    }

    /// Runs the computation with this processor's instructions.
    #[inline]
    pub(super) fn run<R: Run>(self, run: R) -> R::Output {
        match self {
            Self::Portable => run.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(v3) => v3.vectorize(
                #[inline(always)]
                || run.run(v3),
            ),
        }
    }
}

/// Sums of rows: blocks of targets, then blocks of costs.
pub(super) trait Sums {
    fn add(&mut self, row: &[Block]);
    fn targets(&self) -> &[Block];
    fn costs(&self) -> &[Block];
}

/// Sums whose numbers of blocks are known at compile time: they stay in registers.
pub(super) struct FixedSums<const T: usize, const C: usize>(pub [Block; T], pub [Block; C]);

impl<const T: usize, const C: usize> Sums for FixedSums<T, C> {
    #[inline(always)]
    fn add(&mut self, row: &[Block]) {
        let (Some((targets, costs)), true) = (row.split_first_chunk::<T>(), row.len() == T + C) else {
            unreachable!("a row has {T} + {C} blocks");
        };
        add(&mut self.0, targets);
        add(&mut self.1, costs);
    }

    #[inline(always)]
    fn targets(&self) -> &[Block] {
        &self.0
    }

    #[inline(always)]
    fn costs(&self) -> &[Block] {
        &self.1
    }
}

/// Sums of any number of blocks. The second field is the number of blocks of targets.
pub(super) struct SliceSums<'a>(pub &'a mut [Block], pub usize);

impl Sums for SliceSums<'_> {
    #[inline(always)]
    fn add(&mut self, row: &[Block]) {
        add(self.0, row);
    }

    #[inline(always)]
    fn targets(&self) -> &[Block] {
        &self.0[..self.1]
    }

    #[inline(always)]
    fn costs(&self) -> &[Block] {
        &self.0[self.1..]
    }
}

/// Applies `f` lane by lane.
#[inline(always)]
pub(super) fn zip_map<T: Copy>(a: [T; 8], b: [T; 8], f: impl Fn(T, T) -> T) -> [T; 8] {
    [
        f(a[0], b[0]),
        f(a[1], b[1]),
        f(a[2], b[2]),
        f(a[3], b[3]),
        f(a[4], b[4]),
        f(a[5], b[5]),
        f(a[6], b[6]),
        f(a[7], b[7]),
    ]
}

/// Combines all lanes into one number.
#[inline(always)]
pub(super) fn fold<T: Copy>(x: [T; 8], f: impl Fn(T, T) -> T) -> T {
    let x = [f(x[0], x[4]), f(x[1], x[5]), f(x[2], x[6]), f(x[3], x[7])];
    f(f(x[0], x[2]), f(x[1], x[3]))
}

/// Adds blocks to sums. Their lanes never overflow (see `samples`).
#[inline(always)]
pub(super) fn add(sums: &mut [Block], blocks: &[Block]) {
    for (sum, block) in sums.iter_mut().zip(blocks) {
        *sum = zip_map(*sum, *block, i32::wrapping_add);
    }
}
