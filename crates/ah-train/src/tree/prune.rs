//! Smaller trees: cost-complexity pruning (Breiman and others, "Classification and Regression Trees", 1984, chapter 3).
//!
//! The weakest split is the one whose subtree saves least for each of its leaves. Taking the weakest split back again
//! and again gives a sequence of trees, each part of the one before, from the whole tree to a single leaf.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fitted::FittedEnsemble;
use super::grown::GrownTree;
use crate::data::{COST_ONE, Costs, FitRows};

/// Returns the largest tree of the sequence with at most `most` leaves, and without the splits that cost more than they save by the
/// costs of the rows that it was learned from. `asking` is what the path to a node adds to the cost of an input.
pub fn pruned(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    targets: &Costs,
    asking: impl Fn(u32, u32) -> f64,
    most: Option<usize>,
) -> FittedEnsemble {
    let (steps, wasteful) = order(&fitted.tree, &costs_as_leaf(fitted, rows, targets, asking));
    let is_small = |leaves: usize| most.is_none_or(|most| leaves <= most);
    let needed = match steps.iter().position(|(_, remaining)| is_small(*remaining)) {
        _ if is_small(fitted.tree.leaves()) => 0,
        last => last.map_or(steps.len(), |last| last + 1),
    };
    let needed = needed.max(wasteful);
    if needed == 0 {
        return fitted.clone();
    }
    let mut is_taken_back = vec![false; fitted.tree.nodes.len()];
    steps[..needed].iter().for_each(|(node, _)| is_taken_back[*node as usize] = true);
    fitted.part(|node| !is_taken_back[node as usize])
}

/// Returns the splits in the order in which they are taken back, with the number of leaves that remain, and how many of the first
/// cost more than they save. `as_leaf` is what each node would cost if it were a leaf.
fn order(tree: &GrownTree, as_leaf: &[i64]) -> (Vec<(u32, usize)>, usize) {
    let nodes = &tree.nodes;
    let is_leaf = |node: usize| nodes[node].split.is_none();
    let mut below: Vec<i64> =
        as_leaf.iter().enumerate().map(|(node, cost)| if is_leaf(node) { *cost } else { 0 }).collect();
    let mut leaves: Vec<i64> = (0..nodes.len()).map(|node| i64::from(is_leaf(node))).collect();
    tree.add_up(&mut below, 1, |up, down| *up += down);
    tree.add_up(&mut leaves, 1, |up, down| *up += down);

    let saved_per_leaf = |node: usize, below: &[i64], leaves: &[i64]| Saving {
        cost: as_leaf[node] - below[node],
        leaves: leaves[node] - 1,
        node: node as u32,
    };
    let splits = (0..nodes.len()).filter(|&node| !is_leaf(node));
    let mut weakest: BinaryHeap<_> =
        splits.map(|node| Reverse(saved_per_leaf(node, &below, &leaves))).collect();
    let (mut steps, mut wasteful) = (Vec::new(), 0);
    while let Some(Reverse(saving)) = weakest.pop() {
        let node = saving.node as usize;
        // Taken back with a split above it, or out of date because a split below it was taken back.
        if leaves[node] <= 1 || saving != saved_per_leaf(node, &below, &leaves) {
            continue;
        }
        mark_as_gone(tree, node, &mut leaves);
        let mut at = node;
        loop {
            below[at] += saving.cost;
            leaves[at] -= saving.leaves;
            if at != node {
                weakest.push(Reverse(saved_per_leaf(at, &below, &leaves)));
            }
            if at == 0 {
                break;
            }
            at = nodes[at].parent as usize;
        }
        steps.push((saving.node, leaves[0] as usize));
        if saving.cost < 0 {
            wasteful = steps.len();
        }
    }
    (steps, wasteful)
}

/// The cost that a subtree saves, and the leaves that it takes for this, beyond the first. Ordered by the quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Saving {
    cost: i64,
    leaves: i64,
    node: u32,
}

impl Ord for Saving {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let cross = |a: &Self, b: &Self| i128::from(a.cost) * i128::from(b.leaves);
        cross(self, other).cmp(&cross(other, self)).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Saving {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns what each node would cost if it were a leaf.
fn costs_as_leaf(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    targets: &Costs,
    asking: impl Fn(u32, u32) -> f64,
) -> Vec<i64> {
    let mut costs = vec![0; fitted.tree.nodes.len()];
    for &input in rows.inputs {
        let mut node = fitted.tree.leaf_of(rows.columns, input);
        loop {
            let asking = (asking(node, input) * COST_ONE) as i64;
            let cost = i64::from(fitted.scores.cost(node, targets, input)) + asking;
            costs[node as usize] += i64::from(targets.weight(input)) * cost;
            if node == 0 {
                break;
            }
            node = fitted.tree.nodes[node as usize].parent;
        }
    }
    costs
}

/// Sets the leaves of all nodes below a node to 0.
fn mark_as_gone(tree: &GrownTree, node: usize, leaves: &mut [i64]) {
    let children = |node: usize| {
        let split = tree.nodes[node].split.as_ref();
        split.into_iter().flat_map(|split| [split.left as usize, split.right as usize])
    };
    let mut todo: Vec<usize> = children(node).collect();
    while let Some(at) = todo.pop() {
        leaves[at] = 0;
        todo.extend(children(at));
    }
}

#[cfg(test)]
mod tests {
    use ah_types::Test;

    use super::*;

    #[test]
    fn the_weakest_split_goes_first() {
        // Splits 0 and its children 1 and 2; the costs as leaf are 100; 40, 30; 10, 20, 5, 24.
        let mut tree = GrownTree::leaf();
        let test = || Test::Numerical { slot: 0, threshold: 1.0 };
        let (left, right) = tree.split(0, 0, 1, test());
        tree.split(left, 0, 0, test());
        tree.split(right, 0, 2, test());
        let steps = order(&tree, &[100, 40, 30, 10, 20, 5, 24]);
        // Node 2 saves 30 - 29 = 1 for a leaf, node 1 saves 10, the root 100 - 40 - 30.
        assert_eq!(steps, (vec![(2, 3), (1, 2), (0, 1)], 0));
        // A whole subtree goes at once if its parts save more than it does for a leaf.
        assert_eq!(order(&tree, &[60, 40, 30, 10, 20, 5, 10]), (vec![(0, 1)], 0));
        // Asking makes node 2 cost more than it saves.
        assert_eq!(order(&tree, &[100, 40, 30, 10, 20, 8, 24]), (vec![(2, 3), (1, 2), (0, 1)], 1));
    }
}
