//! Random trees and leaves.

use ah_model::{ChoiceId, FeatureKind, Features, Leaf, MISSING, Model, Node, RankedChoice, Test, Tree};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

use super::expressions::number;

/// The same model with one tree of this many leaves.
pub fn with_leaves(rng: &mut Pcg64, mut model: Model, count: usize) -> Model {
    let mut nodes = Vec::new();
    // The leaves below nodes to come, and the split whose right child comes next.
    let mut open = vec![(count, None)];
    while let Some((count, right_of)) = open.pop() {
        let here = nodes.len() as u32;
        if let Some(Node::Split { right, .. }) = right_of.and_then(|split: usize| nodes.get_mut(split)) {
            *right = here;
        }
        if count == 1 {
            nodes.push(Node::Leaf(leaf(rng, model.choices.len())));
            continue;
        }
        let slot = rng.random_range(0..model.features.all().len());
        let test = match &model.categories[slot][..] {
            known @ [_, ..] => Test::is_in(slot, set(rng, known)),
            [] if model.features.all().features()[slot].kind == FeatureKind::Categorical => {
                Test::number(0, number(rng))
            }
            [] => Test::number(slot, number(rng)),
        };
        open.extend([(count / 2, Some(nodes.len())), (count - count / 2, None)]);
        nodes.push(Node::Split { test, right: 0 });
    }
    model.tree = Tree { nodes };
    model.costs = None;
    model.boosters.clear();
    model.margin = None;
    sort(&mut model.tree);
    Model::parse(&model.to_json()).expect("a valid model")
}

/// A random set of these categories: often one, now and then all.
pub fn set(rng: &mut Pcg64, known: &[String]) -> Vec<String> {
    let count = if rng.random_bool(0.4) { 1 } else { rng.random_range(1..=known.len()) };
    let mut set: Vec<String> = known.choose_multiple(rng, count).cloned().collect();
    set.sort();
    set
}

/// Sorts the rankings by score.
pub fn sort(tree: &mut Tree) {
    for node in &mut tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        }
    }
}

/// Grows a random tree in preorder.
pub fn grow(
    rng: &mut Pcg64,
    features: &Features,
    categories: &[Vec<String>],
    choices: usize,
    depth: usize,
    most: usize,
    nodes: &mut Vec<Node>,
) {
    let slot = rng.random_range(0..features.all().len());
    let categorical = features.all().features()[slot].kind == FeatureKind::Categorical;
    if depth == 0 || nodes.len() >= most || (nodes.len() > 1 && rng.random_bool(0.1)) {
        nodes.push(Node::Leaf(leaf(rng, choices)));
        return;
    }
    let at = nodes.len();
    let test = if categorical {
        Test::is_in(slot, set(rng, &categories[slot]))
    } else {
        Test::number(slot, if rng.random_bool(0.05) { MISSING } else { number(rng) })
    };
    nodes.push(Node::Split { test, right: 0 });
    // One side continues, the other mostly ends soon, so that deep trees stay small.
    let short = if rng.random_bool(0.6) && depth > 8 { rng.random_range(0..3) } else { depth - 1 };
    let (l, r) = if rng.random() { (depth - 1, short) } else { (short, depth - 1) };
    grow(rng, features, categories, choices, l, most, nodes);
    let second = nodes.len() as u32;
    grow(rng, features, categories, choices, r, most, nodes);
    if let Node::Split { right, .. } = &mut nodes[at] {
        *right = second;
    }
}

fn leaf(rng: &mut Pcg64, choices: usize) -> Leaf {
    let mut ids: Vec<u32> = (0..choices as u32).collect();
    for i in (1..ids.len()).rev() {
        ids.swap(i, rng.random_range(0..=i));
    }
    let most = choices.min(*[12, 40].choose(rng).unwrap());
    ids.truncate(rng.random_range(0..=most));
    let bars = rng.random_bool(0.4);
    let samples = rng.random_range(1..1000);
    let ranking: Vec<RankedChoice> = ids
        .into_iter()
        .map(|id| RankedChoice {
            choice: ChoiceId(id),
            // Few scores, so that sums tie.
            score: f64::from(rng.random_range(-2_i32..3)) * 0.1,
            probability: rng.random(),
            measured: rng.random_range(1..=samples),
            expected: rng.random_bool(0.8),
            slowdown: if rng.random_bool(0.1) { f64::INFINITY } else { 1.0 + rng.random::<f64>() },
            worst: if rng.random_bool(0.1) { f64::INFINITY } else { 1.0 + rng.random::<f64>() },
            worst_over_fallback: rng.random(),
            allowed: !bars || rng.random_bool(0.6),
        })
        .collect();
    Leaf { samples, ranking }
}
