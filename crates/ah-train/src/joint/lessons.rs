//! Lessons: what boosted trees learn from where choices are many.
//!
//! A log of 600 inputs and one sample a cell teaches trees its noise. The joint model learns from the times of all choices
//! together, so its predictions are smoother, and it predicts inputs that nobody timed. Boosted trees learn from measured times
//! that are drawn towards the predictions, and from predictions on further inputs: distillation (Hinton and others, "Distilling
//! the knowledge in a neural network", 2015). A readable tree learns the drawn times alone.

use ah_types::{Objective, Value, random};

use super::is_of_many;
use crate::data::{Dataset, Table};

/// Further inputs for each input of the log.
const FURTHER: usize = 4;
/// Most further inputs.
const MAX_FURTHER: usize = 6000;
/// A log of more inputs teaches enough by itself; predictions take time for each.
const MAX_INPUTS: usize = 5000;

/// Returns whether boosted trees get lessons from a joint model. With a promise they do not: the folds that calibrate it must
/// not have taught the model.
pub fn serve(dataset: &Dataset) -> bool {
    let table = &dataset.table;
    dataset.ad_hoc
        && dataset.usable.len() <= MAX_INPUTS
        && !dataset.has_fallback()
        && dataset.devices.len() < 2
        && table.pricing.objective == Objective::Geomean
        && ah_joint::have_fields(&table.choices)
        && is_of_many(table, &dataset.usable)
}

/// Returns the values of further inputs: each feature has the value of one of two inputs of the log. So sizes stay as round as those of
/// the log.
pub fn further(table: &Table, inputs: &[u32], seed: u64) -> Vec<Box<[Value]>> {
    let count = (FURTHER * inputs.len()).min(MAX_FURTHER) as u64;
    let input = |stream: u64| {
        let pick = |parent: u64| {
            let at = random::fraction(stream, parent) * inputs.len() as f64;
            &table.inputs[inputs[at as usize] as usize].values
        };
        let (one, other) = (pick(0), pick(1));
        let value = |(slot, (a, b)): (usize, (&Value, &Value))| {
            let is_first = random::fraction(stream, 2 + slot as u64) < 0.5;
            if is_first { a.clone() } else { b.clone() }
        };
        one.iter().zip(other).enumerate().map(value).collect()
    };
    (0..count).map(|number| input(random::mix(random::mix(seed, 5), number))).collect()
}
