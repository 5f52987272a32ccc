//! Random operands made on the device, and the checks of results there.

use super::arena::{Allocation, Buffer};
use super::device::{Gpu, Kernel};
use super::element::{Arg, Element};
use super::error::CudaError;
use super::kernels::Grid;
use super::nvrtc::Source;
use super::product::{Matrix, Product};
use ah_measure::Failure;

const SOURCE: Source = Source::shipped("operands.cu", include_str!("operands.cu"));
/// Elements of a product that are compared; smaller products are compared whole. If a tile of a 128th of
/// the product is wrong throughout, all samples miss it with a probability of (1 − 1/128)²⁰⁴⁸ = 1e-7.
/// Elements that are not written or not finite are always found.
const SAMPLES: usize = 2048;
/// Rows of a softmax that are compared.
const ROWS: usize = 64;
/// Bytes behind every product that no choice may write to; the tests check them.
pub(super) const GUARD: usize = 512;

/// The kernels that make and check operands.
pub(crate) struct Operands {
    random: Kernel,
    expected: Kernel,
    not_finite: Kernel,
    compare: Kernel,
    softmax_error: Kernel,
    /// The expected samples.
    samples: Allocation,
    found: Allocation,
}

/// The reference of a product: some of its elements, and the largest error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductReference {
    seed: u64,
    /// The largest error that passes.
    tolerance: f64,
    scale: f64,
}

impl Operands {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let kernel = |name| gpu.kernel(SOURCE, name, Vec::new());
        Ok(Self {
            random: kernel("random")?,
            expected: kernel("expected")?,
            not_finite: kernel("not_finite")?,
            compare: kernel("compare")?,
            softmax_error: kernel("softmax_error")?,
            samples: Allocation::new(gpu.context(), SAMPLES * 8)?,
            found: Allocation::new(gpu.context(), 8)?,
        })
    }

    /// Fills a dense matrix with random numbers: floats around 0 with this deviation, or integers from all their
    /// values.
    pub(crate) fn randomize(
        &self,
        gpu: &Gpu,
        matrix: &Matrix,
        deviation: f32,
        seed: u64,
    ) -> Result<(), CudaError> {
        let args = [
            Arg::Buffer(matrix.buffer),
            Arg::U64((matrix.rows * matrix.columns) as u64),
            Arg::I32(matrix.element as i32),
            Arg::F32(deviation),
            Arg::U64(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)),
        ];
        gpu.launch(&self.random, gpu.grid(), &args)
    }

    /// Fills the operands of a product with random numbers, and computes sampled elements of it in float64. With TF32, a
    /// kernel may round the operands.
    pub(crate) fn product(&self, gpu: &Gpu, p: &Product, seed: u64) -> Result<ProductReference, CudaError> {
        let Product { a, b, tf32, .. } = p;
        let deviation = deviation(a.element, b.element);
        self.randomize(gpu, a, deviation, seed)?;
        self.randomize(gpu, b, 1.0, seed ^ 1)?;
        let operand = |m: &Matrix| {
            let strides = [m.strides.0, m.strides.1].map(|stride| Arg::I64(stride as i64));
            [Arg::Buffer(m.buffer), Arg::I32(m.element as i32), strides[0], strides[1]]
        };
        let sizes = [a.rows, a.columns, b.columns, SAMPLES].map(int);
        let samples = [Arg::U64(seed), Arg::Buffer(self.samples.buffer)];
        let args = [&operand(a)[..], &operand(b), &sizes, &samples].concat();
        gpu.launch(&self.expected, Grid::of(SAMPLES / 4, 128), &args)?;
        // The elements of the product have a standard deviation of √k times the operands' deviation. The
        // largest of many is about five times as large; cuBLAS may round partial sums too (split-K). The
        // largest error of 12,000 correct products was 10 roundings of one deviation; 16 are allowed.
        let scale = (a.columns as f64).sqrt() * f64::from(deviation) * magnitude(b.element);
        let rounding = if *tf32 { Element::F16.epsilon() } else { a.element.epsilon() };
        // Sums in float32 add up to about √k roundings more.
        let sums = Element::F32.epsilon() * (a.columns as f64).sqrt().max(8.0);
        Ok(ProductReference { seed, tolerance: 16.0 * (rounding + sums), scale })
    }

    /// Fills a result with NaN before it is computed, so that unwritten elements are found.
    pub(crate) fn poison(&self, gpu: &Gpu, c: &Matrix) -> Result<(), CudaError> {
        let bytes = ((c.rows - 1) * c.strides.0 + c.columns) * c.element.bytes();
        gpu.fill(Buffer { bytes, ..c.buffer }, 0xff)
    }

    /// Compares a row-major product with its reference.
    pub(crate) fn check(&self, gpu: &Gpu, c: &Matrix, expected: &ProductReference) -> Result<(), Failure> {
        self.scan(gpu, c)?;
        let [samples, found] = [&self.samples, &self.found].map(|memory| Arg::Buffer(memory.buffer));
        let args = [&result(c)[..], &[int(SAMPLES), Arg::U64(expected.seed), samples, found]].concat();
        gpu.launch(&self.compare, Grid::of(SAMPLES / 128, 128), &args)?;
        self.judge(gpu, expected.scale, expected.tolerance)
    }

    /// Compares y with the softmax of every row of x.
    pub(crate) fn check_softmax(&self, gpu: &Gpu, [x, y]: [&Matrix; 2], seed: u64) -> Result<(), Failure> {
        self.scan(gpu, y)?;
        let args = [
            Arg::Buffer(x.buffer),
            Arg::Buffer(y.buffer),
            int(x.rows),
            int(x.columns),
            int(ROWS),
            Arg::U64(seed),
            Arg::Buffer(self.found.buffer),
        ];
        gpu.launch(&self.softmax_error, Grid::of(x.rows.min(ROWS), 512), &args)?;
        // Two units in the last place of ex2.approx, the rounding of its argument (up to 2⁴ here), and a
        // sum in float32.
        self.judge(gpu, 1.0, 1e-5)
    }

    fn scan(&self, gpu: &Gpu, c: &Matrix) -> Result<(), CudaError> {
        gpu.fill(self.found.buffer, 0)?;
        let args = [&result(c)[..], &[Arg::Buffer(self.found.buffer)]].concat();
        gpu.launch(&self.not_finite, gpu.grid(), &args)
    }

    fn judge(&self, gpu: &Gpu, scale: f64, tolerance: f64) -> Result<(), Failure> {
        let found = gpu.read(self.found.buffer, 2)?;
        let wrong = |what: String| Err(Failure::failed(format!("wrong result: {what}")));
        if found[0] > 0 {
            return wrong(format!("{} elements are not finite or not written", found[0]));
        }
        let error = f64::from(f32::from_bits(found[1])) / scale;
        if error > tolerance {
            return wrong(format!("relative error {error:.2e} (at most {tolerance:.2e} expected)"));
        }
        Ok(())
    }
}

/// The standard deviation of random floats that are multiplied with `other`. It is 1, but smaller
/// beside integers: with k = 32768 their products would overflow float16.
fn deviation(element: Element, other: Element) -> f32 {
    if element != other && matches!(other, Element::I8 | Element::U8) { 1.0 / 64.0 } else { 1.0 }
}

/// The root mean square of random numbers with a deviation of 1.
fn magnitude(element: Element) -> f64 {
    match element {
        Element::I8 => 74.0,
        Element::U8 => 147.0,
        _ => 1.0,
    }
}

/// A row-major result as kernels take it.
fn result(c: &Matrix) -> [Arg; 5] {
    let stride = Arg::I64(c.strides.0 as i64);
    [Arg::Buffer(c.buffer), Arg::I32(c.element as i32), int(c.rows), int(c.columns), stride]
}

/// Converts a size to a kernel's `int`; contexts are checked, so it fits.
pub(crate) fn int(x: usize) -> Arg {
    Arg::I32(i32::try_from(x).unwrap_or(i32::MAX))
}
