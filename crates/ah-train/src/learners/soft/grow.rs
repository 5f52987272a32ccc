//! Growing: every column keeps the rows of each node in the order of its codes; a split
//! partitions all columns stably, so nothing is sorted twice and a level costs rows × columns.

use rayon::prelude::*;

use super::criterion::{Candidate, Criterion, Scales};
use super::{Rows, Soft};
use crate::columns::Column;
use crate::grown::Grown;
use crate::targets::Targets;

/// Below this many rows × columns a node is searched on one thread: handing it over costs more.
const PARALLEL: usize = 100_000;

struct Node {
    id: u32,
    start: usize,
    end: usize,
    depth: usize,
}

pub(super) fn grow(soft: &Soft, rows: &Rows<'_>, targets: &Targets) -> Grown {
    let criterion = Criterion::new(soft, rows, targets);
    let columns = rows.columns.all();
    let mut orders: Vec<Vec<u32>> = columns.par_iter().map(|c| sorted_rows(c, rows.inputs)).collect();
    let mut tree = Grown::leaf();
    let mut goes_left = vec![false; rows.inputs.len()];
    let mut todo = vec![Node { id: 0, start: 0, end: rows.inputs.len(), depth: 0 }];
    while let Some(node) = todo.pop() {
        let n = node.end - node.start;
        if node.depth >= soft.max_depth || n < 2 * soft.min_samples_leaf || columns.is_empty() {
            continue;
        }
        let Some(best) = best_split(soft, &criterion, &orders, &node) else { continue };

        let (limit, test) = columns[best.column].test(best.codes.0, best.codes.1);
        let codes = columns[best.column].codes();
        for &row in &orders[0][node.start..node.end] {
            goes_left[row as usize] = codes[rows.inputs[row as usize] as usize] <= limit;
        }
        let partition = |order: &mut Vec<u32>| stable_partition(&mut order[node.start..node.end], &goes_left);
        let middle = if n * columns.len() >= PARALLEL {
            orders.par_iter_mut().map(partition).max()
        } else {
            orders.iter_mut().map(partition).max()
        };
        let middle = node.start + middle.unwrap_or_default();
        let (left, right) = tree.split(node.id, best.column as u32, limit, test);
        let depth = node.depth + 1;
        todo.push(Node { id: right, start: middle, end: node.end, depth });
        todo.push(Node { id: left, start: node.start, end: middle, depth });
    }
    tree
}

/// The best split of a node, where one gains enough.
fn best_split(soft: &Soft, criterion: &Criterion<'_>, orders: &[Vec<u32>], node: &Node) -> Option<Candidate> {
    let members = &orders[0][node.start..node.end];
    let totals = criterion.totals(members);
    if totals.is_pure() {
        return None;
    }
    let scales = totals.scales(soft.alpha);
    let search = |(column, order): (usize, &Vec<u32>)| {
        criterion.best_split(&totals, &scales, column, &order[node.start..node.end])
    };
    let mut candidates: Vec<Candidate> = if members.len() * orders.len() >= PARALLEL {
        orders.par_iter().enumerate().filter_map(search).collect()
    } else {
        orders.iter().enumerate().filter_map(search).collect()
    };
    candidates.retain(|c| c.gain >= soft.min_gain);
    // Stable: of equal gains the first column's comes first.
    candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    if soft.look == 0 || node.depth + 1 >= soft.max_depth {
        return candidates.first().copied();
    }
    candidates.truncate(soft.look);
    for candidate in &mut candidates {
        candidate.gain += soft.gamma * look_ahead(criterion, &scales, orders, node, candidate);
    }
    candidates.iter().copied().reduce(|a, b| if b.gain > a.gain { b } else { a })
}

/// What the best splits of a candidate's two children gain, in the parent's scale.
fn look_ahead(
    criterion: &Criterion<'_>,
    scales: &Scales,
    orders: &[Vec<u32>],
    node: &Node,
    candidate: &Candidate,
) -> f64 {
    let mut parts = [Vec::new(), Vec::new()];
    let mut gain = [0.0_f64; 2];
    let mut totals = None;
    for (column, order) in orders.iter().enumerate() {
        parts.iter_mut().for_each(Vec::clear);
        for &row in &order[node.start..node.end] {
            let right = criterion.code(candidate.column, row) > candidate.codes.0;
            parts[usize::from(right)].push(row);
        }
        let totals = totals.get_or_insert_with(|| [0, 1].map(|side| criterion.totals(&parts[side])));
        for side in [0, 1] {
            let best = criterion.best_split(&totals[side], scales, column, &parts[side]);
            gain[side] = best.map_or(gain[side], |b| gain[side].max(b.gain));
        }
    }
    gain[0] + gain[1]
}

/// The rows in the order of a column's codes, equal codes in the order of rows.
fn sorted_rows(column: &Column, inputs: &[u32]) -> Vec<u32> {
    let code = |input: u32| column.codes()[input as usize] as usize;
    let mut starts = vec![0_u32; column.levels() + 1];
    for &input in inputs {
        starts[code(input) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut order = vec![0; inputs.len()];
    for (row, &input) in (0_u32..).zip(inputs) {
        let place = &mut starts[code(input)];
        order[*place as usize] = row;
        *place += 1;
    }
    order
}

/// Moves the rows that go left to the front; both sides keep their order. Returns their number.
fn stable_partition(order: &mut [u32], goes_left: &[bool]) -> usize {
    let mut right = Vec::with_capacity(order.len());
    let mut left = 0;
    for i in 0..order.len() {
        let row = order[i];
        if goes_left[row as usize] {
            order[left] = row;
            left += 1;
        } else {
            right.push(row);
        }
    }
    order[left..].copy_from_slice(&right);
    left
}
