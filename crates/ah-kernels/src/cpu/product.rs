//! The runner of `mm` and of `pad_mm` on the processor: two libraries, on one thread or on all; and a product of odd sizes as it
//! is, or padded first.

use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};
use ndarray::{Array2, ShapeBuilder as _};
use rand::Rng as _;

use super::clock;
use super::kernels::MatMul;
use super::kernels::pad_mm::{self, ALIGNMENT, PRODUCT, Padded};
use crate::features::{self, Padding, size};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// Most elements of an operand: 4 GiB.
const MAX_ELEMENTS: usize = 1 << 30;

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
            experiment: Experiment::new(optimization, ah_model::this_cpu(), names, timing),
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

    fn run(&mut self, Input { a, b, c, .. }: &mut Input, choice: ChoiceId) {
        match self.choices[choice.index()] {
            Some(library) => library.run(a.view(), b.view(), c.view_mut()),
            None => pad_mm::run(a.view(), b.view(), c.view_mut(), &mut self.memory),
        }
    }

    /// The shape and the strides of both operands.
    fn shape(&self, context: &Context) -> Result<[Layouts; 2], String> {
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
        let strides = |mat: &str, shape| features::strides(context, mat, shape);
        Ok([((m, k), strides("mat1", (m, k))?), ((k, n), strides("mat2", (k, n))?)])
    }
}

/// The shape and the strides of a matrix.
type Layouts = ((usize, usize), (usize, usize));

/// The operands, room for the product, and the expected product.
#[derive(Debug)]
pub(super) struct Input {
    a: Array2<f32>,
    b: Array2<f32>,
    c: Array2<f32>,
    expected: Array2<f64>,
}

impl Input {
    /// Compares the product with the expected one.
    fn check(&self) -> Result<(), Failure> {
        // A sum of k products of numbers from −1 to 1 has a deviation of √k/3, and roundings of about 6e-8·√k times that; the
        // largest of millions of errors is six times as large.
        let most = 4e-7 * self.a.ncols() as f64;
        for (at, (found, expected)) in self.c.iter().zip(&self.expected).enumerate() {
            let error = (f64::from(*found) - expected).abs();
            if error > most || error.is_nan() {
                return Err(Failure::failed(format!(
                    "wrong result: element {at} is off by {error:.2e} (at most {most:.2e} expected)"
                )));
            }
        }
        Ok(())
    }
}

/// The number of elements of a matrix.
fn elements((rows, columns): (usize, usize)) -> Result<usize, Failure> {
    let count = rows.checked_mul(columns).filter(|count| *count <= MAX_ELEMENTS);
    let refused = || format!("{rows}×{columns} elements exceed the limit of {MAX_ELEMENTS}");
    count.ok_or_else(|| Failure::Skipped(refused()))
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
        let mut strides = |size| features::dense(!sampling::flag(rng, 0.5), size);
        let a = strides((m, k));
        let b = strides((k, n));
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
        let [a, b] = self.shape(context).map_err(Failure::skipped)?;
        let mut operand = |(shape, strides): Layouts| {
            let numbers = (0..elements(shape)?).map(|_| rng.random_range(-1.0..1.0)).collect();
            Array2::from_shape_vec(shape.strides(strides), numbers).map_err(Failure::failed)
        };
        let a = operand(a)?;
        let b = operand(b)?;
        elements((a.nrows(), b.ncols()))?;
        let c = Array2::zeros((a.nrows(), b.ncols()));
        // In f64.
        let expected = a.mapv(f64::from).dot(&b.mapv(f64::from));
        Ok(Input { a, b, c, expected })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.c.fill(f32::NAN);
        self.run(input, choice);
        input.check()
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        Ok(clock::time(burst, || self.run(input, choice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ah_measure::sampling::Seed;

    #[test]
    fn right_products_pass_and_one_wrong_element_does_not() {
        let optimization = Optimization::built_in("mm").unwrap();
        let mut runner = ProductRunner::mm(optimization);
        for [m, k, n] in [[1, 1, 1], [3, 700, 5], [40, 17, 300], [65, 512, 129], [9, 1, 2], [1, 2000, 1]] {
            let context = features::product([m, k, n], ((k, 1), "torch.float32"), ((1, k), "torch.float32"));
            let context = context.with("using_tf32", false);
            for draw in 0..40 {
                let mut input = runner.load(&context, &mut Seed(draw, m * n).rng()).unwrap();
                for choice in (0..3).map(ChoiceId) {
                    runner
                        .check(&mut input, choice)
                        .unwrap_or_else(|e| panic!("{context}, draw {draw}: {e}"));
                }
                let at = (input.c.nrows() / 2, input.c.ncols() / 2);
                // As if one product were missing from one sum.
                input.c[at] -= 0.1;
                assert_eq!(input.check().is_err(), 4e-7 * (k as f64) < 0.09, "{context}");
                input.c[at] = f32::NAN;
                assert!(input.check().is_err());
            }
        }
    }
}
