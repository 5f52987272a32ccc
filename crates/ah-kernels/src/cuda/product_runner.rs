//! The runner of `mm`, `mixed_mm` and `pad_mm` on a GPU: a product of two matrices, checked on the device.

use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};
use rand::Rng as _;

use super::device::Gpu;
use super::error::CudaError;
use super::operands::{GUARD, Operands, ProductReference};
use super::product::{Matrix, Product};

/// One decision between ways to compute a product.
pub(super) trait Operation {
    /// How a choice computes one input.
    type Method;

    /// Draws a context.
    fn draw(&self, gpu: &Gpu, rng: &mut Rng) -> Context;

    /// Reads and checks the features of an input.
    fn product(&self, context: &Context) -> Result<Product, String>;

    /// The matrices beside those of the product that the choices need, without memory.
    fn further(&self, _product: &Product) -> Vec<Matrix> {
        Vec::new()
    }

    /// Does the rest for a new input, whose operands are filled.
    fn prepare(&self, _gpu: &Gpu, _input: &Input) -> Result<(), CudaError> {
        Ok(())
    }

    /// How the choice at this position computes an input.
    fn method(&self, gpu: &Gpu, input: &Input, choice: usize) -> Result<Self::Method, Failure>;

    /// Starts to compute an input.
    fn run(&self, gpu: &Gpu, input: &Input, method: &Self::Method) -> Result<(), CudaError>;

    /// The place where a method leaves the product.
    fn result(&self, input: &Input, _method: &Self::Method) -> Matrix {
        input.product.c
    }
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    pub(super) context: Context,
    pub(super) product: Product,
    pub(super) further: Vec<Matrix>,
    expected: ProductReference,
}

/// Measures an operation on a GPU.
pub(super) struct ProductRunner<O> {
    experiment: Experiment,
    pub(super) gpu: Gpu,
    operands: Operands,
    pub(super) operation: O,
}

impl<O: Operation> ProductRunner<O> {
    pub(super) fn new(
        optimization: Optimization,
        gpu: Gpu,
        choices: Vec<String>,
        timing: TimingPolicy,
        operation: O,
    ) -> Result<Self, CudaError> {
        let experiment = Experiment::new(optimization, gpu.device(), choices, timing);
        Ok(Self { experiment, operands: Operands::new(&gpu)?, gpu, operation })
    }
}

impl<O: Operation> BenchmarkRunner for ProductRunner<O> {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        self.operation.draw(&self.gpu, rng)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.operation.product(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        let mut product = self.operation.product(context).map_err(Failure::skipped)?;
        let mut further = self.operation.further(&product);
        let matrices = [&mut product.a, &mut product.b, &mut product.c].into_iter().chain(&mut further);
        let matrices: Vec<&mut Matrix> = matrices.collect();
        let bytes: Vec<usize> = matrices.iter().map(|matrix| matrix.bytes() + GUARD).collect();
        for (matrix, buffer) in matrices.into_iter().zip(self.gpu.buffers(&bytes)?) {
            matrix.buffer = buffer;
        }
        let expected = self.operands.product(&self.gpu, &product, seed)?;
        let input = Input { context: context.clone(), product, further, expected };
        self.operation.prepare(&self.gpu, &input)?;
        Ok(input)
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        let Self { gpu, operands, operation, .. } = self;
        let method = operation.method(gpu, input, choice.index())?;
        let result = operation.result(input, &method);
        operands.poison(gpu, &result)?;
        operation.run(gpu, input, &method)?;
        operands.check(gpu, &result, &input.expected)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let method = self.operation.method(&self.gpu, input, choice.index())?;
        self.gpu.clock.time(burst, || self.operation.run(&self.gpu, input, &method))
    }
}
