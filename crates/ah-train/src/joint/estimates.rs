//! A joint model of a table's choices completes sparse tables.

use ah_joint::{FEW, JointModel, Timing};
use ah_types::{ChoiceId, Value};
use rayon::prelude::*;

use crate::data::{Cell, Table};

/// Most cells of a completed table; a cell takes 56 bytes. Of more choices, those that are fastest on average get estimates.
const MAX_CELLS: usize = 1_000_000;

/// Estimates the times of a table's choices.
pub struct Estimator {
    model: JointModel,
}

impl Estimator {
    /// Learns from the times of these inputs. It knows the numbers of all inputs.
    pub fn fit(table: &Table, inputs: &[u32], seed: u64) -> Self {
        let values: Vec<&[Value]> = table.inputs.iter().map(|input| &*input.values).collect();
        let timings = timings(table, inputs);
        let model = JointModel::fit(ah_joint::numbers(&values), &table.choices, &timings, seed);
        Self { model }
    }

    /// Returns the table that it learned from with estimates where an input has no time of a choice.
    pub fn complete(&self, table: &Table) -> Table {
        let most = (MAX_CELLS / table.inputs.len().max(1)).max(FEW);
        let mut candidates = self.model.fastest(most);
        candidates.retain(|choice| !table.is_rare(*choice));
        let inputs = (0..table.inputs.len() as u32).into_par_iter();
        table.with_estimates(&inputs.map(|input| self.missing(table, input, &candidates)).collect::<Vec<_>>())
    }

    /// Returns the estimated times, in milliseconds, of the candidates that the input did not time; nothing where it has no time at
    /// all.
    fn missing(&self, table: &Table, input: u32, candidates: &[ChoiceId]) -> Vec<(ChoiceId, f64)> {
        let predict = |choice: ChoiceId| self.model.predict(input, choice.0);
        let timed = table.cells(input).iter().filter(|cell| cell.time.is_finite());
        let timed: Vec<(&Cell, f64)> = timed.map(|cell| (cell, predict(cell.choice))).collect();
        let Some(level) = level(&timed) else { return Vec::new() };
        let missing = candidates.iter().filter(|choice| table.cell(input, **choice).is_none());
        missing.map(|choice| (*choice, (level + predict(*choice)).exp())).collect()
    }
}

/// Returns the level of an input from its cells that have a time, each with its prediction: the mean difference, where those near the
/// best count most, as they do in learning.
fn level(timed: &[(&Cell, f64)]) -> Option<f64> {
    let best = timed.iter().map(|(_, predicted)| *predicted).fold(f64::INFINITY, f64::min);
    let weight = |predicted: f64| ah_joint::weight(predicted - best);
    let sum: f64 =
        timed.iter().map(|(cell, predicted)| weight(*predicted) * (cell.time.ln() - predicted)).sum();
    let count: f64 = timed.iter().map(|(_, predicted)| weight(*predicted)).sum();
    (count > 0.0).then(|| sum / count)
}

pub fn timings(table: &Table, inputs: &[u32]) -> Vec<Timing> {
    let of = |&input: &u32| {
        let cells = table.cells(input).iter().filter(|cell| !table.is_rare(cell.choice));
        cells.map(move |cell| Timing { input, choice: cell.choice.0, log_time: cell.time.ln() })
    };
    inputs.iter().flat_map(of).collect()
}
