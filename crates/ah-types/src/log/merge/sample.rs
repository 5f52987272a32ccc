//! The times of the inputs that several machines measured.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::error::MergeError;
use super::inputs::Inputs;
use super::machines::{MachineSample, Trial};
use super::row::Digest;
use super::shard::{Line, Shard, ShardReader};
use super::workers;
use crate::choice::median;

/// Reads each log up to its last shared input. Collectors that measure the sample first put it at the
/// beginning.
pub(super) fn read(
    shards: &[Shard],
    inputs: &Inputs,
    threads: usize,
) -> Result<Vec<MachineSample>, MergeError> {
    let sample: FxHashMap<Digest, u32> = inputs.sample().into_iter().zip(0..).collect();
    let mut choices: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let mut machines = Vec::with_capacity(shards.len());
    workers::in_order(
        shards.len(),
        threads,
        |log| times(&shards[log], &sample, inputs.shared_runs(log)),
        |_, times| {
            let mut medians = MachineSample::new();
            for ((input, choice), times) in times? {
                let next = u32::try_from(choices.len()).unwrap_or(u32::MAX);
                let choice = *choices.entry(choice).or_insert(next);
                let ms = median(&times).filter(|ms| ms.is_finite());
                medians.extend(ms.map(|ms| (Trial { input, choice }, ms)));
            }
            medians.sort_unstable_by_key(|(trial, _)| *trial);
            machines.push(medians);
            Ok::<_, MergeError>(())
        },
    )?;
    Ok(machines)
}

type Times = BTreeMap<(u32, Vec<u8>), Vec<f64>>;

/// Returns the times of the inputs in `sample` within the log's first runs of rows.
fn times(shard: &Shard, sample: &FxHashMap<Digest, u32>, runs: u32) -> Result<Times, MergeError> {
    let mut times = Times::new();
    if runs == 0 {
        return Ok(times);
    }
    let mut reader = ShardReader::open(&shard.path)?;
    let (mut run, mut last) = (0, None);
    while let Some(line) = reader.next(|row, _| {
        let row = row.ok()?;
        run += u32::from(last != Some(row.input));
        last = Some(row.input);
        let input = *sample.get(&row.input)?;
        Some(((input, row.choice.to_vec()), row.feedback))
    })? {
        if run > runs {
            break;
        }
        if let Line::Row(_, Some((trial, ms))) = line {
            times.entry(trial).or_default().push(ms);
        }
    }
    Ok(times)
}
