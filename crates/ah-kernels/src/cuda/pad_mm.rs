//! The runner of `pad_mm` on a GPU: a product through cuBLAS as it is, or of operands padded to the alignment of
//! tensor cores, with PyTorch's features and padding.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

use super::arena::Buffer;
use super::argument::Arg;
use super::cublas::{Cublas, Matrix, Product};
use super::device::{Gpu, Grid, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::experiment;
use super::nvrtc::Source;
use super::operands::{GUARD, Operands, ProductReference, int};
use super::shape::{self, Shape};
use crate::features::{Layout, Padding};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

const SOURCE: Source = Source::shipped("padding.cu", include_str!("padding.cu"));

/// Least and greatest size of a drawn dimension: PyTorch measures up to 65536, and decides on Hopper only from
/// 768 up.
const SIZES: (u64, u64) = (768, 65536);
/// Most multiply-adds of a drawn product in 16-bit types and in float32. At 150 and 50 TFLOP/s a run takes
/// 4 and 5 ms, so an input takes some tens of milliseconds.
const MAX_WORK: [u64; 2] = [1 << 38, 1 << 37];
/// The share of inputs that may be eight times as large.
const LARGE: f64 = 0.04;

/// Measures `pad_mm` on a GPU.
pub(super) struct PadMmRunner {
    experiment: Experiment,
    gpu: Gpu,
    cublas: Cublas,
    operands: Operands,
    /// For elements of 2 and of 4 bytes.
    padding: [PaddingKernels; 2],
}

struct PaddingKernels {
    copy: Kernel,
    zero_block: Kernel,
}

/// An operand and its padded version.
#[derive(Clone, Copy, Debug)]
struct Side {
    matrix: Matrix,
    /// The padded matrix, row-major; the matrix itself if it needs no padding.
    padded: Matrix,
    /// Whether the producer of the matrix has padded it. If so, `pad` only writes the zeros again.
    prepadded: bool,
}

impl Side {
    fn needs_padding(&self) -> bool {
        (self.matrix.rows, self.matrix.columns) != (self.padded.rows, self.padded.columns)
    }
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    element: Element,
    tf32: bool,
    a: Side,
    b: Side,
    /// The results of `orig` and of `pad`. The second is cut to size as a view.
    c: Matrix,
    c_padded: Matrix,
    expected: ProductReference,
}

impl Input {
    /// Returns the result of a choice without padding.
    fn result(&self, choice: ChoiceId) -> Matrix {
        let c = if choice.0 == 0 { self.c } else { self.c_padded };
        Matrix { rows: self.c.rows, columns: self.c.columns, ..c }
    }
}

/// Returns PyTorch's padding of this type: `get_alignment_size_dtype` and `get_padded_length`.
pub(super) fn padding(element: Element) -> Padding {
    Padding { alignment: if element == Element::F32 { 4 } else { 8 }, keeps_one: true }
}

impl PadMmRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let padding = |bytes: usize| {
            let kernel = |name| gpu.kernel(SOURCE, name, vec![format!("ELEMENT_BYTES={bytes}")]);
            Ok(PaddingKernels { copy: kernel("copy")?, zero_block: kernel("zero_block")? })
        };
        let choices = vec!["orig".to_owned(), "pad".to_owned()];
        // Both choices are measured to the end: how much padding loses matters too.
        let timing = TimingPolicy { early_stop_ratio: 20.0, ..experiment::timing() };
        Ok(Self {
            experiment: experiment::experiment(optimization, &gpu, choices, timing),
            cublas: Cublas::new(&gpu)?,
            operands: Operands::new(&gpu)?,
            padding: [padding(2)?, padding(4)?],
            gpu,
        })
    }

    fn run(&self, input: &Input, choice: ChoiceId) -> Result<(), CudaError> {
        let (a, b, c) = match choice.0 {
            0 => (input.a.matrix, input.b.matrix, input.c),
            _ => {
                self.pad(&input.a, input.element)?;
                self.pad(&input.b, input.element)?;
                (input.a.padded, input.b.padded, input.c_padded)
            }
        };
        self.cublas.product(&Product { element: input.element, tf32: input.tf32, a, b, c })
    }

    fn kernels(&self, element: Element) -> &PaddingKernels {
        &self.padding[usize::from(element == Element::F32)]
    }

    fn pad(&self, side: &Side, element: Element) -> Result<(), CudaError> {
        if !side.needs_padding() {
            return Ok(());
        }
        if side.prepadded { self.write_zeros(side, element) } else { self.pad_whole(side, element) }
    }

    /// Copies an operand into a new matrix of zeros, as `aten.constant_pad_nd` does.
    fn pad_whole(&self, side: &Side, element: Element) -> Result<(), CudaError> {
        let Side { matrix, padded, .. } = side;
        let bytes = padded.rows * padded.columns * element.bytes();
        self.gpu.fill(Buffer { bytes, ..padded.buffer }, 0)?;
        let args = [
            Arg::Buffer(matrix.buffer),
            Arg::I64(matrix.strides.0 as i64),
            Arg::I64(matrix.strides.1 as i64),
            Arg::Buffer(padded.buffer),
            Arg::I64(padded.strides.0 as i64),
            int(matrix.rows),
            int(matrix.columns),
        ];
        let blocks = (matrix.rows * matrix.columns).div_ceil(4 * 128);
        self.gpu.launch(&self.kernels(element).copy, Grid::of(blocks, 128), &args)
    }

    /// Writes the zeros of a prepadded matrix, as PyTorch's `write_pad` does: `x[-rows:, -columns:].fill_(0)`, where
    /// a length of 0 means all rows or all columns.
    fn write_zeros(&self, side: &Side, element: Element) -> Result<(), CudaError> {
        let Side { matrix, padded, .. } = side;
        let part = |whole: usize, of: usize| if whole == of { whole } else { whole - of };
        let (rows, columns) = (part(padded.rows, matrix.rows), part(padded.columns, matrix.columns));
        let first = (padded.rows - rows) * padded.strides.0 + padded.columns - columns;
        let args = [
            Arg::Buffer(padded.buffer.from(first * element.bytes())),
            Arg::I64(padded.strides.0 as i64),
            int(rows),
            int(columns),
        ];
        let blocks = (rows * columns).div_ceil(256).min(4096);
        self.gpu.launch(&self.kernels(element).zero_block, Grid::of(blocks, 256), &args)
    }
}

impl BenchmarkRunner for PadMmRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let element = *sampling::pick(rng, &Element::FLOATS);
        let tf32 = element == Element::F32 && sampling::flag(rng, 0.4);
        let padding = padding(element);
        let large = if sampling::flag(rng, LARGE) { 8 } else { 1 };
        let max_work = MAX_WORK[usize::from(element == Element::F32)] * large;
        let family = rng.random_range(0..4);
        let [m, k, n] = loop {
            let shape = [(); 3].map(|()| dimension(rng, family));
            let unaligned = shape.iter().any(|s| s % padding.alignment != 0);
            let [m, k, n] = shape;
            // Operands, result and padded copies stay within a quarter of the memory, as in PyTorch.
            let bytes = (m * k + k * n + m * n) * element.bytes() as u64;
            if unaligned && m * k * n <= max_work && bytes <= self.gpu.identity().memory / 4 {
                break shape;
            }
        };
        let (no, yes) = (false, true);
        let layouts = [(no, no), (no, no), (yes, no), (yes, no), (no, yes), (no, yes), (yes, yes)];
        let (a_transposed, b_transposed) = *sampling::pick(rng, &layouts);
        // Only contiguous matrices are ever prepadded (`should_exclude_padding_time`).
        let a_prepadded = sampling::flag(rng, 0.2) && !a_transposed;
        let b_prepadded = sampling::flag(rng, 0.2) && !b_transposed;
        let a = Layout::transposed(a_transposed).strides(m, k);
        let b = Layout::transposed(b_transposed).strides(k, n);
        let context = shape::context([m, k, n], (a, element), (b, element));
        let context = padding.describe(context, [m, k, n], [a_prepadded, b_prepadded]);
        shape::with_tf32(context, element, tf32)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        let shape = Shape::of_floats(context)?;
        padding(shape.a).check(context, [shape.m, shape.k, shape.n])
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        self.accepts(context).map_err(Failure::skipped)?;
        let shape = Shape::of_floats(context).map_err(Failure::skipped)?;
        let Shape { m, k, n, a: element, tf32, .. } = shape;
        let gpu = &self.gpu;
        gpu.enter()?;
        let padding = padding(element);
        let [m_padded, k_padded, n_padded] = [m, k, n].map(|s| s + padding.length(s as u64) as usize);
        let bytes = |rows: usize, columns: usize| rows * columns * element.bytes();
        let [a, a_padded, b, b_padded, c, c_padded] = gpu.operands([
            bytes(m, k),
            bytes(m_padded, k_padded),
            bytes(k, n),
            bytes(k_padded, n_padded),
            bytes(m, n) + GUARD,
            bytes(m_padded, n_padded) + GUARD,
        ])?;
        let a = Matrix { buffer: a, rows: m, columns: k, strides: shape.a_strides };
        let b = Matrix { buffer: b, rows: k, columns: n, strides: shape.b_strides };
        let side = |matrix: Matrix, padded: Matrix, prepadded| {
            let fits = (padded.rows, padded.columns) == (matrix.rows, matrix.columns);
            let prepadded = context.category(prepadded) == Some("True");
            Side { matrix, padded: if fits { matrix } else { padded }, prepadded }
        };
        let input = Input {
            element,
            tf32,
            a: side(a, Matrix::row_major(a_padded, m_padded, k_padded), "prepadded_mat1"),
            b: side(b, Matrix::row_major(b_padded, k_padded, n_padded), "prepadded_mat2"),
            c: Matrix::row_major(c, m, n),
            c_padded: Matrix::row_major(c_padded, m_padded, n_padded),
            expected: self.operands.product(gpu, (&a, element), (&b, element), tf32, seed)?,
        };
        for side in [&input.a, &input.b] {
            if side.prepadded && side.needs_padding() {
                self.pad_whole(side, element)?;
            }
        }
        gpu.wait()?;
        Ok(input)
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.gpu.enter()?;
        let c = if choice.0 == 0 { input.c } else { input.c_padded };
        self.operands.poison(&self.gpu, &c, input.element)?;
        self.run(input, choice)?;
        self.operands.check(&self.gpu, &input.result(choice), input.element, &input.expected)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.gpu.enter()?;
        self.gpu.time(burst, || self.run(input, choice))
    }
}

#[cfg(test)]
impl super::products::ProductRunner for PadMmRunner {
    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn matrices(&self, input: &Input, choice: ChoiceId) -> [(Matrix, Element); 3] {
        [input.a.matrix, input.b.matrix, input.result(choice)].map(|matrix| (matrix, input.element))
    }
}

/// Draws a dimension from one of four families: log-uniform and often rounded (twice), uniform, and PyTorch's
/// powers of two with unaligned sizes between them.
fn dimension(rng: &mut Rng, family: u32) -> u64 {
    let (low, high) = SIZES;
    match family {
        0 | 1 => sampling::dimension(rng, low, high, 0.45),
        2 => rng.random_range(low..=16384),
        _ if sampling::flag(rng, 0.6) => 1 << rng.random_range(10..=16_u32),
        _ => {
            let below = 1_u64 << rng.random_range(10..16_u32);
            rng.random_range(below + 1..2 * below)
        }
    }
}
