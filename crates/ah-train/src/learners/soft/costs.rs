//! The costs of all choices, also of those that were not measured: these cost the median of
//! those that were. So a row is a number that every choice costs and a few differences from it.

use crate::targets::{COST_LIMIT, COST_ONE, Targets};

/// Sparse costs of rows.
pub(super) struct Costs {
    /// The number of choices.
    pub choices: usize,
    common: Vec<i64>,
    offsets: Vec<u32>,
    entries: Vec<(u32, i32)>,
}

impl Costs {
    /// In a unit so small that all rows' differences add up within 31 bits.
    pub(super) fn new(targets: &Targets, inputs: &[u32]) -> Self {
        let total: f64 = inputs.iter().map(|&i| f64::from(targets.weight(i))).sum();
        let unit = (f64::from(1_u32 << 30) / (total.max(1.0) * COST_LIMIT)).min(COST_ONE);
        let quantised = |cost: u32| (f64::from(cost) / COST_ONE * unit).round() as i32;
        let mut costs = Self {
            choices: targets.choices(),
            common: Vec::with_capacity(inputs.len()),
            offsets: vec![0],
            entries: Vec::new(),
        };
        let mut sorted = Vec::new();
        for &input in inputs {
            sorted.clear();
            sorted.extend(targets.of(input).iter().map(|c| c.cost));
            sorted.sort_unstable();
            let median = quantised(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
            let times = targets.weight(input) as i32;
            costs.common.push(i64::from(times) * i64::from(median));
            let entry = |c: &crate::targets::Cost| (c.choice.0, times * (quantised(c.cost) - median));
            costs.entries.extend(targets.of(input).iter().map(entry).filter(|e| e.1 != 0));
            costs.offsets.push(costs.entries.len() as u32);
        }
        costs
    }

    /// What every choice costs on this row.
    #[inline]
    pub(super) fn common(&self, row: u32) -> i64 {
        self.common[row as usize]
    }

    /// (choice, how much more or less it costs).
    #[inline]
    pub(super) fn row(&self, row: u32) -> &[(u32, i32)] {
        let row = row as usize;
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}
