//! An ensemble as arrays of numbers, which a short loop reads. Rust and C print the same numbers.

use std::collections::HashMap;

use ah_types::{Ensemble, Model, Ranked};

/// The most trees that go down together: as many steps as the registers of a processor hold.
const TOGETHER: usize = 9;

/// The trees of a model as arrays of numbers.
pub struct EnsembleArrays {
    /// The model's flat form.
    pub flat: Ensemble,
    /// By column: its thresholds in the order in which a binary search of `steps` steps compares them (Eytzinger's): first the
    /// middle one, and behind the one at `i` those at `2 i` and `2 i + 1`. The first number is not used.
    pub searches: Vec<Search>,
    /// The nodes: from the lowest bit 16 bits for the column, 24 for the left child and 24 for the rank.
    pub nodes: Vec<u64>,
    /// The trees that go down together.
    pub groups: Vec<Group>,
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

/// The thresholds of a column.
pub struct Search {
    /// The number of steps of the search.
    pub steps: u32,
    /// As many numbers as 2 to the power of `steps`; infinite ones fill up.
    pub thresholds: Vec<f64>,
}

/// Trees that go down together.
pub struct Group {
    /// The positions of their roots. The last group repeats a root to be as long as the others.
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
        Self {
            searches: flat.thresholds.iter().map(|thresholds| Search::new(thresholds)).collect(),
            nodes: flat
                .nodes
                .iter()
                .map(|node| u64::from(node.rank) << 40 | u64::from(node.left) << 16 | u64::from(node.column))
                .collect(),
            groups: groups(&flat),
            starts,
            choice_bits: rankings.choice_bits,
            rankings: rankings.entries,
            scores: rankings.scores,
            flat,
        }
    }
}

impl Search {
    fn new(sorted: &[f64]) -> Self {
        let steps = usize::BITS - sorted.len().leading_zeros();
        let mut thresholds = vec![0.0; 1 << steps];
        let mut next = sorted.iter().copied().chain(std::iter::repeat(f64::INFINITY));
        fill(&mut thresholds, 1, &mut next);
        Self { steps, thresholds }
    }
}

/// Puts sorted numbers in the order of a binary search below the position `at`.
fn fill(search: &mut [f64], at: usize, sorted: &mut impl Iterator<Item = f64>) {
    if at < search.len() {
        fill(search, 2 * at, sorted);
        search[at] = sorted.next().unwrap_or(f64::INFINITY);
        fill(search, 2 * at + 1, sorted);
    }
}

/// Returns the model's own tree, and the boosters in groups of equal length.
fn groups(flat: &Ensemble) -> Vec<Group> {
    let (own, boosters) = flat.roots.split_at(1);
    let mut groups = vec![Group { roots: own.to_vec(), depth: flat.depths[0] }];
    let count = boosters.len().div_ceil(TOGETHER).max(1);
    let length = boosters.len().div_ceil(count).max(1);
    for (roots, depths) in boosters.chunks(length).zip(flat.depths[1..].chunks(length)) {
        let mut roots = roots.to_vec();
        roots.resize(length, roots[0]);
        groups.push(Group { roots, depth: depths.iter().copied().max().unwrap_or(0) });
    }
    groups
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
