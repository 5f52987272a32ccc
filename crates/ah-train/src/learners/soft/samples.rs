//! What the search for splits sums over rows: soft targets and costs, in whole numbers, so that
//! sums are exact in any order. Each is multiplied with how much its input counts.
//!
//! Sums over all rows fit into 31 bits, so that eight of them fill a vector of 256 bits. Up to
//! 32,767 rows a soft target has 16 bits; each doubling of the rows takes one, and takes it where
//! twice as many roundings even out.

use rayon::prelude::*;

use super::Soft;
use super::lanes::Block;
use crate::data::targets::{COST_LIMIT, COST_ONE, Targets};

/// Sums of targets stay below 2 to this power.
const SUM_BITS: u32 = 31;
/// Bits of a soft target of 1, at most.
const TARGET_BITS: u32 = 16;
/// All rows together count at most 2 to this power; with more, how much a row counts is rounded.
const COUNT_BITS: u32 = 24;

/// Where a row's lanes stand: a lane for each soft target, filled up to a whole block, then one for
/// each choice's cost, filled up as well.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Soft targets: choices × temperatures.
    pub outputs: usize,
    /// Lanes of costs; 0 where the criterion does without.
    pub costs: usize,
}

impl Layout {
    /// Blocks of targets; the rest are costs.
    pub(super) fn targets(self) -> usize {
        self.outputs.div_ceil(8)
    }

    /// Blocks of a row.
    pub(super) fn blocks(self) -> usize {
        self.targets() + self.costs.div_ceil(8)
    }

    /// The lane of the first cost.
    pub(super) fn first_cost(self) -> usize {
        self.targets() * 8
    }
}

/// A row's lanes.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    /// (lane, value); the value of a cost is its difference from what is [common](Facts::common).
    Sparse(&'a [(u32, i32)]),
    /// All of them; what fills up targets is 0, what fills up costs is the first cost.
    Dense(&'a [Block]),
}

/// How rows are held.
enum Held {
    Sparse { offsets: Vec<u32>, entries: Vec<(u32, i32)> },
    Dense(Vec<Block>),
}

/// What a row holds beside its lanes.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    /// The sum of its squared targets, as often as it counts.
    pub square: u64,
    /// How much it counts.
    pub count: u32,
    /// What every choice costs that a sparse row has no entry for: the median of the measured ones.
    pub common: i32,
    /// The least cost of a choice.
    pub least: i32,
    /// By how much the dearest choice costs more than the cheapest.
    pub spread: i32,
}

/// The rows of a fit.
pub(super) struct Samples {
    pub layout: Layout,
    /// A soft target of 1.
    pub one: f64,
    /// True where every row counts once.
    pub unweighted: bool,
    facts: Vec<Facts>,
    rows: Held,
}

/// Makes the rows.
struct Maker<'a> {
    soft: &'a Soft,
    targets: &'a Targets,
    layout: Layout,
    one: f64,
    cost_one: f64,
    /// How much an input counts is divided by 2 to this power.
    shift: u32,
}

/// Rows that a thread makes at a time.
const CHUNK: usize = 4096;

impl Samples {
    /// The samples of these inputs; row i is `inputs[i]`.
    pub(super) fn new(soft: &Soft, targets: &Targets, inputs: &[u32]) -> Self {
        let total: u64 = inputs.iter().map(|&i| u64::from(targets.weight(i))).sum();
        let layout = Layout {
            outputs: targets.choices() * soft.temperatures.len().max(1),
            costs: if soft.alpha > 0.0 { targets.choices() } else { 0 },
        };
        let shift = bits(total).saturating_sub(COUNT_BITS);
        let mut maker = Maker { soft, targets, layout, one: 0.0, cost_one: 0.0, shift };
        let total: u64 = inputs.iter().map(|&i| u64::from(maker.count(i))).sum();
        let most = soft.temperatures.iter().map(|t| t.1).fold(1.0, f64::max).ceil() as u64;
        maker.one = f64::from(1_u32 << TARGET_BITS.min(SUM_BITS.saturating_sub(bits(total * most))));
        maker.cost_one = (f64::from(1_u32 << 30) / (total.max(1) as f64 * COST_LIMIT)).min(COST_ONE);

        let cells: usize = inputs.iter().map(|&i| targets.of(i).len()).sum();
        // Where nearly every choice is measured, a lane takes less than an entry.
        let filled = 4 * cells > 3 * inputs.len() * targets.choices();
        let dense = filled && (layout.costs > 0 || soft.temperatures.is_empty());
        let (facts, rows) = if dense { maker.dense(inputs) } else { maker.sparse(inputs) };
        let unweighted = facts.iter().all(|facts| facts.count == 1);
        Self { layout, one: maker.one, unweighted, facts, rows }
    }

    /// What a row holds beside its lanes.
    #[inline]
    pub(super) fn facts(&self, row: u32) -> &Facts {
        &self.facts[row as usize]
    }

    /// A row's lanes.
    #[inline]
    pub(super) fn row(&self, row: u32) -> Row<'_> {
        let row = row as usize;
        match &self.rows {
            Held::Sparse { offsets, entries } => {
                Row::Sparse(&entries[offsets[row] as usize..offsets[row + 1] as usize])
            }
            Held::Dense(lanes) => Row::Dense(&lanes[row * self.layout.blocks()..][..self.layout.blocks()]),
        }
    }
}

impl Maker<'_> {
    fn count(&self, input: u32) -> u32 {
        (self.targets.weight(input) >> self.shift).max(1)
    }

    fn cost(&self, cost: u32) -> i32 {
        (f64::from(cost) / COST_ONE * self.cost_one).round() as i32
    }

    fn dense(&self, inputs: &[u32]) -> (Vec<Facts>, Held) {
        let (blocks, first) = (self.layout.blocks(), self.layout.first_cost());
        let mut lanes = vec![[0; 8]; inputs.len() * blocks];
        let row = |sorted: &mut Vec<u32>, (lanes, &input): (&mut [Block], &u32)| {
            let lanes = lanes.as_flattened_mut();
            let facts = self.row(input, sorted, |lane, value| lanes[lane] = value);
            let costs = &mut lanes[first..];
            costs.iter_mut().for_each(|cost| *cost += facts.common);
            if let Some(&copied) = costs.first() {
                costs[self.layout.costs..].fill(copied);
            }
            Facts { common: 0, ..facts }
        };
        let rows = lanes.par_chunks_exact_mut(blocks).zip(inputs).with_min_len(CHUNK);
        let facts = rows.map_init(Vec::new, row).collect();
        (facts, Held::Dense(lanes))
    }

    fn sparse(&self, inputs: &[u32]) -> (Vec<Facts>, Held) {
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
        for (of_part, ends, entries_of_part) in parts {
            let start = entries.len() as u32;
            offsets.extend(ends.into_iter().map(|end| start + end));
            facts.extend(of_part);
            entries.extend(entries_of_part);
        }
        (facts, Held::Sparse { offsets, entries })
    }

    /// Hands over the lanes of an input that are not 0, costs as differences from what is common.
    fn row(&self, input: u32, sorted: &mut Vec<u32>, mut lane: impl FnMut(usize, i32)) -> Facts {
        let (count, costs) = (self.count(input), self.targets.of(input));
        let times = count as i32;
        let mut square = 0;
        // A row that counts n times has n times its target as its sum.
        let mut target = |at: usize, value: i32| {
            lane(at, value * times);
            square += u64::from(value.unsigned_abs()).pow(2) * u64::from(count);
        };
        for (t, &(temperature, share)) in self.soft.temperatures.iter().enumerate() {
            for cost in costs {
                let value = share * (-f64::from(cost.cost) / COST_ONE / temperature).exp();
                // What rounds to 0 is left out, which leaves a handful of entries a row.
                let value = (value * self.one).round() as i32;
                if value > 0 {
                    target(t * self.targets.choices() + cost.choice.index(), value);
                }
            }
        }
        if self.soft.temperatures.is_empty() {
            for cost in costs {
                let saved = (COST_LIMIT - f64::from(cost.cost) / COST_ONE) / COST_LIMIT;
                target(cost.choice.index(), (saved * self.one).round().max(1.0) as i32);
            }
        }
        let mut facts = Facts { square, count, common: 0, least: 0, spread: 0 };
        if self.layout.costs > 0 {
            sorted.clear();
            sorted.extend(costs.iter().map(|c| c.cost));
            sorted.sort_unstable();
            let median = self.cost(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
            facts.common = times * median;
            facts.least = times * self.cost(sorted.first().copied().unwrap_or(0));
            facts.spread = times * self.cost(sorted.last().copied().unwrap_or(0)) - facts.least;
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

/// The number of bits of `x`: `x < 2^bits`.
fn bits(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}
