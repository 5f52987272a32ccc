//! The cells that are worth timing next.
//!
//! An input starts with random choices, from which the joint model learns. Later ones are those that it expects to be fast.

use std::path::PathBuf;

use ah_types::ChoiceId;
use ah_types::log::{self, ReadOptions};
use rayon::prelude::*;

use super::completion::{estimates, numbers, timings};
use super::model::JointModel;
use crate::data::{Table, random};
use crate::error::TrainError;

/// Random choices that an input starts with.
const START: usize = 12;
/// Choices that are expected to lose more than this, in log time, are not worth timing.
const WORTH: f64 = 0.3;

/// A cell that is worth timing.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The input's features as in the log, joined by commas.
    pub input: String,
    /// The choice's name.
    pub choice: String,
    /// Its expected time ÷ that of the fastest choice; `None` for a random one.
    pub slowdown: Option<f64>,
}

/// Returns at most `count` cells for each input of these logs.
///
/// # Errors
/// [`TrainError`] if a log cannot be read.
pub fn propose(logs: &[PathBuf], count: usize, seed: u64) -> Result<Vec<Proposal>, TrainError> {
    let log = log::read_with(logs, ReadOptions::default())?;
    let table = Table::new(log);
    let proposed = cells(&table, count, seed).into_iter().flat_map(|(input, cells)| {
        let text = &table.inputs[input as usize].text;
        let proposal = |(choice, slowdown): (ChoiceId, Option<f64>)| Proposal {
            input: text.to_string(),
            choice: table.choices[choice.index()].clone(),
            slowdown,
        };
        cells.into_iter().map(proposal).collect::<Vec<_>>()
    });
    Ok(proposed.collect())
}

type Cells = Vec<(ChoiceId, Option<f64>)>;

/// Returns the proposed cells of each input, and their expected slowdown.
fn cells(table: &Table, count: usize, seed: u64) -> Vec<(u32, Cells)> {
    let inputs: Vec<u32> = (0..table.inputs.len() as u32).collect();
    let model = JointModel::fit(numbers(table), &table.choices, &timings(table, &inputs), seed);
    let candidates = model.fastest(table.choices.len());
    let cells = |&input: &u32| {
        let missing = START.saturating_sub(table.cells(input).len()).min(count);
        let mut chosen: Cells = drawn(table, input, missing, seed).map(|choice| (choice, None)).collect();
        let mut expected = estimates(&model, table, input, &candidates);
        expected.retain(|(choice, _)| chosen.iter().all(|(other, _)| other != choice));
        expected.sort_by(|a, b| a.1.total_cmp(&b.1));
        let best =
            expected.first().map_or(f64::INFINITY, |(_, time)| *time).min(table.inputs[input as usize].best);
        let worth = expected.into_iter().map(|(choice, time)| (choice, time / best));
        let worth = worth.take_while(|(_, slowdown)| slowdown.ln() <= WORTH);
        chosen.extend(worth.map(|(choice, slowdown)| (choice, Some(slowdown))).take(count - missing));
        (input, chosen)
    };
    inputs.par_iter().map(cells).collect()
}

/// Returns `count` random choices that the input did not time.
fn drawn(table: &Table, input: u32, count: usize, seed: u64) -> impl Iterator<Item = ChoiceId> {
    let mut choices: Vec<ChoiceId> = (0..table.choices.len() as u32)
        .map(ChoiceId)
        .filter(|choice| table.cell(input, *choice).is_none())
        .collect();
    let stream = random::mix(seed, u64::from(input));
    choices.sort_by_key(|choice| random::mix(stream, u64::from(choice.0)));
    choices.into_iter().take(count)
}
