//! The runner of `mm` on the processor: two libraries, on one thread or on all.

use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};
use ndarray::{Array2, ShapeBuilder as _};
use rand::Rng as _;

use super::clock;
use super::kernels::MatMul;
use crate::features;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// The largest size.
const LARGEST: u32 = 1 << 30;
/// Most elements of an operand: 4 GiB.
const MAX_ELEMENTS: usize = 1 << 30;

/// The greatest size of a drawn dimension.
const MAX_SIZE: u64 = 2048;
/// Most multiply-adds in a drawn input: about 10 ms on one core.
const MAX_WORK: u64 = 512 << 20;

/// Measures `mm` on the processor.
#[derive(Debug)]
pub(super) struct ProductRunner {
    experiment: Experiment,
}

impl ProductRunner {
    pub(super) fn new(optimization: Optimization) -> Self {
        let timing = TimingPolicy { max_samples: 20, budget_ms: 60.0, ..TimingPolicy::default() };
        let names = MatMul::CHOICES.iter().map(MatMul::name).collect();
        Self { experiment: Experiment::new(optimization, ah_model::this_cpu(), names, timing) }
    }
}

/// The shape and the strides of both operands.
fn shape(context: &Context) -> Result<[Layouts; 2], String> {
    for (name, expected) in
        [("mat1_dtype", "torch.float32"), ("mat2_dtype", "torch.float32"), ("using_tf32", "False")]
    {
        let found = context.category(name).unwrap_or_default();
        if found != expected {
            return Err(format!("on a CPU {name} must be {expected}, found {found:?}"));
        }
    }
    let size = |name| features::size(context, name, LARGEST);
    let [m, k, n] = [size("m")?, size("k")?, size("n")?];
    let strides = |mat: &str, size| features::strides(context, mat, size, LARGEST);
    Ok([((m, k), strides("mat1", (m, k))?), ((k, n), strides("mat2", (k, n))?)])
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
    fn run(&mut self, choice: ChoiceId) {
        MatMul::CHOICES[choice.index()].run(self.a.view(), self.b.view(), self.c.view_mut());
    }

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
            let shape = [(); 3].map(|()| sampling::dimension(rng, 1, MAX_SIZE, 0.5));
            if shape.iter().product::<u64>() <= MAX_WORK {
                break shape;
            }
        };
        let mut strides = |size| features::dense(!sampling::flag(rng, 0.5), size);
        let (a, b) = (strides((m, k)), strides((k, n)));
        let context = features::product(shape, (a, "torch.float32"), (b, "torch.float32"));
        features::with_contiguity(context).with("using_tf32", false)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        shape(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let layouts = shape(context).map_err(Failure::skipped)?;
        let mut operand = |(shape, strides): Layouts| {
            let numbers = (0..elements(shape)?).map(|_| rng.random_range(-1.0..1.0)).collect();
            Array2::from_shape_vec(shape.strides(strides), numbers).map_err(Failure::failed)
        };
        let [a, b] = layouts.map(&mut operand);
        let (a, b) = (a?, b?);
        elements((a.nrows(), b.ncols()))?;
        let c = Array2::zeros((a.nrows(), b.ncols()));
        // In f64.
        let expected = a.mapv(f64::from).dot(&b.mapv(f64::from));
        Ok(Input { a, b, c, expected })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.c.fill(f32::NAN);
        input.run(choice);
        input.check()
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        Ok(clock::time(burst, || input.run(choice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ah_measure::sampling::Seed;

    #[test]
    fn right_products_pass_and_one_wrong_element_does_not() {
        let optimization = Optimization::built_in("mm").unwrap();
        let mut runner = ProductRunner::new(optimization);
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
