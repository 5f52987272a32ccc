//! `--max-choices N`: the N choices that lose least by the objective where the best of them is always taken.
//!
//! Where there are few enough sets, all of them are tried. Otherwise a greedy search saves at least
//! 1 − 1/e = 63 % of what the best set saves over the worst choice, as that saving is submodular: each
//! further choice saves less (Nemhauser, Wolsey and Fisher, 1978).

use ah_types::ChoiceId;

use crate::data::Table;

/// The greatest number of (set, input, choice) to try.
const MAX_EXACT: f64 = 2e8;

/// The choices to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The choices, ascending; the fallback is always among them.
    pub choices: Vec<ChoiceId>,
    /// The geometric-mean slowdown where the best of them is always taken.
    pub slowdown: f64,
    /// True if no other set of this size loses less; false if the search was greedy.
    pub exact: bool,
}

/// Chooses `count` choices on these inputs.
pub fn choose(table: &Table, inputs: &[u32], fallback: ChoiceId, count: usize) -> Portfolio {
    let choices = table.choices.len();
    // A dense matrix of weighted costs. A choice without a time costs what the fallback costs.
    let mut costs = vec![0.0_f64; choices * inputs.len()];
    for (row, &input) in inputs.iter().enumerate() {
        let weight = table.cost_weight(input);
        let cost = |choice| weight * table.cost(input, choice, fallback);
        let of_fallback = cost(fallback);
        costs[row * choices..][..choices].fill(of_fallback);
        for cell in table.cells(input).iter().filter(|c| c.time.is_finite()) {
            costs[row * choices + cell.choice.index()] = cost(cell.choice).min(of_fallback);
        }
    }
    let matrix = CostMatrix { costs: &costs, choices, rows: inputs.len() };
    let count = count.min(choices);
    let sets = (0..count - 1).fold(1.0, |n, i| n * (choices - 1 - i) as f64 / (i + 1) as f64);
    let exact = sets * inputs.len() as f64 * count as f64 <= MAX_EXACT;
    let chosen =
        if exact { matrix.exact(fallback.index(), count) } else { matrix.greedy(fallback.index(), count) };
    let choices: Vec<ChoiceId> = chosen.into_iter().map(|c| ChoiceId(c as u32)).collect();
    let loss = |&input: &u32| {
        let losses = choices.iter().map(|&choice| table.loss(input, choice, fallback));
        losses.fold(f64::INFINITY, f64::min)
    };
    let slowdown = (inputs.iter().map(loss).sum::<f64>() / inputs.len().max(1) as f64).exp();
    Portfolio { choices, slowdown, exact }
}

/// Weighted costs, by row and choice.
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
        set.sort_unstable();
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
