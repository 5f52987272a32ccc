//! The runner of `mm` and of `pad_mm` on the processor: two libraries, on one thread or on all; and a product of odd sizes as it
//! is, or padded first.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};

use super::clock;
use super::kernels::pad_mm::{self, ALIGNMENT, PRODUCT, Padded};
use super::kernels::{KernelError, MatMul, MatRef};
use super::operands::{LARGEST, Projection, elements, random, size};
use crate::features::{self, Layout, Padding};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// Measures `mm` or `pad_mm` on the processor.
#[derive(Debug)]
pub(super) struct ProductRunner {
    experiment: Experiment,
    /// The library of each choice; `None` pads first.
    choices: Vec<Option<MatMul>>,
    /// Least and greatest size of a drawn dimension.
    sizes: (u64, u64),
    /// Most multiply-adds in a drawn input.
    max_work: u64,
    /// The share of drawn dimensions that are round.
    round: f64,
    /// Whether padding is the question.
    pads: bool,
    memory: Padded,
}

/// The padding of the kernels here, which a size of 1 gets too.
const PADDING: Padding = Padding { alignment: ALIGNMENT as u64, keeps_one: false };

impl ProductRunner {
    /// Measures `mm`: of drawn inputs up to about 10 ms on one core.
    pub(super) fn mm(optimization: Optimization) -> Self {
        let timing = TimingPolicy { max_samples: 20, budget_ms: 60.0, ..TimingPolicy::default() };
        let names = MatMul::CHOICES.iter().map(MatMul::name).collect();
        Self {
            experiment: Experiment { optimization, device: ah_measure::this_cpu(), choices: names, timing },
            choices: MatMul::CHOICES.map(Some).to_vec(),
            sizes: (1, 2048),
            max_work: 512 << 20,
            round: 0.5,
            pads: false,
            memory: Padded::default(),
        }
    }

    /// Measures `pad_mm`: of drawn inputs up to about 1 ms, so that hundreds of them fit a minute.
    pub(super) fn pad_mm(optimization: Optimization) -> Self {
        let mut new = Self::mm(optimization);
        new.experiment.choices = ["orig", "pad"].map(str::to_owned).to_vec();
        // Both choices are measured to the end: how much padding loses matters too.
        new.experiment.timing.max_samples = 25;
        new.experiment.timing.early_stop_ratio = 10.0;
        let choices = vec![Some(PRODUCT), None];
        Self { choices, sizes: (4, 1024), max_work: 48 << 20, round: 0.3, pads: true, ..new }
    }

    fn run(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        let Input { shape, a, b, c, .. } = input;
        let [a, b] = shape.views(a, b)?;
        let done = match self.choices[choice.index()] {
            Some(library) => library.run(a, b, c),
            None => pad_mm::run(a, b, c, &mut self.memory),
        };
        done.map_err(Failure::failed)
    }

    /// Returns the checked features of a context.
    fn shape(&self, context: &Context) -> Result<Shape, String> {
        let of_all =
            [("mat1_dtype", "torch.float32"), ("mat2_dtype", "torch.float32"), ("using_tf32", "False")];
        let of_padding = [("prepadded_mat1", "False"), ("prepadded_mat2", "False")].into_iter();
        for (name, expected) in of_all.into_iter().chain(of_padding.filter(|_| self.pads)) {
            let found = context.category(name).unwrap_or_default();
            if found != expected {
                return Err(format!("on a CPU {name} must be {expected}, found {found:?}"));
            }
        }
        let sizes @ [m, k, n] = [size(context, "m")?, size(context, "k")?, size(context, "n")?];
        if self.pads {
            PADDING.check(context, sizes.map(|size| size as u64))?;
        }
        let strides = |mat: &str, size| features::strides(context, mat, size, LARGEST);
        Ok(Shape { sizes, strides: [strides("mat1", (m, k))?, strides("mat2", (k, n))?] })
    }
}

/// The checked features of a context: m, k and n, and the strides of both operands.
#[derive(Debug)]
struct Shape {
    sizes: [usize; 3],
    strides: [(usize, usize); 2],
}

impl Shape {
    fn views<'a>(&self, a: &'a [f32], b: &'a [f32]) -> Result<[MatRef<'a>; 2], Failure> {
        let [m, k, n] = self.sizes;
        let view = |data, rows, cols, strides| {
            MatRef::new(data, rows, cols, strides).map_err(|e: KernelError| Failure::failed(e))
        };
        Ok([view(a, m, k, self.strides[0])?, view(b, k, n, self.strides[1])?])
    }
}

/// The operands, and room for the product.
#[derive(Debug)]
pub(super) struct Input {
    shape: Shape,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    projection: Projection,
}

impl BenchmarkRunner for ProductRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let shape @ [m, k, n] = loop {
            let shape = [(); 3].map(|()| sampling::dimension(rng, self.sizes.0, self.sizes.1, self.round));
            // As in PyTorch: if no size needs padding, there is nothing to decide.
            let is_a_question = !self.pads || shape.iter().any(|size| PADDING.length(*size) > 0);
            if is_a_question && shape.iter().product::<u64>() <= self.max_work {
                break shape;
            }
        };
        let (a, b) = (Layout::draw(rng).strides(m, k), Layout::draw(rng).strides(k, n));
        let context = features::product(shape, (a, "torch.float32"), (b, "torch.float32"));
        let context = match self.pads {
            true => PADDING.describe(context, shape, [false; 2]),
            false => features::with_contiguity(context),
        };
        context.with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.shape(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let shape = self.shape(context).map_err(Failure::skipped)?;
        let [m, k, n] = shape.sizes;
        let (a, b) = (random(m, k, 1.0, rng)?, random(k, n, 1.0, rng)?);
        let [left, right] = shape.views(&a, &b)?;
        let projection = Projection::new(left, right, rng);
        Ok(Input { a, b, shape, c: vec![0.0; elements(m, n)?], projection })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.c.fill(f32::NAN);
        self.run(input, choice)?;
        input.projection.check(&input.c)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        clock::time(burst, || self.run(input, choice))
    }
}
