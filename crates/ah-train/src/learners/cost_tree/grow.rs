//! Growth of the whole tree. Large nodes are split by histograms with one bin for each code. Nodes
//! whose rows fit into the processor's cache are left to `grow_subtree`.

use rayon::prelude::*;

use super::fit_data::FitData;
use super::grow_subtree;
use super::histogram::Histograms;
use super::parameters::CostTree;
use super::subtree::MAX_ROWS;
use crate::data::{Column, Rows, Targets};
use crate::tree::GrownTree;

/// Most rows of a small node. With 22 choices their lanes are 200 kB.
const SUBTREE_ROWS: usize = 2048;

/// A node that may be split.
struct Node {
    id: u32,
    rows: std::ops::Range<usize>,
    depth: usize,
    /// `None` for a small node.
    histograms: Option<Histograms>,
}

/// Grows a tree.
pub(super) fn grow(parameters: &CostTree, rows: &Rows<'_>, targets: &Targets) -> GrownTree {
    grow_with(parameters, rows, targets, subtree_rows(rows))
}

/// Returns the most rows of a small node.
pub(super) fn subtree_rows(rows: &Rows<'_>) -> usize {
    // With more bins than rows, a histogram costs more than the rows themselves.
    let levels = rows.columns.all().iter().map(Column::levels).max().unwrap_or(0);
    SUBTREE_ROWS.max(levels).min(MAX_ROWS)
}

/// Grows a tree, with histograms for nodes of more than `subtree_rows` rows.
fn grow_with(parameters: &CostTree, rows: &Rows<'_>, targets: &Targets, subtree_rows: usize) -> GrownTree {
    grow_fit(&FitData::new(parameters, rows, targets), subtree_rows)
}

/// Grows a tree from rows that are ready, with histograms for nodes of more than `subtree_rows` rows.
pub(super) fn grow_fit(fit: &FitData<'_>, subtree_rows: usize) -> GrownTree {
    let parameters = fit.parameters;
    let mut tree = GrownTree::leaf();
    let mut members: Vec<u32> = (0..fit.rows as u32).collect();
    let is_small = |rows: &[u32]| rows.len() <= subtree_rows;
    let histograms = (!is_small(&members)).then(|| Histograms::new(fit, &members));
    let mut todo = vec![Node { id: 0, rows: 0..members.len(), depth: 0, histograms }];
    let mut small_nodes = Vec::new();
    while let Some(node) = todo.pop() {
        let Some(mut histograms) = node.histograms else {
            small_nodes.push((node.id, node.depth, node.rows));
            continue;
        };
        if parameters.must_be_leaf(node.depth, node.rows.len()) {
            continue;
        }
        let rows = &mut members[node.rows.clone()];
        let Some(best) = histograms.best_split(fit, rows) else { continue };
        let column = best.column as usize;
        let (limit, test) = fit.columns[column].test(best.codes.0, best.codes.1);
        let middle = partition(rows, |row| fit.codes(row)[column] <= limit);
        let (left, right) = rows.split_at(middle);
        // Only the smaller child is counted.
        let left_is_smaller = left.len() <= right.len();
        let (smaller, larger) = if left_is_smaller { (left, right) } else { (right, left) };
        let (mut of_smaller, mut of_larger) = (None, None);
        if !is_small(larger) {
            let counted = Histograms::new(fit, smaller);
            histograms.subtract(&counted);
            of_larger = Some(histograms);
            of_smaller = (!is_small(smaller)).then_some(counted);
        }
        let (of_left, of_right) =
            if left_is_smaller { (of_smaller, of_larger) } else { (of_larger, of_smaller) };
        let (left, right) = tree.split(node.id, best.column, limit, test);
        let middle = node.rows.start + middle;
        let depth = node.depth + 1;
        todo.push(Node { id: right, rows: middle..node.rows.end, depth, histograms: of_right });
        todo.push(Node { id: left, rows: node.rows.start..middle, depth, histograms: of_left });
    }
    let subtrees: Vec<(u32, GrownTree)> = small_nodes
        .into_par_iter()
        .map(|(id, depth, rows)| {
            let mut subtree = GrownTree::leaf();
            grow_subtree::grow(fit, &mut subtree, 0, depth, &members[rows]);
            (id, subtree)
        })
        .collect();
    for (id, subtree) in subtrees {
        tree.graft(id, subtree);
    }
    // Nodes in preorder, whatever the order of growth.
    tree.rebuilt(|_| true)
}

/// Moves the rows that go left to the front and returns their number. Both sides keep their order.
fn partition(rows: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&row| goes_left(row));
    rows[..left.len()].copy_from_slice(&left);
    rows[left.len()..].copy_from_slice(&right);
    left.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

        use super::super::samples::{Row, Samples};
    use super::*;
    use crate::data::Columns;

    /// Returns the gain of a split into these rows, in the scale of the node with the rows `scale`:
    /// by the definition, in floats.
    fn gain(parameters: &CostTree, samples: &Samples, left: &[u32], right: &[u32], scale: &[u32]) -> f64 {
        let all: Vec<u32> = [left, right].concat();
        let sums = |rows: &[u32]| {
            let (outputs, first_cost) = (samples.layout.outputs, samples.layout.first_cost());
            let (mut q, mut n, mut squares) = (vec![0.0; outputs], 0.0, 0.0);
            let mut costs = vec![0.0; samples.layout.costs];
            for &row in rows {
                let count = f64::from(samples.facts(row).count);
                n += count;
                costs.iter_mut().for_each(|c| *c += f64::from(samples.facts(row).base_cost));
                let entries = match samples.row(row) {
                    Row::Sparse(entries) => entries.to_vec(),
                    Row::Dense(lanes) => (0..).zip(lanes.as_flattened().iter().copied()).collect(),
                };
                for (lane, value) in entries {
                    match (lane as usize).checked_sub(first_cost) {
                        Some(choice) if choice < costs.len() => costs[choice] += f64::from(value),
                        None if (lane as usize) < outputs => {
                            q[lane as usize] += f64::from(value);
                            squares += f64::from(value).powi(2) / count;
                        }
                        _ => {}
                    }
                }
            }
            let mean = q.iter().map(|x| x * x).sum::<f64>() / n;
            (mean, squares - mean, costs.into_iter().reduce(f64::min).unwrap_or(0.0))
        };
        let (left, right, all, scale) = (sums(left), sums(right), sums(&all), sums(scale));
        let variance = (left.0 + right.0 - all.0) / scale.1.max(1e-6 * samples.one * samples.one);
        variance + parameters.alpha * (all.2 - left.2 - right.2) / scale.2.max(1.0)
    }

    /// Returns all splits of a node's rows by this column: the limit and the two sides.
    fn splits(parameters: &CostTree, column: &Column, rows: &[u32]) -> Vec<(u16, Vec<u32>, Vec<u32>)> {
        let split = |limit: u16| {
            let (left, right): (Vec<u32>, Vec<u32>) =
                rows.iter().partition(|&&r| column.codes()[r as usize] <= limit);
            (limit, left, right)
        };
        let all = (0..column.levels() as u16).map(split);
        all.filter(|(_, left, right)| left.len().min(right.len()) >= parameters.min_samples_leaf.max(1)).collect()
    }

    /// Returns the greatest gain of a node's rows in the scale of other rows, by trying everything.
    fn best_gain(parameters: &CostTree, samples: &Samples, columns: &[&Column], rows: &[u32], scale: &[u32]) -> f64 {
        let splits = columns.iter().flat_map(|column| splits(parameters, column, rows));
        let gains = splits.map(|(_, left, right)| gain(parameters, samples, &left, &right, scale));
        gains.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the least gain, children included, that a node with look-ahead must reach: the
    /// greatest over the columns of what the column's best split gains. Of a column's equally good
    /// splits any may be taken, so the one that gains least counts.
    fn best_ahead(parameters: &CostTree, samples: &Samples, columns: &[&Column], rows: &[u32]) -> f64 {
        let of_column = |column: &&Column| {
            let splits = splits(parameters, column, rows);
            let gains: Vec<f64> = splits.iter().map(|(_, l, r)| gain(parameters, samples, l, r, rows)).collect();
            let best = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let equal =
                splits.iter().zip(&gains).filter(|(_, gain)| best >= parameters.min_gain && **gain > best - 1e-9);
            let totals = equal.map(|((_, l, r), gain)| gain + ahead(parameters, samples, columns, [l, r], rows));
            totals.reduce(f64::min)
        };
        columns.iter().filter_map(of_column).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the gain of the best splits of two children.
    fn ahead(
        parameters: &CostTree,
        samples: &Samples,
        columns: &[&Column],
        sides: [&Vec<u32>; 2],
        scale: &[u32],
    ) -> f64 {
        let best = |side: &Vec<u32>| best_gain(parameters, samples, columns, side, scale).max(0.0);
        parameters.gamma * sides.map(best).iter().sum::<f64>()
    }

    /// Checks that every split gains the most possible in its node (with look-ahead: together with
    /// its children), and that no leaf can be split.
    fn check(parameters: &CostTree, columns: &Columns, targets: &Targets, subtree_rows: usize) {
        let inputs: Vec<u32> = (0..columns.rows() as u32).collect();
        let tree = grow_with(parameters, &Rows { columns, inputs: &inputs }, targets, subtree_rows);
        let samples = Samples::new(parameters, targets, &inputs);
        let all: Vec<&Column> = columns.all().iter().collect();
        let mut members = vec![Vec::new(); tree.nodes.len()];
        members[0] = inputs;
        for (id, node) in tree.nodes.iter().enumerate() {
            let rows = std::mem::take(&mut members[id]);
            let best = best_gain(parameters, &samples, &all, &rows, &rows);
            let Some(split) = &node.split else {
                let may = (node.depth as usize) < parameters.max_depth;
                assert!(!may || best < parameters.min_gain + 1e-9, "leaf {id} could gain {best}");
                continue;
            };
            let codes = all[split.column as usize].codes();
            let (left, right): (Vec<u32>, Vec<u32>) =
                rows.iter().partition(|&&r| codes[r as usize] <= split.limit);
            let gained = gain(parameters, &samples, &left, &right, &rows);
            if parameters.looks_ahead(node.depth as usize) && rows.len() <= subtree_rows {
                // Only the candidates' columns split the children.
                let candidate =
                    |c: &&&Column| best_gain(parameters, &samples, &[**c], &rows, &rows) >= parameters.min_gain;
                let candidates: Vec<&Column> = all.iter().filter(candidate).copied().collect();
                let gained = gained + ahead(parameters, &samples, &candidates, [&left, &right], &rows);
                let best = best_ahead(parameters, &samples, &candidates, &rows);
                assert!(gained > best - 1e-9, "node {id} gains {gained} of {best} with its children");
            } else {
                assert!(gained > best - 1e-9, "node {id} gains {gained} of {best}");
            }
            members[split.left as usize] = left;
            members[split.right as usize] = right;
        }
    }

    fn parameters() -> impl Strategy<Value = CostTree> {
        let tree = |(leaf, depth, is_greedy, look_levels)| match is_greedy {
            true => CostTree::greedy(depth, leaf),
            false => CostTree { look_levels, ..CostTree::new(depth, leaf) },
        };
        (1_usize..4, 1_usize..7, any::<bool>(), 2_usize..7).prop_map(tree)
    }

    /// The measured (choice, log slowdown) of an input, and its weight.
    type Cells = (Vec<(u32, f64)>, u32);

    /// Draws features with ties, and for each input the log slowdowns of some choices.
    fn data() -> impl Strategy<Value = (Vec<Vec<f64>>, usize, Vec<Cells>)> {
        // 0.999: nearly every choice is measured, so rows are dense.
        let measured = prop::sample::select(vec![0.7, 0.999]);
        (2_usize..60, 1_usize..20, measured).prop_flat_map(|(rows, choices, measured)| {
            let column = (1_u32..40)
                .prop_flat_map(move |levels| prop::collection::vec((0..levels).prop_map(f64::from), rows));
            let cell = prop_oneof![Just(0.0), 0.0..0.1, 0.0..2.5];
            let cells =
                prop::collection::vec(prop::option::weighted(measured, cell), choices).prop_map(|cells| {
                    (0..)
                        .zip(cells)
                        .filter_map(|(c, x): (u32, Option<f64>)| Some((c, x?)))
                        .collect::<Vec<_>>()
                });
            let input = (cells, prop_oneof![4 => Just(1_u32), 1 => 1_u32..50]);
            (prop::collection::vec(column, 1..6), Just(choices), prop::collection::vec(input, rows))
        })
    }

    proptest! {
        #[test]
        fn splits_gain_the_most(parameters in parameters(), (values, choices, inputs) in data()) {
            let columns = Columns::from_numbers(&values, 512);
            let targets = Targets::from_cells(choices, &inputs);
            check(&parameters, &columns, &targets, MAX_ROWS);
        }

        #[test]
        fn splits_by_histograms_gain_the_most(parameters in parameters(), (values, choices, inputs) in data()) {
            let columns = Columns::from_numbers(&values, 512);
            let targets = Targets::from_cells(choices, &inputs);
            check(&parameters, &columns, &targets, 7);
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let value = |i: usize, c: usize| ((i * 7919 + c * 104_729) % 10_007) as f64;
        let values: Vec<Vec<f64>> = (0..12).map(|c| (0..9000).map(|i| value(i, c)).collect()).collect();
        let columns = Columns::from_numbers(&values, 512);
        let targets = Targets::from_log_slowdowns(9000, 9, |i, c| {
            (values[c][i] / 10_007.0 - values[0][i] / 20_000.0).abs()
        });
        let inputs: Vec<u32> = (0..9000).collect();
        let parameters = CostTree::new(12, 3);
        let tree = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| grow(&parameters, &Rows { columns: &columns, inputs: &inputs }, &targets))
        };
        assert_eq!(tree(1), tree(3));
        assert!(tree(1).leaves() > 100);
    }
}
