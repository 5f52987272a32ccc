//! A joint model of a table's choices estimates the times that it lacks.

use ah_joint::{JointModel, MAX_CHOICES_WITHOUT_MODEL, Timing};
use ah_model::math::{exp, ln};
use ah_model::{ChoiceId, Costs, Value};
use rayon::prelude::*;

use crate::data::{Dataset, Table};
use crate::learners::cost_formula;

/// Most cells of a completed table; a cell takes 56 bytes. Of more choices, those that are fastest on average get estimates.
const MAX_CELLS: usize = 1_000_000;

/// The table with estimates of these choices where an input has no time of them. They are learned from the times of `inputs`;
/// on a cost formula, the joint model learns what it leaves.
pub fn completed(
    dataset: &Dataset,
    inputs: &[u32],
    estimated: &[ChoiceId],
    formula: Option<&Costs>,
    seed: u64,
) -> Table {
    let table = &*dataset.table;
    let values: Vec<&[Value]> = table.inputs.iter().map(|input| &*input.values).collect();
    let base = |input: u32, choice: u32| {
        let cost = |formula| ln(cost_formula::cost(dataset, formula, input, ChoiceId(choice)));
        formula.map(cost).filter(|cost| !cost.is_nan()).unwrap_or_default()
    };
    let model = JointModel::fit(&values, &table.choices, &timings(table, inputs), base, seed);
    let mut candidates = model.fastest((MAX_CELLS / values.len().max(1)).max(MAX_CHOICES_WITHOUT_MODEL));
    candidates.retain(|choice| estimated.contains(choice));
    let missing = |input: u32| -> Vec<(ChoiceId, f64)> {
        let timed = table.cells(input).iter().filter(|cell| cell.time.is_finite());
        let timed: Vec<(ChoiceId, f64)> = timed.map(|cell| (cell.choice, ln(cell.time))).collect();
        let mut wanted = candidates.clone();
        wanted.retain(|choice| table.cell(input, *choice).is_none());
        let estimates = model.estimates(input, &timed, &wanted, base).unwrap_or_default();
        wanted.into_iter().zip(estimates).map(|(choice, log_time)| (choice, exp(log_time))).collect()
    };
    let inputs = (0..values.len() as u32).into_par_iter();
    table.with_estimates(&inputs.map(missing).collect::<Vec<_>>())
}

/// The times of these inputs, without those of rare choices.
pub fn timings(table: &Table, inputs: &[u32]) -> Vec<Timing> {
    let of = |&input: &u32| {
        let cells = table.cells(input).iter().filter(|cell| !table.is_rare(cell.choice));
        cells.map(move |cell| Timing { input, choice: cell.choice.0, log_time: ln(cell.time) })
    };
    inputs.iter().flat_map(of).collect()
}
