//! The lanes of a subtree's rows, copied together: only those that some of its rows have.

use super::lanes::{Block, zipped};
use super::samples::{Row, Samples};

pub(super) struct Compact {
    /// Blocks of a row.
    pub width: usize,
    /// Of these, blocks of targets.
    pub targets: usize,
    /// By row.
    pub lanes: Vec<Block>,
}

impl Compact {
    pub(super) fn new(samples: &Samples, rows: &[u32]) -> Self {
        let layout = samples.layout;
        let kept = kept(samples, rows);
        let of_targets = kept.partition_point(|&lane| lane < layout.first_cost());
        let targets = of_targets.div_ceil(8);
        let (first, kept_costs) = (targets * 8, kept.len() - of_targets);
        let end = first + kept_costs;
        // A choice that no row has an entry for costs what is common: one lane for all of these.
        let absent = kept_costs < layout.costs;
        let width = (end + usize::from(absent)).div_ceil(8);
        let mut lane_of = vec![u32::MAX; layout.blocks() * 8];
        for (at, &lane) in kept.iter().enumerate() {
            lane_of[lane] = if at < of_targets { at } else { first + at - of_targets } as u32;
        }
        let mut lanes = vec![[0; 8]; rows.len() * width];
        for (lanes, &row) in lanes.chunks_exact_mut(width.max(1)).zip(rows) {
            let lanes = lanes.as_flattened_mut();
            match samples.row(row) {
                Row::Sparse(entries) => {
                    lanes[first..].fill(samples.facts(row).common);
                    for &(lane, value) in entries {
                        lanes[lane_of[lane as usize] as usize] += value;
                    }
                    if layout.costs > 0 && !absent {
                        let copied = lanes[first];
                        lanes[end..].fill(copied);
                    }
                }
                Row::Dense(all) => {
                    let all = all.as_flattened();
                    lanes.iter_mut().zip(&kept[..of_targets]).for_each(|(to, &lane)| *to = all[lane]);
                    lanes[first..].copy_from_slice(&all[layout.first_cost()..]);
                }
            }
        }
        Self { width, targets, lanes }
    }
}

/// The lanes that some row has, ascending: of targets, where one is not 0; of costs, where one has an
/// entry (dense rows: all).
fn kept(samples: &Samples, rows: &[u32]) -> Vec<usize> {
    let layout = samples.layout;
    let mut seen = vec![[0; 8]; layout.blocks()];
    for &row in rows {
        match samples.row(row) {
            Row::Sparse(entries) => {
                entries.iter().for_each(|&(lane, _)| seen.as_flattened_mut()[lane as usize] = 1);
            }
            Row::Dense(lanes) => {
                let targets = seen[..layout.targets()].iter_mut().zip(lanes);
                targets.for_each(|(seen, lanes)| *seen = zipped(*seen, *lanes, |a, b| a | b));
            }
        }
    }
    let seen = seen.as_flattened_mut();
    if rows.first().is_some_and(|&row| matches!(samples.row(row), Row::Dense(_))) {
        seen[layout.first_cost()..][..layout.costs].fill(1);
    }
    (0..seen.len()).filter(|&lane| seen[lane] != 0).collect()
}
