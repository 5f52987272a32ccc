//! Growth below a small node.

use super::fit_data::FitData;
use super::gain::{Candidate, Totals};
use super::look_ahead::LookAhead;
use super::scan::ColumnScan;
use super::subtree::{Buffers, Subtree, SubtreeNode, code};
use crate::tree::GrownTree;

/// Grows `tree` below its leaf `id`, which holds these rows and has this depth.
pub(super) fn grow(fit: &FitData<'_>, tree: &mut GrownTree, id: u32, depth: usize, rows: &[u32]) {
    let mut todo = vec![Subtree::from_rows(fit, rows, id, depth)];
    while let Some(subtree) = todo.pop() {
        grow_part(fit, subtree, tree, &mut todo);
    }
}

/// Grows one subtree. Nodes much smaller than it become subtrees of their own, in `parts`.
fn grow_part(fit: &FitData<'_>, mut subtree: Subtree, tree: &mut GrownTree, parts: &mut Vec<Subtree>) {
    let n = subtree.rows.len();
    if n == 0 || subtree.columns.is_empty() {
        return;
    }
    let mut buffers = Buffers {
        goes_left: vec![0; n],
        order: vec![0; n],
        left: vec![[0; 8]; subtree.lanes.blocks],
        columns: (0..subtree.columns.len() as u32).collect(),
    };
    let is_leaf = |node: &SubtreeNode| {
        fit.parameters.must_be_leaf(node.depth, node.end - node.start) || node.totals.is_pure()
    };
    let mut todo = vec![subtree.root(fit)];
    while let Some(node) = todo.pop() {
        // The columns behind belong to nodes that are done.
        buffers.columns.truncate(node.columns.1);
        if is_leaf(&node) {
            continue;
        }
        if 8 * (node.end - node.start) <= n && n > 64 {
            parts.push(subtree.part(fit, &node, &buffers.columns[node.columns.0..node.columns.1]));
            continue;
        }
        let Some(best) = best_split(fit, &subtree, &node, &mut buffers) else { continue };
        let position = subtree.columns[best.column as usize];
        let (limit, test) = fit.columns[position as usize].test(best.codes.0, best.codes.1);
        let (left, right) = tree.split(node.id, position, limit, test);

        let rows_left = subtree.mark(&node, &best, &mut buffers.goes_left);
        let totals = totals_of_sides(fit, &subtree, &node, &best, rows_left);
        let (depth, hint) = (node.depth + 1, best.column);
        let columns = (node.columns.1, buffers.columns.len());
        let middle = node.start + rows_left;
        let [totals_left, totals_right] = totals;
        let children = [
            SubtreeNode {
                id: right,
                depth,
                start: middle,
                end: node.end,
                totals: totals_right,
                columns,
                hint,
            },
            SubtreeNode {
                id: left,
                depth,
                start: node.start,
                end: middle,
                totals: totals_left,
                columns,
                hint,
            },
        ];
        if columns.0 == columns.1 || children.iter().all(is_leaf) {
            continue;
        }
        // The rows are in the order of the split's own column already.
        let others = buffers.columns[columns.0..columns.1].iter().copied().filter(|&c| c != best.column);
        subtree.partition(&node, others, &buffers.goes_left, &mut buffers.order);
        todo.extend(children);
    }
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

/// Returns the best split of a node, if one gains enough. Appends the columns that vary in the node
/// to `buffers.columns`.
fn best_split(
    fit: &FitData<'_>,
    subtree: &Subtree,
    node: &SubtreeNode,
    buffers: &mut Buffers,
) -> Option<Candidate> {
    for at in node.columns.0..node.columns.1 {
        let column = buffers.columns[at];
        let order = subtree.members(node, column);
        if code(order[0]) != code(order[order.len() - 1]) {
            buffers.columns.push(column);
        }
    }
    let scales = node.totals.scales(fit.parameters.alpha, fit.samples.one);
    if fit.parameters.looks_ahead(node.depth) {
        return LookAhead { fit, subtree, node, scales: &scales }.best_split(buffers);
    }
    // A split that gains all there is to gain ends the search. Reduced to absorb rounding.
    let enough = node.totals.max_gain(&scales) * (1.0 - 1e-12);
    let mut best: Option<Candidate> = None;
    let varying = node.columns.1..buffers.columns.len();
    let first = buffers.columns[varying.clone()].iter().position(|&c| c == node.hint);
    for at in first.into_iter().chain(0..varying.len()) {
        let column = buffers.columns[varying.start + at];
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
        let order = subtree.members(node, column);
        let scan = ColumnScan { fit, subtree, totals: &node.totals, scales: &scales, column, order, above };
        best = scan.best(&mut buffers.left).or(best);
    }
    best
}
