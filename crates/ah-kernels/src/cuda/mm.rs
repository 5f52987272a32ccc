//! `mm` on a GPU: cuBLAS as `torch.mm` calls it, single algorithms of cuBLASLt, and tensor-core kernels of
//! our own, with PyTorch's features.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

use super::cublas::{Cublas, Matrix, Product};
use super::cublaslt::{Algorithm, CublasLt, PlannedProduct};
use super::device::{Gpu, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::experiment;
use super::kernels::{Launch, Mm, MmProblem};
use super::nvrtc::Source;
use super::operands::{GUARD, Operands, ProductReference};
use super::shape::{self, Shape};
use super::workspace::Workspace;
use crate::features::{self, Layout};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

const SOURCE: Source = Source::shipped("mm.cu", Mm::SOURCE);

/// The number of cuBLASLt's algorithms to offer: for 16-bit floats, float32, TF32.
const ALGORITHMS: [usize; 3] = [20, 6, 8];
/// Most multiply-adds of a drawn product: 0.5 ms at 300 TFLOP/s.
const MAX_WORK: u64 = 1 << 36;
/// The same for float32 without TF32, at 50 TFLOP/s.
const MAX_WORK_F32: u64 = 1 << 34;

/// Measures `mm` on a GPU.
pub(super) struct MmRunner {
    experiment: Experiment,
    algorithms: Vec<Algorithm>,
    gpu: Gpu,
    cublas: Cublas,
    cublaslt: CublasLt,
    operands: Operands,
    workspace: Workspace,
}

/// How a choice computes one input.
enum Method {
    Cublas,
    CublasLt(PlannedProduct),
    Ours(Kernel, Launch),
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    product: Product,
    expected: ProductReference,
}

impl MmRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let cublaslt = CublasLt::new(&gpu)?;
        let algorithms = cublaslt.survey(ALGORITHMS)?;
        let choices = std::iter::once("extern_mm".to_owned())
            .chain(algorithms.iter().map(ToString::to_string))
            .chain(Mm::choices().iter().map(Mm::name))
            .collect();
        let timing = TimingPolicy { budget_ms: 25.0, ..experiment::timing() };
        Ok(Self {
            experiment: experiment::experiment(optimization, &gpu, choices, timing),
            algorithms,
            cublas: Cublas::new(&gpu)?,
            operands: Operands::new(&gpu)?,
            workspace: Workspace::new(&gpu)?,
            cublaslt,
            gpu,
        })
    }

    fn method(&self, product: &Product, choice: ChoiceId) -> Result<Method, Failure> {
        let Some(index) = choice.index().checked_sub(1) else { return Ok(Method::Cublas) };
        if let Some(algorithm) = self.algorithms.get(index) {
            return match self.cublaslt.plan(product, algorithm)? {
                Some(plan) => Ok(Method::CublasLt(plan)),
                None => Err(Failure::skipped("cuBLASLt does not support this product by this algorithm")),
            };
        }
        let problem = problem(product)
            .ok_or_else(|| Failure::skipped("our kernels multiply 16-bit floats, the input is float32"))?;
        let ours = Mm::choices()[index - self.algorithms.len()];
        let launch = ours.launch(&problem, &self.gpu.limits())?;
        self.workspace.admits(&launch)?;
        Ok(Method::Ours(self.gpu.kernel(SOURCE, "mm", ours.defines(&problem))?, launch))
    }

    fn run(&self, product: &Product, method: &Method) -> Result<(), CudaError> {
        match method {
            Method::Cublas => self.cublas.product(product),
            Method::CublasLt(plan) => self.cublaslt.run(&self.gpu, product, plan),
            Method::Ours(kernel, launch) => {
                self.workspace.product(&self.gpu, (kernel, launch), [&product.a, &product.b, &product.c])
            }
        }
    }
}

/// Describes the product to our kernels; `None` if it is not 16-bit.
fn problem(product: &Product) -> Option<MmProblem> {
    let Product { a, b, .. } = product;
    Some(MmProblem {
        m: a.rows as u64,
        n: b.columns as u64,
        k: a.columns as u64,
        element: product.element.half()?,
        transposed: [a.is_column_major(), b.is_column_major()],
    })
}

impl BenchmarkRunner for MmRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Draws from PyTorch's ranges: few to many rows, inner and outer sizes as in models, mostly aligned.
    /// Half of the inputs have the layout of a linear layer.
    fn draw(&self, rng: &mut Rng) -> Context {
        let (f16, bf16) = (Element::F16, Element::Bf16);
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
            let (k, n) = (side(rng), side(rng));
            if m * k * n <= max_work && m * k * n >= 1 << 22 {
                break [m, k, n];
            }
        };
        let layouts = [(false, true), (false, true), (false, false), (true, false)];
        let (a_transposed, b_transposed) = *sampling::pick(rng, &layouts);
        // An odd m as leading dimension would break the alignment to 8 elements.
        let m = if a_transposed && !odd { aligned(m) } else { m };
        let a = Layout::transposed(a_transposed).strides(m, k);
        let b = Layout::transposed(b_transposed).strides(k, n);
        let context = shape::context([m, k, n], (a, element), (b, element));
        shape::with_tf32(features::with_contiguity(context), element, tf32)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        Shape::of_floats(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        let shape = Shape::of_floats(context).map_err(Failure::skipped)?;
        let Shape { m, k, n, a: element, tf32, .. } = shape;
        let gpu = &self.gpu;
        gpu.enter()?;
        let [a, b, c] = [m * k, k * n, m * n].map(|x| x * element.bytes());
        let [a, b, c] = gpu.operands([a, b, c + GUARD])?;
        let a = Matrix { buffer: a, rows: m, columns: k, strides: shape.a_strides };
        let b = Matrix { buffer: b, rows: k, columns: n, strides: shape.b_strides };
        let c = Matrix::row_major(c, m, n);
        let product = Product { element, tf32, a, b, c };
        if let Some(problem) = problem(&product) {
            let limits = gpu.limits();
            let fit = Mm::choices().iter().filter(|c| c.launch(&problem, &limits).is_ok());
            gpu.prepare(fit.map(|c| (SOURCE, c.defines(&problem))).collect());
        }
        let expected = self.operands.product(gpu, (&a, element), (&b, element), tf32, seed)?;
        Ok(Input { product, expected })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.gpu.enter()?;
        let method = self.method(&input.product, choice)?;
        let Product { c, element, .. } = input.product;
        self.operands.poison(&self.gpu, &c, element)?;
        self.run(&input.product, &method)?;
        let right = self.operands.check(&self.gpu, &c, element, &input.expected);
        if right.is_err() && matches!(method, Method::Ours(..)) {
            self.workspace.reset(&self.gpu)?;
        }
        right
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.gpu.enter()?;
        let method = self.method(&input.product, choice)?;
        self.gpu.time(burst, || self.run(&input.product, &method))
    }
}

#[cfg(test)]
impl super::products::ProductRunner for MmRunner {
    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn matrices(&self, input: &Input, _: ChoiceId) -> [(Matrix, Element); 3] {
        let Product { a, b, c, element, .. } = input.product;
        [a, b, c].map(|matrix| (matrix, element))
    }
}

/// Rounds to a multiple of 8, or of a power of two that is small beside the size.
fn aligned(size: u64) -> u64 {
    let unit = if size >= 2048 { 64 } else { 8 };
    size.next_multiple_of(unit)
}
