//! An ensemble as arrays of numbers, which a short loop reads. Rust and C print the same numbers.

use std::collections::HashMap;

use ah_types::{Ensemble, Model, Ranked};

/// The most trees that go down together: as many steps as the registers of a processor hold.
const TOGETHER: usize = 9;

/// The trees of a model as arrays of numbers.
pub struct EnsembleArrays {
    /// The model's flat form.
    pub flat: Ensemble,
    /// The nodes: from the lowest bit 16 bits for the column, 16 for the rank and 32 for the left child. The rank of a leaf is its
    /// number in its tree.
    pub nodes: Vec<u64>,
    /// The trees that go down together: the model's own one, then the boosters.
    pub groups: Vec<Group>,
    /// The most leaves of a tree.
    pub most_leaves: usize,
    /// By booster: the number of its first row.
    pub first_rows: Vec<usize>,
    /// The rows of the boosters' leaves, one after the other.
    pub rows: Vec<i16>,
    /// By leaf: the position of its ranking.
    pub starts: Vec<usize>,
    /// The distinct rankings, one after the other: the number of choices, then the choices. From the lowest bit, these are the
    /// choice, whether it is allowed, whether a program is expected to offer it, and the percentage of the leaf's inputs on which
    /// it wins.
    pub rankings: Vec<u64>,
    /// The number of bits that hold a choice.
    pub choice_bits: u32,
    /// With boosters, the score of each choice in `rankings`, and 0 for the numbers of choices.
    pub scores: Vec<f64>,
}

/// Trees that go down together.
pub struct Group {
    /// The positions of their roots.
    pub roots: Vec<u32>,
    /// The number of splits on the longest path.
    pub depth: usize,
}

impl EnsembleArrays {
    /// Lays out a model.
    pub(super) fn new(model: &Model) -> Self {
        let flat = Ensemble::new(model);
        let mut rankings = Rankings { choice_bits: bits(model.choices.len()), ..Rankings::default() };
        let leaves = model.tree.leaves().zip(&flat.ends).map(|((_, leaf), &end)| {
            let shares: Vec<f64> = leaf.ranking.iter().map(|ranked| ranked.probability).collect();
            let choices = end - leaf.ranking.len()..end;
            (&flat.choices[choices.clone()], &flat.expected[choices], shares)
        });
        let has_scores = !model.boosters.is_empty();
        let starts = leaves
            .map(|(choices, expected, shares)| rankings.position(choices, expected, &shares, has_scores))
            .collect();
        let mut arrays = Self {
            nodes: Vec::with_capacity(flat.nodes.len()),
            groups: groups(&flat),
            most_leaves: 0,
            first_rows: Vec::new(),
            rows: Vec::new(),
            starts,
            choice_bits: rankings.choice_bits,
            rankings: rankings.entries,
            scores: rankings.scores,
            flat,
        };
        arrays.append_nodes();
        arrays
    }

    fn append_nodes(&mut self) {
        let flat = &self.flat;
        let ends = flat.roots.iter().skip(1).map(|root| *root as usize).chain([flat.nodes.len()]);
        for (tree, (root, end)) in flat.roots.iter().zip(ends).enumerate() {
            let is_booster = tree > 0;
            if is_booster {
                self.first_rows.push(self.rows.len() / flat.row_length);
            }
            let mut leaves = 0;
            for node in &flat.nodes[*root as usize..end] {
                let mut rank = u64::from(node.rank);
                if node.column as usize == flat.columns.len() {
                    if is_booster {
                        rank = leaves;
                        self.rows.extend(flat.row(node.rank as usize));
                    }
                    leaves += 1;
                }
                self.nodes.push(u64::from(node.left) << 32 | rank << 16 | u64::from(node.column));
            }
            self.most_leaves = self.most_leaves.max(leaves as usize);
        }
    }
}

/// Returns all trees in groups of nearly equal lengths.
fn groups(flat: &Ensemble) -> Vec<Group> {
    let (trees, count) = (flat.roots.len(), flat.roots.len().div_ceil(TOGETHER));
    let group = |i: usize| {
        let range = trees * i / count..trees * (i + 1) / count;
        let depth = flat.depths[range.clone()].iter().copied().max().unwrap_or(0);
        Group { roots: flat.roots[range].to_vec(), depth }
    };
    (0..count).map(group).collect()
}

/// Returns the number of bits that hold every number below `count`: at least 1, since linters refuse to mask with 0.
fn bits(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}

/// The distinct rankings of leaves.
#[derive(Default)]
struct Rankings {
    choice_bits: u32,
    /// The positions of the rankings in `entries`, by their numbers and the bits of their scores.
    found: HashMap<(Vec<u64>, Vec<u64>), usize>,
    entries: Vec<u64>,
    scores: Vec<f64>,
}

impl Rankings {
    /// Returns the position of a leaf's ranking.
    fn position(&mut self, choices: &[Ranked], expected: &[bool], shares: &[f64], has_scores: bool) -> usize {
        let entry = |((ranked, expected), share): ((&Ranked, &bool), &f64)| {
            // The share has two digits: simplification rounds it.
            let percent = (share * 100.0).round().clamp(0.0, 100.0) as u64;
            let marks = u64::from(ranked.allowed) | u64::from(*expected) << 1 | percent << 2;
            marks << self.choice_bits | u64::from(ranked.choice.0)
        };
        let entries = choices.iter().zip(expected).zip(shares).map(entry);
        let entries: Vec<u64> = [choices.len() as u64].into_iter().chain(entries).collect();
        // Avoids -0.0.
        let scores = [0.0].into_iter().chain(choices.iter().map(|ranked| ranked.score + 0.0));
        let scores: Vec<f64> = scores.filter(|_| has_scores).collect();
        let key = (entries, scores.iter().map(|score| score.to_bits()).collect());
        if let Some(&position) = self.found.get(&key) {
            return position;
        }
        let position = self.entries.len();
        self.entries.extend(&key.0);
        self.scores.extend(scores);
        self.found.insert(key, position);
        position
    }
}
