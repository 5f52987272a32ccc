//! One input that is loaded: its choices can be checked and timed.

use std::time::Duration;

use ah_model::ChoiceId;
use ah_types::Failure;

/// The samples of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Burst {
    /// Samples to take, one after the other.
    pub samples: u32,
    /// Runs in one sample; the sample is their mean.
    pub runs: u32,
    /// Whether the caches are emptied before each sample; that time does not count.
    pub cold: bool,
}

/// The times of samples in milliseconds per run, in the order in which they were taken.
pub type Times = Vec<f64>;

/// A choice to be timed, and its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The choice.
    pub choice: ChoiceId,
    /// Its samples.
    pub burst: Burst,
}

/// The choices of one input, ready to be checked and timed. Each method returns a result for each choice, in order.
pub trait Bench {
    /// Runs each choice once and compares its result with a reference. [`Failure::Skipped`] if the choice is not offered,
    /// [`Failure::Failed`] if it fails or its result is wrong.
    fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>>;

    /// Times the choices, one turn of each.
    fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>>;

    /// The most choices of one call: more than one if the device can queue them.
    fn batch(&self) -> usize {
        1
    }

    /// How much of the last call was no work of its choices, but the replacement of a process.
    fn interruption(&mut self) -> Duration {
        Duration::ZERO
    }
}
