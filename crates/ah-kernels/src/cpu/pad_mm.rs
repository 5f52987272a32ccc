//! `pad_mm` on the processor: a product of odd sizes as it is, or padded to the vector width first.

use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};

use super::kernels::pad_mm::{PadMm, Side, alignment};
use super::kernels::{MatMut, Scratch};
use super::operands::{Operand, Projection};
use super::{clock, operands};
use crate::layout::Layout;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Failure, Subject};

/// Sizes drawn: from one vector up, to where a product takes some milliseconds.
const SIZES: (u64, u64) = (4, 1024);
/// Most multiply-adds in a drawn input: about 3 ms, so that hundreds of inputs fit a minute.
const MAX_WORK: u64 = 48 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct PadMmRunner {
    subject: Subject,
    scratch: Scratch,
}

impl PadMmRunner {
    pub(super) fn new(optimization: Optimization) -> Self {
        // The two choices are often within a factor of 1.5, so both are always measured to the end.
        let timing = TimingPolicy {
            max_samples: 25,
            budget_ms: 60.0,
            early_stop_ratio: 10.0,
            ..TimingPolicy::default()
        };
        let choices = PadMm::CHOICES.into_iter().map(|c| c.name().to_owned()).collect();
        let subject = Subject { optimization, device: ah_measure::this_cpu(), choices, timing };
        Self { subject, scratch: Scratch::default() }
    }
}

/// A and B, each in memory with room for its padding where it is prepadded.
#[derive(Debug)]
pub(super) struct Input {
    shape: [usize; 3],
    a: Operand,
    b: Operand,
    prepadded: (bool, bool),
    c: Vec<f32>,
    projection: Projection,
}

impl Input {
    fn run(&mut self, choice: PadMm, scratch: &mut Scratch) -> Result<(), Failure> {
        let [m, k, n] = self.shape;
        let a = side(&self.a, self.prepadded.0, m, k)?;
        let b = side(&self.b, self.prepadded.1, k, n)?;
        let mut c = MatMut::row_major(&mut self.c, m, n).map_err(Failure::failed)?;
        choice.run(a, b, &mut c, scratch).map_err(Failure::failed)
    }
}

fn side(operand: &Operand, prepadded: bool, rows: usize, cols: usize) -> Result<Side<'_>, Failure> {
    let view = operand.view()?;
    if prepadded { Side::prepadded(view, rows, cols).map_err(Failure::failed) } else { Ok(Side::new(view)) }
}

fn padded_length(size: u64) -> u64 {
    size.next_multiple_of(alignment() as u64) - size
}

impl BenchmarkRunner for PadMmRunner {
    type Input = Input;

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let shape = loop {
            let shape = [(); 3].map(|()| sampling::dimension(rng, SIZES.0, SIZES.1, 0.3));
            // As in PyTorch: where nothing needs padding there is nothing to decide.
            if shape.iter().any(|s| padded_length(*s) > 0) && shape.iter().product::<u64>() <= MAX_WORK {
                break shape;
            }
        };
        let [m, k, n] = shape;
        let mut prepad =
            |rows, cols| padded_length(rows) + padded_length(cols) > 0 && sampling::flag(rng, 0.15);
        let prepadded = (prepad(m, k), prepad(k, n));
        let layouts = (Layout::draw(rng), Layout::draw(rng));
        let leading = |layout: Layout, rows: u64, cols: u64, padded: bool| {
            let grow = |s: u64| if padded { s + padded_length(s) } else { s };
            layout.strides(grow(rows), grow(cols))
        };
        let (a, b) = (leading(layouts.0, m, k, prepadded.0), leading(layouts.1, k, n, prepadded.1));
        Context::new()
            .with("m", m)
            .with("k", k)
            .with("n", n)
            .with("mat1_stride_0", a.0)
            .with("mat1_stride_1", a.1)
            .with("mat2_stride_0", b.0)
            .with("mat2_stride_1", b.1)
            .with("m_padded_length", padded_length(m))
            .with("k_padded_length", padded_length(k))
            .with("n_padded_length", padded_length(n))
            .with("mat1_align_size", alignment())
            .with("mat2_align_size", alignment())
            .with("mat1_dtype", "torch.float32")
            .with("mat2_dtype", "torch.float32")
            .with("prepadded_mat1", prepadded.0)
            .with("prepadded_mat2", prepadded.1)
            .with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        Shape::of(context).map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        crate::layout::label(context)
    }

    fn create_input(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let Shape { m, k, n, strides, prepadded } = Shape::of(context).map_err(Failure::skipped)?;
        let mut operand = |rows: usize, cols: usize, strides, prepadded: bool| {
            if !prepadded {
                return Operand::random(rows, cols, strides, rng);
            }
            let [tall, wide] = [rows, cols].map(|s| s.next_multiple_of(alignment()));
            let mut operand = Operand::random(tall, wide, strides, rng)?;
            operand.zero_outside(rows, cols);
            Ok(operand)
        };
        let a = operand(m, k, strides.0, prepadded.0)?;
        let b = operand(k, n, strides.1, prepadded.1)?;
        let projection = Projection::new(a.view()?.block(0, 0, m, k), b.view()?.block(0, 0, k, n), rng);
        Ok(Input { shape: [m, k, n], a, b, prepadded, c: vec![0.0; operands::elements(m, n)?], projection })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.c.fill(f32::NAN);
        input.run(PadMm::CHOICES[choice.index()], &mut self.scratch)?;
        input.projection.check(&input.c)
    }

    fn run_benchmark(
        &mut self,
        input: &mut Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        let choice = PadMm::CHOICES[choice.index()];
        clock::time(burst, || input.run(choice, &mut self.scratch))
    }
}

/// A context's meaning for this runner.
struct Shape {
    m: usize,
    k: usize,
    n: usize,
    strides: ((usize, usize), (usize, usize)),
    prepadded: (bool, bool),
}

impl Shape {
    fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = operands::product(context)?;
        let prepadded =
            ["prepadded_mat1", "prepadded_mat2"].map(|name| context.category(name) == Some("True"));
        let grow = |s: usize, padded| if padded { s.next_multiple_of(alignment()) } else { s };
        let strides = |mat: usize, rows: usize, cols: usize| {
            let (rows, cols) = (grow(rows, prepadded[mat - 1]), grow(cols, prepadded[mat - 1]));
            operands::strides(context, &format!("mat{mat}"), rows, cols)
        };
        let strides = (strides(1, m, k)?, strides(2, k, n)?);
        for (dimension, size) in [("m", m), ("k", k), ("n", n)] {
            let name = format!("{dimension}_padded_length");
            #[allow(clippy::cast_precision_loss)]
            let expected = padded_length(size as u64) as f64;
            if context.number(&name) != Some(expected) {
                let alignment = alignment();
                return Err(format!(
                    "{name} must be {expected}: {dimension} is padded to a multiple of {alignment}"
                ));
            }
        }
        Ok(Self { m, k, n, strides, prepadded: (prepadded[0], prepadded[1]) })
    }
}
