//! The runner of `pad_mm` on a GPU: a product through cuBLAS as it is, or of operands padded to the alignment of
//! tensor cores, with PyTorch's features and padding.

use ah_model::Context;
use ah_types::{Optimization, TimingPolicy};
use rand::Rng as _;

use super::arena::Buffer;
use super::clock;
use super::cublas::Cublas;
use super::device::{Gpu, Kernel};
use super::element::{Arg, Element};
use super::error::CudaError;
use super::kernels::Grid;
use super::nvrtc::Source;
use super::operands::int;
use super::product::{Matrix, Product};
use super::product_runner::{Input, Operation, ProductRunner};
use crate::features::Padding;
use ah_measure::Failure;
use ah_measure::sampling::{self, Rng};

const SOURCE: Source = Source::shipped("padding.cu", include_str!("padding.cu"));

/// Least and greatest size of a drawn dimension: PyTorch measures up to 65536, and decides on Hopper only from
/// 768 up.
const SIZES: (u64, u64) = (768, 65536);
/// Most multiply-adds of a drawn product in 16-bit types and in float32. At 150 and 50 TFLOP/s a run takes
/// 4 and 5 ms, so an input takes some tens of milliseconds.
const MAX_WORK: [u64; 2] = [1 << 38, 1 << 37];
/// The share of inputs that may be eight times as large.
const LARGE: f64 = 0.04;

/// The choices of `pad_mm` on a GPU.
pub(super) struct PadMmOperation {
    cublas: Cublas,
    /// For elements of 2 and of 4 bytes.
    padding: [PaddingKernels; 2],
}

struct PaddingKernels {
    copy: Kernel,
    zero_block: Kernel,
}

/// An operand and its padded version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    matrix: Matrix,
    /// The padded matrix, row-major; `None` if the operand needs no padding.
    padded: Option<Matrix>,
    /// Whether the producer of the matrix has padded it. If so, `pad` only writes the zeros again.
    prepadded: bool,
}

/// Both operands of an input.
fn sides(Input { context, product, further, .. }: &Input) -> [Side; 2] {
    let side = |matrix: Matrix, padded: Matrix, prepadded| {
        let needs_padding = (matrix.rows, matrix.columns) != (padded.rows, padded.columns);
        let prepadded = context.category(prepadded) == Some("True");
        Side { matrix, padded: needs_padding.then_some(padded), prepadded }
    };
    [side(product.a, further[0], "prepadded_mat1"), side(product.b, further[1], "prepadded_mat2")]
}

/// PyTorch's padding of this type: `get_alignment_size_dtype` and `get_padded_length`.
pub(super) fn padding(element: Element) -> Padding {
    Padding { alignment: if element == Element::F32 { 4 } else { 8 }, keeps_one: true }
}

/// The runner of `pad_mm`.
pub(super) fn runner(
    optimization: Optimization,
    gpu: Gpu,
) -> Result<ProductRunner<PadMmOperation>, CudaError> {
    let padding = |bytes: usize| {
        let kernel = |name| gpu.kernel(SOURCE, name, vec![format!("ELEMENT_BYTES={bytes}")]);
        Ok(PaddingKernels { copy: kernel("copy")?, zero_block: kernel("zero_block")? })
    };
    let operation = PadMmOperation { cublas: Cublas::new(&gpu)?, padding: [padding(2)?, padding(4)?] };
    // Both choices are measured to the end: how much padding loses matters too.
    let timing = TimingPolicy { early_stop_ratio: 20.0, ..clock::policy() };
    ProductRunner::new(optimization, gpu, ["orig", "pad"].map(str::to_owned).to_vec(), timing, operation)
}

impl PadMmOperation {
    fn kernels(&self, matrix: &Matrix) -> &PaddingKernels {
        &self.padding[usize::from(matrix.element == Element::F32)]
    }

    fn pad(&self, gpu: &Gpu, side: &Side) -> Result<(), CudaError> {
        match (&side.padded, side.prepadded) {
            (None, _) => Ok(()),
            (Some(padded), true) => self.write_zeros(gpu, &side.matrix, padded),
            (Some(padded), false) => self.pad_whole(gpu, &side.matrix, padded),
        }
    }

    /// Copies an operand into a new matrix of zeros, as `aten.constant_pad_nd` does.
    fn pad_whole(&self, gpu: &Gpu, matrix: &Matrix, padded: &Matrix) -> Result<(), CudaError> {
        gpu.fill(Buffer { bytes: padded.bytes(), ..padded.buffer }, 0)?;
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
        gpu.launch(&self.kernels(matrix).copy, Grid::of(blocks, 128), &args)
    }

    /// Writes the zeros of a prepadded matrix, as PyTorch's `write_pad` does: `x[-rows:, -columns:].fill_(0)`, where
    /// a length of 0 means all rows or all columns.
    fn write_zeros(&self, gpu: &Gpu, matrix: &Matrix, padded: &Matrix) -> Result<(), CudaError> {
        let part = |whole: usize, of: usize| if whole == of { whole } else { whole - of };
        let rows = part(padded.rows, matrix.rows);
        let columns = part(padded.columns, matrix.columns);
        let first = (padded.rows - rows) * padded.strides.0 + padded.columns - columns;
        let args = [
            Arg::Buffer(padded.buffer.from(first * padded.element.bytes())),
            Arg::I64(padded.strides.0 as i64),
            int(rows),
            int(columns),
        ];
        let blocks = (rows * columns).div_ceil(256).min(4096);
        gpu.launch(&self.kernels(matrix).zero_block, Grid::of(blocks, 256), &args)
    }
}

impl Operation for PadMmOperation {
    /// The operands that `pad` pads; `None` for `orig`.
    type Method = Option<[Side; 2]>;

    fn draw(&self, gpu: &Gpu, rng: &mut Rng) -> Context {
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
            if unaligned && m * k * n <= max_work && bytes <= gpu.identity.memory / 4 {
                break shape;
            }
        };
        let no = false;
        let yes = true;
        let layouts = [(no, no), (no, no), (yes, no), (yes, no), (no, yes), (no, yes), (yes, yes)];
        let (a_transposed, b_transposed) = *sampling::pick(rng, &layouts);
        // Only contiguous matrices are ever prepadded (`should_exclude_padding_time`).
        let a_prepadded = sampling::flag(rng, 0.2) && !a_transposed;
        let b_prepadded = sampling::flag(rng, 0.2) && !b_transposed;
        let product = Product::dense([m, k, n], [a_transposed, b_transposed], [element; 2], tf32);
        product.with_tf32(padding.describe(product.context(), [m, k, n], [a_prepadded, b_prepadded]))
    }

    fn product(&self, context: &Context) -> Result<Product, String> {
        let product = Product::of_floats(context)?;
        padding(product.a.element).check(context, product.sizes())?;
        Ok(product)
    }

    /// The padded operands, and the product of them, which is cut to size as a view.
    fn further(&self, product: &Product) -> Vec<Matrix> {
        let padding = padding(product.a.element);
        let padded = |size: usize| size + padding.length(size as u64) as usize;
        let matrices = [product.a, product.b, product.c].into_iter();
        matrices.map(|m| Matrix::row_major(m.element, padded(m.rows), padded(m.columns))).collect()
    }

    fn prepare(&self, gpu: &Gpu, input: &Input) -> Result<(), CudaError> {
        for side in sides(input) {
            if let (Some(padded), true) = (&side.padded, side.prepadded) {
                self.pad_whole(gpu, &side.matrix, padded)?;
            }
        }
        gpu.wait()
    }

    fn method(&self, _: &Gpu, input: &Input, choice: usize) -> Result<Self::Method, Failure> {
        Ok((choice > 0).then(|| sides(input)))
    }

    fn run(&self, gpu: &Gpu, input: &Input, method: &Self::Method) -> Result<(), CudaError> {
        let Some([a, b]) = method else { return self.cublas.product(&input.product) };
        self.pad(gpu, a)?;
        self.pad(gpu, b)?;
        let [a, b] = [a, b].map(|side| side.padded.unwrap_or(side.matrix));
        self.cublas.product(&Product { a, b, c: input.further[2], ..input.product })
    }

    /// The product without padding.
    fn result(&self, Input { product, further, .. }: &Input, method: &Self::Method) -> Matrix {
        let Product { c, .. } = *product;
        let from = if method.is_some() { further[2] } else { c };
        Matrix { rows: c.rows, columns: c.columns, ..from }
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
