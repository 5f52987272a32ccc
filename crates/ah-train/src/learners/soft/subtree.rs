//! Growing below a node whose rows fit into the processor's cache: its rows, columns and lanes are
//! copied together, each column keeps the rows of each node in the order of its codes, and a
//! split partitions all columns stably. So nothing is sorted twice, a level costs rows × columns,
//! and a column that is constant in a node is left out below it.

use rayon::prelude::*;

use super::Soft;
use super::compact::Compact;
use super::gain::{Candidate, RowSums, Totals};
use super::lanes::{Block, Processor, add};
use super::look::Look;
use super::samples::Samples;
use super::scan::Scan;
use crate::data::Column;
use crate::data::{Rows, Targets};
use crate::tree::GrownTree;

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
pub(super) struct Subtree {
    /// The leaf of the tree that it grows from.
    id: u32,
    depth: usize,
    pub(super) rows: Vec<u32>,
    /// Positions of the columns that are not constant.
    columns: Vec<u32>,
    /// By column: `code << 16 | row`, ascending within each node.
    order: Vec<u32>,
    /// Blocks of a row.
    pub(super) width: usize,
    /// Of these, blocks of targets.
    pub(super) targets: usize,
    lanes: Vec<Block>,
}

/// A node to be split; its rows stand from `start` to `end` in the order of each column.
pub(super) struct Node {
    id: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    depth: usize,
    pub(super) totals: Totals,
    /// Where the columns stand that are not constant in its parent.
    pub(super) columns: (usize, usize),
    /// The column of its parent's split: searched first, as a good split spares the judging of others.
    hint: u32,
}

/// Buffers that nodes share.
pub(super) struct Buffers {
    pub(super) goes_left: Vec<u8>,
    pub(super) order: Vec<u32>,
    pub(super) left: Vec<Block>,
    pub(super) columns: Vec<u32>,
}

pub(super) fn row(entry: u32) -> usize {
    (entry & 0xffff) as usize
}

pub(super) fn code(entry: u32) -> u16 {
    (entry >> 16) as u16
}

/// Grows `tree` below its leaf `id`, which holds these rows and has this depth.
pub(super) fn grow(fit: &Fit<'_>, tree: &mut GrownTree, id: u32, depth: usize, rows: &[u32]) {
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
    pub(super) fn order_of(&self, column: u32) -> &[u32] {
        &self.order[column as usize * self.rows.len()..][..self.rows.len()]
    }

    /// The lanes of the row of an entry.
    #[inline(always)]
    pub(super) fn lanes_of(&self, entry: u32) -> &[Block] {
        &self.lanes[row(entry) * self.width..][..self.width]
    }

    pub(super) fn totals(&self, samples: &Samples, members: &[u32]) -> Totals {
        let (mut lanes, mut sums) = (vec![[0; 8]; self.width], RowSums::default());
        for &entry in members {
            add(&mut lanes, self.lanes_of(entry));
            sums.add(samples, self.rows[row(entry)]);
        }
        Totals::new(lanes, self.targets, sums)
    }

    fn grow(mut self, fit: &Fit<'_>, tree: &mut GrownTree, parts: &mut Vec<Self>) {
        let n = self.rows.len();
        if n == 0 || self.columns.is_empty() {
            return;
        }
        let mut buffers = Buffers {
            goes_left: vec![0; n],
            order: vec![0; n],
            left: vec![[0; 8]; self.width],
            columns: (0..self.columns.len() as u32).collect(),
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
    pub(super) fn mark(&self, node: &Node, split: &Candidate, goes_left: &mut [u8]) -> usize {
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
        for at in node.columns.0..node.columns.1 {
            let column = buffers.columns[at];
            let order = &self.order_of(column)[node.start..node.end];
            if code(order[0]) != code(order[order.len() - 1]) {
                buffers.columns.push(column);
            }
        }
        let scales = node.totals.scales(fit.soft.alpha, fit.samples.one);
        if fit.soft.looks(node.depth) {
            return Look { fit, subtree: self, node, scales: &scales }.best_split(buffers);
        }
        // Splits that gain all there is to gain need no further search. Up to rounding.
        let most = node.totals.most(&scales) * (1.0 - 1e-12);
        let mut best: Option<Candidate> = None;
        let varying = node.columns.1..buffers.columns.len();
        let first = buffers.columns[varying.clone()].iter().position(|&c| c == node.hint);
        for at in first.into_iter().chain(0..varying.len()) {
            let column = buffers.columns[varying.start + at];
            if best.is_some_and(|b| b.column == column) {
                continue;
            }
            // Of equal gains the first column's is taken.
            let above = match best {
                Some(best) if best.gain >= most && column > best.column => break,
                Some(best) if column < best.column => best.gain.next_down(),
                Some(best) => best.gain,
                None => fit.soft.min_gain.next_down(),
            };
            let order = &self.order_of(column)[node.start..node.end];
            let scan =
                Scan { fit, subtree: self, totals: &node.totals, scales: &scales, column, order, above };
            best = scan.best(&mut buffers.left).or(best);
        }
        best
    }
}

/// Moves the rows that go left to the front; both sides keep their order.
pub(super) fn partition(order: &mut [u32], goes_left: &[u8], buffer: &mut [u32]) {
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
