//! Growth of a tree.

use std::ops::Range;

use rayon::prelude::*;

use super::fit_data::FitData;
use super::gain::{Candidate, Totals};
use super::look_ahead::LookAhead;
use super::parameters::CostTree;
use super::scan::ColumnScan;
use super::subtree::{Buffers, PARALLEL, Subtree, SubtreeNode};
use crate::data::{Costs, Subset};
use crate::tree::GrownTree;

/// Grows a tree.
pub(super) fn grow(parameters: &CostTree, rows: &Subset<'_>, targets: &Costs) -> GrownTree {
    grow_fit(&FitData::new(parameters, rows, targets))
}

/// Grows a tree from rows that are ready.
pub(super) fn grow_fit(fit: &FitData<'_>) -> GrownTree {
    let all: Vec<u32> = (0..fit.rows as u32).collect();
    // Nodes in preorder, whatever the order of growth.
    grow_subtree(fit, Subtree::from_rows(fit, &all)).part(|_, _| true).0
}

/// Grows the tree below the root of a subtree.
fn grow_subtree(fit: &FitData<'_>, subtree: Subtree) -> GrownTree {
    let (mut tree, mut parts) = (GrownTree::leaf(), Vec::new());
    let is_large = subtree.rows.len() * subtree.columns.len() >= PARALLEL;
    grow_part(fit, subtree, &mut tree, &mut parts);
    let below = |part: Subtree| (part.id, grow_subtree(fit, part));
    let parts: Vec<(u32, GrownTree)> = match is_large {
        true => parts.into_par_iter().map(below).collect(),
        false => parts.into_iter().map(below).collect(),
    };
    for (id, below) in parts {
        tree.graft(id, below);
    }
    tree
}

/// A leaf with its best split.
struct OpenLeaf {
    node: SubtreeNode,
    best: Candidate,
}

/// Grows one subtree. If the leaves are limited, the split that lowers the squared deviations most comes first (Shi,
/// "Best-first decision tree learning", 2007). If not, nodes much smaller than the subtree become subtrees of their own, in
/// `parts`: their rows are copied together.
fn grow_part(fit: &FitData<'_>, mut subtree: Subtree, tree: &mut GrownTree, parts: &mut Vec<Subtree>) {
    let n = subtree.rows.len();
    if n == 0 || subtree.columns.is_empty() {
        return;
    }
    let mut buffers =
        Buffers { goes_left: vec![0; n], order: vec![0; n], left: vec![[0; 8]; subtree.lanes.blocks] };
    let is_leaf = |node: &SubtreeNode| {
        fit.parameters.must_be_leaf(node.depth, node.end - node.start) || node.totals.is_pure()
    };
    let mut open = Vec::new();
    let mut found = vec![subtree.root(fit)];
    for _ in 1..fit.most_leaves {
        for mut node in found.drain(..).filter(|node| !is_leaf(node)) {
            node.columns.retain(|&column| subtree.varies(node.start..node.end, column));
            if fit.most_leaves == usize::MAX && 8 * (node.end - node.start) <= n && n > 64 {
                parts.push(subtree.part(fit, &node));
            } else if let Some(best) = best_split(fit, &subtree, &node, &mut buffers) {
                open.push(OpenLeaf { node, best });
            }
        }
        let Some(OpenLeaf { node, best }) = take_next(fit, &mut open) else { break };
        let position = subtree.columns[best.column as usize];
        let (limit, test) = fit.columns[position as usize].test(best.codes.0, best.codes.1);
        let (left, right) = tree.split(node.id, position, limit, test);

        let rows_left = subtree.mark(&node, &best, &mut buffers.goes_left);
        let totals = totals_of_sides(fit, &subtree, &node, &best, rows_left);
        let middle = node.start + rows_left;
        let sides = [(left, node.start..middle), (right, middle..node.end)];
        let child = |((id, rows), totals): ((u32, Range<usize>), Totals)| SubtreeNode {
            id,
            depth: node.depth + 1,
            start: rows.start,
            end: rows.end,
            totals,
            columns: node.columns.clone(),
            hint: best.column,
        };
        found.extend(sides.into_iter().zip(totals).map(child));
        if !found.iter().all(is_leaf) {
            // The rows are in the order of the split's own column already.
            let Buffers { goes_left, order, .. } = &mut buffers;
            subtree.partition(&node, best.column, goes_left, order);
        }
    }
}

/// Takes the leaf to split next: the last one, or where leaves are limited the one that gains most, of equals the first.
fn take_next(fit: &FitData<'_>, open: &mut Vec<OpenLeaf>) -> Option<OpenLeaf> {
    if fit.most_leaves == usize::MAX {
        return open.pop();
    }
    let gain = |leaf: &OpenLeaf| leaf.best.gain * leaf.node.totals.deviation();
    let order = |(_, a): &(usize, &OpenLeaf), (_, b): &(usize, &OpenLeaf)| {
        gain(a).total_cmp(&gain(b)).then(b.node.id.cmp(&a.node.id))
    };
    let (at, _) = open.iter().enumerate().max_by(order)?;
    Some(open.swap_remove(at))
}

/// Returns the totals of both sides of a split. Only the smaller side is summed.
fn totals_of_sides(
    fit: &FitData<'_>,
    subtree: &Subtree,
    node: &SubtreeNode,
    split: &Candidate,
    rows_left: usize,
) -> [Totals; 2] {
    let (left, right) = subtree.members(node, split.column).split_at(rows_left);
    if left.len() < right.len() {
        let left = subtree.totals(&fit.samples, left);
        let right = Totals::rest(&node.totals, &left);
        [left, right]
    } else {
        let right = subtree.totals(&fit.samples, right);
        [Totals::rest(&node.totals, &right), right]
    }
}

/// Returns the best split of a node by the columns that vary in it, if one gains enough.
fn best_split(
    fit: &FitData<'_>,
    subtree: &Subtree,
    node: &SubtreeNode,
    buffers: &mut Buffers,
) -> Option<Candidate> {
    let scales = node.totals.scales(fit.parameters.alpha, fit.samples.one);
    if fit.parameters.looks_ahead(node.depth) {
        return LookAhead { fit, subtree, node, scales: &scales }.best_split(buffers);
    }
    let scan = |column: u32, above: f64| {
        let order = subtree.members(node, column);
        ColumnScan { fit, subtree, totals: &node.totals, scales: &scales, column, order, above }
    };
    if node.columns.len() * (node.end - node.start) >= PARALLEL {
        let above = fit.parameters.min_gain.next_down();
        let columns = node.columns.par_iter();
        let best = |&column: &u32| scan(column, above).best(&mut vec![[0; 8]; subtree.lanes.blocks]);
        let found: Vec<Option<Candidate>> = columns.map(best).collect();
        // If gains are equal, the split of the first column is taken.
        return found.into_iter().flatten().reduce(|a, b| if b.gain > a.gain { b } else { a });
    }
    // A split that gains all there is to gain ends the search. Reduced to absorb rounding.
    let enough = node.totals.max_gain(&scales) * (1.0 - 1e-12);
    let mut best: Option<Candidate> = None;
    let first = node.columns.iter().position(|&c| c == node.hint);
    for at in first.into_iter().chain(0..node.columns.len()) {
        let column = node.columns[at];
        if best.is_some_and(|b| b.column == column) {
            continue;
        }
        // If gains are equal, the split of the first column is taken.
        let above = match best {
            Some(best) if best.gain >= enough && column > best.column => break,
            Some(best) if column < best.column => best.gain.next_down(),
            Some(best) => best.gain,
            None => fit.parameters.min_gain.next_down(),
        };
        best = scan(column, above).best(&mut buffers.left).or(best);
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{Row, Samples};
    use super::*;
    use crate::data::{Column, Columns};

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
        all.filter(|(_, left, right)| left.len().min(right.len()) >= parameters.min_samples_leaf.max(1))
            .collect()
    }

    /// Returns the greatest gain of a node's rows in the scale of other rows, by trying everything.
    fn best_gain(
        parameters: &CostTree,
        samples: &Samples,
        columns: &[&Column],
        rows: &[u32],
        scale: &[u32],
    ) -> f64 {
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
            let gains: Vec<f64> =
                splits.iter().map(|(_, l, r)| gain(parameters, samples, l, r, rows)).collect();
            let best = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let equal = splits
                .iter()
                .zip(&gains)
                .filter(|(_, gain)| best >= parameters.min_gain && **gain > best - 1e-9);
            let totals =
                equal.map(|((_, l, r), gain)| gain + ahead(parameters, samples, columns, [l, r], rows));
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
    fn check(parameters: &CostTree, columns: &Columns, targets: &Costs) {
        let inputs: Vec<u32> = (0..columns.all()[0].codes().len() as u32).collect();
        let tree = grow(parameters, &Subset { columns, inputs: &inputs }, targets);
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
            if parameters.looks_ahead(node.depth as usize) {
                // Only the candidates' columns split the children.
                let candidate = |c: &&&Column| {
                    best_gain(parameters, &samples, &[**c], &rows, &rows) >= parameters.min_gain
                };
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
            let targets = Costs::from_cells(choices, &inputs);
            check(&parameters, &columns, &targets);
        }
    }

    /// Returns a tree of at most `most` leaves, and the sum of its rows' squared deviations from the means of their leaves.
    fn limited(columns: &Columns, numbers: &[f64], most: usize) -> (GrownTree, f64) {
        let parameters = CostTree::greedy(8, 1);
        let inputs: Vec<u32> = (0..numbers.len() as u32).collect();
        let samples = Samples::from_numbers(1, numbers, &vec![1; numbers.len()]);
        let all = columns.all().iter().collect();
        let tree = grow_fit(&FitData::with_samples(&parameters, all, &inputs, samples, most));
        let members = tree.members(&Subset { columns, inputs: &inputs }, 1);
        let deviation = |node: usize| {
            let values: Vec<f64> = members[node].iter().map(|&row| numbers[row as usize]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        };
        let leaves = (0..tree.nodes.len()).filter(|&node| tree.nodes[node].split.is_none());
        let sum = leaves.map(deviation).sum();
        (tree, sum)
    }

    #[test]
    fn the_split_that_gains_most_comes_first() {
        let columns = Columns::from_numbers(&[(0..8).map(f64::from).collect()], 512);
        let (tree, deviation) = limited(&columns, &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 9.0, 0.0], 3);
        // The 9 alone, then what is on its left.
        assert_eq!(tree.leaves(), 3);
        assert!((deviation - 4.0 / 3.0).abs() < 1e-9, "{deviation}");
    }

    proptest! {
        #[test]
        fn leaves_are_limited_and_each_more_gains(numbers in prop::collection::vec(-9.0..9.0_f64, 2..40)) {
            let values = (0..numbers.len()).map(|row| ((row * 7) % 40) as f64).collect();
            let columns = Columns::from_numbers(&[values], 512);
            let whole = limited(&columns, &numbers, usize::MAX).0.leaves();
            let mut before = f64::INFINITY;
            for most in 1..=whole + 1 {
                let (tree, deviation) = limited(&columns, &numbers, most);
                prop_assert_eq!(tree.leaves(), most.min(whole));
                prop_assert!(deviation <= before);
                before = deviation + 1e-9;
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let value = |i: usize, c: usize| ((i * 7919 + c * 104_729) % 10_007) as f64;
        let values: Vec<Vec<f64>> = (0..12).map(|c| (0..9000).map(|i| value(i, c)).collect()).collect();
        let columns = Columns::from_numbers(&values, 512);
        let targets = Costs::from_log_slowdowns(9000, 9, |i, c| {
            (values[c][i] / 10_007.0 - values[0][i] / 20_000.0).abs()
        });
        let inputs: Vec<u32> = (0..9000).collect();
        let parameters = CostTree::new(12, 3);
        let tree = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| grow(&parameters, &Subset { columns: &columns, inputs: &inputs }, &targets))
        };
        assert_eq!(tree(1), tree(3));
        assert!(tree(1).leaves() > 100);
    }
}
