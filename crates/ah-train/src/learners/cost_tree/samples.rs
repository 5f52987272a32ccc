//! The rows that the search for splits sums up: soft targets and costs as whole numbers, so that
//! sums are exact in any order. Each number is multiplied by the input's weight.
//!
//! Sums over all rows stay below 2^31, so eight of them fit into a vector of 256 bits. With up to
//! 32,767 rows a soft target has 16 bits. Each doubling of the rows takes one bit away; the sums
//! lose nothing, as twice as many rounding errors even out.

use rayon::prelude::*;

use super::lanes::Block;
use super::parameters::CostTree;
use crate::data::{COST_ONE, Costs};

/// Sums of targets stay below 2^31.
const SUM_BITS: u32 = 31;
/// Most bits of a soft target of 1.
const TARGET_BITS: u32 = 16;
/// The weights of all rows add up to at most 2^24; beyond that they are rounded.
const COUNT_BITS: u32 = 24;

/// The order of a row's lanes: one lane for each soft target, padded to a whole block, then one
/// lane for each choice's cost, padded too.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Number of soft targets: one for each choice.
    pub outputs: usize,
    /// Number of costs; 0 if the criterion does not use costs.
    pub costs: usize,
}

impl Layout {
    /// Returns the number of blocks of targets; the blocks behind them hold costs.
    pub(super) fn target_blocks(self) -> usize {
        self.outputs.div_ceil(8)
    }

    /// Returns the number of blocks of a row.
    pub(super) fn blocks(self) -> usize {
        self.target_blocks() + self.costs.div_ceil(8)
    }

    /// Returns the lane of the first cost.
    pub(super) fn first_cost(self) -> usize {
        self.target_blocks() * 8
    }

    /// Adds the base cost of a sparse row to the lanes of its costs, and pads the last block with
    /// the first cost. So the least lane is the least cost.
    #[inline(always)]
    pub(super) fn complete_costs(self, lanes: &mut [Block], base_cost: i32) {
        let costs = lanes[self.target_blocks()..].as_flattened_mut();
        costs.iter_mut().for_each(|cost| *cost += base_cost);
        if let Some(&first) = costs.first() {
            costs[self.costs..].fill(first);
        }
    }
}

/// A row's lanes.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    /// (lane, value). The value of a cost is its difference from the row's
    /// [base cost](RowFacts::base_cost); a choice without an entry costs the base cost.
    Sparse(&'a [(u32, i32)]),
    /// All lanes. Costs are padded with 0, costs with the first cost.
    Dense(&'a [Block]),
}

/// The lanes of all rows.
enum RowStorage {
    Sparse { offsets: Vec<u32>, entries: Vec<(u32, i32)> },
    Dense(Vec<Block>),
}

/// The numbers of a row beside its lanes. All numbers include its weight.
#[derive(Clone, Copy)]
pub(super) struct RowFacts {
    /// Sum of its squared targets.
    pub square: u64,
    /// Its weight.
    pub count: u32,
    /// Cost assumed for choices missing from a sparse row: the median of the measured ones.
    pub base_cost: i32,
    /// Least cost of a choice.
    pub least_cost: i32,
    /// Greatest cost less least cost.
    pub cost_spread: i32,
}

/// The rows of a fit.
pub(super) struct Samples {
    pub layout: Layout,
    /// The whole number that stands for a soft target of 1.
    pub one: f64,
    /// True if every row has the weight 1.
    pub unweighted: bool,
    facts: Vec<RowFacts>,
    rows: RowStorage,
}

/// Turns inputs into rows.
struct SampleBuilder<'a> {
    parameters: &'a CostTree,
    targets: &'a Costs,
    layout: Layout,
    one: f64,
    cost_one: f64,
    /// Weights are divided by 2^shift.
    shift: u32,
}

/// Number of rows that a thread builds at a time.
const CHUNK: usize = 4096;

impl Samples {
    /// Builds the rows of these inputs; row i is `inputs[i]`.
    pub(super) fn new(parameters: &CostTree, targets: &Costs, inputs: &[u32]) -> Self {
        let total: u64 = inputs.iter().map(|&i| u64::from(targets.weight(i))).sum();
        let layout = Layout {
            outputs: targets.choices(),
            costs: if parameters.alpha > 0.0 { targets.choices() } else { 0 },
        };
        let shift = bits(total).saturating_sub(COUNT_BITS);
        let mut builder = SampleBuilder { parameters, targets, layout, one: 0.0, cost_one: 0.0, shift };
        let total: u64 = inputs.iter().map(|&i| u64::from(builder.count(i))).sum();
        builder.one = target_of_one(total);
        builder.cost_one =
            (f64::from(1_u32 << 30) / (total.max(1) as f64 * targets.greatest())).min(COST_ONE);

        let cells: usize = inputs.iter().map(|&i| targets.of(i).len()).sum();
        // If nearly every choice is measured, a lane takes less memory than an entry.
        let nearly_full = 4 * cells > 3 * inputs.len() * targets.choices();
        let dense = nearly_full && layout.costs > 0;
        let (facts, rows) = if dense { builder.dense(inputs) } else { builder.sparse(inputs) };
        let unweighted = facts.iter().all(|facts| facts.count == 1);
        Self { layout, one: builder.one, unweighted, facts, rows }
    }

    /// Builds rows from their weights and `outputs` numbers of each. The greatest number becomes 1.
    pub(super) fn from_numbers(outputs: usize, numbers: &[f64], weights: &[u32]) -> Self {
        let layout = Layout { outputs, costs: 0 };
        let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
        let one = target_of_one(total);
        let greatest = numbers.iter().fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
        let mut lanes = vec![[0; 8]; weights.len() * layout.blocks()];
        let mut facts = Vec::with_capacity(weights.len());
        let rows = lanes.chunks_exact_mut(layout.blocks().max(1)).zip(numbers.chunks_exact(outputs.max(1)));
        for ((lanes, numbers), &count) in rows.zip(weights) {
            let mut square = 0;
            for (lane, number) in lanes.as_flattened_mut().iter_mut().zip(numbers) {
                let value = (number / greatest * one).round() as i32;
                square += u64::from(value.unsigned_abs()).pow(2) * u64::from(count);
                *lane = value * count as i32;
            }
            facts.push(RowFacts { square, count, base_cost: 0, least_cost: 0, cost_spread: 0 });
        }
        let unweighted = weights.iter().all(|&w| w == 1);
        Self { layout, one, unweighted, facts, rows: RowStorage::Dense(lanes) }
    }

    /// Returns what a row has beside its lanes.
    #[inline]
    pub(super) fn facts(&self, row: u32) -> &RowFacts {
        &self.facts[row as usize]
    }

    /// Returns a row's lanes.
    #[inline]
    pub(super) fn row(&self, row: u32) -> Row<'_> {
        let row = row as usize;
        match &self.rows {
            RowStorage::Sparse { offsets, entries } => {
                Row::Sparse(&entries[offsets[row] as usize..offsets[row + 1] as usize])
            }
            RowStorage::Dense(lanes) => {
                Row::Dense(&lanes[row * self.layout.blocks()..][..self.layout.blocks()])
            }
        }
    }
}

impl SampleBuilder<'_> {
    fn count(&self, input: u32) -> u32 {
        (self.targets.weight(input) >> self.shift).max(1)
    }

    fn cost(&self, cost: u32) -> i32 {
        (f64::from(cost) / COST_ONE * self.cost_one).round() as i32
    }

    fn dense(&self, inputs: &[u32]) -> (Vec<RowFacts>, RowStorage) {
        let blocks = self.layout.blocks();
        let mut lanes = vec![[0; 8]; inputs.len() * blocks];
        let build = |sorted: &mut Vec<u32>, (lanes, &input): (&mut [Block], &u32)| {
            let facts = self.row(input, sorted, |lane, value| lanes.as_flattened_mut()[lane] = value);
            self.layout.complete_costs(lanes, facts.base_cost);
            RowFacts { base_cost: 0, ..facts }
        };
        let rows = lanes.par_chunks_exact_mut(blocks).zip(inputs).with_min_len(CHUNK);
        let facts = rows.map_init(Vec::new, build).collect();
        (facts, RowStorage::Dense(lanes))
    }

    fn sparse(&self, inputs: &[u32]) -> (Vec<RowFacts>, RowStorage) {
        let part = |inputs: &[u32]| {
            let (mut ends, mut entries, mut sorted) = (Vec::new(), Vec::new(), Vec::new());
            let mut facts = Vec::with_capacity(inputs.len());
            for &input in inputs {
                facts.push(self.row(input, &mut sorted, |lane, value| entries.push((lane as u32, value))));
                ends.push(entries.len() as u32);
            }
            (facts, ends, entries)
        };
        let parts: Vec<_> = inputs.par_chunks(CHUNK).map(part).collect();
        let (mut facts, mut offsets) = (Vec::with_capacity(inputs.len()), vec![0]);
        let mut entries = Vec::with_capacity(parts.iter().map(|p| p.2.len()).sum());
        for (facts_of_part, ends, entries_of_part) in parts {
            let start = entries.len() as u32;
            offsets.extend(ends.into_iter().map(|end| start + end));
            facts.extend(facts_of_part);
            entries.extend(entries_of_part);
        }
        (facts, RowStorage::Sparse { offsets, entries })
    }

    /// Calls `lane` with each lane of an input that is not 0; costs are differences from the base
    /// cost. `sorted` is a buffer.
    fn row(&self, input: u32, sorted: &mut Vec<u32>, mut lane: impl FnMut(usize, i32)) -> RowFacts {
        let (count, costs) = (self.count(input), self.targets.of(input));
        let times = count as i32;
        let mut square = 0;
        for cost in costs {
            let target = cost.soft_target(self.parameters.temperature);
            // Costs that round to 0 are left out: a handful of entries a row remains.
            let value = (target * self.one).round() as i32;
            if value > 0 {
                lane(cost.choice.index(), value * times);
                square += u64::from(value.unsigned_abs()).pow(2) * u64::from(count);
            }
        }
        let mut facts = RowFacts { square, count, base_cost: 0, least_cost: 0, cost_spread: 0 };
        if self.layout.costs > 0 {
            sorted.clear();
            sorted.extend(costs.iter().map(|c| c.cost));
            sorted.sort_unstable();
            let median = self.cost(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
            facts.base_cost = times * median;
            facts.least_cost = times * self.cost(sorted.first().copied().unwrap_or(0));
            facts.cost_spread = times * self.cost(sorted.last().copied().unwrap_or(0)) - facts.least_cost;
            for cost in costs {
                let difference = times * (self.cost(cost.cost) - median);
                if difference != 0 {
                    lane(self.layout.first_cost() + cost.choice.index(), difference);
                }
            }
        }
        facts
    }
}

/// Returns the whole number that stands for a soft target of 1, where weights add up to `total`.
fn target_of_one(total: u64) -> f64 {
    f64::from(1_u32 << TARGET_BITS.min(SUM_BITS.saturating_sub(bits(total))))
}

/// Returns the number of bits of `x`: `x < 2^bits`.
fn bits(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}
