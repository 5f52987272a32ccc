//! Random boosters.

use ah_model::{FeatureKind, Features, Node, ROW_NUMBERS, ScoreRow, ScoreTree, Test, Tree};
use rand::Rng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand_pcg::Pcg64;

use super::expressions::number;
use super::trees::set;

/// Random boosters over these features; `categories` are the known ones, by slot.
pub fn boosters(
    rng: &mut Pcg64,
    features: &Features,
    categories: &[Vec<String>],
    choices: usize,
) -> Vec<ScoreTree> {
    let mut columns = Vec::new();
    for (slot, feature) in features.all().features().iter().enumerate() {
        let is_number = feature.kind == FeatureKind::Numerical;
        let known = &categories[slot];
        columns.extend(is_number.then_some((slot, None)));
        columns.extend(known.iter().map(|_| (slot, Some(set(rng, known)))));
    }
    columns.retain(|_| rng.random_bool(0.5));
    // Few numbers, so that sums tie, or all.
    let numbers = if rng.random_bool(0.5) { ROW_NUMBERS } else { -2..=2 };
    // At most 64 leaves. As many boosters as a model may have, now and then: of one split each, since their masks grow with both.
    let many = rng.random_bool(0.1);
    let (count, most_levels) = if many { (1024, 1) } else { (rng.random_range(1..40), 6) };
    let mut grower =
        Grower { columns, numbers, length: choices, rows: Vec::new(), zeros: if many { 1.0 } else { 0.3 } };
    let tree = |_| {
        let depth = if grower.columns.is_empty() { 0 } else { rng.random_range(0..=most_levels) };
        let mut nodes = Vec::new();
        grower.grow(rng, depth, &mut nodes);
        Tree { nodes }
    };
    (0..count).map(tree).collect()
}

/// A random unit and margin.
pub fn scoring(rng: &mut Pcg64) -> (f64, Option<f64>) {
    let margins = [Some(0.0), Some(-0.0), Some(0.01), Some(0.1), Some(-0.05)];
    let on_step = |margin: f64| (margin * 1024.0).ceil() / 1024.0;
    let unit = *[1.0 / 256.0, 1.0 / 1024.0, 1.0 / 4096.0].choose(rng).unwrap();
    (unit, margins.iter().chain([&None]).choose(rng).unwrap().map(on_step))
}

struct Grower {
    columns: Vec<(usize, Option<Vec<String>>)>,
    numbers: std::ops::RangeInclusive<i8>,
    length: usize,
    rows: Vec<ScoreRow>,
    /// The share of thresholds that are 0.
    zeros: f64,
}

impl Grower {
    /// Grows a random tree in preorder. Some leaves share a row.
    fn grow(&mut self, rng: &mut Pcg64, depth: usize, nodes: &mut Vec<Node<ScoreRow>>) {
        if depth == 0 || rng.random_bool(0.15) {
            let shared = self.rows.choose(rng).filter(|_| rng.random_bool(0.2)).cloned();
            let row = shared.unwrap_or_else(|| {
                (0..self.length).map(|_| rng.random_range(self.numbers.clone())).collect()
            });
            self.rows.push(row.clone());
            nodes.push(Node::Leaf(row));
            return;
        }
        let at = nodes.len();
        let test = match self.columns.choose(rng).unwrap().clone() {
            (slot, Some(categories)) => Test::is_in(slot, categories),
            (slot, None) => {
                // Few thresholds, so that trees share some.
                let threshold = if rng.random_bool(self.zeros) { 0.0 } else { number(rng) };
                Test::number(slot, threshold)
            }
        };
        nodes.push(Node::Leaf(ScoreRow::default()));
        self.grow(rng, depth - 1, nodes);
        nodes[at] = Node::Split { test, right: nodes.len() as u32 };
        self.grow(rng, depth - 1, nodes);
    }
}
