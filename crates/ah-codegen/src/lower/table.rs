//! Large trees as arrays of numbers, which a short loop reads. All targets print the same numbers.

use std::collections::HashMap;

use ah_types::{Model, Node, Tree};

use super::boosted::BoostedTable;
use super::columns::{Column, Tests, bits, test};
use super::leaves::{LoweredLeaf, LoweredPlace, Reason};

/// The trees of a model as arrays of numbers.
pub struct Table<'m> {
    /// The values that tests compare, by slot.
    pub columns: Vec<Column<'m>>,
    /// The distinct tests, sorted: a position in `columns` and a threshold. A value goes left if it is at most the
    /// threshold. With boosted trees, the last one is of the leaves.
    pub tests: Vec<(usize, f64)>,
    /// Trees that add to the scores.
    pub boosted: Option<BoostedTable>,
    /// The number of bits that hold a test's position.
    pub test_bits: u32,
    /// The nodes of each tree in preorder, so that the left child is the next node. The lowest bit of a leaf is 1, and
    /// the bits above it are the leaf's number. The lowest bit of a split is 0; above it are the test's position and
    /// the distance to the right child.
    pub nodes: Vec<u64>,
    /// The position of each tree's root.
    pub roots: Vec<usize>,
    /// The distinct rankings, one after the other. A ranking begins with the number of its choices times 4, plus the
    /// [code](reason_code) of the reason for declining. The choices follow: from the lowest bit the choice, whether it
    /// is allowed, whether it is usual, and the percentage of the leaf's inputs on which it wins.
    pub rankings: Vec<u64>,
    /// The number of bits that hold a choice.
    pub choice_bits: u32,
    /// If several trees vote, the score of each choice in `rankings`, and 0 at the beginnings.
    pub scores: Vec<f64>,
    /// The leaves with another ranking for inputs outside their ranges. They have the first numbers. The number of any
    /// other leaf is the count of these plus the position of its ranking.
    pub outside: Vec<OutsideLeaf>,
}

/// A leaf with another ranking for inputs outside its ranges.
pub struct OutsideLeaf {
    /// The leaf's index among those of the model.
    pub leaf: usize,
    /// The position of its ranking for inputs inside.
    pub inside: usize,
    /// The position of its ranking for inputs outside.
    pub outside: usize,
}

/// Returns true if several trees vote, so that each choice has a score.
pub(super) fn votes(model: &Model) -> bool {
    model.trees.len() > 1 || model.boosted.is_some()
}

/// Returns the number of a reason for declining; 0 is a leaf that decides.
fn reason_code(reason: Option<Reason>) -> u64 {
    match reason {
        None => 0,
        Some(Reason::LowConfidence) => 1,
        Some(Reason::UnsafeLeaf) => 2,
        Some(Reason::Outside) => 3,
    }
}

impl<'m> Table<'m> {
    /// Lays the trees of a model out; `leaves` are those of all trees, followed by those for inputs outside.
    pub(super) fn new(model: &'m Model, leaves: &[LoweredLeaf<'_>]) -> Self {
        let tests = Tests::new(model);
        let test_bits = bits(tests.count());
        let boosted = model.boosted.as_ref().map(|boosted| BoostedTable::new(model, boosted, &tests));

        let mut rankings = Rankings::new(model);
        let positions: Vec<usize> = leaves.iter().map(|leaf| rankings.position(leaf)).collect();
        let outside = leaves.iter().enumerate().filter_map(|(leaf, lowered)| {
            let outside = positions[lowered.outside?];
            Some(OutsideLeaf { leaf, inside: positions[leaf], outside })
        });
        let outside: Vec<OutsideLeaf> = outside.collect();
        let mut numbers: Vec<usize> = positions.iter().map(|position| outside.len() + position).collect();
        outside.iter().enumerate().for_each(|(number, leaf)| numbers[leaf.leaf] = number);

        let (mut nodes, mut roots, mut first_leaf) = (Vec::new(), Vec::new(), 0);
        let code = |node: &'m Node| {
            let (column, threshold) = test(node).expect("a split");
            (tests.position(column, threshold) as u64) << 1
        };
        for tree in &model.trees {
            roots.push(nodes.len());
            append(tree, &numbers[first_leaf..], test_bits, code, &mut nodes);
            first_leaf += tree.leaves().count();
        }
        let Rankings { choice_bits, entries: rankings, scores, .. } = rankings;
        let Tests { columns, tests } = tests;
        Self { columns, tests, boosted, test_bits, nodes, roots, rankings, choice_bits, scores, outside }
    }
}

/// Appends the nodes of a tree whose leaves have these numbers, in preorder.
fn append<'m>(
    tree: &'m Tree,
    numbers: &[usize],
    test_bits: u32,
    code: impl Fn(&'m Node) -> u64,
    nodes: &mut Vec<u64>,
) {
    let mut leaf = 0;
    let number = |node: &Node| {
        let is_leaf = matches!(node, Node::Leaf(_));
        leaf += usize::from(is_leaf);
        if is_leaf { numbers[leaf - 1] } else { 0 }
    };
    let number: Vec<usize> = tree.nodes.iter().map(number).collect();
    // A node, and the split whose right child it is.
    let mut open = vec![(0, None)];
    while let Some((node, right_of)) = open.pop() {
        if let Some(split) = right_of {
            let distance = (nodes.len() - split) as u64;
            nodes[split] |= distance << (test_bits + 1);
        }
        match &tree.nodes[node] {
            Node::Leaf(_) => nodes.push((number[node] as u64) << 1 | 1),
            Node::Split { left, right, .. } => {
                open.push((*right as usize, Some(nodes.len())));
                open.push((*left as usize, None));
                nodes.push(code(&tree.nodes[node]));
            }
        }
    }
}

/// The distinct rankings of leaves.
struct Rankings {
    choice_bits: u32,
    votes: bool,
    /// The positions of the rankings in `entries`, by their numbers and the bits of their scores.
    found: HashMap<(Vec<u64>, Vec<u64>), usize>,
    entries: Vec<u64>,
    scores: Vec<f64>,
}

impl Rankings {
    fn new(model: &Model) -> Self {
        Self {
            choice_bits: bits(model.choices.len()),
            votes: votes(model),
            found: HashMap::new(),
            entries: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Returns the position of a leaf's ranking.
    fn position(&mut self, leaf: &LoweredLeaf<'_>) -> usize {
        let mut places = leaf.ranking.clone();
        if self.votes {
            places.sort_by_key(|place| place.choice);
        }
        let beginning = (places.len() as u64) << 2 | reason_code(leaf.declines);
        let entries = [beginning].into_iter().chain(places.iter().map(|place| self.entry(place)));
        let entries: Vec<u64> = entries.collect();
        // Avoids -0.0.
        let scores =
            self.votes.then(|| [0.0].into_iter().chain(places.iter().map(|place| place.score + 0.0)));
        let scores: Vec<f64> = scores.into_iter().flatten().collect();
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

    fn entry(&self, place: &LoweredPlace) -> u64 {
        // The share has two digits: simplification rounds it.
        let percent = (place.share * 100.0).round().clamp(0.0, 100.0) as u64;
        let marks = u64::from(place.allowed) | u64::from(place.usual) << 1 | percent << 2;
        marks << self.choice_bits | u64::from(place.choice.0)
    }
}
