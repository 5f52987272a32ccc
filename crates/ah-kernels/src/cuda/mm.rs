//! `mm` on a GPU: cuBLAS as `torch.mm` calls it, cuBLASLt's algorithms one by one, and tensor-core
//! kernels of our own, with PyTorch's features.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

use super::arena::{Allocation, Buffer};
use super::cublas::{Cublas, Matrix, Product};
use super::cublaslt::{Algorithm, CublasLt, Plan};
use super::device::{Gpu, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::kernels::{Half, Launch, Mm, MmProblem, MmTma};
use super::nvrtc::Source;
use super::operands::{Expected, Operands};
use super::shape::Shape;
use super::tensor_map;
use super::workspace::Workspace;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Failure, Subject};

const SOURCE: Source = Source { file: "mm.cu", text: Mm::SOURCE };
const TMA_SOURCE: Source = Source { file: "mm_tma.cu", text: MmTma::SOURCE };

/// cuBLASLt's algorithms that are offered: for 16-bit floats, float32, TF32.
const ALGORITHMS: [usize; 3] = [20, 6, 8];
/// Most multiply-adds of a drawn product: 0.5 ms at 300 TFLOP/s.
const MAX_WORK: u64 = 1 << 36;
/// The same for float32 without TF32, at 50 TFLOP/s.
const MAX_WORK_F32: u64 = 1 << 34;

/// See the [module](self).
pub(super) struct MmRunner {
    subject: Subject,
    algorithms: Vec<Algorithm>,
    gpu: Gpu,
    cublas: Cublas,
    cublaslt: CublasLt,
    operands: Operands,
    workspace: Workspace,
    /// Two maps for each choice that fetches by Hopper's copy engine.
    maps: Allocation,
}

/// How a choice computes the input in hand.
enum Way {
    Cublas,
    CublasLt(Plan),
    Ours(Kernel, Launch),
    /// With the maps of its operands.
    OursTma(Kernel, Launch, Buffer),
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    product: Product,
    expected: Expected,
    /// By choice, once it passed the check.
    ways: Vec<Option<Way>>,
}

impl MmRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let cublaslt = CublasLt::new(&gpu)?;
        let algorithms = cublaslt.survey(ALGORITHMS)?;
        let choices = std::iter::once("extern_mm".to_owned())
            .chain(algorithms.iter().map(ToString::to_string))
            .chain(Mm::choices().iter().map(Mm::name))
            .chain(MmTma::choices().iter().map(MmTma::name))
            .collect();
        let timing = TimingPolicy {
            early_stop_ratio: 1.5,
            budget_ms: 25.0,
            min_samples: 9,
            max_samples: 27,
            ..super::timing()
        };
        Ok(Self {
            subject: super::subject(optimization, &gpu, choices, timing),
            algorithms,
            cublas: Cublas::new(&gpu)?,
            operands: Operands::new(&gpu)?,
            workspace: Workspace::new(&gpu)?,
            maps: Allocation::new(gpu.context(), MmTma::choices().len() * 2 * tensor_map::BYTES)?,
            cublaslt,
            gpu,
        })
    }

    fn way(&self, product: &Product, choice: ChoiceId) -> Result<Way, Failure> {
        let Some(index) = choice.index().checked_sub(1) else { return Ok(Way::Cublas) };
        if let Some(algorithm) = self.algorithms.get(index) {
            return match self.cublaslt.plan(product, algorithm)? {
                Some(plan) => Ok(Way::CublasLt(plan)),
                None => Err(Failure::skipped("cuBLASLt does not support this product by this algorithm")),
            };
        }
        let problem = problem(product)
            .ok_or_else(|| Failure::skipped("our kernels multiply 16-bit floats, the input is float32"))?;
        let index = index - self.algorithms.len();
        match Mm::choices().get(index) {
            Some(ours) => {
                let launch = ours.launch(&problem, &self.gpu.limits()).map_err(super::ineligible)?;
                self.workspace.admits(&launch)?;
                Ok(Way::Ours(self.gpu.kernel(SOURCE, "mm", ours.defines(&problem))?, launch))
            }
            None => self.tma_way(product, &problem, index - Mm::choices().len()),
        }
    }

    fn tma_way(&self, product: &Product, problem: &MmProblem, index: usize) -> Result<Way, Failure> {
        let ours = MmTma::choices()[index];
        let launch = ours.launch(problem, &self.gpu.limits()).map_err(super::ineligible)?;
        self.workspace.admits(&launch)?;
        let kernel = self.gpu.kernel(TMA_SOURCE, "mm_tma", ours.defines(problem))?;
        let maps = self.maps.buffer().from(index * 2 * tensor_map::BYTES);
        let [a, b] = ours.maps(problem);
        tensor_map::write(&self.gpu, &a, product.a.buffer, maps)?;
        tensor_map::write(&self.gpu, &b, product.b.buffer, maps.from(tensor_map::BYTES))?;
        Ok(Way::OursTma(kernel, launch, maps))
    }

    fn run(&self, product: &Product, way: &Way) -> Result<(), CudaError> {
        match way {
            Way::Cublas => self.cublas.product(product),
            Way::CublasLt(plan) => self.cublaslt.run(&self.gpu, product, plan),
            Way::Ours(kernel, launch) => {
                let Product { a, b, c, .. } = product;
                self.workspace.product(
                    &self.gpu,
                    (kernel, launch),
                    [a.buffer, b.buffer, c.buffer],
                    [a.rows, b.columns, a.columns],
                    [a.leading(), b.leading(), c.leading()],
                )
            }
            Way::OursTma(kernel, launch, maps) => {
                let Product { a, b, c, .. } = product;
                let sizes = [a.rows, b.columns, a.columns];
                self.workspace.mapped_product(
                    &self.gpu,
                    (kernel, launch),
                    [*maps, c.buffer],
                    sizes,
                    c.leading(),
                )
            }
        }
    }
}

/// The product as our kernels see it; `None` for what is not 16-bit.
fn problem(product: &Product) -> Option<MmProblem> {
    let Product { a, b, .. } = product;
    Some(MmProblem {
        m: a.rows as u64,
        n: b.columns as u64,
        k: a.columns as u64,
        element: half(product.element)?,
        transposed: [a.is_column_major(), b.is_column_major()],
        strides: [a.leading() as u64, b.leading() as u64],
    })
}

pub(super) fn half(element: Element) -> Option<Half> {
    match element {
        Element::F16 => Some(Half::Float16),
        Element::Bf16 => Some(Half::BFloat16),
        _ => None,
    }
}

impl BenchmarkRunner for MmRunner {
    type Input = Input;

    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// PyTorch's ranges: few rows up to many, inner and outer sizes as models have them, mostly
    /// aligned; half of the inputs in the layout of a linear layer.
    fn draw(&self, rng: &mut Rng) -> Context {
        let element = *sampling::pick(
            rng,
            &[
                Element::F16,
                Element::F16,
                Element::F16,
                Element::Bf16,
                Element::Bf16,
                Element::Bf16,
                Element::F32,
            ],
        );
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
        // An alignment of 8 elements would be lost where m is a leading dimension and odd.
        let m = if a_transposed && !odd { aligned(m) } else { m };
        let strides = |transposed, rows, columns| if transposed { (1, rows) } else { (columns, 1) };
        let (a, b) = (strides(a_transposed, m, k), strides(b_transposed, k, n));
        super::with_tf32(super::product_context([m, k, n], (a, element), (b, element)), element, tf32)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        Shape::of(context)?.alike().map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        crate::layout::label(context)
    }

    fn create_input(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        let shape = Shape::of(context).and_then(Shape::alike).map_err(Failure::skipped)?;
        let Shape { m, k, n, a: element, tf32, .. } = shape;
        let gpu = &self.gpu;
        gpu.enter()?;
        let [a, b, c] = gpu.operands([m * k, k * n, m * n].map(|x| x * element.bytes()))?;
        let a = Matrix { buffer: a, rows: m, columns: k, strides: shape.a_strides };
        let b = Matrix { buffer: b, rows: k, columns: n, strides: shape.b_strides };
        let c = Matrix { buffer: c, rows: m, columns: n, strides: (n, 1) };
        let product = Product { element, tf32, a, b, c };
        if let Some(problem) = problem(&product) {
            let limits = gpu.limits();
            let fit = Mm::choices().iter().filter(|c| c.launch(&problem, &limits).is_ok());
            let fit_tma = MmTma::choices().iter().filter(|c| c.launch(&problem, &limits).is_ok());
            let sources = fit.map(|c| (SOURCE, c.defines(&problem)));
            gpu.prepare(sources.chain(fit_tma.map(|c| (TMA_SOURCE, c.defines(&problem)))).collect());
        }
        self.operands.randomize(gpu, a.buffer, m * k, (element, 1.0), seed)?;
        self.operands.randomize(gpu, b.buffer, k * n, (element, 1.0), seed ^ 1)?;
        let rounding = if tf32 { Element::F16.epsilon() } else { element.epsilon() };
        let expected = self.operands.expect(gpu, (&a, element), (&b, element), rounding, seed)?;
        Ok(Input { product, expected, ways: self.subject.choices.iter().map(|_| None).collect() })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.gpu.enter()?;
        let way = self.way(&input.product, choice)?;
        let Product { c, element, .. } = input.product;
        self.operands.poison(&self.gpu, &c, element)?;
        self.run(&input.product, &way)?;
        let right = self.operands.check(&self.gpu, &c, element, &input.expected);
        if right.is_err() && matches!(way, Way::Ours(..) | Way::OursTma(..)) {
            self.workspace.reset(&self.gpu)?;
        }
        right?;
        input.ways[choice.index()] = Some(way);
        Ok(())
    }

    fn run_benchmark(
        &mut self,
        input: &mut Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        self.gpu.enter()?;
        let way = input.ways[choice.index()]
            .as_ref()
            .ok_or_else(|| Failure::failed("timed before it was checked"))?;
        self.gpu.time(burst, || self.run(&input.product, way))
    }
}

/// To a multiple of 8, or of a power of two that is small beside the size.
fn aligned(size: u64) -> u64 {
    let unit = if size >= 2048 { 64 } else { 8 };
    size.next_multiple_of(unit)
}
