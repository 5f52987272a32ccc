//! The portfolio: the N choices that lose least where the best of them is always taken. `--max-choices` sets N; for a log of
//! many choices that no optimization declares, the curve of size against loss does.
//!
//! Where there are few enough sets, all of them are tried. Otherwise a greedy search saves at least
//! 1 − 1/e = 63 % of what the best set saves over the worst choice, as that saving is submodular: each
//! further choice saves less (Nemhauser, Wolsey and Fisher, 1978).

use ah_types::ChoiceId;

use crate::data::{Table, Task};
use crate::joint::FEW;

/// The greatest number of (set, input, choice) to try.
const MAX_EXACT: f64 = 2e8;

/// Most choices of a portfolio that nobody asked for.
const MOST: usize = 64;
/// Sizes that compete where nobody asks for one.
const SIZES: [usize; 6] = [8, 12, 16, 24, 32, 48];
/// The smallest size is taken that loses at most this much more than [`MOST`] choices.
const WITHIN: f64 = 0.01;

/// The choices to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The choices, ascending; the fallback is always among them.
    pub choices: Vec<ChoiceId>,
    /// The geometric-mean slowdown where the best of them is always taken.
    pub slowdown: f64,
    /// True if no other set of this size loses less; false if the search was greedy.
    pub exact: bool,
    /// The same slowdown for other numbers of choices, if nobody asked for one.
    pub curve: Vec<(usize, f64)>,
}

impl Portfolio {
    /// Returns whether nobody asked for it.
    pub fn is_usual(&self) -> bool {
        !self.curve.is_empty()
    }
}

/// Chooses the choices to keep on these inputs: `asked` ones, else as many as are worth it where a log of many choices is not
/// declared. `None`: all of them.
pub fn choose(task: &Task, inputs: &[u32], asked: Option<usize>) -> Option<Portfolio> {
    let (table, fallback) = (&task.table, || task.fallback(inputs));
    match asked {
        Some(count) => Some(of_size(table, inputs, fallback(), count)),
        None if task.undeclared && table.choices.len() > FEW => Some(of_any_size(table, inputs, fallback())),
        None => None,
    }
}

/// Chooses `count` choices.
fn of_size(table: &Table, inputs: &[u32], fallback: ChoiceId, count: usize) -> Portfolio {
    let costs = costs(table, inputs, fallback);
    let matrix = CostMatrix { costs: &costs, choices: table.choices.len(), rows: inputs.len() };
    let (choices, count) = (matrix.choices, count.min(matrix.choices));
    let sets = (0..count - 1).fold(1.0, |n, i| n * (choices - 1 - i) as f64 / (i + 1) as f64);
    let exact = sets * inputs.len() as f64 * count as f64 <= MAX_EXACT;
    let mut chosen = match exact {
        true => matrix.exact(fallback.index(), count),
        false => matrix.greedy(fallback.index(), count),
    };
    chosen.sort_unstable();
    let slowdown = matrix.slowdown(&chosen);
    Portfolio { choices: ids(&chosen), slowdown, exact, curve: Vec::new() }
}

/// Chooses as many choices as are worth it.
fn of_any_size(table: &Table, inputs: &[u32], fallback: ChoiceId) -> Portfolio {
    let costs = costs(table, inputs, fallback);
    let matrix = CostMatrix { costs: &costs, choices: table.choices.len(), rows: inputs.len() };
    let order = matrix.greedy(fallback.index(), MOST.min(matrix.choices));
    let sizes = SIZES.into_iter().filter(|size| *size < order.len()).chain([order.len()]);
    let curve: Vec<(usize, f64)> = sizes.map(|size| (size, matrix.slowdown(&order[..size]))).collect();
    let least = curve.last().map_or(1.0, |(_, slowdown)| *slowdown);
    let is_near = |(_, slowdown): &&(usize, f64)| *slowdown <= least + WITHIN;
    let (size, slowdown) = curve.iter().find(is_near).copied().unwrap_or((order.len(), least));
    let mut chosen = order[..size].to_vec();
    chosen.sort_unstable();
    Portfolio { choices: ids(&chosen), slowdown, exact: false, curve }
}

fn ids(choices: &[usize]) -> Vec<ChoiceId> {
    choices.iter().map(|&choice| ChoiceId(choice as u32)).collect()
}

/// Returns a dense matrix of log slowdowns. A choice without a time costs what the fallback costs.
fn costs(table: &Table, inputs: &[u32], fallback: ChoiceId) -> Vec<f64> {
    let choices = table.choices.len();
    let mut costs = vec![0.0_f64; choices * inputs.len()];
    for (row, &input) in inputs.iter().enumerate() {
        let loss = table.fallback_loss(input, fallback);
        costs[row * choices..][..choices].fill(loss);
        for cell in table.cells(input).iter().filter(|c| c.time.is_finite()) {
            costs[row * choices + cell.choice.index()] = cell.log_slowdown.min(loss);
        }
    }
    costs
}

/// Log slowdowns, by row and choice.
struct CostMatrix<'a> {
    costs: &'a [f64],
    choices: usize,
    rows: usize,
}

impl CostMatrix<'_> {
    fn cost(&self, set: &[usize]) -> f64 {
        let row = |row: usize| {
            let costs = &self.costs[row * self.choices..][..self.choices];
            set.iter().map(|&c| costs[c]).fold(f64::INFINITY, f64::min)
        };
        (0..self.rows).map(row).sum()
    }

    /// Returns the geometric-mean slowdown where the best of a set is always taken.
    fn slowdown(&self, set: &[usize]) -> f64 {
        (self.cost(set) / self.rows.max(1) as f64).exp()
    }

    /// Returns the choices in the order in which they are added.
    fn greedy(&self, first: usize, count: usize) -> Vec<usize> {
        let mut set = vec![first];
        let mut best: Vec<f64> = (0..self.rows).map(|r| self.costs[r * self.choices + first]).collect();
        while set.len() < count {
            let with = |c: usize| -> f64 {
                best.iter().enumerate().map(|(r, &b)| b.min(self.costs[r * self.choices + c])).sum()
            };
            let next = (0..self.choices)
                .filter(|c| !set.contains(c))
                .map(|c| (c, with(c)))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((next, _)) = next else { break };
            best.iter_mut().enumerate().for_each(|(r, b)| *b = b.min(self.costs[r * self.choices + next]));
            set.push(next);
        }
        set
    }

    fn exact(&self, first: usize, count: usize) -> Vec<usize> {
        let others: Vec<usize> = (0..self.choices).filter(|&c| c != first).collect();
        let mut positions: Vec<usize> = (0..count - 1).collect();
        let mut best: Option<(f64, Vec<usize>)> = None;
        loop {
            let mut set: Vec<usize> = positions.iter().map(|&p| others[p]).collect();
            set.push(first);
            set.sort_unstable();
            let cost = self.cost(&set);
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, set));
            }
            // The next combination in lexicographic order.
            let last = others.len() - positions.len();
            let Some(i) = (0..positions.len()).rev().find(|&i| positions[i] < last + i) else { break };
            positions[i] += 1;
            for j in i + 1..positions.len() {
                positions[j] = positions[j - 1] + 1;
            }
        }
        best.map(|b| b.1).unwrap_or_default()
    }
}
