//! Growing: large nodes are split by histograms, one bin for each code; what lies below, where the
//! rows of a node fit into the processor's cache, is a [`subtree`](super::subtree) each.

use rayon::prelude::*;

use super::histogram::Histograms;
use super::subtree::{self, Fit, MAX_ROWS};
use super::{Rows, Soft};
use crate::grown::Grown;
use crate::targets::Targets;

/// Nodes of at most so many rows are left to [`subtree`](super::subtree): with 22 choices their
/// lanes are 200 kB.
const SUBTREE_ROWS: usize = 2048;

/// A node whose split is sought.
struct Node {
    id: u32,
    rows: std::ops::Range<usize>,
    depth: usize,
    /// Where it is large.
    histograms: Option<Histograms>,
}

pub(super) fn grow(soft: &Soft, rows: &Rows<'_>, targets: &Targets) -> Grown {
    let columns = rows.columns.all();
    // A histogram of more bins than rows says nothing.
    let levels = columns.iter().map(crate::columns::Column::levels).max().unwrap_or(0);
    let most = if soft.look > 0 { MAX_ROWS } else { SUBTREE_ROWS.max(levels).min(MAX_ROWS) };
    grow_with(soft, rows, targets, most)
}

/// [`grow`] with histograms for nodes of more than `subtree_rows` rows.
fn grow_with(soft: &Soft, rows: &Rows<'_>, targets: &Targets, subtree_rows: usize) -> Grown {
    let fit = Fit::new(soft, rows, targets);
    let mut tree = Grown::leaf();
    let mut members: Vec<u32> = (0..rows.inputs.len() as u32).collect();
    let small = |rows: &[u32]| rows.len() <= subtree_rows;
    let histograms = (!small(&members)).then(|| Histograms::new(&fit, &members));
    let mut todo = vec![Node { id: 0, rows: 0..members.len(), depth: 0, histograms }];
    let mut subtrees = Vec::new();
    while let Some(node) = todo.pop() {
        let Some(mut histograms) = node.histograms else {
            subtrees.push((node.id, node.depth, node.rows));
            continue;
        };
        if fit.ends(node.depth, node.rows.len()) {
            continue;
        }
        let rows = &mut members[node.rows.clone()];
        let Some(best) = histograms.best_split(&fit, rows) else { continue };
        let column = best.column as usize;
        let (limit, test) = fit.columns[column].test(best.codes.0, best.codes.1);
        let middle = partition(rows, |row| fit.codes(row)[column] <= limit);
        let (left, right) = rows.split_at(middle);
        // The smaller child's are counted, the larger's are what remains.
        let (less, more) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let (mut of_less, mut of_more) = (None, None);
        if !small(more) {
            let counted = Histograms::new(&fit, less);
            histograms.subtract(&counted);
            of_more = Some(histograms);
            of_less = (!small(less)).then_some(counted);
        }
        let (of_left, of_right) =
            if left.len() <= right.len() { (of_less, of_more) } else { (of_more, of_less) };
        let (left, right) = tree.split(node.id, best.column, limit, test);
        let middle = node.rows.start + middle;
        let depth = node.depth + 1;
        todo.push(Node { id: right, rows: middle..node.rows.end, depth, histograms: of_right });
        todo.push(Node { id: left, rows: node.rows.start..middle, depth, histograms: of_left });
    }
    let grown: Vec<(u32, Grown)> = subtrees
        .into_par_iter()
        .map(|(id, depth, rows)| {
            let mut subtree = Grown::leaf();
            subtree::grow(&fit, &mut subtree, 0, depth, &members[rows]);
            (id, subtree)
        })
        .collect();
    for (id, subtree) in grown {
        tree.graft(id, subtree);
    }
    // In preorder, however it came about.
    tree.rebuilt(|_| true)
}

/// Moves the rows that go left to the front; both sides keep their order. Returns their number.
fn partition(rows: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let mut right = Vec::with_capacity(rows.len());
    let mut left = 0;
    for i in 0..rows.len() {
        let row = rows[i];
        if goes_left(row) {
            rows[left] = row;
            left += 1;
        } else {
            right.push(row);
        }
    }
    rows[left..].copy_from_slice(&right);
    left
}
