//! Smaller trees: of all trees that begin like a tree and have at most some leaves, the one that costs least.
//!
//! A node with k leaves below it costs the least sum of its children with i and k - i leaves, from the leaves up (Bohanec and Bratko,
//! "Trading accuracy for simplicity in decision trees", 1994). Taking back the weakest split again and again (cost-complexity pruning)
//! skips sizes: a tree of 7 leaves became one of 3 where 4 were allowed, and lost 7.2 % where 4 leaves lose 2.4 %.

use ah_joint::growth::Tree;

use super::fitted::FittedEnsemble;
use crate::data::{COST_ONE, Costs, FitRows};

/// The tree of at most `most` leaves that costs least by the rows that it was learned from, so without the splits that cost
/// more than they save. `asking` is what the path to a node adds to the cost of an input.
pub fn pruned(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    targets: &Costs,
    asking: impl Fn(usize, u32) -> f64,
    most: Option<usize>,
) -> FittedEnsemble {
    let as_leaf = costs_as_leaf(fitted, rows, targets, asking);
    let is_split = match most {
        Some(most) if most < fitted.tree.leaves() => best_of_size(&fitted.tree, &as_leaf, most),
        _ => that_pay(&fitted.tree, &as_leaf),
    };
    fitted.part(|node| is_split[node])
}

/// Whether, by node, its subtree costs at most what the node would as a leaf, the same being done below.
fn that_pay(tree: &Tree, as_leaf: &[i64]) -> Vec<bool> {
    let mut least = as_leaf.to_vec();
    let mut is_split = vec![false; as_leaf.len()];
    // Children come behind their parents.
    for at in (0..as_leaf.len()).rev() {
        let Some([left, right]) = tree.children(at) else { continue };
        let below = least[left] + least[right];
        is_split[at] = below <= least[at];
        least[at] = least[at].min(below);
    }
    is_split
}

/// Whether, by node, it is split in the tree of at most `most` leaves that costs least, of equal ones in one of fewest leaves.
fn best_of_size(tree: &Tree, as_leaf: &[i64], most: usize) -> Vec<bool> {
    // By node and number of leaves, from 1 on: the least cost with at most that number.
    let mut least: Vec<Vec<i64>> = as_leaf.iter().map(|cost| vec![*cost]).collect();
    for at in (0..as_leaf.len()).rev() {
        let Some(children) = tree.children(at) else { continue };
        let [left, right] = children.map(|child| &least[child]);
        let mut of = vec![as_leaf[at]];
        for leaves in 2..=most.min(left.len() + right.len()) {
            of.push(ways(left, right, leaves).map(|(_, cost)| cost).fold(of[leaves - 2], i64::min));
        }
        least[at] = of;
    }
    let mut is_split = vec![false; tree.nodes.len()];
    let mut open = vec![(0, most)];
    while let Some((at, most)) = open.pop() {
        let of: &Vec<i64> = &least[at];
        let cost = of[most.min(of.len()) - 1];
        let leaves = of.partition_point(|more| *more > cost) + 1;
        let Some(children) = tree.children(at).filter(|_| leaves > 1) else { continue };
        let [left, right] = children.map(|child| &least[child]);
        let way = ways(left, right, leaves).find(|(_, sum)| *sum == cost);
        let on_left = way.map_or(1, |(on_left, _)| on_left);
        is_split[at] = true;
        open.extend(children.into_iter().zip([on_left, leaves - on_left]));
    }
    is_split
}

/// The ways to share `leaves` leaves, by the number of those on the left, with the least cost of each.
fn ways<'a>(left: &'a [i64], right: &'a [i64], leaves: usize) -> impl Iterator<Item = (usize, i64)> + 'a {
    let shares = leaves.saturating_sub(right.len()).max(1)..=left.len().min(leaves - 1);
    shares.map(move |on_left| (on_left, left[on_left - 1] + right[leaves - on_left - 1]))
}

/// The cost of each node if it were a leaf.
fn costs_as_leaf(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    targets: &Costs,
    asking: impl Fn(usize, u32) -> f64,
) -> Vec<i64> {
    let mut costs = vec![0; fitted.tree.nodes.len()];
    for &input in rows.inputs {
        let mut node = rows.columns.leaf(&fitted.tree, input);
        loop {
            let asking = (asking(node, input) * COST_ONE) as i64;
            let cost = i64::from(fitted.scores.cost(node, targets, input)) + asking;
            costs[node] += i64::from(targets.weight(input)) * cost;
            if node == 0 {
                break;
            }
            node = fitted.tree.nodes[node].parent as usize;
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use ah_joint::growth::Node;

    use super::*;

    /// Splits 0 and its children 1 and 2.
    fn tree() -> Tree {
        let mut tree = Tree::default();
        let left = tree.split(0, Node { limit: 1, ..Node::default() });
        tree.split(left, Node::default());
        tree.split(left + 1, Node { limit: 2, ..Node::default() });
        tree
    }

    fn splits(is_split: &[bool]) -> Vec<usize> {
        (0..is_split.len()).filter(|at| is_split[*at]).collect()
    }

    #[test]
    fn each_size_has_the_tree_that_costs_least() {
        // The costs as leaf: 100; 40, 30; 10, 20, 5, 24. Node 1 saves 10, node 2 saves 1.
        let as_leaf = [100, 40, 30, 10, 20, 5, 24];
        let of_size = |most| splits(&best_of_size(&tree(), &as_leaf, most));
        assert_eq!([1, 2, 3, 4].map(of_size), [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
        // No size is skipped where a split saves most by the splits below it.
        let as_leaf = [60, 40, 30, 10, 20, 5, 10];
        let of_size = |most| splits(&best_of_size(&tree(), &as_leaf, most));
        assert_eq!([2, 3, 4].map(of_size), [vec![], vec![0, 2], vec![0, 1, 2]]);
    }

    #[test]
    fn splits_that_cost_more_than_they_save_go() {
        let as_leaf = [100, 40, 30, 10, 20, 8, 24];
        assert_eq!(splits(&that_pay(&tree(), &as_leaf)), [0, 1]);
        assert_eq!(splits(&best_of_size(&tree(), &as_leaf, 4)), [0, 1]);
        assert!(!that_pay(&tree(), &[1, 40, 30, 10, 20, 8, 24])[0]);
    }
}
