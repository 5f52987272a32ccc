//! Growing below a node whose rows fit into the processor's cache: its rows, columns and lanes are
//! copied together, each column keeps the rows of each node in the order of its codes, and a
//! split partitions all columns stably. So nothing is sorted twice, a level costs rows × columns,
//! and a column that is constant in a node is left out below it.

use rayon::prelude::*;

use super::compact::Compact;
use super::gain::{Candidate, RowSums, Scales, Totals};
use super::lanes::{Block, Few, Lanes, Many, Processor, Run, Sums, add};
use super::samples::Samples;
use super::{Rows, Soft};
use crate::columns::Column;
use crate::grown::Grown;
use crate::targets::Targets;

/// A row is 16 bits beside its code.
pub(super) const MAX_ROWS: usize = 1 << 16;

/// What all parts of a fit share.
pub(super) struct Fit<'a> {
    pub soft: &'a Soft,
    pub columns: &'a [Column],
    pub samples: Samples,
    pub processor: Processor,
    /// The codes of each row: who visits rows far apart finds a row's codes together.
    codes: Vec<u16>,
}

impl<'a> Fit<'a> {
    pub(super) fn new(soft: &'a Soft, rows: &Rows<'a>, targets: &Targets) -> Self {
        let columns = rows.columns.all();
        let mut codes = vec![0; rows.inputs.len() * columns.len()];
        // Few enough at a time to stay in the cache.
        let parts = codes.par_chunks_mut((columns.len() * 512).max(1)).zip(rows.inputs.par_chunks(512));
        parts.for_each(|(codes, inputs)| {
            for (at, column) in columns.iter().enumerate() {
                for (of_row, &input) in codes.chunks_exact_mut(columns.len()).zip(inputs) {
                    of_row[at] = column.codes()[input as usize];
                }
            }
        });
        let samples = Samples::new(soft, targets, rows.inputs);
        Self { soft, columns, samples, processor: Processor::detect(), codes }
    }

    /// The codes of a row, by column.
    #[inline(always)]
    pub(super) fn codes(&self, row: u32) -> &[u16] {
        &self.codes[row as usize * self.columns.len()..][..self.columns.len()]
    }

    /// True for nodes that must not be split.
    pub(super) fn ends(&self, depth: usize, rows: usize) -> bool {
        depth >= self.soft.max_depth || rows < 2 * self.soft.min_samples_leaf.max(1) || rows < 2
    }
}

/// A node's rows, columns and lanes, copied together.
struct Subtree {
    /// The leaf of the tree that it grows from.
    id: u32,
    depth: usize,
    rows: Vec<u32>,
    /// Positions of the columns that are not constant.
    columns: Vec<u32>,
    /// By column: `code << 16 | row`, ascending within each node.
    order: Vec<u32>,
    /// Blocks of a row.
    width: usize,
    /// Of these, blocks of targets.
    targets: usize,
    lanes: Vec<Block>,
}

/// A node to be split; its rows stand from `start` to `end` in the order of each column.
struct Node {
    id: u32,
    start: usize,
    end: usize,
    depth: usize,
    totals: Totals,
    /// Where the columns stand that are not constant in its parent.
    columns: (usize, usize),
    /// The column of its parent's split: searched first, as a good split spares the judging of others.
    hint: u32,
}

/// Buffers that nodes share.
struct Buffers {
    goes_left: Vec<u8>,
    order: Vec<u32>,
    left: Vec<Block>,
    columns: Vec<u32>,
    candidates: Vec<Candidate>,
}

fn row(entry: u32) -> usize {
    (entry & 0xffff) as usize
}

fn code(entry: u32) -> u16 {
    (entry >> 16) as u16
}

/// Grows `tree` below its leaf `id`, which holds these rows and has this depth.
pub(super) fn grow(fit: &Fit<'_>, tree: &mut Grown, id: u32, depth: usize, rows: &[u32]) {
    let mut todo = vec![Subtree::from_rows(fit, rows, id, depth)];
    while let Some(subtree) = todo.pop() {
        subtree.grow(fit, tree, &mut todo);
    }
}

impl Subtree {
    fn from_rows(fit: &Fit<'_>, rows: &[u32], id: u32, depth: usize) -> Self {
        assert!(rows.len() <= MAX_ROWS, "a row is 16 bits");
        let columns: Vec<u32> = (0..fit.columns.len() as u32).collect();
        let mut order = vec![0; rows.len() * columns.len()];
        let mut codes = Vec::with_capacity(rows.len());
        let mut starts: Vec<u32> = Vec::new();
        for (order, &at) in order.chunks_exact_mut(rows.len()).zip(&columns) {
            let column = &fit.columns[at as usize];
            codes.clear();
            codes.extend(rows.iter().map(|&row| fit.codes(row)[at as usize]));
            if column.levels() > 2 * rows.len() {
                let entries = codes.iter().zip(0_u32..).map(|(&code, row)| u32::from(code) << 16 | row);
                order.iter_mut().zip(entries).for_each(|(o, e)| *o = e);
                order.sort_unstable();
                continue;
            }
            starts.clear();
            starts.resize(column.levels() + 1, 0);
            for &code in &codes {
                starts[code as usize + 1] += 1;
            }
            for i in 1..starts.len() {
                starts[i] += starts[i - 1];
            }
            for (&code, row) in codes.iter().zip(0_u32..) {
                let place = &mut starts[code as usize];
                order[*place as usize] = u32::from(code) << 16 | row;
                *place += 1;
            }
        }
        Self::new(fit, (id, depth), rows.to_vec(), columns, order)
    }

    /// The rows of a node, with these of the columns.
    fn part(&self, fit: &Fit<'_>, node: &Node, columns: &[u32]) -> Self {
        let mut new = vec![0; self.rows.len()];
        let members = &self.order_of(columns[0])[node.start..node.end];
        let mut kept: Vec<u32> = members.iter().map(|&e| row(e) as u32).collect();
        kept.sort_unstable();
        for (&old, place) in kept.iter().zip(0_u32..) {
            new[old as usize] = place;
        }
        let mut order = Vec::with_capacity(kept.len() * columns.len());
        for &column in columns {
            let entries = &self.order_of(column)[node.start..node.end];
            order.extend(entries.iter().map(|&e| e & 0xffff_0000 | new[row(e)]));
        }
        let rows = kept.iter().map(|&row| self.rows[row as usize]).collect();
        let columns = columns.iter().map(|&c| self.columns[c as usize]).collect();
        Self::new(fit, (node.id, node.depth), rows, columns, order)
    }

    fn new(
        fit: &Fit<'_>,
        (id, depth): (u32, usize),
        rows: Vec<u32>,
        columns: Vec<u32>,
        order: Vec<u32>,
    ) -> Self {
        let Compact { width, targets, lanes } = Compact::new(&fit.samples, &rows);
        Self { id, depth, rows, columns, order, width, targets, lanes }
    }

    /// The order of the rows in a column.
    #[inline(always)]
    fn order_of(&self, column: u32) -> &[u32] {
        &self.order[column as usize * self.rows.len()..][..self.rows.len()]
    }

    /// The lanes of the row of an entry.
    #[inline(always)]
    fn lanes_of(&self, entry: u32) -> &[Block] {
        &self.lanes[row(entry) * self.width..][..self.width]
    }

    fn totals(&self, samples: &Samples, members: &[u32]) -> Totals {
        let (mut lanes, mut sums) = (vec![[0; 8]; self.width], RowSums::default());
        for &entry in members {
            add(&mut lanes, self.lanes_of(entry));
            sums.add(samples, self.rows[row(entry)]);
        }
        Totals::new(lanes, self.targets, sums)
    }

    fn grow(mut self, fit: &Fit<'_>, tree: &mut Grown, parts: &mut Vec<Self>) {
        let n = self.rows.len();
        if n == 0 || self.columns.is_empty() {
            return;
        }
        let mut buffers = Buffers {
            goes_left: vec![0; n],
            order: vec![0; n],
            left: vec![[0; 8]; self.width],
            columns: (0..self.columns.len() as u32).collect(),
            candidates: Vec::new(),
        };
        let totals = self.totals(&fit.samples, self.order_of(0));
        let columns = (0, self.columns.len());
        let mut todo =
            vec![Node { id: self.id, start: 0, end: n, depth: self.depth, totals, columns, hint: 0 }];
        while let Some(node) = todo.pop() {
            // What stands behind belonged to subtrees that are done.
            buffers.columns.truncate(node.columns.1);
            if fit.ends(node.depth, node.end - node.start) || node.totals.is_pure() {
                continue;
            }
            if 8 * (node.end - node.start) <= n && n > 64 {
                parts.push(self.part(fit, &node, &buffers.columns[node.columns.0..node.columns.1]));
                continue;
            }
            let Some(best) = self.best_split(fit, &node, &mut buffers) else { continue };
            let position = self.columns[best.column as usize];
            let (limit, test) = fit.columns[position as usize].test(best.codes.0, best.codes.1);
            let columns = (node.columns.1, buffers.columns.len());
            let middle = self.mark(&node, &best, &mut buffers.goes_left);
            let (left, right) = tree.split(node.id, position, limit, test);
            let depth = node.depth + 1;
            let members = &self.order_of(best.column)[node.start..node.end];
            let (l, r) = members.split_at(middle - node.start);
            let (of_left, of_right) = if l.len() < r.len() {
                let of_left = self.totals(&fit.samples, l);
                let of_right = Totals::rest(&node.totals, &of_left);
                (of_left, of_right)
            } else {
                let of_right = self.totals(&fit.samples, r);
                (Totals::rest(&node.totals, &of_right), of_right)
            };
            let children = [
                Node {
                    id: right,
                    start: middle,
                    end: node.end,
                    depth,
                    totals: of_right,
                    columns,
                    hint: best.column,
                },
                Node {
                    id: left,
                    start: node.start,
                    end: middle,
                    depth,
                    totals: of_left,
                    columns,
                    hint: best.column,
                },
            ];
            let ends = |c: &Node| fit.ends(c.depth, c.end - c.start) || c.totals.is_pure();
            if columns.0 == columns.1 || children.iter().all(ends) {
                continue;
            }
            for &column in &buffers.columns[columns.0..columns.1] {
                if column != best.column {
                    let order = &mut self.order[column as usize * n..][node.start..node.end];
                    partition(order, &buffers.goes_left, &mut buffers.order);
                }
            }
            todo.extend(children);
        }
    }

    /// Marks the rows that go left; returns where the others begin.
    fn mark(&self, node: &Node, split: &Candidate, goes_left: &mut [u8]) -> usize {
        let order = &self.order_of(split.column)[node.start..node.end];
        let left = order.partition_point(|&e| code(e) <= split.codes.0);
        for (i, &entry) in order.iter().enumerate() {
            goes_left[row(entry)] = u8::from(i < left);
        }
        node.start + left
    }

    /// The best split of a node, where one gains enough; its column is a position among those of
    /// the subtree. Behind the columns of `buffers` it adds those that are not constant here.
    fn best_split(&self, fit: &Fit<'_>, node: &Node, buffers: &mut Buffers) -> Option<Candidate> {
        let scales = node.totals.scales(fit.soft.alpha, fit.samples.one);
        let look = fit.soft.look > 0 && node.depth + 1 < fit.soft.max_depth;
        // Splits that gain all there is to gain need no further search. Up to rounding.
        let most = node.totals.most(&scales) * (1.0 - 1e-12);
        let mut best: Option<Candidate> = None;
        buffers.candidates.clear();
        for at in node.columns.0..node.columns.1 {
            let column = buffers.columns[at];
            let order = &self.order_of(column)[node.start..node.end];
            if code(order[0]) != code(order[order.len() - 1]) {
                buffers.columns.push(column);
            }
        }
        let varying = node.columns.1..buffers.columns.len();
        let first = buffers.columns[varying.clone()].iter().position(|&c| c == node.hint);
        for at in first.into_iter().chain(0..varying.len()) {
            let column = buffers.columns[varying.start + at];
            if best.is_some_and(|b| b.column == column) {
                continue;
            }
            // Of equal gains the first column's is taken.
            let above = match best.filter(|_| !look) {
                Some(best) if best.gain >= most && column > best.column => break,
                Some(best) if column < best.column => best.gain.next_down(),
                Some(best) => best.gain,
                None => fit.soft.min_gain.next_down(),
            };
            let order = &self.order_of(column)[node.start..node.end];
            let scan =
                Scan { fit, subtree: self, totals: &node.totals, scales: &scales, column, order, above };
            let Some(found) = scan.best(&mut buffers.left) else { continue };
            best = Some(found);
            if look {
                buffers.candidates.push(found);
            }
        }
        if !look {
            return best;
        }
        // Stable: of equal gains the first column's comes first.
        buffers.candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        buffers.candidates.truncate(fit.soft.look);
        let mut candidates = std::mem::take(&mut buffers.candidates);
        for candidate in &mut candidates {
            candidate.gain += fit.soft.gamma * self.look_ahead(fit, node, &scales, candidate, buffers);
        }
        let best = candidates.iter().copied().reduce(|a, b| if b.gain > a.gain { b } else { a });
        buffers.candidates = candidates;
        best
    }

    /// What the best splits of a candidate's two children gain, in the parent's scale.
    fn look_ahead(
        &self,
        fit: &Fit<'_>,
        node: &Node,
        scales: &Scales,
        candidate: &Candidate,
        buffers: &mut Buffers,
    ) -> f64 {
        let middle = self.mark(node, candidate, &mut buffers.goes_left) - node.start;
        let members = &self.order_of(candidate.column)[node.start..node.end];
        let totals = [&members[..middle], &members[middle..]].map(|m| self.totals(&fit.samples, m));
        let mut gains = [0.0_f64; 2];
        let columns = std::mem::take(&mut buffers.columns);
        let mut parts = vec![0; node.end - node.start];
        for &column in &columns[node.columns.1..] {
            parts.copy_from_slice(&self.order_of(column)[node.start..node.end]);
            partition(&mut parts, &buffers.goes_left, &mut buffers.order);
            let (left, right) = parts.split_at(middle);
            for (side, part) in [left, right].into_iter().enumerate() {
                let (totals, above) = (&totals[side], gains[side]);
                let scan = Scan { fit, subtree: self, totals, scales, column, order: part, above };
                let found = scan.best(&mut buffers.left);
                gains[side] = found.map_or(gains[side], |f| f.gain);
            }
        }
        buffers.columns = columns;
        gains[0] + gains[1]
    }
}

/// Moves the rows that go left to the front; both sides keep their order.
fn partition(order: &mut [u32], goes_left: &[u8], buffer: &mut [u32]) {
    let (mut left, mut right) = (0, 0);
    for i in 0..order.len() {
        let entry = order[i];
        let goes_left = usize::from(goes_left[row(entry)]);
        // Without a branch, which would be mispredicted: one of the two is overwritten.
        order[left] = entry;
        buffer[right] = entry;
        left += goes_left;
        right += 1 - goes_left;
    }
    order[left..].copy_from_slice(&buffer[..right]);
}

/// The search for the best split of one column, where it gains more than `above`.
#[derive(Clone, Copy)]
struct Scan<'a> {
    fit: &'a Fit<'a>,
    subtree: &'a Subtree,
    totals: &'a Totals,
    scales: &'a Scales,
    column: u32,
    order: &'a [u32],
    above: f64,
}

impl Scan<'_> {
    fn best(self, buffer: &mut [Block]) -> Option<Candidate> {
        let least_rows = self.fit.soft.min_samples_leaf.max(1);
        if self.order.len() < 2 * least_rows {
            return None;
        }
        macro_rules! few {
            ($($targets:literal + $costs:literal),*) => {
                match (self.subtree.targets, self.subtree.width - self.subtree.targets) {
                    $(($targets, $costs) => self.with(Few::<$targets, $costs>(
                        [[0; 8]; $targets],
                        [[0; 8]; $costs],
                    )),)*
                    (targets, _) => {
                        buffer.fill([0; 8]);
                        self.with(Many(buffer, targets))
                    }
                }
            };
        }
        few!(1 + 0, 2 + 0, 3 + 0, 1 + 1, 1 + 2, 2 + 2, 1 + 3, 2 + 3, 3 + 3, 2 + 4, 3 + 4, 4 + 4)
    }

    fn with<S: Sums>(self, left: S) -> Option<Candidate> {
        self.fit.processor.run(Moving(self, left))
    }
}

/// Moves rows from right to left in the order of their codes.
struct Moving<'a, S>(Scan<'a>, S);

impl<S: Sums> Run for Moving<'_, S> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<Candidate> {
        let Self(Scan { fit, subtree, totals, scales, column, order, above }, mut left) = self;
        let least_rows = fit.soft.min_samples_leaf.max(1);
        let judge = totals.judge(scales, lanes);
        let mut best = Candidate { gain: above, column, codes: (0, 0) };
        let unweighted = fit.samples.unweighted;
        let (mut count, mut promising) = (0, judge.wait(above, 0.0));
        let mut here = order[0];
        for (rows, &next) in (1..).zip(&order[1..=order.len() - least_rows]) {
            left.add(subtree.lanes_of(here));
            count += if unweighted { 1 } else { u64::from(fit.samples.count(subtree.rows[row(here)])) };
            let codes = (code(here), code(next));
            here = next;
            if codes.0 == codes.1 || rows < least_rows || count < promising {
                continue;
            }
            let (gain, wait) = judge.above(best.gain, &left, count);
            promising = count + wait;
            if let Some(gain) = gain {
                best = Candidate { gain, column, codes };
            }
        }
        (best.gain > above).then_some(best)
    }
}
