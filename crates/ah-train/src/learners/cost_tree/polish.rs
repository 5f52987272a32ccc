//! Tree Alternating Optimisation. Each split in turn is replaced by the split with the least cost,
//! if that is surely better, while all other splits stay as they are.

use super::parameters::CostTree;
use crate::data::{Column, Costs, Subset};
use crate::tree::{GrownTree, Scores};

impl CostTree {
    /// Polishes a grown tree against the true cost on the rows that it was grown from.
    pub fn polish(&self, mut tree: GrownTree, rows: &Subset<'_>, targets: &Costs) -> GrownTree {
        let mut to_visit = vec![true; tree.nodes.len()];
        for _ in 0..self.sweeps {
            let scores = &self.scores(&tree, rows, targets);
            let (by_code, sorted) = (Vec::new(), Vec::new());
            let mut sweep = Sweep { parameters: self, rows, targets, scores, by_code, sorted };
            let changed = sweep.visit_all(&mut tree, &to_visit);
            if !changed.contains(&true) {
                break;
            }
            (tree, to_visit) = without_empty_sides(&tree, rows, &affected(&tree, changed));
        }
        tree
    }
}

/// Read-only inputs of one sweep, and its scratch buffers.
struct Sweep<'a> {
    parameters: &'a CostTree,
    rows: &'a Subset<'a>,
    targets: &'a Costs,
    scores: &'a Scores,
    by_code: Vec<(i64, u32)>,
    sorted: Vec<u32>,
}

/// One input at one node.
struct Member {
    input: u32,
    goes_left: bool,
    /// The cost of sending it left less the cost of sending it right, times its weight.
    difference: i64,
}

impl Sweep<'_> {
    /// Visits these splits, deepest first. Returns which of the nodes changed.
    fn visit_all(&mut self, tree: &mut GrownTree, to_visit: &[bool]) -> Vec<bool> {
        let mut order: Vec<u32> =
            (0..tree.nodes.len() as u32).filter(|&n| tree.nodes[n as usize].split.is_some()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(tree.nodes[n as usize].depth));
        // The splits above a node are visited after it, so its members do not change before.
        let members = tree.members(self.rows, 1);
        let mut changed = vec![false; tree.nodes.len()];
        // The cost of each input in the leaf that it reaches.
        let inputs = self.rows.inputs.iter().max().map_or(0, |&last| last as usize + 1);
        let mut present = vec![0; inputs];
        for (node, members) in (0_u32..).zip(&members) {
            if tree.nodes[node as usize].split.is_none() {
                for &input in members {
                    present[input as usize] = self.scores.cost(node, self.targets, input);
                }
            }
        }
        for node in order {
            if to_visit[node as usize] {
                changed[node as usize] = self.visit(tree, node, &members[node as usize], &mut present);
            }
        }
        changed
    }

    /// Replaces the split of a node if another is surely better. Returns whether it did.
    fn visit(&mut self, tree: &mut GrownTree, node: u32, inputs: &[u32], present: &mut [u32]) -> bool {
        let Some(split) = tree.nodes[node as usize].split.clone() else { return false };
        let columns = self.rows.columns.all();
        let codes = columns[split.column as usize].codes();
        let members: Vec<Member> = inputs
            .iter()
            .map(|&input| {
                let goes_left = codes[input as usize] <= split.limit;
                let other = if goes_left { split.right } else { split.left };
                let other = tree.leaf_below(self.rows.columns, other, input);
                let other = i64::from(self.scores.cost(other, self.targets, input));
                let here = i64::from(present[input as usize]);
                let difference = if goes_left { here - other } else { other - here };
                Member { input, goes_left, difference: i64::from(self.targets.weight(input)) * difference }
            })
            .collect();
        let now: i64 = members.iter().filter(|m| m.goes_left).map(|m| m.difference).sum();
        let Some((column, (last, next))) = self.cheapest(&members, now) else { return false };
        let (limit, test) = columns[column].test(last, next);
        let codes = columns[column].codes();
        let changes_side = |m: &&Member| (codes[m.input as usize] <= limit) != m.goes_left;
        // Only inputs that change sides gain or lose.
        let (mut gain, mut squares) = (0.0, 0.0);
        for member in members.iter().filter(changes_side) {
            let d = member.difference as f64;
            gain += if member.goes_left { d } else { -d };
            squares += d * d;
        }
        if gain <= self.parameters.z * f64::sqrt(squares) {
            return false;
        }
        for member in members.iter().filter(changes_side) {
            let here = &mut present[member.input as usize];
            let difference = member.difference / i64::from(self.targets.weight(member.input));
            let gained = if member.goes_left { difference } else { -difference };
            *here = (i64::from(*here) - gained) as u32;
        }
        if let Some(split) = &mut tree.nodes[node as usize].split {
            split.column = column as u32;
            split.limit = limit;
            split.test = test;
        }
        true
    }

    /// Returns the column of the split with the least cost, the first of equals, and the neighbouring codes left and right of
    /// it, if one costs less than `now`. A split's cost is, up to a constant, the sum of the differences of the members that go left.
    fn cheapest(&mut self, members: &[Member], now: i64) -> Option<(usize, (u16, u16))> {
        let concerned: Vec<&Member> = members.iter().filter(|m| m.difference != 0).collect();
        let least: i64 = concerned.iter().map(|m| m.difference.min(0)).sum();
        let (mut best, mut below) = (None, now);
        for (position, column) in self.rows.columns.all().iter().enumerate() {
            if least >= below {
                break;
            }
            // Most inputs cost the same on both sides. A bound from the others takes a fraction of
            // the time, and most columns need no more.
            if self.bound(column, &concerned) < below
                && let Some((cost, codes)) = self.scan(column, members, below)
            {
                best = Some((position, codes));
                below = cost;
            }
        }
        best
    }

    /// Returns a lower bound of the cost of this column's splits.
    fn bound(&mut self, column: &Column, members: &[&Member]) -> i64 {
        let (mut cost, mut least) = (0, 0);
        let code = |member: &Member| column.codes()[member.input as usize];
        if column.levels() > 4 * members.len() && members.len() <= 1 << 16 {
            self.sorted.clear();
            self.sorted.extend((0_u32..).zip(members).map(|(i, member)| u32::from(code(member)) << 16 | i));
            self.sorted.sort_unstable();
            for (i, &entry) in self.sorted.iter().enumerate() {
                cost += members[(entry & 0xffff) as usize].difference;
                if self.sorted.get(i + 1).is_none_or(|next| next >> 16 != entry >> 16) {
                    least = least.min(cost);
                }
            }
        } else {
            self.by_code.clear();
            self.by_code.resize(column.levels(), (0, 0));
            members.iter().for_each(|m| self.by_code[code(m) as usize].0 += m.difference);
            for cell in &self.by_code {
                cost += cell.0;
                least = least.min(cost);
            }
        }
        least
    }

    /// Returns the cost and the neighbouring codes of the column's cheapest split, the first of
    /// equals, if one costs less than `below`.
    fn scan(&mut self, column: &Column, members: &[Member], below: i64) -> Option<(i64, (u16, u16))> {
        self.by_code.clear();
        self.by_code.resize(column.levels(), (0, 0));
        for member in members {
            let cell = &mut self.by_code[column.codes()[member.input as usize] as usize];
            cell.0 += member.difference;
            cell.1 += 1;
        }
        let (mut cost, mut count) = (0, 0);
        let mut last: Option<u16> = None;
        let mut best: Option<(i64, (u16, u16))> = None;
        for (code, &(difference, rows)) in (0..).zip(&self.by_code).filter(|(_, cell)| cell.1 > 0) {
            if let Some(last) = last
                && count >= self.parameters.min_samples_leaf
                && members.len() - count >= self.parameters.min_samples_leaf
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

/// Marks the nodes that a further sweep may change: those above and below a changed split. A changed
/// split changes which rows reach the nodes below it, and so their scores, and so what the nodes
/// above it cost. All other nodes would find what they found before.
fn affected(tree: &GrownTree, changed: Vec<bool>) -> Vec<bool> {
    let (mut above, mut below) = (changed.clone(), changed);
    tree.add_up(&mut above, 1, |up, down| *up |= down);
    for node in 1..tree.nodes.len() {
        below[node] |= below[tree.nodes[node].parent as usize];
    }
    above.into_iter().zip(below).map(|(above, below)| above || below).collect()
}

/// Replaces each split that sends every row to one side by that side. Returns the tree and the
/// marks of the nodes that stay.
fn without_empty_sides(tree: &GrownTree, rows: &Subset<'_>, marks: &[bool]) -> (GrownTree, Vec<bool>) {
    let mut reached = vec![false; tree.nodes.len()];
    for &input in rows.inputs {
        reached[tree.leaf_of(rows.columns, input) as usize] = true;
    }
    tree.add_up(&mut reached, 1, |up, down| *up |= down);
    let empty = |node: u32| !reached[node as usize];
    let (mut result, mut kept) = (GrownTree::leaf(), vec![marks[0]]);
    let mut todo = vec![(0_u32, 0_u32)];
    while let Some((mut old, new)) = todo.pop() {
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
