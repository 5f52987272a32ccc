//! `mixed_mm` on a GPU: 16-bit activations times 8-bit weights, with PyTorch's features. The fallback
//! converts the weights and calls cuBLAS; our kernels convert while they multiply.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

use super::argument::Arg;
use super::cublas::{Cublas, Matrix, Product};
use super::device::{Gpu, Grid, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::experiment;
use super::kernels::{Launch, MixedMm, MixedMmProblem};
use super::nvrtc::Source;
use super::operands::{GUARD, Operands, ProductReference};
use super::shape::{self, Shape};
use super::workspace::Workspace;
use crate::features;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

const SOURCE: Source = Source::shipped("mixed_mm.cu", MixedMm::SOURCE);
const CONVERT: Source = Source::shipped("convert.cu", include_str!("convert.cu"));

/// Measures `mixed_mm` on a GPU.
pub(super) struct MixedMmRunner {
    experiment: Experiment,
    /// By name, for weights whose rows (first) or columns (second) are contiguous.
    ours: BTreeMap<String, [Option<MixedMm>; 2]>,
    gpu: Gpu,
    cublas: Cublas,
    operands: Operands,
    workspace: Workspace,
    convert: Kernel,
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    problem: MixedMmProblem,
    element: Element,
    weights: Element,
    a: Matrix,
    b: Matrix,
    /// The weights in the type of the activations; the fallback writes them.
    converted: Matrix,
    c: Matrix,
    expected: ProductReference,
}

impl MixedMmRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let mut ours: BTreeMap<String, [Option<MixedMm>; 2]> = BTreeMap::new();
        for transposed in [false, true] {
            for choice in MixedMm::choices(transposed) {
                ours.entry(choice.name(transposed)).or_default()[usize::from(transposed)] = Some(*choice);
            }
        }
        let choices =
            std::iter::once("extern_fallback_mixed_mm".to_owned()).chain(ours.keys().cloned()).collect();
        let timing = TimingPolicy { budget_ms: 20.0, ..experiment::timing() };
        Ok(Self {
            experiment: experiment::experiment(optimization, &gpu, choices, timing),
            ours,
            cublas: Cublas::new(&gpu)?,
            operands: Operands::new(&gpu)?,
            workspace: Workspace::new(&gpu)?,
            convert: gpu.kernel(CONVERT, "convert", Vec::new())?,
            gpu,
        })
    }

    /// PyTorch's fallback: `torch.mm(mat1, mat2.to(mat1.dtype))`.
    fn fall_back(&self, input: &Input) -> Result<(), CudaError> {
        let count = input.b.rows * input.b.columns;
        let args = [
            Arg::Buffer(input.b.buffer),
            Arg::Buffer(input.converted.buffer),
            Arg::U64(count as u64),
            Arg::I32(i32::from(input.weights == Element::I8)),
            Arg::I32(i32::from(input.element == Element::Bf16)),
        ];
        self.gpu.launch(&self.convert, Grid::of(count.div_ceil(16 * 256), 256), &args)?;
        let Input { element, a, converted: b, c, .. } = *input;
        self.cublas.product(&Product { element, tf32: false, a, b, c })
    }

    /// Returns the kernel of a choice; `None` for the fallback.
    fn kernel(&self, input: &Input, choice: ChoiceId) -> Result<Option<(Kernel, Launch)>, Failure> {
        if choice.0 == 0 {
            return Ok(None);
        }
        let transposed = input.problem.transposed;
        let ours = self.ours[&self.experiment.choices[choice.index()]][usize::from(transposed)]
            .ok_or_else(|| Failure::skipped("a configuration for the other layout of the weights"))?;
        let launch = ours.launch(&input.problem, &self.gpu.limits())?;
        self.workspace.admits(&launch)?;
        Ok(Some((self.gpu.kernel(SOURCE, "mixed_mm", ours.defines(&input.problem))?, launch)))
    }

    fn run(&self, input: &Input, kernel: Option<&(Kernel, Launch)>) -> Result<(), CudaError> {
        let Some((kernel, launch)) = kernel else { return self.fall_back(input) };
        let Input { a, b, c, .. } = input;
        self.workspace.product(&self.gpu, (kernel, launch), [a, b, c])
    }
}

impl BenchmarkRunner for MixedMmRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Draws from PyTorch's ranges (m up to 128, k and n from 1024 up), with its strides: the weights are
    /// n×k in memory.
    fn draw(&self, rng: &mut Rng) -> Context {
        let element = *sampling::pick(rng, &[Element::F16, Element::Bf16]);
        let weights = *sampling::pick(rng, &[Element::I8, Element::I8, Element::I8, Element::U8]);
        let m = match rng_octave(rng) {
            0..=3 => sampling::log_uniform(rng, 1, 128),
            octave => 1 << (octave - 4),
        };
        let [k, n] = loop {
            let side = |rng: &mut Rng| {
                let unit = if sampling::flag(rng, 0.2) { 16 } else { 128 };
                sampling::log_uniform(rng, 1024, 32768).next_multiple_of(unit)
            };
            let (k, n) = (side(rng), side(rng));
            if k * n <= 1 << 29 {
                break [k, n];
            }
        };
        features::with_contiguity(shape::context([m, k, n], ((k, 1), element), ((1, k), weights)))
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        let shape = Shape::of(context)?;
        if shape.a.half().is_none() || !matches!(shape.b, Element::I8 | Element::U8) {
            return Err(format!(
                "expected float16 or bfloat16 times int8 or uint8, found {} and {}",
                shape.a.torch(),
                shape.b.torch()
            ));
        }
        if shape.a_strides.1 != 1 {
            return Err("the activations must be contiguous, row by row".to_owned());
        }
        if shape.m > 128 {
            return Err(format!("m may be at most 128, found {}", shape.m));
        }
        Ok(())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        self.accepts(context).map_err(Failure::skipped)?;
        let shape = Shape::of(context).map_err(Failure::skipped)?;
        let Shape { m, k, n, a: element, b: weights, .. } = shape;
        let activations = element.half().ok_or_else(|| Failure::skipped("the activations are not 16-bit"))?;
        let gpu = &self.gpu;
        gpu.enter()?;
        let [a, b, converted, c] = gpu.operands([m * k * 2, k * n, k * n * 2, m * n * 2 + GUARD])?;
        let a = Matrix::row_major(a, m, k);
        let b = Matrix { buffer: b, rows: k, columns: n, strides: shape.b_strides };
        let problem = MixedMmProblem {
            m: m as u64,
            n: n as u64,
            k: k as u64,
            activations,
            signed: weights == Element::I8,
            transposed: b.is_column_major(),
        };
        let fit =
            MixedMm::choices(problem.transposed).iter().filter(|c| c.launch(&problem, &gpu.limits()).is_ok());
        gpu.prepare(fit.map(|c| (SOURCE, c.defines(&problem))).collect());
        Ok(Input {
            problem,
            element,
            weights,
            expected: self.operands.product(gpu, (&a, element), (&b, weights), false, seed)?,
            a,
            b,
            converted: Matrix { buffer: converted, ..b },
            c: Matrix::row_major(c, m, n),
        })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.gpu.enter()?;
        let kernel = self.kernel(input, choice)?;
        self.operands.poison(&self.gpu, &input.c, input.element)?;
        self.run(input, kernel.as_ref())?;
        let right = self.operands.check(&self.gpu, &input.c, input.element, &input.expected);
        if right.is_err() {
            self.workspace.reset(&self.gpu)?;
        }
        right
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.gpu.enter()?;
        let kernel = self.kernel(input, choice)?;
        self.gpu.time(burst, || self.run(input, kernel.as_ref()))
    }
}

#[cfg(test)]
impl super::products::ProductRunner for MixedMmRunner {
    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn matrices(&self, input: &Input, _: ChoiceId) -> [(Matrix, Element); 3] {
        [(input.a, input.element), (input.b, input.weights), (input.c, input.element)]
    }
}

/// Returns 0 to 11: 0 to 3 mean any m, 4 to 11 the powers of two from 1 to 128.
fn rng_octave(rng: &mut Rng) -> u32 {
    *sampling::pick(rng, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
}
