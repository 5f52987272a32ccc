//! `mm` on a GPU: cuBLAS as `torch.mm` calls it, and single algorithms of cuBLASLt, with PyTorch's features.
//!
//! 28 tensor-core kernels of our own were choices too. They won on 3 % of the inputs in `data/mm`, and without them the
//! best choices take 0.2 % longer.

use ah_model::Context;
use ah_types::{Optimization, TimingPolicy};

use super::clock;
use super::cublas::Cublas;
use super::cublaslt::{Algorithm, CublasLt, PlannedProduct};
use super::device::Gpu;
use super::element::Element;
use super::error::CudaError;
use super::product::Product;
use super::product_runner::{Input, Operation, ProductRunner};
use crate::features;
use ah_measure::Failure;
use ah_measure::sampling::{self, Rng};

/// The number of cuBLASLt's algorithms to offer: for 16-bit floats, float32, TF32.
const ALGORITHMS: [usize; 3] = [20, 6, 8];
/// Most multiply-adds of a drawn product: 0.5 ms at 300 TFLOP/s.
const MAX_WORK: u64 = 1 << 36;
/// The same for float32 without TF32, at 50 TFLOP/s.
const MAX_WORK_F32: u64 = 1 << 34;

/// The choices of `mm` on a GPU.
pub(super) struct MmOperation {
    algorithms: Vec<Algorithm>,
    cublas: Cublas,
    cublaslt: CublasLt,
}

/// The runner of `mm`.
pub(super) fn runner(optimization: Optimization, gpu: Gpu) -> Result<ProductRunner<MmOperation>, CudaError> {
    let cublaslt = CublasLt::new(&gpu)?;
    let algorithms = cublaslt.survey(ALGORITHMS)?;
    let choices =
        std::iter::once("extern_mm".to_owned()).chain(algorithms.iter().map(ToString::to_string)).collect();
    let timing = TimingPolicy { budget_ms: 25.0, ..clock::policy() };
    let operation = MmOperation { algorithms, cublas: Cublas::new(&gpu)?, cublaslt };
    ProductRunner::new(optimization, gpu, choices, timing, operation)
}

impl Operation for MmOperation {
    /// `None`: cuBLAS.
    type Method = Option<PlannedProduct>;

    /// Draws from PyTorch's ranges: few to many rows, inner and outer sizes as in models, mostly aligned.
    /// Half of the inputs have the layout of a linear layer.
    fn draw(&self, _: &Gpu, rng: &mut Rng) -> Context {
        let f16 = Element::F16;
        let bf16 = Element::Bf16;
        let element = *sampling::pick(rng, &[f16, f16, f16, bf16, bf16, bf16, Element::F32]);
        let tf32 = element == Element::F32 && sampling::flag(rng, 0.7);
        let max_work = if element == Element::F32 && !tf32 { MAX_WORK_F32 } else { MAX_WORK };
        let odd = sampling::flag(rng, 0.06);
        let [m, k, n] = loop {
            let m = if odd {
                sampling::log_uniform(rng, 1, 16384)
            } else {
                sampling::dimension(rng, 1, 16384, 0.5)
            };
            let side = |rng: &mut Rng| {
                let size = sampling::log_uniform(rng, 128, 32768);
                if odd { size | 1 } else { aligned(size) }
            };
            let k = side(rng);
            let n = side(rng);
            if m * k * n <= max_work && m * k * n >= 1 << 22 {
                break [m, k, n];
            }
        };
        let layouts = [(false, true), (false, true), (false, false), (true, false)];
        let (a_transposed, b_transposed) = *sampling::pick(rng, &layouts);
        // An odd m as leading dimension would break the alignment to 8 elements.
        let m = if a_transposed && !odd { aligned(m) } else { m };
        let product = Product::dense([m, k, n], [a_transposed, b_transposed], [element; 2], tf32);
        product.with_tf32(features::with_contiguity(product.context()))
    }

    fn product(&self, context: &Context) -> Result<Product, String> {
        Product::of_floats(context)
    }

    fn method(&self, _: &Gpu, Input { product, .. }: &Input, choice: usize) -> Result<Self::Method, Failure> {
        let Some(index) = choice.checked_sub(1) else { return Ok(None) };
        let plan = self.cublaslt.plan(product, &self.algorithms[index])?;
        let refused = || Failure::skipped("cuBLASLt does not support this product by this algorithm");
        plan.map(Some).ok_or_else(refused)
    }

    fn run(&self, gpu: &Gpu, Input { product, .. }: &Input, plan: &Self::Method) -> Result<(), CudaError> {
        match plan {
            None => self.cublas.product(product),
            Some(plan) => self.cublaslt.run(gpu, product, plan),
        }
    }
}

/// Rounds to a multiple of 8, or of a power of two that is small beside the size.
fn aligned(size: u64) -> u64 {
    let unit = if size >= 2048 { 64 } else { 8 };
    size.next_multiple_of(unit)
}
