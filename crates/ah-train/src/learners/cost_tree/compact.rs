//! The lanes of a subtree's rows, copied together. Lanes that none of its rows uses are left out.

use super::lanes::{Block, zip_map};
use super::samples::{Row, Samples};

/// The lanes of some rows.
pub(super) struct CompactLanes {
    /// Blocks of a row.
    pub blocks: usize,
    /// Blocks of a row's targets; costs follow.
    pub target_blocks: usize,
    /// Row by row.
    pub lanes: Vec<Block>,
}

impl CompactLanes {
    pub(super) fn new(samples: &Samples, rows: &[u32]) -> Self {
        let layout = samples.layout;
        let used = used_lanes(samples, rows);
        let targets = used.partition_point(|&lane| lane < layout.first_cost());
        let target_blocks = targets.div_ceil(8);
        let (first_cost, costs) = (target_blocks * 8, used.len() - targets);
        let end = first_cost + costs;
        // Choices without an entry in any row all cost the base cost: one lane stands for them.
        let absent = costs < layout.costs;
        let blocks = (end + usize::from(absent)).div_ceil(8);
        let mut lane_of = vec![u32::MAX; layout.blocks() * 8];
        for (at, &lane) in used.iter().enumerate() {
            lane_of[lane] = if at < targets { at } else { first_cost + at - targets } as u32;
        }
        let mut lanes = vec![[0; 8]; rows.len() * blocks];
        for (lanes, &row) in lanes.chunks_exact_mut(blocks.max(1)).zip(rows) {
            let lanes = lanes.as_flattened_mut();
            match samples.row(row) {
                Row::Sparse(entries) => {
                    lanes[first_cost..].fill(samples.facts(row).base_cost);
                    for &(lane, value) in entries {
                        lanes[lane_of[lane as usize] as usize] += value;
                    }
                    if layout.costs > 0 && !absent {
                        let first = lanes[first_cost];
                        lanes[end..].fill(first);
                    }
                }
                Row::Dense(all) => {
                    let all = all.as_flattened();
                    lanes.iter_mut().zip(&used[..targets]).for_each(|(to, &lane)| *to = all[lane]);
                    lanes[first_cost..].copy_from_slice(&all[layout.first_cost()..]);
                }
            }
        }
        Self { blocks, target_blocks, lanes }
    }
}

/// Returns the lanes that some row uses, ascending: targets that are not 0 and costs with an entry
/// (all costs if rows are dense).
fn used_lanes(samples: &Samples, rows: &[u32]) -> Vec<usize> {
    let layout = samples.layout;
    let mut used = vec![[0; 8]; layout.blocks()];
    for &row in rows {
        match samples.row(row) {
            Row::Sparse(entries) => {
                entries.iter().for_each(|&(lane, _)| used.as_flattened_mut()[lane as usize] = 1);
            }
            Row::Dense(lanes) => {
                let targets = used[..layout.target_blocks()].iter_mut().zip(lanes);
                targets.for_each(|(used, lanes)| *used = zip_map(*used, *lanes, |a, b| a | b));
            }
        }
    }
    let used = used.as_flattened_mut();
    if rows.first().is_some_and(|&row| matches!(samples.row(row), Row::Dense(_))) {
        used[layout.first_cost()..][..layout.costs].fill(1);
    }
    (0..used.len()).filter(|&lane| used[lane] != 0).collect()
}
