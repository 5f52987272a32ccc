//! What the search for splits sums over rows: soft targets and costs, in whole numbers, so that
//! sums are exact in any order. Each is multiplied with how much its input counts.
//!
//! Sums over all rows fit into 31 bits, so that eight of them fill a vector of 256 bits. Up to
//! 32,767 rows a soft target has 16 bits; each doubling of the rows takes one, and takes it where
//! twice as many roundings even out.

use crate::targets::{COST_LIMIT, COST_ONE, Targets};

use super::Soft;

/// Sums of targets stay below 2 to this power.
const SUM_BITS: u32 = 31;
/// Bits of a soft target of 1, at most.
const TARGET_BITS: u32 = 16;
/// All rows together count at most 2 to this power; with more, how much a row counts is rounded.
const COUNT_BITS: u32 = 24;

/// Sparse rows of (lane, value): a lane for each soft target, then one for each choice's cost.
pub(super) struct Samples {
    /// Soft targets: choices × temperatures.
    pub outputs: usize,
    /// Lanes of costs; 0 where the criterion does without.
    pub costs: usize,
    /// A soft target of 1.
    pub one: f64,
    /// True where every row counts once.
    pub unweighted: bool,
    counts: Vec<u32>,
    squares: Vec<u64>,
    common: Vec<i32>,
    least: Vec<i32>,
    offsets: Vec<u32>,
    entries: Vec<(u32, i32)>,
}

impl Samples {
    /// The samples of these inputs; row i is `inputs[i]`.
    pub(super) fn new(soft: &Soft, targets: &Targets, inputs: &[u32]) -> Self {
        let total: u64 = inputs.iter().map(|&i| u64::from(targets.weight(i))).sum();
        let shift = bits(total).saturating_sub(COUNT_BITS);
        let count = |input: u32| (targets.weight(input) >> shift).max(1);
        let total: u64 = inputs.iter().map(|&i| u64::from(count(i))).sum();
        let most = soft.temperatures.iter().map(|t| t.1).fold(1.0, f64::max).ceil() as u64;
        let one = f64::from(1_u32 << TARGET_BITS.min(SUM_BITS.saturating_sub(bits(total * most))));
        let cost_one = (f64::from(1_u32 << 30) / (total.max(1) as f64 * COST_LIMIT)).min(COST_ONE);
        let cost_of = |cost: u32| (f64::from(cost) / COST_ONE * cost_one).round() as i32;
        let mut samples = Self {
            outputs: targets.choices() * soft.temperatures.len().max(1),
            costs: if soft.alpha > 0.0 { targets.choices() } else { 0 },
            one,
            unweighted: inputs.iter().all(|&i| count(i) == 1),
            counts: inputs.iter().map(|&i| count(i)).collect(),
            squares: Vec::with_capacity(inputs.len()),
            common: Vec::new(),
            least: Vec::new(),
            offsets: vec![0],
            entries: Vec::new(),
        };
        let mut sorted = Vec::new();
        for &input in inputs {
            let count = count(input) as i32;
            let costs = targets.of(input);
            for (t, &(temperature, share)) in soft.temperatures.iter().enumerate() {
                samples.entries.extend(costs.iter().filter_map(|cost| {
                    let target = share * (-f64::from(cost.cost) / COST_ONE / temperature).exp();
                    // What rounds to 0 is left out, which leaves a handful of entries a row.
                    let target = (target * one).round() as i32;
                    let lane = t * targets.choices() + cost.choice.index();
                    (target > 0).then_some((lane as u32, target * count))
                }));
            }
            if soft.temperatures.is_empty() {
                samples.entries.extend(costs.iter().map(|cost| {
                    let saved = (COST_LIMIT - f64::from(cost.cost) / COST_ONE) / COST_LIMIT;
                    (cost.choice.0, (saved * one).round().max(1.0) as i32 * count)
                }));
            }
            let start = samples.offsets[samples.offsets.len() - 1] as usize;
            // A row that counts n times has n times its target as its sum.
            let square =
                |e: &(u32, i32)| u64::from(e.1.unsigned_abs()).pow(2) / u64::from(count.unsigned_abs());
            samples.squares.push(samples.entries[start..].iter().map(square).sum());
            if samples.costs > 0 {
                sorted.clear();
                sorted.extend(costs.iter().map(|c| c.cost));
                sorted.sort_unstable();
                let median = cost_of(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
                let least = cost_of(sorted.first().copied().unwrap_or(0));
                samples.common.push(count * median);
                samples.least.push(count * least);
                let lane = |choice: ah_types::ChoiceId| samples.outputs as u32 + choice.0;
                let entry = |c: &crate::targets::Cost| (lane(c.choice), count * (cost_of(c.cost) - median));
                samples.entries.extend(costs.iter().map(entry).filter(|e| e.1 != 0));
            }
            samples.offsets.push(samples.entries.len() as u32);
        }
        samples
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.counts.len()
    }

    /// The entries of all rows together.
    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// How much a row counts.
    #[inline]
    pub(super) fn count(&self, row: u32) -> u32 {
        self.counts[row as usize]
    }

    /// The sum of a row's squared targets, as often as it counts.
    #[inline]
    pub(super) fn square(&self, row: u32) -> u64 {
        self.squares[row as usize]
    }

    /// What every choice costs on a row that has no entry for it: the median of the measured ones.
    #[inline]
    pub(super) fn common(&self, row: u32) -> i32 {
        if self.costs > 0 { self.common[row as usize] } else { 0 }
    }

    /// The least cost of a choice on a row.
    #[inline]
    pub(super) fn least(&self, row: u32) -> i32 {
        if self.costs > 0 { self.least[row as usize] } else { 0 }
    }

    /// (lane, value); the value of a cost is its difference from what is [common](Self::common).
    #[inline]
    pub(super) fn row(&self, row: u32) -> &[(u32, i32)] {
        let row = row as usize;
        &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// The number of bits of `x`: `x < 2^bits`.
fn bits(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}
