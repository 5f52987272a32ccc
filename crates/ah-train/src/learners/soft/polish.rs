//! Tree Alternating Optimisation: with all else fixed, each split in turn becomes the one that
//! costs least, where it is surely better than the one that is there.

use super::{Rows, Soft};
use crate::grown::Grown;
use crate::scores::Scores;
use crate::targets::Targets;

pub(super) fn polish(soft: &Soft, mut tree: Grown, rows: &Rows<'_>, targets: &Targets) -> Grown {
    for _ in 0..soft.sweeps {
        let scores = Scores::new(&tree, rows, targets, soft.kappa);
        if !sweep(soft, &mut tree, rows, targets, &scores) {
            break;
        }
        tree = without_empty(&tree, rows);
    }
    tree
}

/// One input at one node: the cost of sending it left less the cost of sending it right.
struct Care {
    input: u32,
    goes_left: bool,
    difference: i64,
}

/// Visits the splits, deepest first; true where one changed.
fn sweep(soft: &Soft, tree: &mut Grown, rows: &Rows<'_>, targets: &Targets, scores: &Scores) -> bool {
    let mut order: Vec<u32> =
        (0..tree.nodes.len() as u32).filter(|&n| tree.nodes[n as usize].split.is_some()).collect();
    order.sort_by_key(|&n| std::cmp::Reverse(tree.nodes[n as usize].depth));
    // Splits above a node stay as they are while it is visited, so its rows do too.
    let members = members(tree, rows);
    let mut changed = false;
    for node in order {
        changed |= visit(soft, tree, rows, targets, scores, node, &members[node as usize]);
    }
    changed
}

/// The inputs that reach each node.
fn members(tree: &Grown, rows: &Rows<'_>) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); tree.nodes.len()];
    for &input in rows.inputs {
        let mut node = 0;
        members[0].push(input);
        while let Some(split) = &tree.nodes[node as usize].split {
            let code = rows.columns.all()[split.column as usize].codes()[input as usize];
            node = if code <= split.limit { split.left } else { split.right };
            members[node as usize].push(input);
        }
    }
    members
}

fn visit(
    soft: &Soft,
    tree: &mut Grown,
    rows: &Rows<'_>,
    targets: &Targets,
    scores: &Scores,
    node: u32,
    members: &[u32],
) -> bool {
    let Some(split) = tree.nodes[node as usize].split.clone() else { return false };
    let present = rows.columns.all()[split.column as usize].codes();
    let cost =
        |child, input| i64::from(scores.cost(tree.leaf_below(rows.columns, child, input), targets, input));
    let cares: Vec<Care> = members
        .iter()
        .map(|&input| Care {
            input,
            goes_left: present[input as usize] <= split.limit,
            difference: i64::from(targets.weight(input))
                * (cost(split.left, input) - cost(split.right, input)),
        })
        .collect();
    // The cost of a split is, up to a constant, the sum of the differences of what goes left.
    let now: i64 = cares.iter().filter(|c| c.goes_left).map(|c| c.difference).sum();
    let Some((cost, column, codes)) = cheapest(soft, rows, &cares) else { return false };
    if cost >= now {
        return false;
    }
    let (limit, test) = rows.columns.all()[column].test(codes.0, codes.1);
    let moved = rows.columns.all()[column].codes();
    // What each input gains: only those that change sides do. In units where squares stay exact.
    let (mut gain, mut squares) = (0.0, 0.0);
    for care in &cares {
        let left = moved[care.input as usize] <= limit;
        if left != care.goes_left {
            let d = care.difference as f64;
            gain += if care.goes_left { d } else { -d };
            squares += d * d;
        }
    }
    if gain <= soft.z * f64::sqrt(squares) {
        return false;
    }
    if let Some(split) = &mut tree.nodes[node as usize].split {
        split.column = column as u32;
        split.limit = limit;
        split.test = test;
    }
    true
}

/// The split with the least cost, the first of equals: (cost, column, neighbouring codes).
fn cheapest(soft: &Soft, rows: &Rows<'_>, cares: &[Care]) -> Option<(i64, usize, (u16, u16))> {
    let mut best: Option<(i64, usize, (u16, u16))> = None;
    let mut by_code: Vec<(i64, u32)> = Vec::new();
    for (column, c) in rows.columns.all().iter().enumerate() {
        by_code.clear();
        by_code.resize(c.levels(), (0, 0));
        for care in cares {
            let cell = &mut by_code[c.codes()[care.input as usize] as usize];
            cell.0 += care.difference;
            cell.1 += 1;
        }
        let (mut cost, mut count) = (0, 0);
        let mut last: Option<u16> = None;
        for (code, &(difference, rows)) in by_code.iter().enumerate().filter(|(_, cell)| cell.1 > 0) {
            if let Some(last) = last
                && count >= soft.min_samples_leaf
                && cares.len() - count >= soft.min_samples_leaf
                && best.is_none_or(|b| cost < b.0)
            {
                best = Some((cost, column, (last, code as u16)));
            }
            cost += difference;
            count += rows as usize;
            last = Some(code as u16);
        }
    }
    best
}

/// The tree without splits that send every row to one side: the other side says nothing.
fn without_empty(tree: &Grown, rows: &Rows<'_>) -> Grown {
    let mut counts = vec![0_usize; tree.nodes.len()];
    for members in members(tree, rows).iter().enumerate() {
        counts[members.0] = members.1.len();
    }
    let empty = |node: u32| counts[node as usize] == 0;
    let mut result = Grown::leaf();
    let mut todo = vec![(0_u32, 0_u32)];
    while let Some((mut old, new)) = todo.pop() {
        // A split with an empty side gives way to its other side.
        while let Some(split) = &tree.nodes[old as usize].split {
            old = match (empty(split.left), empty(split.right)) {
                (true, _) => split.right,
                (_, true) => split.left,
                _ => break,
            };
        }
        if let Some(split) = &tree.nodes[old as usize].split {
            let (left, right) = result.split(new, split.column, split.limit, split.test.clone());
            todo.extend([(split.right, right), (split.left, left)]);
        }
    }
    result
}
