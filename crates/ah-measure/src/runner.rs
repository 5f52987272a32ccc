//! What can be measured: the trait [`BenchmarkRunner`], one implementation for each optimization and backend.

use ah_types::{ChoiceId, Context, Device, Optimization, timing::TimingPolicy};

use crate::failure::Failure;
use crate::measure::{Bench, Burst};
use crate::sampling::Rng;

/// Measures the choices of one optimization on one device.
///
/// The framework calls, for each input: [`create_input`](Self::create_input) once,
/// [`check`](Self::check) once a choice, then [`run_benchmark`](Self::run_benchmark) in turns over
/// the choices that passed.
pub trait BenchmarkRunner {
    /// The operands of one input, made once and shared by all its choices.
    type Input;

    /// What is decided: name, features, fallback.
    fn optimization(&self) -> &Optimization;

    /// Where it is measured.
    fn device(&self) -> Device;

    /// The names of all choices, those included that this device cannot run. A [`ChoiceId`] is a
    /// position here.
    fn choices(&self) -> &[String];

    /// How it is timed unless the user says otherwise.
    fn timing(&self) -> TimingPolicy {
        TimingPolicy::default()
    }

    /// Draws a context: the distribution of inputs. All randomness comes from `rng`, so that the
    /// same seed gives the same inputs.
    fn draw(&self, rng: &mut Rng) -> Context;

    /// Whether this context, which a user gave, lies in the optimization's domain.
    ///
    /// # Errors
    /// What is wrong with it, in words: expected and found.
    fn accepts(&self, context: &Context) -> Result<(), String> {
        let _ = context;
        Ok(())
    }

    /// A few words that tell this context from others, for tables and the progress bar.
    fn label(&self, context: &Context) -> String {
        context.to_string()
    }

    /// Makes the operands of an input; random data comes from `seed`.
    ///
    /// # Errors
    /// [`Failure::Skipped`] where the input cannot be made here.
    fn create_input(&mut self, context: &Context, seed: u64) -> Result<Self::Input, Failure>;

    /// Runs `choice` once and compares its result with a reference that was computed in another
    /// way (for the runners here: accumulated in f64).
    ///
    /// # Errors
    /// [`Failure::Skipped`] where the choice is not offered, [`Failure::Failed`] where it fails or
    /// its result is wrong, with the error.
    fn check(&mut self, input: &mut Self::Input, choice: ChoiceId) -> Result<(), Failure>;

    /// Times `choice`: one number a sample, in milliseconds a run. The clock is the runner's: a
    /// monotonic one on a processor, events on a GPU.
    ///
    /// # Errors
    /// [`Failure::Failed`], as in [`check`](Self::check).
    fn run_benchmark(
        &mut self,
        input: &mut Self::Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure>;

    /// The same runner with its input hidden, so that runners of different kinds fit one list.
    fn boxed(self) -> Box<dyn Runner>
    where
        Self: Sized + Send + 'static,
        Self::Input: Send,
    {
        Box::new(Loaded { runner: self, input: None })
    }
}

/// A [`BenchmarkRunner`] whose input is out of sight, so that runners of different kinds fit one
/// list, and one in another process looks like one in this.
pub trait Runner: Bench + Send {
    /// See [`BenchmarkRunner::optimization`].
    fn optimization(&self) -> &Optimization;
    /// See [`BenchmarkRunner::device`].
    fn device(&self) -> Device;
    /// See [`BenchmarkRunner::choices`].
    fn choices(&self) -> &[String];
    /// See [`BenchmarkRunner::timing`].
    fn timing(&self) -> TimingPolicy;
    /// See [`BenchmarkRunner::draw`].
    ///
    /// # Errors
    /// The runner is in a process that cannot be reached.
    fn draw(&self, rng: &mut Rng) -> Result<Context, Failure>;
    /// See [`BenchmarkRunner::accepts`].
    ///
    /// # Errors
    /// What is wrong with the context, in words.
    fn accepts(&self, context: &Context) -> Result<(), String>;
    /// See [`BenchmarkRunner::label`].
    fn label(&self, context: &Context) -> String;
    /// Makes the input that the next calls are about.
    ///
    /// # Errors
    /// As [`BenchmarkRunner::create_input`].
    fn load(&mut self, context: &Context, seed: u64) -> Result<(), Failure>;
    /// Drops the input.
    fn unload(&mut self);
}

/// A [`BenchmarkRunner`] with the input in hand.
struct Loaded<R: BenchmarkRunner> {
    runner: R,
    input: Option<R::Input>,
}

impl<R> Runner for Loaded<R>
where
    R: BenchmarkRunner + Send,
    R::Input: Send,
{
    fn optimization(&self) -> &Optimization {
        self.runner.optimization()
    }
    fn device(&self) -> Device {
        self.runner.device()
    }
    fn choices(&self) -> &[String] {
        self.runner.choices()
    }
    fn timing(&self) -> TimingPolicy {
        self.runner.timing()
    }
    fn draw(&self, rng: &mut Rng) -> Result<Context, Failure> {
        Ok(self.runner.draw(rng))
    }
    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.runner.accepts(context)
    }
    fn label(&self, context: &Context) -> String {
        self.runner.label(context)
    }
    fn load(&mut self, context: &Context, seed: u64) -> Result<(), Failure> {
        // First drop the old operands: both together may not fit the memory.
        self.input = None;
        self.input = Some(self.runner.create_input(context, seed)?);
        Ok(())
    }
    fn unload(&mut self) {
        self.input = None;
    }
}

impl<R: BenchmarkRunner> Bench for Loaded<R> {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or_else(|| Failure::failed("no input is loaded"))?;
        self.runner.check(input, choice)
    }
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Vec<f64>, Failure> {
        let input = self.input.as_mut().ok_or_else(|| Failure::failed("no input is loaded"))?;
        self.runner.run_benchmark(input, choice, burst)
    }
}
