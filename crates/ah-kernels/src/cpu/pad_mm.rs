//! The runner of `pad_mm` on the processor: a product of odd sizes as it is, or padded first.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};

use super::kernels::pad_mm::{ALIGNMENT, PadMm, Padded, Side};
use super::operands::{Operand, Projection};
use super::{clock, operands};
use crate::features::{self, Layout, Padding};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// Least and greatest size of a drawn dimension.
const SIZES: (u64, u64) = (4, 1024);
/// Most multiply-adds in a drawn input: about 1 ms, so that hundreds of inputs fit a minute.
const MAX_WORK: u64 = 48 << 20;

/// Measures `pad_mm` on the processor.
#[derive(Debug)]
pub(super) struct PadMmRunner {
    experiment: Experiment,
    memory: Padded,
}

impl PadMmRunner {
    pub(super) fn new(optimization: Optimization) -> Self {
        // Both choices are measured to the end: how much padding loses matters too.
        let timing = TimingPolicy {
            max_samples: 25,
            budget_ms: 60.0,
            early_stop_ratio: 10.0,
            ..TimingPolicy::default()
        };
        let choices = PadMm::CHOICES.into_iter().map(|c| c.name().to_owned()).collect();
        let experiment = Experiment { optimization, device: ah_measure::this_cpu(), choices, timing };
        Self { experiment, memory: Padded::default() }
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

impl Input {
    fn run(&mut self, choice: ChoiceId, memory: &mut Padded) -> Result<(), Failure> {
        let [m, k, n] = self.shape;
        let a = side(&self.a, self.prepadded[0], m, k)?;
        let b = side(&self.b, self.prepadded[1], k, n)?;
        PadMm::CHOICES[choice.index()].run(a, b, &mut self.c, memory).map_err(Failure::failed)
    }
}

fn side(operand: &Operand, prepadded: bool, rows: usize, cols: usize) -> Result<Side<'_>, Failure> {
    let view = operand.view()?;
    if prepadded { Side::prepadded(view, rows, cols).map_err(Failure::failed) } else { Ok(Side::new(view)) }
}

/// The padding of the kernels here, which a size of 1 gets too.
const PADDING: Padding = Padding { alignment: ALIGNMENT as u64, keeps_one: false };

impl BenchmarkRunner for PadMmRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let needs_padding = |sizes: &[u64]| sizes.iter().any(|size| PADDING.length(*size) > 0);
        let shape = loop {
            let shape = [(); 3].map(|()| sampling::dimension(rng, SIZES.0, SIZES.1, 0.3));
            // As in PyTorch: if no size needs padding, there is nothing to decide.
            if needs_padding(&shape) && shape.iter().product::<u64>() <= MAX_WORK {
                break shape;
            }
        };
        let [m, k, n] = shape;
        let prepadded = [[m, k], [k, n]].map(|sizes| needs_padding(&sizes) && sampling::flag(rng, 0.15));
        let mut strides = |rows: u64, columns: u64, prepadded: bool| {
            let in_memory = |size: u64| if prepadded { size + PADDING.length(size) } else { size };
            Layout::draw(rng).strides(in_memory(rows), in_memory(columns))
        };
        let (a, b) = (strides(m, k, prepadded[0]), strides(k, n, prepadded[1]));
        let context = features::product([m, k, n], (a, "torch.float32"), (b, "torch.float32"));
        PADDING.describe(context, [m, k, n], prepadded).with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        Shape::of(context).map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        features::label(context)
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let Shape { m, k, n, strides, prepadded } = Shape::of(context).map_err(Failure::skipped)?;
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
        input.run(choice, &mut self.memory)?;
        input.projection.check(&input.c)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        clock::time(burst, || input.run(choice, &mut self.memory))
    }
}

/// The checked features of a context.
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    strides: [(usize, usize); 2],
    prepadded: [bool; 2],
}

impl Shape {
    fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = operands::product(context)?;
        let prepadded =
            ["prepadded_mat1", "prepadded_mat2"].map(|name| context.category(name) == Some("True"));
        let strides = |mat: &str, rows: usize, columns: usize, prepadded| {
            let in_memory = |size: usize| if prepadded { size.next_multiple_of(ALIGNMENT) } else { size };
            operands::strides(context, mat, (in_memory(rows), in_memory(columns)))
        };
        let strides = [strides("mat1", m, k, prepadded[0])?, strides("mat2", k, n, prepadded[1])?];
        PADDING.check(context, [m, k, n])?;
        Ok(Self { m, k, n, strides, prepadded })
    }
}
