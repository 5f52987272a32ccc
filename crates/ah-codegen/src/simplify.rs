//! Reduces a model without changing its decisions: sibling leaves that decide alike become one, and
//! rankings are cut. The model file keeps everything.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Leaf, Model, Node, OutsidePolicy, Place, RankedChoice, Tree};

use crate::lower::is_large;

/// How much of a model the generated code contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// True if sibling leaves stay apart even if they decide alike.
    pub all_leaves: bool,
    /// The most choices that a leaf ranks.
    pub ranking: usize,
    /// True if the Rust crate has the function `explain`, with two texts a leaf.
    pub explain: bool,
}

/// Keeps the decisions, and the choices that a program tries next.
impl Default for Detail {
    fn default() -> Self {
        Self { all_leaves: false, ranking: 10, explain: false }
    }
}

impl Detail {
    /// Keeps everything.
    pub const ALL: Self = Self { all_leaves: true, ranking: usize::MAX, explain: true };
}

/// Returns the model reduced to `detail`.
///
/// [`Model::choose`] returns the same choice if every feature has a value: a removed test no longer needs
/// one. If a program offers only some choices, the answer may differ, because a leaf ranks fewer choices
/// and merged leaves rank by their joint evidence. Leaves of a large model merge only if they rank all choices that
/// they measured alike, and rank no others: such a choice is never allowed. The shares of a large model have two
/// digits. Small trees that vote stay unchanged: their scores are added. With boosted trees, no leaves merge for the same
/// reason, and every leaf keeps the fallback: its score decides which other choices are allowed.
pub fn simplify(model: &Model, detail: Detail) -> Model {
    let mut simple = model.clone();
    let policy = Policy { model, large: is_large(model), detail };
    if let [tree] = &mut simple.trees[..]
        && !detail.all_leaves
        && model.boosted.is_none()
    {
        tree.nodes.iter_mut().for_each(|node| policy.drop_outside(node));
        let mut nodes = Vec::with_capacity(tree.nodes.len());
        policy.merge(tree, 0, &mut nodes);
        *tree = Tree { nodes };
    }
    let votes = model.trees.len() > 1;
    for (i, tree) in simple.trees.iter_mut().enumerate() {
        let leaves = tree.nodes.iter_mut().filter_map(|node| match node {
            Node::Leaf(leaf) => Some(leaf),
            Node::Split { .. } => None,
        });
        for leaf in leaves {
            if policy.large || !votes {
                policy.cut(leaf);
            }
            if policy.large {
                // Nobody asks a tree after the first for shares.
                let rounded = |share: f64| if i == 0 { (share * 1e2).round() / 1e2 } else { 0.0 };
                leaf.ranking.iter_mut().for_each(|r| r.probability = rounded(r.probability));
            }
        }
    }
    simple
}

/// The parts of a model that affect decisions, except its trees.
struct Policy<'m> {
    model: &'m Model,
    /// True if the trees are too large to be read.
    large: bool,
    detail: Detail,
}

impl Policy<'_> {
    /// Returns the decisions of a leaf inside and outside its ranges: the choice. If a choice may not be
    /// eligible, also all choices up to the first that is always eligible. In a large tree, all choices that were
    /// measured: there are many to offer or not, and to merge by the first alone costs 0.0026 on the convolutions.
    fn decisions(&self, leaf: &Leaf) -> [Vec<(ChoiceId, bool)>; 2] {
        let (fallback, eligible) = (self.model.fallback, &self.model.eligible);
        [false, true].map(|outside| {
            let outside = outside && self.model.outside == OutsidePolicy::Safe;
            if self.large {
                let is_measured = |p: &Place| leaf.ranked(p.choice).is_some_and(|ranked| ranked.measured > 0);
                return leaf.places(outside).filter(is_measured).map(|p| (p.choice, p.allowed)).collect();
            }
            if eligible.is_empty() {
                let choice = leaf.choose(fallback, outside);
                return choice.map(|ranked| (ranked.choice, true)).into_iter().collect();
            }
            let usual = |p: &Place| Some(p.choice) == fallback || leaf.is_usual(p.choice);
            let mut decided = false;
            let until_decided = |p: &Place| {
                let before = !decided;
                decided |= p.allowed && !eligible.contains_key(&p.choice);
                before
            };
            let places = leaf.places(outside).filter(usual).take_while(until_decided);
            places.map(|p| (p.choice, p.allowed)).collect()
        })
    }

    /// Drops a ranking for inputs outside the ranges if it decides like the ranking inside.
    fn drop_outside(&self, node: &mut Node) {
        if let Node::Leaf(leaf) = node {
            let [inside, outside] = self.decisions(leaf);
            if inside == outside {
                leaf.outside.clear();
            }
        }
    }

    /// Appends the subtree at this node, with merged leaves, and returns its position.
    fn merge(&self, tree: &Tree, at: usize, nodes: &mut Vec<Node>) -> u32 {
        let position = nodes.len();
        nodes.push(tree.nodes[at].clone());
        if let Node::Split { test, left, right } = &tree.nodes[at] {
            let left = self.merge(tree, *left as usize, nodes);
            let right = self.merge(tree, *right as usize, nodes);
            nodes[position] = Node::Split { test: test.clone(), left, right };
            if let (Node::Leaf(a), Node::Leaf(b)) = (&nodes[left as usize], &nodes[right as usize])
                && let Some(merged) = self.merged(a, b)
            {
                nodes.truncate(position);
                nodes.push(Node::Leaf(merged));
            }
        }
        u32::try_from(position).expect("as many nodes as before at most")
    }

    /// Returns one leaf for two that decide alike. If inputs outside the ranges are decided differently,
    /// leaves stay apart: their ranges differ.
    fn merged(&self, a: &Leaf, b: &Leaf) -> Option<Leaf> {
        let watches = |leaf: &Leaf| match self.model.outside {
            OutsidePolicy::Decide => false,
            OutsidePolicy::Safe => !leaf.outside.is_empty(),
            OutsidePolicy::Decline => leaf.unsure.is_none() && !leaf.ranges.is_empty(),
        };
        if a.unsure != b.unsure || watches(a) || watches(b) || self.decisions(a) != self.decisions(b) {
            return None;
        }
        let merged = pooled(a, b);
        (self.decisions(&merged) == self.decisions(a)).then_some(merged)
    }

    /// Keeps the first choices of a leaf, and those that it may take; of a large model, those that it measured.
    fn cut(&self, leaf: &mut Leaf) {
        let decisions = self.decisions(leaf);
        let decides = |choice| decisions.iter().flatten().any(|(c, _)| *c == choice);
        let measured_only = self.large && !self.detail.all_leaves;
        let limits = |choice| self.model.boosted.is_some() && Some(choice) == self.model.fallback;
        let is_kept = |(i, choice): (usize, ChoiceId)| {
            i < self.detail.ranking && !measured_only || decides(choice) || limits(choice)
        };
        // Without any place outside, the ranking inside would decide there too.
        let outside = leaf.outside.drain(..).enumerate().filter(|(i, p)| *i == 0 || is_kept((*i, p.choice)));
        leaf.outside = outside.map(|(_, place)| place).collect();
        let is_outside = |choice: ChoiceId| leaf.outside.iter().any(|place| place.choice == choice);
        let ranking = leaf.ranking.drain(..).enumerate();
        leaf.ranking = ranking
            .filter(|(i, r)| is_kept((*i, r.choice)) || is_outside(r.choice))
            .map(|(_, ranked)| ranked)
            .collect();
    }
}

/// Returns the joint evidence of two leaves. A choice that only one of them ranks is neither allowed nor
/// usual.
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
                Some(RankedChoice { allowed: false, usual: false, ..one.clone() })
            }
            [None, None] => None,
        })
        .collect();
    ranking.sort_by(|x, y| {
        let unmeasured = (x.measured == 0).cmp(&(y.measured == 0));
        unmeasured.then(x.score.total_cmp(&y.score)).then(x.choice.cmp(&y.choice))
    });
    let both = a.ranges.iter().zip(&b.ranges).map(|(x, y)| x.zip(*y));
    let ranges = both.map(|both| both.map(|(x, y)| (x.0.min(y.0), x.1.max(y.1)))).collect();
    Leaf { samples, unsure: a.unsure, ranking, ranges, outside: Vec::<Place>::new() }
}

/// Returns the joint evidence of one choice in two leaves, weighted by their numbers of inputs.
fn pooled_choice((x, in_x): (&RankedChoice, u64), (y, in_y): (&RankedChoice, u64)) -> RankedChoice {
    // Leaves without inputs have equal weights.
    let (in_x, in_y) = if in_x + in_y == 0 { (1, 1) } else { (in_x, in_y) };
    let mean =
        |x: f64, y: f64, in_x: u64, in_y: u64| (x * in_x as f64 + y * in_y as f64) / (in_x + in_y) as f64;
    let measured = |one: f64, other: f64, both: f64| match (x.measured, y.measured) {
        (0, _) => other,
        (_, 0) => one,
        _ => both,
    };
    let logs = mean(x.slowdown.ln(), y.slowdown.ln(), x.measured.max(1), y.measured.max(1));
    RankedChoice {
        choice: x.choice,
        score: mean(x.score, y.score, in_x, in_y),
        probability: mean(x.probability, y.probability, in_x, in_y),
        measured: x.measured + y.measured,
        usual: x.usual && y.usual,
        slowdown: measured(x.slowdown, y.slowdown, logs.exp()),
        worst: measured(x.worst, y.worst, x.worst.max(y.worst)),
        worst_over_fallback: measured(
            x.worst_over_fallback,
            y.worst_over_fallback,
            x.worst_over_fallback.max(y.worst_over_fallback),
        ),
        allowed: x.allowed && y.allowed,
    }
}
