//! Soft targets in whole numbers, so that sums over rows are exact in any order. Each is
//! multiplied with how much its input counts.

use crate::targets::{COST_LIMIT, COST_ONE, Targets};

/// A weight of 1; what rounds to 0 is left out, which leaves a handful of entries a row.
pub(super) const ONE: f64 = (1_u32 << 16) as f64;

/// Sparse rows of (output, weight), one output for each choice and temperature.
pub(super) struct Weights {
    /// The number of outputs.
    pub outputs: usize,
    offsets: Vec<u32>,
    entries: Vec<(u32, u32)>,
    counts: Vec<u32>,
}

impl Weights {
    /// The soft targets of these inputs; row i is `inputs[i]`.
    pub(super) fn new(targets: &Targets, inputs: &[u32], temperatures: &[(f64, f64)]) -> Self {
        let mut weights = Self {
            outputs: targets.choices() * temperatures.len().max(1),
            offsets: vec![0],
            entries: Vec::new(),
            counts: Vec::new(),
        };
        for &input in inputs {
            let count = targets.weight(input);
            weights.counts.push(count);
            for (t, &(temperature, share)) in temperatures.iter().enumerate() {
                for cost in targets.of(input) {
                    let weight = share * (-f64::from(cost.cost) / COST_ONE / temperature).exp();
                    let weight = (weight * ONE).round() as u32;
                    if weight > 0 {
                        let output = t * targets.choices() + cost.choice.index();
                        weights.entries.push((output as u32, weight * count));
                    }
                }
            }
            if temperatures.is_empty() {
                weights.entries.extend(targets.of(input).iter().map(|cost| {
                    let saved = (COST_LIMIT - f64::from(cost.cost) / COST_ONE) / COST_LIMIT;
                    (cost.choice.index() as u32, (saved * ONE).round().max(1.0) as u32 * count)
                }));
            }
            weights.offsets.push(weights.entries.len() as u32);
        }
        weights
    }

    /// How much a row counts.
    #[inline]
    pub(super) fn count(&self, row: u32) -> u32 {
        self.counts[row as usize]
    }

    /// The entries of a row.
    #[inline]
    pub(super) fn row(&self, row: u32) -> &[(u32, u32)] {
        let row = row as usize;
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}
