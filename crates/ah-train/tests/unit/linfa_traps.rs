//! The traps of linfa-trees 0.8.1: each test shows one in linfa itself where it can, and our guard.

use ah_joint::growth::Tree;
use ah_model::ChoiceId;
use linfa::DatasetBase;
use linfa::traits::{Fit, Predict};
use linfa_trees::DecisionTree;
use ndarray::{Array1, Array2};

use crate::data::{Columns, FitRows};
use crate::learners::LinfaTrees;

/// The winner of input i is `classes[i]`.
fn winner(classes: &[usize]) -> impl Fn(u32) -> Option<ChoiceId> {
    |input| Some(ChoiceId(classes[input as usize] as u32))
}

/// Grows on these columns; the winner of input i is `classes[i]`.
fn grow(columns: &[Vec<f64>], classes: &[usize], max_depth: usize) -> (Columns, Tree) {
    let columns = Columns::from_numbers(columns, 1 << 16);
    let inputs: Vec<u32> = (0..classes.len() as u32).collect();
    let rows = FitRows { columns: &columns, inputs: &inputs };
    let learner = LinfaTrees { max_depth, min_samples_leaf: 1 };
    let tree = learner.grow(&rows, winner(classes));
    (columns, tree)
}

/// Returns the share of inputs that share their leaf with their own class only.
fn purity(columns: &Columns, tree: &Tree, classes: &[usize]) -> f64 {
    let leaf: Vec<usize> = (0..classes.len() as u32).map(|i| columns.leaf(tree, i)).collect();
    let pure = |i: &usize| (0..classes.len()).all(|j| leaf[j] != leaf[*i] || classes[j] == classes[*i]);
    (0..classes.len()).filter(pure).count() as f64 / classes.len() as f64
}

fn linfa_accuracy(columns: &[Vec<f64>], classes: &[usize], max_depth: usize) -> f64 {
    let records = Array2::from_shape_fn((classes.len(), columns.len()), |(r, c)| columns[c][r]);
    let dataset = DatasetBase::new(records.clone(), Array1::from(classes.to_vec()));
    let tree = DecisionTree::params().max_depth(Some(max_depth)).fit(&dataset).unwrap();
    let predicted: Array1<usize> = tree.predict(&records);
    let right = predicted.iter().zip(classes).filter(|(a, b)| a == b).count();
    right as f64 / classes.len() as f64
}

/// Below the root, linfa misses a split where the last row with a value is in another node.
#[test]
fn splits_are_sought_within_the_node() {
    // b decides only where a is 0; the last row in the order of b with b = 0 has a = 1.
    let a: Vec<f64> = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0].to_vec();
    let b: Vec<f64> = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0].to_vec();
    let classes = [0, 0, 1, 1, 2, 2, 2, 2];
    let (columns, tree) = grow(&[a.clone(), b.clone()], &classes, 4);
    assert!((purity(&columns, &tree, &classes) - 1.0).abs() < 1e-9);
    let linfa = linfa_accuracy(&[a, b], &classes, 4);
    assert!(linfa < 1.0, "linfa-trees finds this split now ({linfa}); the guard may go");
}

#[test]
fn order_of_rows_does_not_matter() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
    let y: Vec<f64> = (0..40).map(|i| f64::from((i / 4) % 2)).collect();
    let classes: Vec<usize> = (0..40).map(|i| usize::from(i % 4 == 2) + 2 * ((i / 4) % 2)).collect();
    let tree = grow(&[x.clone(), y.clone()], &classes, 5).1;
    let reversed = |v: &[f64]| v.iter().rev().copied().collect::<Vec<_>>();
    let classes: Vec<usize> = classes.into_iter().rev().collect();
    assert_eq!(grow(&[reversed(&x), reversed(&y)], &classes, 5).1, tree);
}

#[test]
fn values_closer_than_1e_5_split() {
    let x = vec![1.0, 1.0 + 1e-9, 1.0 + 2e-9, 1.0 + 3e-9];
    let classes = [0, 0, 1, 1];
    let (columns, tree) = grow(std::slice::from_ref(&x), &classes, 3);
    assert!((purity(&columns, &tree, &classes) - 1.0).abs() < 1e-9);
    assert!(linfa_accuracy(&[x], &classes, 3) < 1.0, "linfa-trees splits these now; the guard may go");
}

#[test]
fn infinite_features_neither_overflow_nor_hang() {
    let x = vec![f64::NEG_INFINITY, 1.0, f64::INFINITY, f64::INFINITY, f64::MAX, f64::MIN];
    let classes = [0, 1, 0, 1, 1, 0];
    let (columns, tree) = grow(&[x], &classes, 64);
    for node in tree.nodes.iter().filter(|node| node.left > 0) {
        assert!(columns.all[node.column as usize].test(node.limit).threshold.is_finite());
    }
}

/// A value on a threshold goes left in the fit and in the decision.
#[test]
fn threshold_goes_left() {
    // Between neighbouring floats there is no midpoint: the threshold is the left value itself.
    let x = vec![1.0, 1.0_f64.next_up()];
    let (columns, tree) = grow(&[x], &[0, 1], 2);
    assert_eq!(tree.leaves(), 2);
    let root = tree.nodes[0];
    let threshold = columns.all[root.column as usize].test(root.limit).threshold;
    assert!(ah_model::goes_left(1.0, threshold));
    assert!(!ah_model::goes_left(1.0_f64.next_up(), threshold));
    assert_eq!([columns.leaf(&tree, 0), columns.leaf(&tree, 1)], [1, 2]);
}

/// Many splits and classes are equally good: the order of linfa's hash maps must not show.
#[test]
fn fits_do_not_differ_between_runs() {
    let columns: Vec<Vec<f64>> =
        (0..6).map(|c| (0..60).map(|r| f64::from((r * (c + 3)) % 7)).collect()).collect();
    let classes: Vec<usize> = (0..60).map(|r| (r * 5) % 11).collect();
    let first = grow(&columns, &classes, 6).1;
    for _ in 0..20 {
        assert_eq!(grow(&columns, &classes, 6).1, first);
    }
}

#[test]
fn leaves_hold_at_least_min_samples_leaf_rows() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let classes: Vec<usize> = (0..50).map(|r| r % 3).collect();
    let columns = Columns::from_numbers(&[x], 1 << 16);
    let inputs: Vec<u32> = (0..50).collect();
    let rows = FitRows { columns: &columns, inputs: &inputs };
    let learner = LinfaTrees { max_depth: 8, min_samples_leaf: 7 };
    let tree = learner.grow(&rows, winner(&classes));
    let mut counts = vec![0; tree.nodes.len()];
    inputs.iter().for_each(|&i| counts[columns.leaf(&tree, i)] += 1);
    assert!(tree.leaves() > 1);
    assert!(tree.nodes.iter().zip(counts).all(|(n, c)| n.left > 0 || c >= 7));
}
