//! The trait [`BenchmarkRunner`], with one implementation for each optimization and backend.

use ah_types::{ChoiceId, Context, Device, Optimization, TimingPolicy};

use crate::bench::{Bench, Burst, Times};
use crate::failure::Failure;
use crate::sampling::{Rng, Seed};

/// The constant facts of a runner: the decision, the device, the choices and the timing policy.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The decision: name, features, fallback.
    pub optimization: Optimization,
    /// The device that the choices run on.
    pub device: Device,
    /// The names of all choices, including those that this device cannot run. A [`ChoiceId`] is a
    /// position in this list.
    pub choices: Vec<String>,
    /// The timing policy, unless the user gives another.
    pub timing: TimingPolicy,
}

/// Measures the choices of one optimization on one device.
///
/// For each input, the framework calls [`draw`](Self::draw) and [`create_input`](Self::create_input)
/// once, [`check`](Self::check) once per choice, then [`run_benchmark`](Self::run_benchmark) in turns for
/// the choices that passed.
///
/// `draw` and `create_input` get generators in the same state. A runner whose features are computed from
/// the input makes the input in both: `draw` returns its features, `create_input` the input. A runner whose
/// input follows from the features draws only these, so that a resumed run skips measured inputs at little
/// cost.
pub trait BenchmarkRunner {
    /// The operands of one input, made once and shared by all its choices.
    type Input;

    /// Returns the decision, the device, the choices and how they are timed.
    fn subject(&self) -> &Subject;

    /// Draws a context: the distribution of inputs. All randomness comes from `rng`, so that the same seed
    /// gives the same inputs.
    fn draw(&self, rng: &mut Rng) -> Context;

    /// Checks that a context from the user is in the optimization's domain.
    ///
    /// # Errors
    /// The mistake in words: expected and found.
    fn accepts(&self, context: &Context) -> Result<(), String> {
        let _ = context;
        Ok(())
    }

    /// Returns the context in a few words, for tables and the progress bar.
    fn label(&self, context: &Context) -> String {
        context.to_string()
    }

    /// Makes the operands of an input. All randomness comes from `rng`; for a drawn context, `rng` is in
    /// the same state as at the call of [`draw`](Self::draw).
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the input cannot be made here.
    fn create_input(&mut self, context: &Context, rng: &mut Rng) -> Result<Self::Input, Failure>;

    /// Runs `choice` once and compares its result with a reference that was computed in another way (the
    /// shipped runners accumulate in f64).
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the choice is not offered, [`Failure::Failed`] if it fails or its result is
    /// wrong, with the error.
    fn check(&mut self, input: &mut Self::Input, choice: ChoiceId) -> Result<(), Failure>;

    /// Times `choice`. The clock belongs to the runner: a monotonic one on a processor, events on a GPU.
    ///
    /// # Errors
    /// [`Failure::Failed`], as in [`check`](Self::check).
    fn run_benchmark(
        &mut self,
        input: &mut Self::Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure>;

    /// Returns true if the times are computed, not taken.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Returns the same runner with its type of input hidden, so that different runners fit one list.
    fn boxed(self) -> Box<dyn Runner>
    where
        Self: Sized + Send + 'static,
        Self::Input: Send,
    {
        Box::new(LoadedRunner { runner: self, input: None })
    }
}

/// A [`BenchmarkRunner`] with its type of input hidden, so that different runners fit one list and a
/// runner in another process looks like one in this process.
pub trait Runner: Bench + Send {
    /// See [`BenchmarkRunner::subject`].
    fn subject(&self) -> &Subject;
    /// See [`BenchmarkRunner::draw`].
    ///
    /// # Errors
    /// The runner is in a process that cannot be reached.
    fn draw(&self, seed: Seed) -> Result<Context, Failure>;
    /// See [`BenchmarkRunner::accepts`].
    ///
    /// # Errors
    /// The mistake in words.
    fn accepts(&self, context: &Context) -> Result<(), String>;
    /// See [`BenchmarkRunner::label`].
    fn label(&self, context: &Context) -> String;
    /// Makes the input of the next calls.
    ///
    /// # Errors
    /// As [`BenchmarkRunner::create_input`].
    fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure>;
    /// Drops the input.
    fn unload(&mut self);
    /// See [`BenchmarkRunner::is_simulated`].
    fn is_simulated(&self) -> bool {
        false
    }
    /// Returns how many inputs ahead the runner compiles: 0 for one that compiles nothing.
    fn look_ahead(&self) -> usize {
        0
    }
    /// Compiles what these inputs need, so that they do not wait for it. A failure shows when the choice is checked.
    fn compile_ahead(&mut self, planned: &[Planned]) {
        let _ = planned;
    }
}

/// Inputs that are likely to come next, and their choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The inputs.
    pub contexts: Vec<Context>,
    /// The choices that are timed there; `None`: all.
    pub choices: Option<Vec<ChoiceId>>,
}

/// A [`BenchmarkRunner`] with the loaded input.
struct LoadedRunner<R: BenchmarkRunner> {
    runner: R,
    input: Option<R::Input>,
}

impl<R> Runner for LoadedRunner<R>
where
    R: BenchmarkRunner + Send,
    R::Input: Send,
{
    fn subject(&self) -> &Subject {
        self.runner.subject()
    }
    fn draw(&self, seed: Seed) -> Result<Context, Failure> {
        Ok(self.runner.draw(&mut seed.rng()))
    }
    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.runner.accepts(context)
    }
    fn label(&self, context: &Context) -> String {
        self.runner.label(context)
    }
    fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure> {
        // The old operands are dropped first: both together may exceed the memory.
        self.input = None;
        self.input = Some(self.runner.create_input(context, &mut seed.rng())?);
        Ok(())
    }
    fn unload(&mut self) {
        self.input = None;
    }
    fn is_simulated(&self) -> bool {
        self.runner.is_simulated()
    }
}

impl<R: BenchmarkRunner> Bench for LoadedRunner<R> {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or_else(|| Failure::failed("no input is loaded"))?;
        self.runner.check(input, choice)
    }
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let input = self.input.as_mut().ok_or_else(|| Failure::failed("no input is loaded"))?;
        self.runner.run_benchmark(input, choice, burst)
    }
}
