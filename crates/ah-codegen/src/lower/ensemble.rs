//! An ensemble as arrays of numbers, which a short loop reads. Rust and C print the same numbers.

use std::collections::HashMap;

use ah_types::{Ensemble, FlatNode, Model, OldRanked as Ranked};
use serde::Serialize;

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
    pub rows: Vec<i8>,
    /// By leaf: the position of its ranking.
    pub starts: Vec<usize>,
    /// The distinct rankings, one after the other: the number of choices, then the choices. From the lowest bit, these are the
    /// choice, whether it is allowed, whether a program is expected to offer it, and the percentage of the leaf's inputs on which
    /// it wins.
    pub rankings: Vec<u64>,
    /// The number of bits that hold a choice.
    pub choice_bits: u32,
    /// With boosters: the distinct rows of the leaves' first scores, by choice. Leaves that agree on the choices that they both
    /// have share a row; a choice that none of them has is infinite.
    pub score_rows: Vec<Vec<f64>>,
    /// With boosters, by leaf: the number of its row of scores.
    pub scores_of: Vec<usize>,
    /// With boosters, by leaf: a bit for each choice, 64 a number. It is set if the choice is taken wherever it has the least score
    /// and is within the margin: a program is expected to offer it, and the leaf allows it.
    pub clear: Vec<u64>,
}

/// Trees that go down together.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The number of trees before these.
    start: usize,
    end: usize,
    /// The positions of their roots.
    roots: Vec<u32>,
    /// By booster among these: the number of its first row.
    first_rows: Vec<usize>,
    /// The number of splits on the longest path.
    depth: usize,
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
        let (mut score_rows, mut scores_of, mut clear) = (Vec::new(), Vec::new(), Vec::new());
        let starts = leaves
            .enumerate()
            .map(|(leaf, (choices, expected, shares))| {
                if !model.boosters.is_empty() {
                    scores_of.push(row_of_scores(&mut score_rows, choices, model.choices.len()));
                    clear.extend(packed(flat.clear_choices(leaf)));
                }
                rankings.position(choices, expected, &shares)
            })
            .collect();
        let mut arrays = Self {
            nodes: Vec::with_capacity(flat.nodes.len()),
            groups: Vec::new(),
            most_leaves: 0,
            first_rows: Vec::new(),
            rows: Vec::new(),
            starts,
            choice_bits: rankings.choice_bits,
            rankings: rankings.entries,
            score_rows,
            scores_of,
            clear,
            flat,
        };
        arrays.append_nodes();
        arrays.groups = groups(&arrays.flat, &arrays.first_rows);
        arrays
    }

    fn append_nodes(&mut self) {
        let flat = &self.flat;
        let ends = flat.roots.iter().skip(1).map(|root| *root as usize).chain([flat.nodes.len()]);
        for (tree, (root, end)) in flat.roots.iter().zip(ends).enumerate() {
            let nodes = &flat.nodes[*root as usize..end];
            let mut ranks: Vec<u32> = nodes.iter().map(|node| node.rank).collect();
            let is_leaf = |node: &FlatNode| node.column as usize == flat.columns.len();
            self.most_leaves = self.most_leaves.max(nodes.iter().filter(|node| is_leaf(node)).count());
            if tree > 0 {
                self.first_rows.push(self.rows.len() / flat.row_length);
                // The leaves are numbered from left to right.
                let (mut leaves, mut open) = (0, vec![*root]);
                while let Some(at) = open.pop() {
                    let node = flat.nodes[at as usize];
                    if is_leaf(&node) {
                        self.rows.extend(flat.row(node.rank as usize));
                        ranks[(at - root) as usize] = leaves;
                        leaves += 1;
                    } else {
                        open.extend([node.left + 1, node.left]);
                    }
                }
            }
            for (node, rank) in nodes.iter().zip(ranks) {
                self.nodes.push(u64::from(node.left) << 32 | u64::from(rank) << 16 | u64::from(node.column));
            }
        }
    }
}

/// Returns all trees in groups of nearly equal lengths.
fn groups(flat: &Ensemble, first_rows: &[usize]) -> Vec<Group> {
    let (trees, count) = (flat.roots.len(), flat.roots.len().div_ceil(TOGETHER));
    let group = |i: usize| {
        let (start, end) = (trees * i / count, trees * (i + 1) / count);
        let depth = flat.depths[start..end].iter().copied().max().unwrap_or(0);
        // The model's own tree, which comes first, has no rows.
        let first_rows = first_rows.get(start.saturating_sub(1)..end - 1).unwrap_or_default().to_vec();
        Group { start, end, roots: flat.roots[start..end].to_vec(), first_rows, depth }
    };
    (0..count).map(group).collect()
}

/// Returns the number of bits that hold every number below `count`: at least 1, since linters refuse to mask with 0.
fn bits(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}

/// Returns the number of a row that agrees with a leaf's first scores; appends one if none does.
fn row_of_scores(rows: &mut Vec<Vec<f64>>, leaf: &[Ranked], choices: usize) -> usize {
    // Avoids -0.0.
    let scores = || leaf.iter().map(|ranked| (ranked.choice.index(), ranked.score + 0.0));
    let agrees =
        |row: &Vec<f64>| scores().all(|(choice, score)| row[choice] == score || row[choice].is_infinite());
    let number = rows.iter().position(agrees).unwrap_or_else(|| {
        rows.push(vec![f64::INFINITY; choices]);
        rows.len() - 1
    });
    scores().for_each(|(choice, score)| rows[number][choice] = score);
    number
}

/// Returns a bit for each of some truth values, 64 a number.
fn packed(all: &[bool]) -> impl Iterator<Item = u64> + '_ {
    all.chunks(64).map(|part| part.iter().rev().fold(0, |bits, bit| bits << 1 | u64::from(*bit)))
}

/// The distinct rankings of leaves.
#[derive(Default)]
struct Rankings {
    choice_bits: u32,
    /// The positions of the rankings in `entries`, by their numbers.
    found: HashMap<Vec<u64>, usize>,
    entries: Vec<u64>,
}

impl Rankings {
    /// Returns the position of a leaf's ranking.
    fn position(&mut self, choices: &[Ranked], expected: &[bool], shares: &[f64]) -> usize {
        let entry = |((ranked, expected), share): ((&Ranked, &bool), &f64)| {
            // The share has two digits: simplification rounds it.
            let percent = (share * 100.0).round().clamp(0.0, 100.0) as u64;
            let marks = u64::from(ranked.allowed) | u64::from(*expected) << 1 | percent << 2;
            marks << self.choice_bits | u64::from(ranked.choice.0)
        };
        let entries = choices.iter().zip(expected).zip(shares).map(entry);
        let entries: Vec<u64> = [choices.len() as u64].into_iter().chain(entries).collect();
        let (next, all) = (self.entries.len(), &mut self.entries);
        *self.found.entry(entries).or_insert_with_key(|entries| {
            all.extend(entries);
            next
        })
    }
}
