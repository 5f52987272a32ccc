//! The correction of the old scores by the new times.
//!
//! The model of a time: `ln t(input, choice) = a(input) + score(leaf, choice) + delta(leaf, choice)`. The level `a` is
//! free, because a score compares choices of one input, and inputs do not offer the same ones. The corrections follow
//! the tree, each shrunk towards the one above:
//!
//! `delta[node][c] = (sum of misses in node + kappa * delta[parent][c]) / (inputs in node + kappa)`
//!
//! over the new inputs that measured c, where a miss is `ln t − a − score`; above the root is 0, the old score as it
//! is. A node that no new input reaches has the correction of the nearest one above. Levels and corrections are found
//! in turns.

use ah_types::ChoiceId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::transfer::Transfer;

/// Turns of levels and corrections: after three the scores change by less than 0.01.
const TURNS: usize = 5;
/// A single time is not believed beyond this: 1.5 is a factor of 4.5.
const MOST: f64 = 1.5;

/// A choice behind the end of a ranking counts as this much worse than the last one, as if measured on so many inputs:
/// a single new input where it wins says little of the leaf's others.
const CUT: f64 = 0.2;
const CUT_WEIGHT: f64 = 10.0;

/// What the old scores weigh, in new inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Strength {
    /// The old score of the root.
    pub root: f64,
    /// The correction of the node above.
    pub node: f64,
}

/// The corrections of a model's tree.
pub struct Correction {
    /// By node that a new input reaches: the correction of each choice.
    nodes: FxHashMap<u32, Vec<f64>>,
    /// By leaf and choice: the score and the new inputs of a choice that the leaf does not rank.
    local: FxHashMap<(u32, ChoiceId), LocalScore>,
}

/// The score of a choice that the old leaf does not rank.
#[derive(Clone, Copy, Default)]
struct LocalScore {
    sum: f64,
    count: f64,
    score: f64,
}

impl Correction {
    /// Returns the correction that changes nothing.
    pub fn none(transfer: &Transfer<'_>) -> Self {
        Self::new(transfer, &[], Strength { root: 1.0, node: 1.0 })
    }

    /// Returns what to add to the old score of a choice in a leaf.
    pub fn of(&self, transfer: &Transfer<'_>, leaf: u32, choice: ChoiceId) -> f64 {
        let mut at = Some(leaf);
        while let Some(node) = at {
            if let Some(deltas) = self.nodes.get(&node) {
                return deltas[choice.index()];
            }
            at = transfer.parent(node);
        }
        0.0
    }

    /// Returns the score of a choice that the old leaf does not rank, if new inputs of the leaf measured it.
    pub fn local(&self, leaf: u32, choice: ChoiceId) -> Option<f64> {
        self.local.get(&(leaf, choice)).map(|local| local.score)
    }
}

/// A new input, as the tree sees it.
struct Seen {
    leaf: u32,
    /// The positions of the nodes on its path, root first.
    path: Vec<usize>,
    /// The choices that the leaf ranks: each with its miss before corrections.
    misses: Vec<(ChoiceId, f64)>,
    /// The choices that it does not rank: each with its log slowdown.
    unranked: Vec<(ChoiceId, f64)>,
    /// The corrections, by miss.
    deltas: Vec<f64>,
}

impl Seen {
    /// Returns the level: the median of the misses at first, as no correction absorbs large ones yet.
    fn level(&self, turn: usize) -> f64 {
        let rests = self.misses.iter().zip(&self.deltas).map(|((_, miss), delta)| miss - delta);
        let rests: Vec<f64> = rests.collect();
        match turn {
            0 => ah_types::median(&rests).unwrap_or(0.0),
            _ => rests.iter().sum::<f64>() / rests.len().max(1) as f64,
        }
    }
}

impl Correction {
    /// Learns from these inputs.
    pub fn new(transfer: &Transfer<'_>, inputs: &[usize], strength: Strength) -> Self {
        // Nodes by position: a parent comes before its children.
        let (mut positions, mut ids) = (FxHashMap::default(), Vec::new());
        let mut seen: Vec<Seen> = Vec::new();
        for &at in inputs {
            let input = &transfer.inputs[at];
            let Some(reached) = &input.reached else { continue };
            let mut nodes = vec![reached.leaf];
            while let Some(parent) = transfer.parent(nodes[nodes.len() - 1]) {
                nodes.push(parent);
            }
            let mut position = |node: u32| {
                *positions.entry(node).or_insert_with(|| {
                    ids.push(node);
                    ids.len() - 1
                })
            };
            let path = nodes.into_iter().rev().map(&mut position).collect();
            let (mut misses, mut unranked) = (Vec::new(), Vec::new());
            for (cell, score) in input.cells.iter().zip(&reached.scores) {
                match score {
                    Some(score) => misses.push((cell.choice, transfer.in_scores(cell.log_slowdown) - score)),
                    None => unranked.push((cell.choice, transfer.in_scores(cell.log_slowdown))),
                }
            }
            let deltas = vec![0.0; misses.len()];
            seen.push(Seen { leaf: reached.leaf, path, misses, unranked, deltas });
        }
        let choices = transfer.model.choices.len();
        let mut deltas: Vec<Vec<f64>> = Vec::new();
        let mut levels = vec![0.0; seen.len()];
        for turn in 0..TURNS {
            let mut sums = vec![(0.0, 0.0); ids.len() * choices];
            for (input, level) in seen.iter().zip(&mut levels) {
                *level = input.level(turn);
                for (choice, miss) in &input.misses {
                    let miss = (miss - *level).clamp(-MOST, MOST);
                    for node in &input.path {
                        let (sum, count) = &mut sums[node * choices + choice.index()];
                        *sum += miss;
                        *count += 1.0;
                    }
                }
            }
            deltas.clear();
            for (position, &id) in ids.iter().enumerate() {
                let above = transfer.parent(id).map(|parent| positions[&parent]);
                let kappa = if above.is_some() { strength.node } else { strength.root };
                let delta = |choice: usize| {
                    let (sum, count) = sums[position * choices + choice];
                    let above = above.map_or(0.0, |above| deltas[above][choice]);
                    (sum + kappa * above) / (count + kappa)
                };
                let of_node = (0..choices).map(delta).collect();
                deltas.push(of_node);
            }
            for input in &mut seen {
                let leaf = &deltas[input.path[input.path.len() - 1]];
                input.deltas = input.misses.iter().map(|(choice, _)| leaf[choice.index()]).collect();
            }
        }
        let local = local(transfer, strength, &seen, &levels);
        Self { nodes: ids.into_iter().zip(deltas).collect(), local }
    }
}

/// Returns the scores of choices that leaves do not rank. A ranking ends where choices are worse than its last one, the
/// fallback: so does the prior of a choice that other leaves rank. A choice that only the new device has may be good.
fn local(
    transfer: &Transfer<'_>,
    strength: Strength,
    seen: &[Seen],
    levels: &[f64],
) -> FxHashMap<(u32, ChoiceId), LocalScore> {
    let mut local: FxHashMap<(u32, ChoiceId), LocalScore> = FxHashMap::default();
    for (input, level) in seen.iter().zip(levels) {
        for &(choice, log_slowdown) in &input.unranked {
            let score = local.entry((input.leaf, choice)).or_default();
            score.sum += log_slowdown - level;
            score.count += 1.0;
        }
    }
    for ((leaf, choice), score) in &mut local {
        let ranking = transfer.model.tree.leaf(*leaf as usize).map(|leaf| &leaf.ranking);
        let scores = ranking.into_iter().flatten().map(|ranked| ranked.score);
        let last = scores.fold(0.0, f64::max);
        let (prior, kappa) = match transfer.ranked[choice.index()] {
            true => (last + CUT, strength.node.max(CUT_WEIGHT)),
            false => (last, strength.node),
        };
        score.score = (score.sum + kappa * prior) / (score.count + kappa);
    }
    local
}
