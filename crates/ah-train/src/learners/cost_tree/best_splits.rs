//! Best-first growth: of all leaves, the one whose split gains most is split next, until the tree has as many leaves as it may (Shi,
//! "Best-first decision tree learning", 2007).
//!
//! What a node's best split is depends on its rows alone. So the tree is grown whole, and its splits are taken in this order.

use crate::data::Subset;
use crate::tree::GrownTree;

/// The rows that a booster is fitted to.
pub(super) struct ErrorRows<'a> {
    pub part: &'a Subset<'a>,
    /// By row: (choice, error).
    pub errors: &'a [&'a [(u32, f64)]],
    /// By row.
    pub weights: &'a [u32],
    pub choices: usize,
    /// Each leaf counts this many further rows without error.
    pub shrinkage: f64,
}

/// Returns a tree of at most `most` leaves with the splits that reduce the squared errors most.
pub(super) fn best_splits(tree: &GrownTree, rows: &ErrorRows<'_>, most: usize) -> GrownTree {
    let reductions = reductions(tree, rows);
    let gain = |node: u32| {
        let split = tree.nodes[node as usize].split.as_ref()?;
        let [left, right] = [split.left, split.right].map(|child| reductions[child as usize]);
        Some((left + right - reductions[node as usize], node))
    };
    let mut is_kept = vec![false; tree.nodes.len()];
    let mut open: Vec<(f64, u32)> = gain(0).into_iter().collect();
    for _ in 1..most {
        // Of equal gains, the first node's.
        let order = |(_, a): &(usize, &(f64, u32)), (_, b): &(usize, &(f64, u32))| {
            a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))
        };
        let Some((at, _)) = open.iter().enumerate().max_by(order) else { break };
        let (_, node) = open.swap_remove(at);
        is_kept[node as usize] = true;
        if let Some(split) = &tree.nodes[node as usize].split {
            open.extend([split.left, split.right].into_iter().filter_map(gain));
        }
    }
    tree.part(|node, _| is_kept[node as usize]).0
}

/// Returns by how much the scores of each node reduce the squared errors of its rows.
fn reductions(tree: &GrownTree, rows: &ErrorRows<'_>) -> Vec<f64> {
    let &ErrorRows { part, errors, weights, choices, shrinkage } = rows;
    let mut sums = vec![(0.0_f64, 0.0_f64); tree.nodes.len() * choices];
    for ((&input, errors), &weight) in part.inputs.iter().zip(errors).zip(weights) {
        let leaf = tree.leaf_of(part.columns, input) as usize;
        for &(choice, error) in *errors {
            let (sum, count) = &mut sums[leaf * choices + choice as usize];
            *sum += error * f64::from(weight);
            *count += f64::from(weight);
        }
    }
    tree.add_up(&mut sums, choices, |up, down| {
        up.0 += down.0;
        up.1 += down.1;
    });
    let reduction =
        |(sum, count): &(f64, f64)| if *count > 0.0 { sum * sum / (count + shrinkage) } else { 0.0 };
    sums.chunks_exact(choices).map(|sums| sums.iter().map(reduction).sum()).collect()
}

#[cfg(test)]
mod tests {
    use ah_types::Test;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Columns;

    /// Returns a tree that splits a column of numbers from 0 to 7 in the middle, down to single ones.
    fn halves() -> GrownTree {
        let mut tree = GrownTree::leaf();
        let mut open = vec![(0, 0, 8)];
        while let Some((node, start, end)) = open.pop() {
            if end - start > 1 {
                let middle = (start + end) / 2;
                let test = Test::Numerical { slot: 0, threshold: f64::from(middle) - 0.5 };
                let (left, right) = tree.split(node, 0, middle - 1, test);
                open.extend([(left, start, middle), (right, middle, end)]);
            }
        }
        tree
    }

    fn cut(errors: &[f64], most: usize) -> (GrownTree, Vec<f64>) {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        let columns = Columns::from_numbers(&[values], 512);
        let rows: Vec<Vec<(u32, f64)>> = errors.iter().map(|&error| vec![(0, error)]).collect();
        let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
        let inputs: Vec<u32> = (0..8).collect();
        let part = Subset { columns: &columns, inputs: &inputs };
        let rows = ErrorRows { part: &part, errors: &rows, weights: &[1; 8], choices: 1, shrinkage: 0.0 };
        let tree = best_splits(&halves(), &rows, most);
        let reductions = reductions(&tree, &rows);
        let is_leaf = |(node, _): &(usize, &f64)| tree.nodes[*node].split.is_none();
        let of_leaves = reductions.iter().enumerate().filter(is_leaf).map(|(_, x)| *x).collect();
        (tree, of_leaves)
    }

    #[test]
    fn the_greatest_error_is_split_off_first() {
        let (tree, _) = cut(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 0.0], 4);
        // 8 | 4 | 2 on the side of the 9, and nothing on the other side.
        assert_eq!((tree.leaves(), tree.depth()), (4, 3));
    }

    proptest! {
        #[test]
        fn leaves_are_limited_and_each_more_gains(errors in prop::collection::vec(-9.0..9.0_f64, 8)) {
            let mut before = f64::NEG_INFINITY;
            for most in 1..=9 {
                let (tree, reductions) = cut(&errors, most);
                prop_assert_eq!(tree.leaves(), most.min(8));
                let reduction: f64 = reductions.iter().sum();
                prop_assert!(reduction >= before - 1e-9);
                before = reduction;
            }
        }
    }
}
