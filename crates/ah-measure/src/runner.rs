//! The trait [`BenchmarkRunner`], with one implementation for each optimization and device.

use ah_model::{ChoiceId, Context, Device};
use ah_types::{Failure, Optimization, TimingPolicy};

use crate::bench::{Burst, Times};
use crate::draws::Inputs;
use crate::sampling::Rng;

/// The constant facts of a runner: the decision, the device, the choices and the timing policy.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The decision: name, features, fallback.
    pub optimization: Optimization,
    /// The device that the choices run on.
    pub device: Device,
    /// The names of all choices, including those that this device cannot run. A [`ChoiceId`] is a
    /// position in this list.
    pub choices: Vec<String>,
    /// The timing policy, unless the user gives another.
    pub timing: TimingPolicy,
    /// How each feature is drawn by itself; `None` if [`BenchmarkRunner::draw`] draws the features.
    pub inputs: Option<Inputs>,
    /// Whether the times are computed, not taken.
    pub simulated: bool,
    /// The most threads over which a time adds up: it may be this many times the time that passed.
    pub threads: u32,
    /// A hash of what the choices run, if that is known: a log is not continued under another one.
    pub commands_hash: Option<String>,
    /// Whether [`BenchmarkRunner::compile_ahead`] saves time.
    pub compiles_ahead: bool,
}

impl Experiment {
    /// An experiment whose runner draws the inputs, takes the times, and compiles nothing ahead.
    pub fn new(
        optimization: Optimization,
        device: Device,
        choices: Vec<String>,
        timing: TimingPolicy,
    ) -> Self {
        Self {
            optimization,
            device,
            choices,
            timing,
            inputs: None,
            simulated: false,
            threads: 1,
            commands_hash: None,
            compiles_ahead: false,
        }
    }
}

/// Measures the choices of one optimization on one device. [`serve`](crate::serve()) makes a worker of it, which
/// `ah-collect --worker PROGRAM` measures.
///
/// For each input, the framework calls [`draw`](Self::draw) and [`load`](Self::load) once,
/// [`check`](Self::check) once per choice, then [`run_benchmark`](Self::run_benchmark) in turns for the choices
/// that passed.
///
/// `draw` and `load` get generators in the same state. A runner whose features are computed from the input makes
/// the input in both: `draw` returns its features, `load` the input. A runner whose input follows from the
/// features draws only these, so that a resumed run skips measured inputs at little cost.
pub trait BenchmarkRunner {
    /// The operands of one input, made once and shared by all its choices.
    type Input;

    /// The decision, the device, the choices and how they are timed.
    fn experiment(&self) -> &Experiment;

    /// Draws a context: the distribution of inputs. All randomness comes from `rng`, so that the same seed
    /// gives the same inputs.
    fn draw(&self, rng: &mut Rng) -> Context {
        let _ = rng;
        Context::new()
    }

    /// Checks that a context from the user is in the optimization's domain.
    ///
    /// # Errors
    /// The mistake in words: expected and found.
    fn accepts(&self, context: &Context) -> Result<(), String> {
        let _ = context;
        Ok(())
    }

    /// Makes the operands of an input. All randomness comes from `rng`; for a drawn context, `rng` is in
    /// the same state as at the call of [`draw`](Self::draw).
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the input cannot be measured here, [`Failure::Failed`] if making it failed.
    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Self::Input, Failure>;

    /// Drops an input.
    ///
    /// # Errors
    /// A failure would spoil the next inputs, so it ends the run.
    fn unload(&mut self, input: Self::Input) -> Result<(), Failure> {
        drop(input);
        Ok(())
    }

    /// Runs `choice` once and compares its result with a reference that was computed in another way (the
    /// shipped runners accumulate in f64).
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the choice is not offered, [`Failure::Failed`] if it fails or its result is
    /// wrong, with the error, [`Failure::Unmeasured`] if the machine is at fault.
    fn check(&mut self, input: &mut Self::Input, choice: ChoiceId) -> Result<(), Failure>;

    /// Times `choice`. The clock belongs to the runner: a monotonic one on a processor, events on a GPU.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    fn run_benchmark(
        &mut self,
        input: &mut Self::Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure>;

    /// Whether a choice that panics leaves the runner and its input as they were. If so, the panic is a failure of the choice;
    /// else the process is replaced, and the choice is asked once more in the next one.
    fn survives_panics(&self) -> bool {
        false
    }

    /// Compiles what the choices need on these inputs, which come next. A failure shows when the choice is checked.
    fn compile_ahead(&mut self, contexts: &[Context]) {
        let _ = contexts;
    }
}
