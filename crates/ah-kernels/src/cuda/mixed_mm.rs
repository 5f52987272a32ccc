//! `mixed_mm` on a GPU: 16-bit activations times 8-bit weights, with PyTorch's features. The weights are n×k in memory, as
//! a linear layer stores them and as every log has them. The fallback converts the weights and calls cuBLAS; our kernels
//! convert while they multiply.

use ah_model::Context;
use ah_types::{Optimization, TimingPolicy};

use super::arena::Allocation;
use super::clock;
use super::cublas::Cublas;
use super::device::{Gpu, Kernel};
use super::element::{Arg, Element};
use super::error::CudaError;
use super::kernels::{Grid, Launch, MixedMm};
use super::nvrtc::Source;
use super::operands::int;
use super::product::{Matrix, Product};
use super::product_runner::{Input, Operation, ProductRunner};
use crate::features;
use ah_measure::Failure;
use ah_measure::sampling::{self, Rng};

const SOURCE: Source = Source::shipped("mixed_mm.cu", MixedMm::SOURCE);
const CONVERT: Source = Source::shipped("convert.cu", include_str!("convert.cu"));

/// Floats of partial sums: enough for split-K by four of a product with ten thousand tiles.
const PARTIAL: usize = 192 << 20;
const TICKETS: usize = 4 << 20;

/// The choices of `mixed_mm` on a GPU.
pub(super) struct MixedMmOperation {
    cublas: Cublas,
    convert: Kernel,
    /// Room for partial sums, and tickets that are zero before a method runs and that each launch leaves at zero.
    partial: Allocation,
    tickets: Allocation,
}

/// The runner of `mixed_mm`.
pub(super) fn runner(
    optimization: Optimization,
    gpu: Gpu,
) -> Result<ProductRunner<MixedMmOperation>, CudaError> {
    let ours = MixedMm::ALL.iter().map(MixedMm::name);
    let choices = std::iter::once("extern_fallback_mixed_mm".to_owned()).chain(ours).collect();
    let timing = TimingPolicy { budget_ms: 20.0, ..clock::policy() };
    let operation = MixedMmOperation {
        cublas: Cublas::new(&gpu)?,
        convert: gpu.kernel(CONVERT, "convert", Vec::new())?,
        partial: Allocation::new(gpu.context(), PARTIAL * 4)?,
        tickets: Allocation::new(gpu.context(), TICKETS * 4)?,
    };
    ProductRunner::new(optimization, gpu, choices, timing, operation)
}

impl MixedMmOperation {
    /// PyTorch's fallback: `torch.mm(mat1, mat2.to(mat1.dtype))`.
    fn fall_back(&self, gpu: &Gpu, Input { product, further, .. }: &Input) -> Result<(), CudaError> {
        let b = product.b;
        let converted = further[0];
        let count = b.rows * b.columns;
        let args = [
            Arg::Buffer(b.buffer),
            Arg::Buffer(converted.buffer),
            Arg::U64(count as u64),
            Arg::I32(i32::from(b.element == Element::I8)),
            Arg::I32(i32::from(converted.element == Element::Bf16)),
        ];
        gpu.launch(&self.convert, Grid::of(count.div_ceil(16 * 256), 256), &args)?;
        self.cublas.product(&Product { b: converted, ..*product })
    }
}

impl Operation for MixedMmOperation {
    /// `None`: the fallback.
    type Method = Option<(Kernel, Launch)>;

    /// Draws from PyTorch's ranges (m up to 128, k and n from 1024 up), with its strides: the weights are
    /// n×k in memory.
    fn draw(&self, _: &Gpu, rng: &mut Rng) -> Context {
        let element = *sampling::pick(rng, &[Element::F16, Element::Bf16]);
        let weights = *sampling::pick(rng, &[Element::I8, Element::I8, Element::I8, Element::U8]);
        // One third of all any m, else a power of two.
        let m = match sampling::pick(rng, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) {
            0..=3 => sampling::log_uniform(rng, 1, 128),
            octave => 1 << (octave - 4),
        };
        let [k, n] = loop {
            let side = |rng: &mut Rng| {
                let unit = if sampling::flag(rng, 0.2) { 16 } else { 128 };
                sampling::log_uniform(rng, 1024, 32768).next_multiple_of(unit)
            };
            let k = side(rng);
            let n = side(rng);
            if k * n <= 1 << 29 {
                break [k, n];
            }
        };
        let product = Product::dense([m, k, n], [false, true], [element, weights], false);
        features::with_contiguity(product.context())
    }

    fn product(&self, context: &Context) -> Result<Product, String> {
        let product = Product::of(context)?;
        let Product { a, b, .. } = product;
        let types = (a.element, b.element);
        if !matches!(types, (Element::F16 | Element::Bf16, Element::I8 | Element::U8)) {
            return Err(format!(
                "expected float16 or bfloat16 times int8 or uint8, found {} and {}",
                a.element.torch(),
                b.element.torch()
            ));
        }
        if a.rows > 128 {
            return Err(format!("m may be at most 128, found {}", a.rows));
        }
        if a.strides.1 != 1 || b.strides.0 != 1 {
            return Err("expected activations in rows and weights in columns, without gaps".to_owned());
        }
        Ok(product)
    }

    /// The weights in the type of the activations; the fallback writes them.
    fn further(&self, Product { a, b, .. }: &Product) -> Vec<Matrix> {
        vec![Matrix { element: a.element, ..*b }]
    }

    fn prepare(&self, gpu: &Gpu, Input { product, .. }: &Input) -> Result<(), CudaError> {
        let fit = MixedMm::ALL.iter().filter(|choice| choice.launch(product, &gpu.identity).is_ok());
        gpu.prepare(fit.map(|choice| (SOURCE, choice.defines(product))).collect());
        Ok(())
    }

    fn method(&self, gpu: &Gpu, input: &Input, choice: usize) -> Result<Self::Method, Failure> {
        let product = &input.product;
        let Some(index) = choice.checked_sub(1) else { return Ok(None) };
        let ours = MixedMm::ALL[index];
        let launch = ours.launch(product, &gpu.identity)?;
        for (what, found, most) in [("floats", launch.partial, PARTIAL), ("tickets", launch.tickets, TICKETS)]
        {
            if found > most as u64 {
                return Err(Failure::skipped(format!("needs {found} {what} of workspace, there are {most}")));
            }
        }
        // A kernel that failed may have left others.
        gpu.fill(self.tickets.buffer, 0)?;
        Ok(Some((gpu.kernel(SOURCE, "mixed_mm", ours.defines(product))?, launch)))
    }

    /// The arguments of our kernels: operands and result, workspace, m, n, k, strides.
    fn run(&self, gpu: &Gpu, input: &Input, method: &Self::Method) -> Result<(), CudaError> {
        let Some((kernel, launch)) = method else { return self.fall_back(gpu, input) };
        let matrices = [input.product.a, input.product.b, input.product.c];
        let [a, b, c] = matrices.map(|matrix| Arg::Buffer(matrix.buffer));
        let [m, n, k] = [matrices[0].rows, matrices[1].columns, matrices[0].columns].map(int);
        let [lda, ldb, ldc] = matrices.map(|matrix| Arg::I64(matrix.leading() as i64));
        let partial = Arg::Buffer(self.partial.buffer);
        let tickets = Arg::Buffer(self.tickets.buffer);
        gpu.launch(kernel, launch.grid, &[a, b, c, partial, tickets, m, n, k, lda, ldb, ldc])
    }
}
