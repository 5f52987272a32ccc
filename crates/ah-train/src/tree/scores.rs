//! How each node ranks the choices: by the mean cost of a choice over the node's rows, shrunk towards
//! its parent's score; the root's is shrunk towards a prior.
//!
//! `score[node][c] = (sum of costs in node + shrinkage * score[parent][c]) / (count + shrinkage)`, over the
//! rows where c was measured: the parent's score weighs as much as shrinkage inputs. It is at most `most_worse` above their mean.
//!
//! A node ranks by evidence, not by hope: it does not rank a choice that was never measured there, and one that was measured
//! on one or two inputs pays a penalty. With a promise of 1 %, mm TIMM (740 inputs) loses 0.0024 ± 0.0018 less than by the
//! shrunken means of all choices.

use ah_joint::growth::Tree;
use ah_model::ChoiceId;
use ah_model::math::exp2;

use crate::data::costs::Cost;
use crate::data::{COST_ONE, Costs, FitRows};

/// The root's prior: each choice starts with this cost, as if measured on five inputs.
pub(crate) const PRIOR_COST: f64 = 0.7;
const PRIOR_COUNT: f64 = 5.0;
/// Inputs on which a choice must be measured to be judged by its mean, whatever their weights.
const MIN_INPUTS: u32 = 3;
/// The most that a parent's score counts above a node's mean, in trees that ship. Learned from 24 and 40 sizes, sorts that cross once
/// lose 4.9 and 2.1 %; without a limit 10.6 and 3.7 %, as the one for short lists is the slowest elsewhere (docs/laboratory.md).
pub const MOST_WORSE: f64 = 0.5;
/// The small-sample penalty of a single measurement: about the spread of a choice within a leaf of mm A100.
const PENALTY: f64 = 0.1;

/// The sums of the rows of a node over one choice.
#[derive(Clone, Copy, Default)]
struct Sum {
    cost: i64,
    weight: i64,
    inputs: u32,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.cost += other.cost;
        self.weight += other.weight;
        self.inputs += other.inputs;
    }
}

/// The scores of all nodes of one tree: least is best, and infinite where the node does not rank the choice.
#[derive(Clone, Debug)]
pub struct Scores {
    choices: usize,
    scores: Vec<f64>,
}

impl Scores {
    /// The scores of every node from the rows that reach it. A parent's counts at most `most_worse` above the node's mean.
    pub fn new(tree: &Tree, rows: &FitRows<'_>, targets: &Costs, shrinkage: f64, most_worse: f64) -> Self {
        let choices = targets.choices;
        let mut sums = vec![Sum::default(); tree.nodes.len() * choices];
        let mut total = 0;
        for &input in rows.inputs {
            let weight = i64::from(targets.weight(input));
            total += weight;
            let leaf = rows.columns.leaf(tree, input);
            for cost in targets.of(input) {
                let sum = &mut sums[leaf * choices + cost.choice.index()];
                sum.add(Sum { cost: weight * i64::from(cost.cost), weight, inputs: 1 });
            }
        }
        // Children come behind their parents, so one pass from the back adds each node's sums to its parent's.
        for (node, split) in tree.nodes.iter().enumerate().skip(1).rev() {
            let (above, here) = sums.split_at_mut(node * choices);
            for (up, down) in above[split.parent as usize * choices..].iter_mut().zip(&here[..choices]) {
                up.add(*down);
            }
        }
        // The mean weight of an input: shrinkage counts inputs, whatever their weights.
        let unit = total as f64 / rows.inputs.len().max(1) as f64;
        let mut means = vec![0.0_f64; sums.len()];
        let mut scores = vec![0.0; sums.len()];
        for node in 0..tree.nodes.len() {
            for choice in 0..choices {
                let at = node * choices + choice;
                let Sum { cost, weight, inputs } = sums[at];
                let sum = cost as f64 / COST_ONE / unit;
                let count = weight as f64 / unit;
                let prior = if node == 0 {
                    (sum + PRIOR_COUNT * PRIOR_COST) / (count + PRIOR_COUNT)
                } else {
                    // Where no input measured the choice, its mean is NaN, which `min` passes over.
                    means[tree.nodes[node].parent as usize * choices + choice].min(sum / count + most_worse)
                };
                means[at] = if count + shrinkage > 0.0 {
                    (sum + shrinkage * prior) / (count + shrinkage)
                } else {
                    prior
                };
                scores[at] = means[at]
                    + match inputs {
                        0 => f64::INFINITY,
                        few if few < MIN_INPUTS => PENALTY / f64::from(few),
                        _ => 0.0,
                    };
            }
        }
        Self { choices, scores }
    }

    /// These scores without the choices of each node that none of these inputs of the node measured.
    pub fn measured_by(&self, members: &[Vec<u32>], targets: &Costs) -> Self {
        let mut result = self.clone();
        for (scores, members) in result.scores.chunks_exact_mut(self.choices).zip(members) {
            let mut measured = vec![false; self.choices];
            members.iter().flat_map(|&i| targets.of(i)).for_each(|c| measured[c.choice.index()] = true);
            let unmeasured = scores.iter_mut().zip(measured).filter(|(_, measured)| !measured);
            unmeasured.for_each(|(score, _)| *score = f64::INFINITY);
        }
        result
    }

    /// The scores of all rows for each of `nodes` nodes.
    pub fn constant(rows: &FitRows<'_>, targets: &Costs, nodes: usize) -> Self {
        let root = Self::new(&Tree::default(), rows, targets, 0.0, MOST_WORSE);
        Self { choices: root.choices, scores: root.scores.repeat(nodes) }
    }

    /// The scores of a node, by choice.
    pub fn node(&self, node: usize) -> &[f64] {
        &self.scores[node * self.choices..][..self.choices]
    }

    /// The scores of these nodes, in this order.
    pub fn of_nodes(&self, nodes: &[usize]) -> Self {
        let scores = nodes.iter().flat_map(|&node| self.node(node)).copied().collect();
        Self { choices: self.choices, scores }
    }

    /// The cost of the choice that a node picks for an input: of the measured choices the one with the least score, of
    /// equals the first. Where it ranks none of these, it is that of the slowest one: nothing better is known.
    pub fn cost(&self, node: usize, targets: &Costs, input: u32) -> u32 {
        let score = |cost: &&Cost| self.node(node)[cost.choice.index()];
        let ranked = targets.of(input).iter().filter(|cost| score(cost) < f64::INFINITY);
        let picked = ranked.min_by(|a, b| score(a).total_cmp(&score(b)));
        picked.or_else(|| targets.of(input).iter().max_by_key(|cost| cost.cost)).map_or(0, |cost| cost.cost)
    }

    /// Factors of the costs of a formula, from what each node adds to their logarithms to base 2. `doublings` has a number for
    /// each choice, node after node.
    pub fn factors(choices: usize, doublings: Vec<f64>) -> Self {
        Self { choices, scores: doublings.into_iter().map(exp2).collect() }
    }

    /// The same scores divided by `scale`.
    pub fn over(mut self, scale: f64) -> Self {
        self.scores.iter_mut().for_each(|score| *score /= scale);
        self
    }

    /// The choices that a node ranks, best first.
    pub fn ranking(&self, node: usize) -> Vec<(ChoiceId, f64)> {
        let ids = (0_u32..).map(ChoiceId);
        let ranked = ids.zip(self.node(node).iter().copied()).filter(|(_, score)| score.is_finite());
        let mut ranking: Vec<_> = ranked.collect();
        ranking.sort_by(|a, b| a.1.total_cmp(&b.1));
        ranking
    }
}
