//! A decision on an input that the ensemble was not learned from, and its cost at a margin.

use ah_types::ChoiceId;

use super::margin::NEVER;
use crate::data::Table;
use crate::overhead::Overhead;

/// What an ensemble decides on an input that it was not learned from.
#[derive(Clone, Copy, Debug)]
pub struct HeldOut {
    /// The input.
    pub input: u32,
    /// The best choice that was measured there; the fallback where the model declines.
    pub choice: ChoiceId,
    /// What it saves against the fallback, by the scores.
    pub saved: f64,
    /// What asking adds.
    pub overhead: Overhead,
}

impl HeldOut {
    /// Returns the cost by the objective where choices that save at least `margin` are taken, the decision included.
    pub fn cost(&self, table: &Table, fallback: ChoiceId, margin: f64) -> f64 {
        let taken = if self.saved >= margin && margin < NEVER { self.choice } else { fallback };
        // A constant asks nothing.
        let overhead = if margin == NEVER { Overhead::default() } else { self.overhead };
        overhead.cost(table, self.input, taken, fallback)
    }
}
