//! Completes sparse tables: a joint model of inputs and choices (`ah_joint`) estimates the times that were not measured.
//!
//! The portfolio is chosen from times and estimates. An estimate is no evidence: a leaf ranks only choices that were
//! measured there.

use ah_joint::{FEW, JointModel, Timing};
use ah_types::{ChoiceId, Value};
use rayon::prelude::*;

use crate::data::{Dataset, Table};
use crate::error::TrainError;

/// The share of missing cells from which on a table is sparse.
const SPARSE: f64 = 0.05;
/// Fewest choices that an input must time on average, so that choices can be compared.
const LEAST_TIMED: f64 = 3.0;
/// Most cells of a completed table; a cell takes 56 bytes. Of more choices, those that are fastest on average get estimates.
const MAX_CELLS: usize = 1_000_000;

/// Returns whether a portfolio replaces all choices: there are many, and a missing time means that it was not measured.
/// Choices without fields may be missing because they cannot run.
pub fn is_of_many(table: &Table, inputs: &[u32]) -> bool {
    table.choices.len() > FEW && (!is_incomplete(table, inputs) || ah_joint::have_fields(&table.choices))
}

/// Returns whether a joint model must complete the table: inputs time too few of many choices to compare them.
pub fn is_sparse(table: &Table, inputs: &[u32]) -> bool {
    is_of_many(table, inputs) && is_incomplete(table, inputs)
}

fn is_incomplete(table: &Table, inputs: &[u32]) -> bool {
    timed_share(table, inputs) < 1.0 - SPARSE
}

/// Returns the share of the cells of these inputs that were measured.
pub fn timed_share(table: &Table, inputs: &[u32]) -> f64 {
    let measured = |&input: &u32| table.cells(input).iter().filter(|cell| cell.is_measured()).count();
    let measured: usize = inputs.iter().map(measured).sum();
    measured as f64 / (table.choices.len() * inputs.len()).max(1) as f64
}

/// Completes the tables of a sparse log: the one to learn from by a model of the training part, the one to judge by with a
/// model of all inputs.
///
/// # Errors
/// [`TrainError::TooLittle`] if inputs time too few choices to compare them.
pub fn complete(dataset: Dataset, training: &[u32], seed: u64) -> Result<Dataset, TrainError> {
    let (table, usable) = (&dataset.table, &dataset.usable);
    if !dataset.ad_hoc || !is_sparse(table, usable) {
        return Ok(dataset);
    }
    let timed = timings(table, usable).len() as f64 / usable.len().max(1) as f64;
    if timed < LEAST_TIMED {
        return Err(TrainError::TooLittle {
            what: format!(
                "expected at least {LEAST_TIMED} timed choices an input, found {timed:.1} of {} on average (a choice counts \
                 if several inputs time it)",
                table.choices.len()
            ),
            hint: "time 10 or more choices on each input, and each choice on several inputs",
        });
    }
    let (learning, judging) =
        rayon::join(|| completed(table, training, seed), || completed(table, usable, seed));
    Ok(dataset.with_estimates(learning, judging))
}

/// Returns the table with estimates where an input has no time of a choice. Only `inputs` are learned from.
pub fn completed(table: &Table, inputs: &[u32], seed: u64) -> Table {
    let values: Vec<&[Value]> = table.inputs.iter().map(|input| &*input.values).collect();
    let model = JointModel::fit(ah_joint::numbers(&values), &table.choices, &timings(table, inputs), seed);
    let most = (MAX_CELLS / table.inputs.len().max(1)).max(FEW);
    let candidates = model.fastest(most);
    let all = (0..table.inputs.len() as u32).into_par_iter();
    let estimates: Vec<Vec<(ChoiceId, f64)>> =
        all.map(|input| estimates(&model, table, input, &candidates)).collect();
    table.with_estimates(&estimates)
}

/// Returns the estimated times of the candidates that the input did not time, in milliseconds. Choices that are expected to
/// fail, or that the log hardly times, have none.
fn estimates(model: &JointModel, table: &Table, input: u32, candidates: &[ChoiceId]) -> Vec<(ChoiceId, f64)> {
    let timed = table.cells(input).iter().filter(|cell| cell.time.is_finite());
    let timed: Vec<(f64, f64)> =
        timed.map(|cell| (cell.time.ln(), model.predict(input, cell.choice.0))).collect();
    let Some(level) = level(&timed) else { return Vec::new() };
    let is_missing = |choice: &&ChoiceId| table.cell(input, **choice).is_none();
    let may_run = |choice: &&ChoiceId| !table.is_rare(**choice) && !model.fails(input, choice.0);
    let missing = candidates.iter().filter(is_missing).filter(may_run);
    missing.map(|choice| (*choice, (level + model.predict(input, choice.0)).exp())).collect()
}

/// Returns the level of an input from its (log time, prediction): the mean difference, where those near the best count
/// most, as they do in learning.
fn level(timed: &[(f64, f64)]) -> Option<f64> {
    let best = timed.iter().map(|(_, predicted)| *predicted).fold(f64::INFINITY, f64::min);
    let weight = |predicted: f64| ah_joint::weight(predicted - best);
    let sum: f64 =
        timed.iter().map(|(log_time, predicted)| weight(*predicted) * (log_time - predicted)).sum();
    let count: f64 = timed.iter().map(|(_, predicted)| weight(*predicted)).sum();
    (count > 0.0).then(|| sum / count)
}

/// Returns the timings of these inputs.
fn timings(table: &Table, inputs: &[u32]) -> Vec<Timing> {
    let of = |&input: &u32| {
        let cells = table.cells(input).iter().filter(|cell| !table.is_rare(cell.choice));
        cells.map(move |cell| Timing { input, choice: cell.choice.0, log_time: cell.time.ln() })
    };
    inputs.iter().flat_map(of).collect()
}
