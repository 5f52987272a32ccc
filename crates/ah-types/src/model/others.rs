//! The choices that leaves of a tree never measured, as `model.json` stores them.
//!
//! Such a choice has only a score, which is that of the nearest node above that measured the choice. So many leaves share
//! it, and the file has it once: with the highest node below which every leaf either measured the choice or gives it
//! this score.

use std::collections::{BTreeMap, BTreeSet};

use crate::choice::ChoiceId;
use crate::tree::{Leaf, Node, RankedChoice, Tree};

/// Deeper trees are not valid.
const MAX_DEPTH: usize = 64;

/// By node: choices that leaves below it never measured, with their scores.
pub(super) type Others = Vec<Vec<(ChoiceId, f64)>>;

/// Returns true if a choice has nothing but a score.
pub(super) fn is_unmeasured(ranked: &RankedChoice) -> bool {
    *ranked == RankedChoice::unmeasured(ranked.choice, ranked.score)
}

/// Returns the number of choices that a leaf lists itself: those before the choices that it can inherit; `None` if it
/// lists all and inherits none.
pub(super) fn listed(leaf: &Leaf) -> Option<usize> {
    let inherited = leaf.ranking.iter().rev().take_while(|ranked| is_unmeasured(ranked)).count();
    let (listed, inherited) = leaf.ranking.split_at(leaf.ranking.len() - inherited);
    let inherits = inherited.is_sorted_by(precedes) && !listed.iter().any(is_unmeasured);
    inherits.then_some(listed.len())
}

/// The order of the choices that a leaf inherits.
fn precedes(a: &RankedChoice, b: &RankedChoice) -> bool {
    a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)).is_lt()
}

/// What the leaves below a node, if they do not list a choice, have for it.
#[derive(Clone, Copy, PartialEq)]
enum Shared {
    /// All have the score with these bits.
    Score(u64),
    /// They differ, or one of them does not rank the choice.
    Nothing,
}

/// Returns the choices that leaves inherit, by the node from which they do; `choices` is the number of the model's
/// choices.
pub(super) fn others(tree: &Tree, choices: usize) -> Others {
    let mut others = vec![Vec::new(); tree.nodes.len()];
    let shared = collect(tree, 0, choices, &mut others);
    shared.into_iter().for_each(|(choice, shared)| keep(choice, shared, &mut others[0]));
    others
}

fn keep(choice: ChoiceId, shared: Shared, others: &mut Vec<(ChoiceId, f64)>) {
    if let Shared::Score(bits) = shared {
        others.push((choice, f64::from_bits(bits)));
    }
}

/// Returns what the leaves below a node share, without the choices that all of them list. Scores that end here, because
/// the node's children differ, go to `others`.
fn collect(tree: &Tree, node: usize, choices: usize, others: &mut Others) -> BTreeMap<ChoiceId, Shared> {
    match &tree.nodes[node] {
        Node::Leaf(leaf) => {
            let Some(listed) = listed(leaf) else { return BTreeMap::new() };
            let (listed, inherited) = leaf.ranking.split_at(listed);
            let all = (0..).take(choices).map(|id| (ChoiceId(id), Shared::Nothing));
            let mut shared: BTreeMap<ChoiceId, Shared> = all.collect();
            for ranked in listed {
                shared.remove(&ranked.choice);
            }
            shared.extend(
                inherited.iter().map(|ranked| (ranked.choice, Shared::Score(ranked.score.to_bits()))),
            );
            shared
        }
        Node::Split { left, right, .. } => {
            let children = [*left as usize, *right as usize];
            let [mut shared, right] = children.map(|child| collect(tree, child, choices, others));
            for (choice, on_right) in right {
                let on_left = *shared.entry(choice).or_insert(on_right);
                if on_left != on_right {
                    keep(choice, on_left, &mut others[children[0]]);
                    keep(choice, on_right, &mut others[children[1]]);
                    shared.insert(choice, Shared::Nothing);
                }
            }
            shared
        }
    }
}

/// Appends to the rankings of the leaves in `inheriting` the choices that they inherit. Children that are not valid
/// inherit nothing.
pub(super) fn inherit(nodes: &mut [Node], others: &Others, inheriting: impl Fn(usize) -> bool) {
    let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        if let Node::Split { left, right, .. } = node {
            for child in [*left as usize, *right as usize].into_iter().filter(|child| *child > at) {
                if let Some(parent) = parents.get_mut(child) {
                    *parent = Some(at);
                }
            }
        }
    }
    for (at, node) in nodes.iter_mut().enumerate().filter(|(at, _)| inheriting(*at)) {
        let Node::Leaf(leaf) = node else { continue };
        let listed = leaf.ranking.len();
        let mut known: BTreeSet<ChoiceId> = leaf.ranking.iter().map(|ranked| ranked.choice).collect();
        let path = std::iter::successors(Some(at), |at| parents[*at]).take(MAX_DEPTH + 1);
        for &(choice, score) in path.flat_map(|at| &others[at]) {
            if known.insert(choice) {
                leaf.ranking.push(RankedChoice::unmeasured(choice, score));
            }
        }
        leaf.ranking[listed..].sort_by(|a, b| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Test;

    fn leaf(measured: &[u32], others: &[(u32, f64)]) -> Node {
        let measured = measured.iter().map(|&id| RankedChoice {
            measured: 1,
            allowed: true,
            ..RankedChoice::unmeasured(ChoiceId(id), f64::from(id))
        });
        let others = others.iter().map(|&(id, score)| RankedChoice::unmeasured(ChoiceId(id), score));
        Node::Leaf(Leaf { samples: 1, ranking: measured.chain(others).collect(), ..Leaf::default() })
    }

    fn split(left: u32, right: u32) -> Node {
        Node::Split { test: Test::Numerical { slot: 0, threshold: 0.0 }, left, right }
    }

    #[test]
    fn a_shared_score_is_kept_once_at_the_highest_node() {
        let tree = Tree {
            nodes: vec![
                split(1, 2),
                leaf(&[0], &[(2, 0.5), (1, 10.0)]),
                split(3, 4),
                // Does not rank choice 2.
                leaf(&[1], &[(0, 10.0)]),
                // Its order is not that of the scores, so it lists all.
                leaf(&[], &[(0, 3.0), (1, 2.0), (2, 1.0)]),
            ],
        };
        let kept = others(&tree, 3);
        let ids = |node: usize| kept[node].iter().map(|(id, score)| (id.0, *score)).collect::<Vec<_>>();
        assert_eq!(
            [0, 1, 2, 3, 4].map(ids),
            [vec![(0, 10.0), (1, 10.0)], vec![(2, 0.5)], vec![], vec![], vec![]]
        );
        let mut nodes = tree.nodes.clone();
        for node in &mut nodes {
            if let Node::Leaf(leaf) = node
                && let Some(listed) = listed(leaf)
            {
                leaf.ranking.truncate(listed);
            }
        }
        inherit(&mut nodes, &kept, |at| at != 4);
        assert_eq!(nodes, tree.nodes);
    }
}
