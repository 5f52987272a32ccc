//! Whether the machine became slower or faster while it measured.
//!
//! Inputs differ, so times cannot be compared directly. Each input is compared with the most similar input of
//! another tenth of the run: the mean log ratio of the times of their common choices. Inputs are drawn in random
//! order, so differences between neighbours cancel, and a slow tenth remains.

use ah_types::Value;
use ah_types::log::Log;
use serde::Serialize;

use super::podium::{Medians, medians};

/// The parts of a run.
const PARTS: usize = 10;
/// The most inputs to compare: each looks at all others. More are thinned evenly.
const MOST: usize = 2000;
/// The least number of inputs in a part; below it no drift is computed.
const FEWEST: usize = 5;

/// A tenth of a run, compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartOfRun {
    /// How much longer choices took than on similar inputs elsewhere in the run: median log ratio.
    pub slower: f64,
    /// Its standard error.
    pub error: f64,
}

/// Returns the tenths of the run, in the order of the log; nothing for fewer than 50 inputs.
pub fn drift(log: &Log) -> Vec<PartOfRun> {
    let times = medians(log);
    let step = log.inputs.len().div_ceil(MOST).max(1);
    let sampled: Vec<usize> = (0..log.inputs.len()).step_by(step).collect();
    if sampled.len() < PARTS * FEWEST {
        return Vec::new();
    }
    let places = places(log, &sampled);
    let part = |at: usize| at * PARTS / sampled.len();
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); PARTS];
    for at in 0..sampled.len() {
        let distance = |other: &usize| -> f64 {
            places.iter().map(|feature| (feature[at] - feature[*other]).abs()).sum()
        };
        let others = (0..sampled.len()).filter(|other| part(*other) != part(at));
        let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let ratio = nearest.and_then(|other| log_ratio(&times[sampled[at]], &times[sampled[other]]));
        ratios[part(at)].extend(ratio);
    }
    ratios.into_iter().map(|ratios| part_of_run(&ratios)).collect()
}

/// Returns each feature's place of each input: a number's rank, from 0 to 1; a category's number, so that two
/// categories are at least 1 apart.
fn places(log: &Log, sampled: &[usize]) -> Vec<Vec<f64>> {
    let feature = |slot: usize| {
        let values: Vec<&Value> = sampled.iter().map(|&input| &log.inputs[input].values[slot]).collect();
        let mut distinct: Vec<&Value> = values.clone();
        let number = |value: &Value| match value {
            Value::Number(x) => Some(*x),
            Value::Category(_) => None,
        };
        let compare = |a: &&Value, b: &&Value| match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => a.to_string().cmp(&b.to_string()),
        };
        distinct.sort_by(compare);
        distinct.dedup_by(|a, b| compare(a, b).is_eq());
        let scale = match distinct.first().copied().and_then(number) {
            Some(_) => 1.0 / (distinct.len().max(2) - 1) as f64,
            None => 1.0,
        };
        let place = |value| distinct.binary_search_by(|other| compare(other, &value)).unwrap_or(0);
        values.into_iter().map(|value| place(value) as f64 * scale).collect()
    };
    (0..log.schema.len()).map(feature).collect()
}

/// Returns the mean log ratio of the times of common choices.
fn log_ratio(times: &Medians, others: &Medians) -> Option<f64> {
    let ratio = |(choice, ms): (&u32, &f64)| Some((ms / others.get(choice)?).ln()).filter(|x| x.is_finite());
    let ratios: Vec<f64> = times.iter().filter_map(ratio).collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

fn part_of_run(ratios: &[f64]) -> PartOfRun {
    let median = |values: &[f64]| ah_types::median(values).unwrap_or(0.0);
    let slower = median(ratios);
    let deviations: Vec<f64> = ratios.iter().map(|ratio| (ratio - slower).abs()).collect();
    // For normal noise: a standard deviation is 1.4826 of these, a median varies by 1.2533 standard errors of a mean.
    let error = 1.4826 * 1.2533 * median(&deviations) / (ratios.len().max(1) as f64).sqrt();
    PartOfRun { slower, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of inputs with random sizes; times grow with the size, and by a fifth in the second half.
    fn log(second_half: f64) -> Log {
        let head =
            r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
        let row = |i: u32| {
            let size = i.wrapping_mul(2_654_435_761) % 1000 + 1;
            let time = f64::from(size) * if i < 200 { 1.0 } else { second_half };
            format!("{size},a,{time}\n{size},b,{}\n", 2.0 * time)
        };
        let rows: String = (0..400).map(row).collect();
        let text = format!("{head}\nsize,choice,feedback\n{rows}");
        ah_types::log::read_bytes("x".as_ref(), text.as_bytes(), ah_types::log::ReadOptions::default())
            .unwrap()
    }

    #[test]
    fn a_machine_that_becomes_slower_is_seen() {
        let steady = drift(&log(1.0));
        assert_eq!(steady.len(), PARTS);
        assert!(steady.iter().all(|part| part.slower.abs() < 0.03), "{steady:?}");
        let slowing = drift(&log(1.2));
        let halves: (f64, f64) =
            (slowing[..5].iter().map(|p| p.slower).sum(), slowing[5..].iter().map(|p| p.slower).sum());
        assert!(halves.1 - halves.0 > 0.3, "{slowing:?}");
    }
}
