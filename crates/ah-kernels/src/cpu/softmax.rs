//! The runner of `softmax` on the processor: rows read several times or kept close, on one thread or on all.

use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};

use super::clock;
use super::kernels::{Softmax, reference};
use super::operands::{random, size};
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

/// Most elements in a drawn input: 16 MiB, beyond the caches of one core.
const MAX_ELEMENTS: u64 = 4 << 20;
/// Largest ‖found − expected‖ / ‖expected‖: the roundings of float32.
const TOLERANCE: f64 = 1e-5;

/// Measures `softmax` on the processor.
#[derive(Debug)]
pub(super) struct SoftmaxRunner {
    experiment: Experiment,
    choices: Vec<Softmax>,
}

impl SoftmaxRunner {
    pub(super) fn new(optimization: Optimization) -> Self {
        let choices = Softmax::choices();
        let names = choices.iter().map(Softmax::name).collect();
        let timing = TimingPolicy { max_samples: 20, budget_ms: 60.0, ..TimingPolicy::default() };
        let experiment = Experiment::new(optimization, ah_model::this_cpu(), names, timing);
        Self { experiment, choices }
    }

    fn run(&self, Input { columns, input, output, .. }: &mut Input, choice: ChoiceId) {
        self.choices[choice.index()].run(input, *columns, output);
    }
}

/// The rows, room for the result, and the expected result.
#[derive(Debug)]
pub(super) struct Input {
    columns: usize,
    input: Vec<f32>,
    output: Vec<f32>,
    expected: Vec<f64>,
}

fn shape(context: &Context) -> Result<(usize, usize), String> {
    match context.category("dtype") {
        Some("torch.float32") => Ok((size(context, "rows")?, size(context, "columns")?)),
        found => Err(format!("on a CPU dtype must be torch.float32, found {found:?}")),
    }
}

impl BenchmarkRunner for SoftmaxRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let (rows, columns) = loop {
            let shape = (sampling::log_uniform(rng, 1, 16_384), sampling::dimension(rng, 1, 1 << 20, 0.5));
            if shape.0 * shape.1 <= MAX_ELEMENTS {
                break shape;
            }
        };
        Context::new().with("rows", rows).with("columns", columns).with("dtype", "torch.float32")
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        shape(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let (rows, columns) = shape(context).map_err(Failure::skipped)?;
        let input = random(rows, columns, 4.0, rng)?;
        let expected = reference::softmax(&input, columns);
        Ok(Input { columns, output: vec![0.0; input.len()], input, expected })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        input.output.fill(f32::NAN);
        self.run(input, choice);
        let error = reference::relative_error(&input.output, &input.expected);
        // Written so that NaN fails.
        if error <= TOLERANCE {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "wrong result: relative error {error:.2e} (at most {TOLERANCE:.0e} expected)"
        )))
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        Ok(clock::time(burst, || self.run(input, choice)))
    }
}
