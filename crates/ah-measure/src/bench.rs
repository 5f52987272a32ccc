//! One input that is loaded: its choices can be checked and timed.

use ah_types::ChoiceId;

use crate::failure::Failure;

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

/// The choices of one input, ready to be checked and timed.
pub trait Bench {
    /// Runs `choice` once and compares its result with a reference.
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the choice is not offered, [`Failure::Failed`] if it fails or its result is
    /// wrong, with the error.
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure>;

    /// Times `choice`.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure>;

    /// Returns the most choices of one [`check_all`](Self::check_all) or [`run_all`](Self::run_all): more than one if
    /// the device can queue them.
    fn batch(&self) -> usize {
        1
    }

    /// [Checks](Self::check) several choices.
    fn check_all(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        choices.iter().map(|choice| self.check(*choice)).collect()
    }

    /// [Times](Self::run) several choices, one turn of each.
    fn run_all(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        cells.iter().map(|cell| self.run(cell.choice, cell.burst)).collect()
    }
}
