//! Reduces a model to the decisions of a program that does not list its choices: sibling leaves that decide alike become one,
//! and rankings are cut. The model file keeps everything.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Leaf, Model, Node, RankedChoice, Tree};

use crate::lower::is_ensemble;

/// How much of a model the generated code contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// True if sibling leaves stay apart even if they decide alike.
    pub all_leaves: bool,
    /// The most choices that a leaf of a tree in branches ranks.
    pub max_ranked: usize,
}

/// Keeps the decisions, and the choices that a program tries next.
impl Default for Detail {
    fn default() -> Self {
        Self { all_leaves: false, max_ranked: 10 }
    }
}

impl Detail {
    /// Keeps everything.
    pub const ALL: Self = Self { all_leaves: true, max_ranked: usize::MAX };
}

/// Returns the model reduced to `detail`.
///
/// [`Model::choose`] returns the same choice for every input on which all features have a value. What may differ:
///
/// - Where a test is removed, an input without a value for it is no longer unsure.
/// - In branches, a program that lists its choices may get another answer: a leaf ranks fewer choices, and merged leaves
///   rank by their joint evidence.
///
/// An ensemble keeps all choices of each leaf, so it answers as [`Model::decide`] for any choices. With boosters no leaves merge,
/// since their scores are added. Without, sibling leaves merge if they rank the same choices in the same order. The shares of an
/// ensemble have two digits.
pub fn simplify(model: &Model, detail: Detail) -> Model {
    let mut simple = model.clone();
    let reduction = Reduction { model, ensemble: is_ensemble(model), detail };
    if !detail.all_leaves && model.boosters.is_empty() {
        simple.tree = merge(&model.tree, &|a, b| reduction.merged(a, b));
    }
    for node in &mut simple.tree.nodes {
        match node {
            Node::Leaf(leaf) if reduction.ensemble => {
                let round = |share: f64| (share * 1e2).round() / 1e2;
                leaf.ranking.iter_mut().for_each(|ranked| ranked.probability = round(ranked.probability));
            }
            Node::Leaf(leaf) => reduction.cut(leaf),
            Node::Split { .. } => {}
        }
    }
    simple
}

/// The parts of a model that affect decisions, except its trees.
struct Reduction<'m> {
    model: &'m Model,
    /// True for the form of an ensemble.
    ensemble: bool,
    detail: Detail,
}

impl Reduction<'_> {
    /// Returns the decisions of a leaf: the choice. If a choice may not be eligible, also all choices up to the first that is
    /// always eligible. In an ensemble, all choices: there are many to offer or not, and to merge by the first alone costs
    /// 0.0026 on the convolutions. Each with whether it is allowed, and whether a program is expected to offer it.
    fn decisions(&self, leaf: &Leaf) -> Vec<(ChoiceId, bool, bool)> {
        let (fallback, eligible) = (self.model.fallback, &self.model.eligible);
        let decision = |ranked: &RankedChoice| (ranked.choice, ranked.allowed, ranked.expected);
        let ranking = leaf.ranking.iter();
        if self.ensemble {
            return ranking.map(decision).collect();
        }
        if eligible.is_empty() {
            return leaf.choose(fallback).map(|ranked| (ranked.choice, true, true)).into_iter().collect();
        }
        let mut decided = false;
        let until_decided = |ranked: &&RankedChoice| {
            let before = !decided;
            decided |= ranked.allowed && !eligible.contains_key(&ranked.choice);
            before
        };
        let expected = ranking.filter(|ranked| Some(ranked.choice) == fallback || ranked.expected);
        expected.take_while(until_decided).map(decision).collect()
    }

    /// Returns one leaf for two that decide alike.
    fn merged(&self, a: &Leaf, b: &Leaf) -> Option<Leaf> {
        let merged = pooled(a, b);
        (self.decisions(a) == self.decisions(b) && self.decisions(&merged) == self.decisions(a))
            .then_some(merged)
    }

    /// Keeps the first choices of a leaf, and those that it may take.
    fn cut(&self, leaf: &mut Leaf) {
        let decisions = self.decisions(leaf);
        let mut place = 0;
        leaf.ranking.retain(|ranked| {
            place += 1;
            place <= self.detail.max_ranked || decisions.iter().any(|(choice, ..)| *choice == ranked.choice)
        });
    }
}

/// Returns the tree where one leaf takes the place of two siblings, wherever `merged` returns one.
pub fn merge(tree: &Tree, merged: &impl Fn(&Leaf, &Leaf) -> Option<Leaf>) -> Tree {
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    merge_below(tree, 0, merged, &mut nodes);
    Tree { nodes }
}

/// Appends the subtree at this node, with merged leaves, and returns its position.
fn merge_below(
    tree: &Tree,
    at: usize,
    merged: &impl Fn(&Leaf, &Leaf) -> Option<Leaf>,
    nodes: &mut Vec<Node>,
) -> u32 {
    let position = nodes.len();
    nodes.push(tree.nodes[at].clone());
    if let Node::Split { test, left, right } = &tree.nodes[at] {
        let left = merge_below(tree, *left as usize, merged, nodes);
        let right = merge_below(tree, *right as usize, merged, nodes);
        nodes[position] = Node::Split { test: test.clone(), left, right };
        if let (Node::Leaf(a), Node::Leaf(b)) = (&nodes[left as usize], &nodes[right as usize])
            && let Some(merged) = merged(a, b)
        {
            nodes.truncate(position);
            nodes.push(Node::Leaf(merged));
        }
    }
    u32::try_from(position).expect("as many nodes as before at most")
}

/// Returns the joint evidence of two leaves. A choice that only one of them ranks is neither allowed nor
/// expected.
fn pooled(a: &Leaf, b: &Leaf) -> Leaf {
    let mut choices: BTreeMap<ChoiceId, [Option<&RankedChoice>; 2]> = BTreeMap::new();
    for (i, leaf) in [a, b].into_iter().enumerate() {
        for ranked in &leaf.ranking {
            choices.entry(ranked.choice).or_default()[i] = Some(ranked);
        }
    }
    let samples = a.samples + b.samples;
    let mut ranking: Vec<RankedChoice> = choices
        .into_values()
        .filter_map(|pair| match pair {
            [Some(x), Some(y)] => Some(pooled_choice((x, a.samples), (y, b.samples))),
            [Some(one), None] | [None, Some(one)] => {
                Some(RankedChoice { allowed: false, expected: false, ..one.clone() })
            }
            [None, None] => None,
        })
        .collect();
    ranking.sort_by(|x, y| x.score.total_cmp(&y.score).then(x.choice.cmp(&y.choice)));
    let both = a.ranges.iter().zip(&b.ranges).map(|(x, y)| x.zip(*y));
    let ranges = both.map(|both| both.map(|(x, y)| (x.0.min(y.0), x.1.max(y.1)))).collect();
    Leaf { samples, ranking, ranges }
}

/// Returns the joint evidence of one choice in two leaves, weighted by their numbers of inputs.
fn pooled_choice((x, in_x): (&RankedChoice, u64), (y, in_y): (&RankedChoice, u64)) -> RankedChoice {
    // Leaves without inputs have equal weights.
    let (in_x, in_y) = if in_x + in_y == 0 { (1, 1) } else { (in_x, in_y) };
    let mean =
        |x: f64, y: f64, in_x: u64, in_y: u64| (x * in_x as f64 + y * in_y as f64) / (in_x + in_y) as f64;
    let logs = mean(x.slowdown.ln(), y.slowdown.ln(), x.measured, y.measured);
    RankedChoice {
        choice: x.choice,
        score: mean(x.score, y.score, in_x, in_y),
        probability: mean(x.probability, y.probability, in_x, in_y),
        measured: x.measured + y.measured,
        expected: x.expected && y.expected,
        slowdown: logs.exp(),
        worst: x.worst.max(y.worst),
        worst_over_fallback: x.worst_over_fallback.max(y.worst_over_fallback),
        allowed: x.allowed && y.allowed,
    }
}
