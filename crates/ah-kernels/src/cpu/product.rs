//! The runner of `mm` and of `pad_mm` on the processor: two libraries, on one thread or on all; and a product of odd sizes as it
//! is, or padded first.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};

use super::kernels::pad_mm::{self, ALIGNMENT, Padded, Side};
use super::kernels::{MatMul, Threads};
use super::operands::{Operand, Projection};
use super::{clock, operands};
use crate::features::{self, Layout, Padding};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// A way to compute a product.
#[derive(Clone, Copy, Debug)]
enum Product {
    /// By a library, from the operands as they are.
    Plain(MatMul),
    /// From padded operands.
    Padded,
}

/// Measures `mm` or `pad_mm` on the processor.
#[derive(Debug)]
pub(super) struct ProductRunner {
    experiment: Experiment,
    choices: Vec<Product>,
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

fn needs_padding(sizes: &[u64]) -> bool {
    sizes.iter().any(|size| PADDING.length(*size) > 0)
}

impl ProductRunner {
    /// Measures `mm`: of drawn inputs up to about 10 ms on one core.
    pub(super) fn mm(optimization: Optimization) -> Self {
        let choices = MatMul::CHOICES.map(|choice| (choice.name(), Product::Plain(choice)));
        let timing = TimingPolicy { max_samples: 20, budget_ms: 60.0, ..TimingPolicy::default() };
        let new = Self::new(optimization, choices, timing);
        Self { sizes: (1, 2048), max_work: 512 << 20, round: 0.5, ..new }
    }

    /// Measures `pad_mm`: of drawn inputs up to about 1 ms, so that hundreds of them fit a minute.
    pub(super) fn pad_mm(optimization: Optimization) -> Self {
        let orig = Product::Plain(MatMul::Gemm(Threads::One));
        let choices = [("orig".to_owned(), orig), ("pad".to_owned(), Product::Padded)];
        // Both choices are measured to the end: how much padding loses matters too.
        let timing = TimingPolicy {
            max_samples: 25,
            budget_ms: 60.0,
            early_stop_ratio: 10.0,
            ..TimingPolicy::default()
        };
        let new = Self::new(optimization, choices, timing);
        Self { sizes: (4, 1024), max_work: 48 << 20, round: 0.3, pads: true, ..new }
    }

    fn new<const N: usize>(
        optimization: Optimization,
        choices: [(String, Product); N],
        timing: TimingPolicy,
    ) -> Self {
        let (names, choices) = choices.into_iter().unzip();
        let experiment = Experiment { optimization, device: ah_measure::this_cpu(), choices: names, timing };
        let (sizes, max_work, round, memory) = ((1, 1), 1, 0.0, Padded::default());
        Self { experiment, choices, sizes, max_work, round, pads: false, memory }
    }

    fn run(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        let [m, k, n] = input.shape;
        let a = side(&input.a, input.prepadded[0], m, k)?;
        let b = side(&input.b, input.prepadded[1], k, n)?;
        let done = match self.choices[choice.index()] {
            Product::Plain(library) => library.run(a.mat(), b.mat(), &mut input.c),
            Product::Padded => pad_mm::run(a, b, &mut input.c, &mut self.memory),
        };
        done.map_err(Failure::failed)
    }

    /// Returns the checked features of a context.
    fn shape(&self, context: &Context) -> Result<Shape, String> {
        let [m, k, n] = operands::product(context)?;
        let prepadded = ["prepadded_mat1", "prepadded_mat2"]
            .map(|name| self.pads && context.category(name) == Some("True"));
        let strides = |mat: &str, rows: usize, columns: usize, prepadded| {
            let in_memory = |size: usize| if prepadded { size.next_multiple_of(ALIGNMENT) } else { size };
            operands::strides(context, mat, (in_memory(rows), in_memory(columns)))
        };
        let strides = [strides("mat1", m, k, prepadded[0])?, strides("mat2", k, n, prepadded[1])?];
        if self.pads {
            PADDING.check(context, [m, k, n])?;
        }
        Ok(Shape { m, k, n, strides, prepadded })
    }
}

/// The operands, each in padded memory if it is prepadded, and room for the product.
#[derive(Debug)]
pub(super) struct Input {
    shape: [usize; 3],
    a: Operand,
    b: Operand,
    prepadded: [bool; 2],
    c: Vec<f32>,
    projection: Projection,
}

fn side(operand: &Operand, prepadded: bool, rows: usize, cols: usize) -> Result<Side<'_>, Failure> {
    let view = operand.view()?;
    if prepadded { Side::prepadded(view, rows, cols).map_err(Failure::failed) } else { Ok(Side::new(view)) }
}

/// The checked features of a context.
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    strides: [(usize, usize); 2],
    prepadded: [bool; 2],
}

impl BenchmarkRunner for ProductRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let shape = loop {
            let shape = [(); 3].map(|()| sampling::dimension(rng, self.sizes.0, self.sizes.1, self.round));
            // As in PyTorch: if no size needs padding, there is nothing to decide.
            let is_a_question = !self.pads || needs_padding(&shape);
            if is_a_question && shape.iter().product::<u64>() <= self.max_work {
                break shape;
            }
        };
        let [m, k, n] = shape;
        let prepadded =
            [[m, k], [k, n]].map(|sizes| self.pads && needs_padding(&sizes) && sampling::flag(rng, 0.15));
        let mut strides = |rows: u64, columns: u64, prepadded: bool| {
            let in_memory = |size: u64| if prepadded { size + PADDING.length(size) } else { size };
            Layout::draw(rng).strides(in_memory(rows), in_memory(columns))
        };
        let (a, b) = (strides(m, k, prepadded[0]), strides(k, n, prepadded[1]));
        let context = features::product(shape, (a, "torch.float32"), (b, "torch.float32"));
        let context = match self.pads {
            true => PADDING.describe(context, shape, prepadded),
            false => features::with_contiguity(context),
        };
        context.with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.shape(context).map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        features::label(context)
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let Shape { m, k, n, strides, prepadded } = self.shape(context).map_err(Failure::skipped)?;
        let mut operand = |rows: usize, cols: usize, strides, prepadded: bool| {
            if !prepadded {
                return Operand::random(rows, cols, strides, rng);
            }
            let [tall, wide] = [rows, cols].map(|s| s.next_multiple_of(ALIGNMENT));
            let mut operand = Operand::random(tall, wide, strides, rng)?;
            operand.zero_outside(rows, cols);
            Ok(operand)
        };
        let a = operand(m, k, strides[0], prepadded[0])?;
        let b = operand(k, n, strides[1], prepadded[1])?;
        let projection = Projection::new(a.view()?.corner(m, k), b.view()?.corner(k, n), rng);
        Ok(Input { shape: [m, k, n], a, b, prepadded, c: vec![0.0; operands::elements(m, n)?], projection })
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
