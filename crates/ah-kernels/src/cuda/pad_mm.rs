//! `pad_mm` on a GPU: a product through cuBLAS as it is, or of operands padded to the alignment
//! that tensor cores want, with PyTorch's features, distribution and padding.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

use super::arena::Buffer;
use super::cublas::{Cublas, Matrix, Product};
use super::device::{Arg, Gpu, Grid, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::nvrtc::Source;
use super::operands::{Expected, Operands, int};
use super::shape::Shape;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Failure, Subject};

const SOURCE: Source = Source { file: "padding.cu", text: include_str!("padding.cu") };

/// Dimensions drawn: PyTorch measures up to 65536, and on Hopper decides from 768 up only.
const SIZES: (u64, u64) = (768, 65536);
/// Most multiply-adds of a drawn product, 16-bit and float32, so that an input takes some tens of
/// milliseconds: at 150 and 50 TFLOP/s a run takes 4 and 5 ms.
const MAX_WORK: [u64; 2] = [1 << 38, 1 << 37];
/// One input in this many may be eight times as large.
const LARGE: f64 = 0.04;

/// See the [module](self).
pub(super) struct PadMmRunner {
    subject: Subject,
    gpu: Gpu,
    cublas: Cublas,
    operands: Operands,
    /// For elements of 2 and of 4 bytes.
    padding: [Padding; 2],
}

struct Padding {
    copy: Kernel,
    zero_block: Kernel,
}

/// An operand, and what padding makes of it.
#[derive(Clone, Copy, Debug)]
struct Side {
    matrix: Matrix,
    /// Row-major; the matrix itself where nothing is to be padded.
    padded: Matrix,
    /// Padded by whoever computes it: only the zeros are written again.
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
    /// The product of `orig` and that of `pad`, which is cut to size as a view.
    c: Matrix,
    c_padded: Matrix,
    expected: Expected,
}

/// PyTorch's `get_alignment_size_dtype`.
fn alignment(element: Element) -> usize {
    if element == Element::F32 { 4 } else { 8 }
}

/// PyTorch's `get_padded_length`.
fn padded_length(size: usize, alignment: usize) -> usize {
    if size == 1 { 0 } else { size.next_multiple_of(alignment) - size }
}

impl PadMmRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let padding = |bytes: usize| {
            let kernel = |name| gpu.kernel(SOURCE, name, vec![format!("ELEMENT_BYTES={bytes}")]);
            Ok(Padding { copy: kernel("copy")?, zero_block: kernel("zero_block")? })
        };
        let choices = vec!["orig".to_owned(), "pad".to_owned()];
        // Both are always measured to the end: the loss by padding matters too.
        let timing = TimingPolicy { early_stop_ratio: 20.0, ..super::timing() };
        Ok(Self {
            subject: super::subject(optimization, &gpu, choices, timing),
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

    fn pad(&self, side: &Side, element: Element) -> Result<(), CudaError> {
        if !side.needs_padding() {
            return Ok(());
        }
        if side.prepadded { self.write_zeros(side, element) } else { self.pad_whole(side, element) }
    }

    /// `aten.constant_pad_nd`: a new matrix of zeros, and the old one copied into it.
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
        self.gpu.launch(
            &self.padding[usize::from(element == Element::F32)].copy,
            Grid::of(blocks, 128),
            &args,
        )
    }

    /// PyTorch's `write_pad` for a prepadded matrix: `x[-rows:, -columns:].fill_(0)`, where a
    /// length of 0 means all rows or all columns.
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
        self.gpu.launch(
            &self.padding[usize::from(element == Element::F32)].zero_block,
            Grid::of(blocks, 256),
            &args,
        )
    }
}

impl BenchmarkRunner for PadMmRunner {
    type Input = Input;

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let element = *sampling::pick(rng, &Element::FLOATS);
        let tf32 = element == Element::F32 && sampling::flag(rng, 0.4);
        let align = alignment(element);
        let large = if sampling::flag(rng, LARGE) { 8 } else { 1 };
        let max_work = MAX_WORK[usize::from(element == Element::F32)] * large;
        let manner = rng.random_range(0..4);
        let [m, k, n] = loop {
            let shape = [(); 3].map(|()| dimension(rng, manner));
            let unaligned = shape.iter().any(|s| s % align as u64 != 0);
            let [m, k, n] = shape;
            // Operands, product and what is padded: within a quarter of the memory, as in PyTorch.
            let bytes = (m * k + k * n + m * n) * element.bytes() as u64;
            if unaligned && m * k * n <= max_work && bytes <= self.gpu.identity().memory / 4 {
                break shape.map(|s| usize::try_from(s).unwrap_or(1));
            }
        };
        let (a_transposed, b_transposed) = *sampling::pick(
            rng,
            &[
                (false, false),
                (false, false),
                (true, false),
                (true, false),
                (false, true),
                (false, true),
                (true, true),
            ],
        );
        // Only what is contiguous is ever prepadded (`should_exclude_padding_time`).
        let a_prepadded = sampling::flag(rng, 0.2) && !a_transposed;
        let b_prepadded = sampling::flag(rng, 0.2) && !b_transposed;
        let strides = |transposed, rows, columns| if transposed { (1, rows) } else { (columns, 1) };
        let (a, b) = (strides(a_transposed, m, k), strides(b_transposed, k, n));
        let context = Context::new()
            .with("m", m)
            .with("k", k)
            .with("n", n)
            .with("mat1_stride_0", a.0)
            .with("mat1_stride_1", a.1)
            .with("mat2_stride_0", b.0)
            .with("mat2_stride_1", b.1)
            .with("m_padded_length", padded_length(m, align))
            .with("k_padded_length", padded_length(k, align))
            .with("n_padded_length", padded_length(n, align))
            .with("mat1_align_size", align)
            .with("mat2_align_size", align)
            .with("mat1_dtype", element.name())
            .with("mat2_dtype", element.name())
            .with("prepadded_mat1", a_prepadded)
            .with("prepadded_mat2", b_prepadded);
        super::with_tf32(context, element, tf32)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        let shape = Shape::of(context)?.alike()?;
        let align = alignment(shape.a);
        for (dimension, size) in [("m", shape.m), ("k", shape.k), ("n", shape.n)] {
            let name = format!("{dimension}_padded_length");
            #[allow(clippy::cast_precision_loss)]
            let expected = padded_length(size, align) as f64;
            if context.number(&name) != Some(expected) {
                return Err(format!(
                    "{name} must be {expected}: {dimension} is padded to a multiple of {align}"
                ));
            }
        }
        Ok(())
    }

    fn label(&self, context: &Context) -> String {
        crate::layout::label(context)
    }

    fn create_input(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        self.accepts(context).map_err(Failure::skipped)?;
        let shape = Shape::of(context).and_then(Shape::alike).map_err(Failure::skipped)?;
        let Shape { m, k, n, a: element, tf32, .. } = shape;
        let gpu = &self.gpu;
        gpu.enter()?;
        let [m_padded, k_padded, n_padded] = [m, k, n].map(|s| s + padded_length(s, alignment(element)));
        let bytes = |rows: usize, columns: usize| rows * columns * element.bytes();
        let [a, a_padded, b, b_padded, c, c_padded] = gpu.operands([
            bytes(m, k),
            bytes(m_padded, k_padded),
            bytes(k, n),
            bytes(k_padded, n_padded),
            bytes(m, n),
            bytes(m_padded, n_padded),
        ])?;
        let prepadded = |name| context.category(name) == Some("True");
        let side = |matrix: Matrix, buffer, rows, columns, prepadded| {
            let padded = Matrix { buffer, rows, columns, strides: (columns, 1) };
            let padded = if (rows, columns) == (matrix.rows, matrix.columns) { matrix } else { padded };
            Side { matrix, padded, prepadded }
        };
        let input = Input {
            element,
            tf32,
            a: side(
                Matrix { buffer: a, rows: m, columns: k, strides: shape.a_strides },
                a_padded,
                m_padded,
                k_padded,
                prepadded("prepadded_mat1"),
            ),
            b: side(
                Matrix { buffer: b, rows: k, columns: n, strides: shape.b_strides },
                b_padded,
                k_padded,
                n_padded,
                prepadded("prepadded_mat2"),
            ),
            c: Matrix { buffer: c, rows: m, columns: n, strides: (n, 1) },
            c_padded: Matrix { buffer: c_padded, rows: m_padded, columns: n_padded, strides: (n_padded, 1) },
            expected: {
                self.operands.randomize(gpu, a, m * k, (element, 1.0), seed)?;
                self.operands.randomize(gpu, b, k * n, (element, 1.0), seed ^ 1)?;
                let matrix = |buffer, rows, columns, strides| Matrix { buffer, rows, columns, strides };
                let (a, b) = (matrix(a, m, k, shape.a_strides), matrix(b, k, n, shape.b_strides));
                let rounding = if tf32 { Element::F16.epsilon() } else { element.epsilon() };
                self.operands.expect(gpu, (&a, element), (&b, element), rounding, seed)?
            },
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
        let view = Matrix { rows: input.c.rows, columns: input.c.columns, ..c };
        self.operands.check(&self.gpu, &view, input.element, &input.expected)
    }

    fn run_benchmark(
        &mut self,
        input: &mut Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        self.gpu.enter()?;
        self.gpu.time(burst, || self.run(input, choice))
    }
}

/// A dimension in one of four manners: log-uniform and often rounded (twice), uniform, and
/// PyTorch's powers of two with unaligned sizes between them.
fn dimension(rng: &mut Rng, manner: u32) -> u64 {
    let (low, high) = SIZES;
    match manner {
        0 | 1 => sampling::dimension(rng, low, high, 0.45),
        2 => rng.random_range(low..=16384),
        _ if sampling::flag(rng, 0.6) => 1 << rng.random_range(10..=16_u32),
        _ => {
            let below = 1_u64 << rng.random_range(10..16_u32);
            rng.random_range(below + 1..2 * below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_pytorchs() {
        assert_eq!(padded_length(1, 8), 0);
        assert_eq!([41523, 5535, 29088].map(|s| padded_length(s, 8)), [5, 1, 0]);
        assert_eq!(padded_length(1023, 4), 1);
    }
}
