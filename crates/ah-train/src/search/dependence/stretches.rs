//! Stretches of the log whose times change together, whatever the features are.

use super::column::Column;
use super::evidence::{MOST_INPUTS, common, errors};
use super::groups::Candidate;
use crate::data::{Costs, Dataset, Shared};
use crate::params::SplitBy;

/// Lengths of blocks of the log.
const BLOCKS: [usize; 6] = [5, 10, 20, 50, 100, 200];
/// Standard errors by which the errors of a block go together.
const BLOCK_ERRORS: f64 = 4.0;
/// Blocks count where they leave at most this share of the inputs independent. Published logs keep 0.57 or more.
const BLOCK_SHARE: f64 = 0.5;
/// From this correlation of a feature with its next value on, a log is sorted, and its order says nothing about time.
const SORTED: f64 = 0.3;

/// Stretches of the log whose errors go together, and the number of independent ones: as long that each counts once.
pub(super) fn stretches(
    dataset: &Dataset,
    costs: &Costs,
    columns: &[Column],
    seed: u64,
) -> Option<Candidate> {
    let mut order: Vec<usize> = (0..dataset.usable.len()).collect();
    order.sort_by_key(|&row| dataset.table.inputs[dataset.usable[row] as usize].position);
    if columns.iter().any(|column| next_correlation(&column.codes, &order).abs() > SORTED) {
        return None;
    }
    let longest = BLOCKS[BLOCKS.len() - 1];
    let step = order.len().div_ceil(MOST_INPUTS).max(1);
    let judged: Vec<usize> = order.chunks(longest).step_by(step).flatten().copied().collect();
    let inputs: Vec<u32> = judged.iter().map(|&row| dataset.usable[row]).collect();
    let errors = errors(dataset, costs, &inputs, &dataset.keys(SplitBy::Input, &inputs), seed);
    let count = order.len() as f64;
    let independent = BLOCKS.into_iter().filter(|block| block * 6 <= inputs.len()).filter_map(|block| {
        let keys: Vec<u64> = (0..inputs.len() as u64).map(|at| at / block as u64).collect();
        let [common, _] = common(&errors, &keys);
        // The products of independent errors have this spread, whatever their distribution.
        let error = (2.0 / (inputs.len() * (block - 1)) as f64).sqrt();
        let independent = count / (1.0 + common.max(0.0) * (block - 1) as f64);
        (common > BLOCK_ERRORS * error && independent <= BLOCK_SHARE * count).then_some(independent)
    });
    let independent = independent.min_by(f64::total_cmp)?;
    let length = (count / independent).ceil() as u64;
    let mut keys = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&row, at)| keys[row] = at / length);
    Some(Candidate { independent, ..Candidate::new(keys, Shared::Stretch) })
}

/// The correlation of a column with its next value along the log.
fn next_correlation(codes: &[u64], order: &[usize]) -> f64 {
    let values: Vec<f64> = order.iter().map(|&row| codes[row] as f64).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let along: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    along / values.iter().map(|x| (x - mean).powi(2)).sum::<f64>().max(f64::MIN_POSITIVE)
}
