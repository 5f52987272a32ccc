//! The portfolio: the N choices that lose least by the objective where the best of them is always taken. `--max-choices` sets N; for a log of
//! many choices that no optimization declares, the curve of size against loss sets it.
//!
//! Where there are few enough sets, all of them are tried. Otherwise the portfolio is a greedy [`cover`](crate::tree::cover).

use ah_types::ChoiceId;

use crate::data::{Dataset, Table};
use crate::joint;
use crate::tree::cover::Cover;

/// The greatest number of (set, input, choice) to try.
const MAX_EXACT: f64 = 2e8;
/// Sizes that compete where nobody asks for one.
const SIZES: [usize; 7] = [8, 12, 16, 24, 32, 48, 64];
/// The smallest size is taken that loses at most this much more than the greatest.
const WITHIN: f64 = 0.01;

/// Choices of a dense log that a joint model learns from. From all 640 choices of an H100's log it predicts no better, and takes
/// ten times as long.
const CANDIDATES: usize = 128;

/// The choices to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The choices' names, sorted; the fallback is always among them.
    pub choices: Vec<String>,
    /// The slowdown where the best of them is always taken, by the mean of the objective.
    pub slowdown: f64,
    /// True if no other set of this size loses less; false if the search was greedy.
    pub exact: bool,
    /// The same slowdown for other numbers of choices; empty if one was asked for.
    pub curve: Vec<(usize, f64)>,
}

/// Chooses the choices to keep on these inputs: `asked` ones, else as many as are worth it where a log is of
/// [many choices](joint::is_of_many). `None`: all of them.
pub fn choose(dataset: &Dataset, inputs: &[u32], asked: Option<usize>) -> Option<Portfolio> {
    let (table, fallback) = (&dataset.table, || dataset.fallback(inputs));
    match asked {
        Some(count) => Some(of_size(table, inputs, fallback(), count.min(table.choices.len()))),
        None if dataset.ad_hoc && joint::is_of_many(table, inputs) => {
            Some(of_any_size(table, inputs, fallback()))
        }
        None => None,
    }
}

/// Returns the names of the choices that a joint model of a dense log learns from, sorted: those in reach of the portfolio.
pub fn candidates(dataset: &Dataset, inputs: &[u32]) -> Vec<String> {
    let (chosen, _) = greedy(&dataset.table, inputs, dataset.fallback(inputs), CANDIDATES);
    names(&dataset.table, &chosen)
}

/// Chooses `count` choices.
fn of_size(table: &Table, inputs: &[u32], fallback: ChoiceId, count: usize) -> Portfolio {
    let others = (table.choices.len() - 1) as f64;
    let sets = (0..count - 1).fold(1.0, |n, i| n * (others - i as f64) / (i + 1) as f64);
    let exact = sets * inputs.len() as f64 * count as f64 <= MAX_EXACT;
    let (chosen, slowdown) = match exact {
        true => {
            let (chosen, cost) = CostMatrix::new(table, inputs, fallback).best(fallback, count);
            (chosen, table.over_best(cost))
        }
        false => {
            let (chosen, slowdowns) = greedy(table, inputs, fallback, count);
            (chosen, slowdowns[slowdowns.len() - 1])
        }
    };
    Portfolio { choices: names(table, &chosen), slowdown, exact, curve: Vec::new() }
}

/// Chooses as many choices as are worth it.
fn of_any_size(table: &Table, inputs: &[u32], fallback: ChoiceId) -> Portfolio {
    let (chosen, slowdowns) = greedy(table, inputs, fallback, SIZES[SIZES.len() - 1]);
    let sizes = SIZES.into_iter().filter(|size| *size < chosen.len()).chain([chosen.len()]);
    let curve: Vec<(usize, f64)> = sizes.map(|size| (size, slowdowns[size - 1])).collect();
    let (most, least) = curve[curve.len() - 1];
    let is_near = |(_, slowdown): &&(usize, f64)| *slowdown <= least + WITHIN;
    let (size, slowdown) = curve.iter().find(is_near).copied().unwrap_or((most, least));
    Portfolio { choices: names(table, &chosen[..size]), slowdown, exact: false, curve }
}

/// Returns the choices in the order in which they are added, and the slowdown with each.
fn greedy(table: &Table, inputs: &[u32], fallback: ChoiceId, count: usize) -> (Vec<ChoiceId>, Vec<f64>) {
    // A choice without a time costs what the fallback costs.
    let row = |&input: &u32| (input, table.cost_weight(input), table.cost(input, fallback, fallback));
    let mut cover = Cover::new(table, inputs.iter().map(row));
    let (mut chosen, mut slowdowns) = (vec![fallback], vec![table.over_best(cover.mean_cost())]);
    while chosen.len() < count {
        let gains = cover.gains();
        let gain = |id: &ChoiceId| gains[id.index()];
        let ids = (0..table.choices.len() as u32).map(ChoiceId).rev();
        let others = ids.filter(|id| !table.is_rare(*id) && !chosen.contains(id));
        // The first of equals.
        let Some(next) = others.max_by(|a, b| gain(a).total_cmp(&gain(b))) else { break };
        cover.add(next);
        chosen.push(next);
        slowdowns.push(table.over_best(cover.mean_cost()));
    }
    (chosen, slowdowns)
}

/// Returns the choices' names, sorted.
fn names(table: &Table, choices: &[ChoiceId]) -> Vec<String> {
    let mut names: Vec<String> = choices.iter().map(|id| table.choices[id.index()].clone()).collect();
    names.sort_unstable();
    names
}

/// Weighted costs, by row and choice.
struct CostMatrix {
    costs: Vec<f64>,
    choices: usize,
    rows: usize,
    weight: f64,
}

impl CostMatrix {
    /// Returns the costs on these inputs. A choice without a time costs what the fallback costs.
    fn new(table: &Table, inputs: &[u32], fallback: ChoiceId) -> Self {
        let choices = table.choices.len();
        let mut costs = vec![0.0_f64; choices * inputs.len()];
        for (row, &input) in inputs.iter().enumerate() {
            let weight = table.cost_weight(input);
            let of_fallback = weight * table.cost(input, fallback, fallback);
            costs[row * choices..][..choices].fill(of_fallback);
            for cell in table.cells(input).iter().filter(|c| c.time.is_finite()) {
                let cost = weight * table.cost(input, cell.choice, fallback);
                costs[row * choices + cell.choice.index()] = cost.min(of_fallback);
            }
        }
        let weight = inputs.iter().map(|&input| table.cost_weight(input)).sum();
        Self { costs, choices, rows: inputs.len(), weight }
    }

    fn cost(&self, set: &[usize]) -> f64 {
        let row = |row: usize| {
            let costs = &self.costs[row * self.choices..][..self.choices];
            set.iter().map(|&c| costs[c]).fold(f64::INFINITY, f64::min)
        };
        (0..self.rows).map(row).sum()
    }

    /// Returns the best set of `count` choices with `first`, and its mean cost.
    fn best(&self, first: ChoiceId, count: usize) -> (Vec<ChoiceId>, f64) {
        let others: Vec<usize> = (0..self.choices).filter(|&c| c != first.index()).collect();
        let mut positions: Vec<usize> = (0..count - 1).collect();
        let mut best: (f64, Vec<usize>) = (f64::INFINITY, Vec::new());
        loop {
            let mut set: Vec<usize> = positions.iter().map(|&p| others[p]).collect();
            set.push(first.index());
            let cost = self.cost(&set);
            if cost < best.0 {
                best = (cost, set);
            }
            // The next combination in lexicographic order.
            let last = others.len() - positions.len();
            let Some(i) = (0..positions.len()).rev().find(|&i| positions[i] < last + i) else { break };
            positions[i] += 1;
            for j in i + 1..positions.len() {
                positions[j] = positions[j - 1] + 1;
            }
        }
        let chosen = best.1.into_iter().map(|choice| ChoiceId(choice as u32)).collect();
        (chosen, best.0 / self.weight.max(f64::MIN_POSITIVE))
    }
}
