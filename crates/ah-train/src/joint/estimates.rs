//! A joint model of a table's choices, asked by the names of choices: it completes sparse tables.

use ah_joint::{FEW, JointModel, Timing};
use ah_types::{ChoiceId, Value, random};
use rayon::prelude::*;

use super::errors::Errors;
use crate::data::{Cell, Table};

/// Most cells of a completed table; a cell takes 56 bytes. Of more choices, those that are fastest on average get estimates.
const MAX_CELLS: usize = 1_000_000;

/// Estimates the times of a table's choices.
pub struct Estimator {
    model: JointModel,
}

/// What the model expects of an input; nothing where the input has no time at all.
#[derive(Default)]
struct Expected<'a> {
    /// The cells that have a time, each with its expected log time.
    timed: Vec<(&'a Cell, f64)>,
    /// The estimated times of the candidates that the input did not time, in milliseconds. Choices that are expected to fail, or
    /// that the log hardly times, have none.
    missing: Vec<(ChoiceId, f64)>,
}

impl Expected<'_> {
    /// Returns the least expected log time.
    fn best(&self) -> f64 {
        let missing = self.missing.iter().map(|(_, ms)| ms.ln());
        missing.chain(self.timed.iter().map(|(_, log_time)| *log_time)).fold(f64::INFINITY, f64::min)
    }
}

impl Estimator {
    /// Learns from the times of these inputs. It knows the numbers of all inputs.
    pub fn fit(table: &Table, inputs: &[u32], seed: u64) -> Self {
        let values: Vec<&[Value]> = table.inputs.iter().map(|input| &*input.values).collect();
        let timings = timings(table, inputs);
        Self { model: JointModel::fit(ah_joint::numbers(&values), &table.choices, &timings, seed) }
    }

    /// Returns the table that it learned from with estimates where an input has no time of a choice.
    pub fn complete(&self, table: &Table) -> Table {
        let missing: Vec<_> = self.expected(table).into_iter().map(|expected| expected.missing).collect();
        table.with_estimates(&missing)
    }

    /// Returns the same table, and one to judge by, whose estimates have [errors](super::errors).
    pub fn complete_to_judge(&self, table: &Table, seed: u64) -> [Table; 2] {
        let expected = self.expected(table);
        let measured = expected.iter().flat_map(|expected| {
            let best = expected.best();
            expected.timed.iter().map(move |(cell, log_time)| (log_time - best, cell.time.ln() - log_time))
        });
        let errors = Errors::new(measured);
        let judging = of_each_input(table, |input| {
            let expected = &expected[input as usize];
            let (stream, best) = (random::mix(seed, u64::from(input)), expected.best());
            let with_error = |&(choice, ms): &(ChoiceId, f64)| {
                let error = errors.draw(ms.ln() - best, random::mix(stream, u64::from(choice.0)));
                (choice, ms * error.exp())
            };
            expected.missing.iter().map(with_error).collect()
        });
        let missing: Vec<_> = expected.into_iter().map(|expected| expected.missing).collect();
        [table.with_estimates(&missing), table.with_estimates(&judging)]
    }

    /// Returns what the model expects of each input.
    fn expected<'a>(&self, table: &'a Table) -> Vec<Expected<'a>> {
        let most = (MAX_CELLS / table.inputs.len().max(1)).max(FEW);
        let candidates = self.model.fastest(most);
        of_each_input(table, |input| self.expected_of(table, input, &candidates))
    }

    fn expected_of<'a>(&self, table: &'a Table, input: u32, candidates: &[ChoiceId]) -> Expected<'a> {
        let predict = |choice: ChoiceId| self.model.predict(input, choice.0);
        let timed = table.cells(input).iter().filter(|cell| cell.time.is_finite());
        let mut timed: Vec<(&Cell, f64)> = timed.map(|cell| (cell, predict(cell.choice))).collect();
        let Some(level) = level(&timed) else { return Expected::default() };
        timed.iter_mut().for_each(|(_, predicted)| *predicted += level);
        let is_missing = |choice: &&ChoiceId| table.cell(input, **choice).is_none();
        let may_run = |choice: &&ChoiceId| !table.is_rare(**choice) && !self.model.fails(input, choice.0);
        let missing = candidates.iter().filter(is_missing).filter(may_run);
        let missing = missing.map(|choice| (*choice, (level + predict(*choice)).exp())).collect();
        Expected { timed, missing }
    }
}

fn of_each_input<T: Send>(table: &Table, of: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    (0..table.inputs.len() as u32).into_par_iter().map(of).collect()
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
