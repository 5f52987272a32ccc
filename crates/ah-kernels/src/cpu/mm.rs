//! The runner of `mm` on the processor: two libraries, on one thread or on all.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};

use super::clock;
use super::kernels::MatMul;
use super::operands::{self, Operand, Projection};
use crate::features::{self, Layout};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// Least and greatest size of a drawn dimension.
const SIZES: (u64, u64) = (1, 2048);
/// Most multiply-adds in a drawn input: about 10 ms on one core.
const MAX_WORK: u64 = 512 << 20;

/// Measures `mm` on the processor.
#[derive(Debug)]
pub(super) struct MmRunner {
    experiment: Experiment,
}

impl MmRunner {
    pub(super) fn new(optimization: Optimization) -> Self {
        let experiment = Experiment {
            optimization,
            device: ah_measure::this_cpu(),
            choices: MatMul::CHOICES.iter().map(MatMul::name).collect(),
            timing: TimingPolicy { max_samples: 20, budget_ms: 60.0, ..TimingPolicy::default() },
        };
        Self { experiment }
    }
}

/// The operands, and room for the product.
#[derive(Debug)]
pub(super) struct Input {
    a: Operand,
    b: Operand,
    c: Vec<f32>,
    projection: Projection,
}

impl Input {
    fn run(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        let choice = MatMul::CHOICES[choice.index()];
        choice.run(self.a.view()?, self.b.view()?, &mut self.c).map_err(Failure::failed)
    }
}

impl BenchmarkRunner for MmRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let [m, k, n] = loop {
            let shape = [(); 3].map(|()| sampling::dimension(rng, SIZES.0, SIZES.1, 0.5));
            if shape.iter().product::<u64>() <= MAX_WORK {
                break shape;
            }
        };
        let (a, b) = (Layout::draw(rng).strides(m, k), Layout::draw(rng).strides(k, n));
        let context = features::product([m, k, n], (a, "torch.float32"), (b, "torch.float32"));
        features::with_contiguity(context).with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        Shape::of(context).map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        features::label(context)
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let Shape { m, k, n, strides } = Shape::of(context).map_err(Failure::skipped)?;
        let a = Operand::random(m, k, strides.0, rng)?;
        let b = Operand::random(k, n, strides.1, rng)?;
        let projection = Projection::new(a.view()?, b.view()?, rng);
        Ok(Input { a, b, c: vec![0.0; operands::elements(m, n)?], projection })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.c.fill(f32::NAN);
        input.run(choice)?;
        input.projection.check(&input.c)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        clock::time(burst, || input.run(choice))
    }
}

/// The checked features of a context.
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    strides: ((usize, usize), (usize, usize)),
}

impl Shape {
    fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = operands::product(context)?;
        let strides =
            (operands::strides(context, "mat1", (m, k))?, operands::strides(context, "mat2", (k, n))?);
        Ok(Self { m, k, n, strides })
    }
}
