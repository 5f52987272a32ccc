//! A log as a device (`--replay`): it answers the times that the log holds. With it, ways to collect are compared
//! without a GPU, and in seconds.
//!
//! The inputs are those of the log, drawn from the seed like any others. A choice without a row on an input is
//! skipped there, a choice with the time `inf` fails. The rows of a choice are its samples, in the log's order; after
//! the last one the first follows again.

use std::collections::HashMap;
use std::path::Path;

use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Failure, Runner, Subject, Times};
use ah_types::log::{self, Log, Metadata};
use ah_types::{ChoiceId, Context, Cpu, Cuda, Device, Optimization, Schema, TimingPolicy};
use rand::Rng as _;

use crate::error::CollectError;

/// The device; the [module](self) describes it.
#[derive(Debug)]
pub struct Replay {
    subject: Subject,
    schema: Schema,
    contexts: Vec<Context>,
    /// The position in `contexts`, by the text of the input.
    positions: HashMap<String, usize>,
    /// By position and choice: the rows of the log.
    times: Vec<Vec<Vec<f64>>>,
}

/// An input of the log.
#[derive(Debug)]
pub struct ReplayedInput {
    position: usize,
    /// By choice: how many samples were taken.
    taken: Vec<usize>,
}

impl Replay {
    /// Opens a log as a device. Without flags, each choice gives one sample; `--num-reps` asks for more.
    ///
    /// # Errors
    /// The log cannot be read or holds no input.
    pub fn open(path: &Path, optimization: Option<Optimization>) -> Result<Box<dyn Runner>, CollectError> {
        Ok(Self::new(&log::read(&[path])?, optimization)?.boxed())
    }

    fn new(log: &Log, optimization: Option<Optimization>) -> Result<Self, CollectError> {
        if log.inputs.is_empty() {
            return Err(CollectError::TooLittle("the log to replay holds no input".to_owned()));
        }
        let optimization = optimization.unwrap_or_else(|| Optimization::from_log(&log.metadata, &log.schema));
        let subject = Subject {
            optimization,
            device: log.metadata.device().cloned().unwrap_or_else(|| unnamed(&log.metadata)),
            choices: log.choices.clone(),
            timing: TimingPolicy {
                warmup_runs: 0,
                min_samples: 1,
                max_samples: 1,
                target_relative_error: 0.0,
                budget_ms: 1e9,
                min_sample_ms: 0.0,
                cold: false,
                early_stop_ratio: f64::INFINITY,
                burst: 1,
                repetitions: 1,
            },
        };
        let mut times = vec![vec![Vec::new(); log.choices.len()]; log.inputs.len()];
        for sample in &log.samples {
            times[sample.input as usize][sample.choice.index()].push(sample.feedback);
        }
        let schema = subject.optimization.schema()?;
        let contexts: Vec<Context> = (0..log.inputs.len()).map(|input| log.context(input)).collect();
        let positions = contexts.iter().map(|context| context.log_text(&schema)).zip(0..).collect();
        Ok(Self { subject, schema, contexts, positions, times })
    }
}

/// Returns the device of a log that does not name it: a GPU if the log has its capability, as PyTorch's logs do. Learning counts
/// the time of a decision on a processor, and none on a GPU, which works meanwhile.
fn unnamed(metadata: &Metadata) -> Device {
    let name = format!("replay of {}", metadata.name);
    if metadata.device_capa == (0, 0) {
        return Device::Cpu(Cpu { model: name, cores: 1, ..Cpu::default() });
    }
    Device::Cuda(Cuda {
        name,
        capability: metadata.device_capa,
        shared_memory: metadata.shared_memory.unwrap_or_default(),
        ..Cuda::default()
    })
}

impl BenchmarkRunner for Replay {
    type Input = ReplayedInput;

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        self.contexts[rng.random_range(0..self.contexts.len())].clone()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.position(context).map(|_| ()).ok_or_else(|| "the replayed log does not hold it".to_owned())
    }

    fn create_input(&mut self, context: &Context, _: &mut Rng) -> Result<ReplayedInput, Failure> {
        let position = self.position(context);
        let position = position.ok_or_else(|| Failure::skipped("the replayed log does not hold it"))?;
        Ok(ReplayedInput { position, taken: vec![0; self.subject.choices.len()] })
    }

    fn check(&mut self, input: &mut ReplayedInput, choice: ChoiceId) -> Result<(), Failure> {
        match self.times[input.position][choice.index()].first() {
            None => Err(Failure::skipped("the replayed log has no time")),
            Some(ms) if ms.is_infinite() => Err(Failure::failed("it failed in the replayed log")),
            Some(_) => Ok(()),
        }
    }

    fn run_benchmark(
        &mut self,
        input: &mut ReplayedInput,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        let (rows, taken) = (&self.times[input.position][choice.index()], &mut input.taken[choice.index()]);
        let samples = rows.iter().cycle().skip(*taken).take(burst.samples as usize).copied().collect();
        *taken = (*taken + burst.samples as usize) % rows.len();
        Ok(samples)
    }
}

impl Replay {
    fn position(&self, context: &Context) -> Option<usize> {
        self.positions.get(&context.log_text(&self.schema)).copied()
    }
}
