//! Tree Alternating Optimisation: with all else fixed, each split in turn becomes the one that
//! costs least, where it is surely better than the one that is there.

use super::Soft;
use crate::data::Column;
use crate::data::{Rows, Targets};
use crate::tree::GrownTree;
use crate::tree::Scores;

pub(super) fn polish(soft: &Soft, mut tree: GrownTree, rows: &Rows<'_>, targets: &Targets) -> GrownTree {
    let mut dirty = vec![true; tree.nodes.len()];
    for _ in 0..soft.sweeps {
        let scores = Scores::new(&tree, rows, targets, soft.kappa);
        let mut sweep =
            Sweep { soft, rows, targets, scores: &scores, by_code: Vec::new(), sorted: Vec::new() };
        let changed = sweep.visit_all(&mut tree, &dirty);
        if !changed.contains(&true) {
            break;
        }
        (tree, dirty) = without_empty(&tree, rows, &affected(&tree, changed));
    }
    tree
}

/// What a sweep leaves alone, but for the tree, and buffers.
struct Sweep<'a> {
    soft: &'a Soft,
    rows: &'a Rows<'a>,
    targets: &'a Targets,
    scores: &'a Scores,
    by_code: Vec<(i64, u32)>,
    sorted: Vec<u32>,
}

/// One input at one node: the cost of sending it left less the cost of sending it right.
struct Care {
    input: u32,
    goes_left: bool,
    difference: i64,
}

/// A split of the inputs at a node.
#[derive(Clone, Copy)]
struct Cheapest {
    column: usize,
    /// Neighbouring codes, left and right of the split.
    codes: (u16, u16),
}

impl Sweep<'_> {
    /// Visits the dirty splits, deepest first; says which changed.
    fn visit_all(&mut self, tree: &mut GrownTree, dirty: &[bool]) -> Vec<bool> {
        let mut order: Vec<u32> =
            (0..tree.nodes.len() as u32).filter(|&n| tree.nodes[n as usize].split.is_some()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(tree.nodes[n as usize].depth));
        // Splits above a node stay as they are while it is visited, so its rows do too.
        let members = tree.members(self.rows);
        let mut changed = vec![false; tree.nodes.len()];
        // What each input costs where it goes below the node that is visited.
        let mut present = vec![0; self.rows.columns.rows()];
        for (node, members) in (0_u32..).zip(&members) {
            if tree.nodes[node as usize].split.is_none() {
                for &input in members {
                    present[input as usize] = self.scores.cost(node, self.targets, input);
                }
            }
        }
        for node in order {
            if dirty[node as usize] {
                changed[node as usize] = self.visit(tree, node, &members[node as usize], &mut present);
            }
        }
        changed
    }

    fn visit(&mut self, tree: &mut GrownTree, node: u32, members: &[u32], present: &mut [u32]) -> bool {
        let Some(split) = tree.nodes[node as usize].split.clone() else { return false };
        let columns = self.rows.columns.all();
        let codes = columns[split.column as usize].codes();
        let cares: Vec<Care> = members
            .iter()
            .map(|&input| {
                let goes_left = codes[input as usize] <= split.limit;
                let other = if goes_left { split.right } else { split.left };
                let other = tree.leaf_below(self.rows.columns, other, input);
                let other = i64::from(self.scores.cost(other, self.targets, input));
                let here = i64::from(present[input as usize]);
                let difference = if goes_left { here - other } else { other - here };
                Care { input, goes_left, difference: i64::from(self.targets.weight(input)) * difference }
            })
            .collect();
        let now: i64 = cares.iter().filter(|c| c.goes_left).map(|c| c.difference).sum();
        let Some(cheapest) = self.cheapest(&cares, now) else { return false };
        let (limit, test) = columns[cheapest.column].test(cheapest.codes.0, cheapest.codes.1);
        let moved = columns[cheapest.column].codes();
        let moves = |care: &&Care| (moved[care.input as usize] <= limit) != care.goes_left;
        // What each input gains: only those that change sides do. In units where squares stay exact.
        let (mut gain, mut squares) = (0.0, 0.0);
        for care in cares.iter().filter(moves) {
            let d = care.difference as f64;
            gain += if care.goes_left { d } else { -d };
            squares += d * d;
        }
        if gain <= self.soft.z * f64::sqrt(squares) {
            return false;
        }
        for care in cares.iter().filter(moves) {
            let here = &mut present[care.input as usize];
            let difference = care.difference / i64::from(self.targets.weight(care.input));
            let gained = if care.goes_left { difference } else { -difference };
            *here = (i64::from(*here) - gained) as u32;
        }
        if let Some(split) = &mut tree.nodes[node as usize].split {
            split.column = cheapest.column as u32;
            split.limit = limit;
            split.test = test;
        }
        true
    }

    /// The split with the least cost, the first of equals, where one costs less than `now`. The
    /// cost is, up to a constant, the sum of the differences of what goes left.
    fn cheapest(&mut self, cares: &[Care], now: i64) -> Option<Cheapest> {
        let concerned: Vec<&Care> = cares.iter().filter(|c| c.difference != 0).collect();
        let least: i64 = concerned.iter().map(|c| c.difference.min(0)).sum();
        let (mut best, mut below) = (None, now);
        for (position, column) in self.rows.columns.all().iter().enumerate() {
            // Most inputs cost the same on both sides; without them a bound is found at a fraction
            // of the time, and most columns need no more.
            if least >= below {
                break;
            }
            if self.bound(column, &concerned) < below
                && let Some((cost, codes)) = self.scan(column, cares, below)
            {
                best = Some(Cheapest { column: position, codes });
                below = cost;
            }
        }
        best
    }

    /// No split of this column costs less.
    fn bound(&mut self, column: &Column, cares: &[&Care]) -> i64 {
        let (mut cost, mut least) = (0, 0);
        let code = |care: &Care| column.codes()[care.input as usize];
        if column.levels() > 4 * cares.len() && cares.len() <= 1 << 16 {
            self.sorted.clear();
            self.sorted.extend((0_u32..).zip(cares).map(|(i, care)| u32::from(code(care)) << 16 | i));
            self.sorted.sort_unstable();
            for (i, &entry) in self.sorted.iter().enumerate() {
                cost += cares[(entry & 0xffff) as usize].difference;
                if self.sorted.get(i + 1).is_none_or(|next| next >> 16 != entry >> 16) {
                    least = least.min(cost);
                }
            }
        } else {
            self.by_code.clear();
            self.by_code.resize(column.levels(), (0, 0));
            cares.iter().for_each(|care| self.by_code[code(care) as usize].0 += care.difference);
            for cell in &self.by_code {
                cost += cell.0;
                least = least.min(cost);
            }
        }
        least
    }

    /// The first of the cheapest splits of a column, where one costs less than `below`: its cost
    /// and the neighbouring codes.
    fn scan(&mut self, column: &Column, cares: &[Care], below: i64) -> Option<(i64, (u16, u16))> {
        self.by_code.clear();
        self.by_code.resize(column.levels(), (0, 0));
        for care in cares {
            let cell = &mut self.by_code[column.codes()[care.input as usize] as usize];
            cell.0 += care.difference;
            cell.1 += 1;
        }
        let (mut cost, mut count) = (0, 0);
        let mut last: Option<u16> = None;
        let mut best: Option<(i64, (u16, u16))> = None;
        for (code, &(difference, rows)) in (0..).zip(&self.by_code).filter(|(_, cell)| cell.1 > 0) {
            if let Some(last) = last
                && count >= self.soft.min_samples_leaf
                && cares.len() - count >= self.soft.min_samples_leaf
                && cost < best.map_or(below, |b| b.0)
            {
                best = Some((cost, (last, code)));
            }
            cost += difference;
            count += rows as usize;
            last = Some(code);
        }
        best
    }
}

/// The nodes that a further sweep may change: those above and below a changed split. A split
/// changes which rows reach the nodes below it, and so their scores, and thereby what the nodes
/// above it find; everything else finds what it found before.
fn affected(tree: &GrownTree, changed: Vec<bool>) -> Vec<bool> {
    let (mut above, mut below) = (changed.clone(), changed);
    tree.add_up(&mut above, 1, |up, down| *up |= down);
    for node in 1..tree.nodes.len() {
        below[node] |= below[tree.nodes[node].parent as usize];
    }
    above.into_iter().zip(below).map(|(above, below)| above || below).collect()
}

/// The tree without splits that send every row to one side: the other side says nothing. With
/// the marks of the nodes that stay.
fn without_empty(tree: &GrownTree, rows: &Rows<'_>, marks: &[bool]) -> (GrownTree, Vec<bool>) {
    let mut reached = vec![false; tree.nodes.len()];
    for &input in rows.inputs {
        reached[tree.leaf_of(rows.columns, input) as usize] = true;
    }
    tree.add_up(&mut reached, 1, |up, down| *up |= down);
    let empty = |node: u32| !reached[node as usize];
    let (mut result, mut kept) = (GrownTree::leaf(), vec![marks[0]]);
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
        kept[new as usize] = marks[old as usize];
        if let Some(split) = &tree.nodes[old as usize].split {
            let (left, right) = result.split(new, split.column, split.limit, split.test.clone());
            kept.resize(result.nodes.len(), false);
            todo.extend([(split.right, right), (split.left, left)]);
        }
    }
    (result, kept)
}
