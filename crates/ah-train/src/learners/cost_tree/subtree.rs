//! The rows of a node and of the nodes below it. Their codes and lanes are copied together, so that those of a small node
//! fit into the processor's cache.
//!
//! Each column keeps the rows of each node in the order of their codes, and a split partitions
//! every column stably. So nothing is sorted twice, and a level costs rows × columns.

use std::ops::Range;

use rayon::prelude::*;

use super::compact::CompactLanes;
use super::fit_data::FitData;
use super::gain::{Candidate, RowSums, Totals};
use super::lanes::{Block, add};
use super::samples::Samples;

/// From this number of rows × columns on, a node's columns are searched and partitioned by all threads.
pub(super) const PARALLEL: usize = 50_000;

/// The rows of a node.
pub(super) struct Subtree {
    /// The node of the tree above that it grows from.
    pub id: u32,
    /// That node's depth in the whole tree.
    pub depth: usize,
    pub rows: Vec<u32>,
    /// Positions of the columns that are not constant. Behind this point a column is a position in
    /// this list.
    pub columns: Vec<u32>,
    /// By column an entry for each row, ascending within each node.
    order: Vec<u32>,
    pub entries: Entries,
    pub lanes: CompactLanes,
}

/// A node of a subtree that may be split.
pub(super) struct SubtreeNode {
    pub id: u32,
    pub depth: usize,
    /// Its rows are at `start..end` in the order of each column.
    pub start: usize,
    pub end: usize,
    pub totals: Totals,
    /// The columns that vary in it; at first, in its parent.
    pub columns: Vec<u32>,
    /// The column of its parent's split. It is searched first: a good split saves the judging of
    /// worse ones.
    pub hint: u32,
}

/// Buffers that the nodes of a subtree share.
pub(super) struct Buffers {
    pub goes_left: Vec<u8>,
    pub order: Vec<u32>,
    pub left: Vec<Block>,
}

/// How a row and its code share an entry of an order: `code << row_bits | row`. The 1024 codes of a training's columns
/// leave 22 bits: 4 million rows.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    row_bits: u32,
}

impl Entries {
    /// Returns the entries of so many rows with codes below `levels`.
    ///
    /// # Panics
    /// When both do not fit into 32 bits.
    fn new(rows: usize, levels: usize) -> Self {
        let bits = |count: usize| usize::BITS - count.saturating_sub(1).leading_zeros();
        let row_bits = bits(rows).max(1);
        assert!(row_bits + bits(levels) <= u32::BITS, "{rows} rows with {levels} codes");
        Self { row_bits }
    }

    #[inline(always)]
    fn entry(self, code: u16, row: u32) -> u32 {
        u32::from(code) << self.row_bits | row
    }

    /// Returns the row of an entry.
    #[inline(always)]
    pub(super) fn row(self, entry: u32) -> usize {
        (entry & ((1 << self.row_bits) - 1)) as usize
    }

    /// Returns the code of an entry.
    #[inline(always)]
    pub(super) fn code(self, entry: u32) -> u16 {
        (entry >> self.row_bits) as u16
    }
}

impl Subtree {
    /// Copies these rows of the fit together.
    pub(super) fn from_rows(fit: &FitData<'_>, rows: &[u32]) -> Self {
        let columns: Vec<u32> = (0..fit.columns.len() as u32).collect();
        let levels = fit.columns.iter().map(|column| column.levels()).max().unwrap_or(1);
        let entries = Entries::new(rows.len(), levels);
        let mut order = vec![0; rows.len() * columns.len()];
        let column = |(order, &at): (&mut [u32], &u32)| {
            let codes = rows.iter().map(|&row| fit.codes(row)[at as usize]).zip(0_u32..);
            let levels = fit.columns[at as usize].levels();
            if levels > 2 * rows.len() {
                order.iter_mut().zip(codes).for_each(|(o, (code, row))| *o = entries.entry(code, row));
                order.sort_unstable();
                return;
            }
            let mut starts = vec![0_u32; levels + 1];
            codes.clone().for_each(|(code, _)| starts[code as usize + 1] += 1);
            for i in 1..starts.len() {
                starts[i] += starts[i - 1];
            }
            for (code, row) in codes {
                let place = &mut starts[code as usize];
                order[*place as usize] = entries.entry(code, row);
                *place += 1;
            }
        };
        let parallel = order.len() >= PARALLEL;
        let length = rows.len().max(1);
        if parallel {
            order.par_chunks_exact_mut(length).zip(&columns).for_each(column);
        } else {
            order.chunks_exact_mut(length).zip(&columns).for_each(column);
        }
        let lanes = CompactLanes::new(&fit.samples, rows);
        Self { id: 0, depth: 0, rows: rows.to_vec(), columns, order, entries, lanes }
    }

    /// Copies the rows of a node together, with the columns that vary in it.
    pub(super) fn part(&self, fit: &FitData<'_>, node: &SubtreeNode) -> Self {
        let mut new = vec![0; self.rows.len()];
        let old = self.entries;
        let columns = &node.columns;
        let first = columns.first().copied().unwrap_or(0);
        let mut kept: Vec<u32> = self.members(node, first).iter().map(|&e| old.row(e) as u32).collect();
        kept.sort_unstable();
        for (&row, place) in kept.iter().zip(0_u32..) {
            new[row as usize] = place;
        }
        let mut order = Vec::with_capacity(kept.len() * columns.len());
        for &column in columns {
            let entries = self.members(node, column).iter();
            order.extend(entries.map(|&e| old.entry(old.code(e), new[old.row(e)])));
        }
        let rows: Vec<u32> = kept.iter().map(|&row| self.rows[row as usize]).collect();
        let columns = columns.iter().map(|&c| self.columns[c as usize]).collect();
        let lanes = CompactLanes::new(&fit.samples, &rows);
        Self { id: node.id, depth: node.depth, rows, columns, order, entries: old, lanes }
    }

    /// Returns the node that holds all rows.
    pub(super) fn root(&self, fit: &FitData<'_>) -> SubtreeNode {
        let (end, columns) = (self.rows.len(), (0..self.columns.len() as u32).collect());
        let totals = self.totals(&fit.samples, &self.order[..end]);
        SubtreeNode { id: 0, depth: self.depth, start: 0, end, totals, columns, hint: 0 }
    }

    /// Returns the entries of a node's rows in the order of a column.
    #[inline(always)]
    pub(super) fn members(&self, node: &SubtreeNode, column: u32) -> &[u32] {
        &self.order[column as usize * self.rows.len()..][node.start..node.end]
    }

    /// Returns whether a column varies in a node with this range.
    pub(super) fn varies(&self, range: Range<usize>, column: u32) -> bool {
        let order = &self.order[column as usize * self.rows.len()..][range];
        let code = |entry: Option<&u32>| entry.map(|&entry| self.entries.code(entry));
        code(order.first()) != code(order.last())
    }

    /// Returns the lanes of an entry's row.
    #[inline(always)]
    pub(super) fn lanes_of(&self, entry: u32) -> &[Block] {
        &self.lanes.lanes[self.entries.row(entry) * self.lanes.blocks..][..self.lanes.blocks]
    }

    /// Returns the totals of the rows of these entries.
    pub(super) fn totals(&self, samples: &Samples, members: &[u32]) -> Totals {
        let (mut lanes, mut sums) = (vec![[0; 8]; self.lanes.blocks], RowSums::default());
        for &entry in members {
            add(&mut lanes, self.lanes_of(entry));
            sums.add(samples, self.rows[self.entries.row(entry)]);
        }
        Totals::new(lanes, self.lanes.target_blocks, sums)
    }

    /// Marks the rows of a node that go left and returns their number.
    pub(super) fn mark(&self, node: &SubtreeNode, split: &Candidate, goes_left: &mut [u8]) -> usize {
        let members = self.members(node, split.column);
        let left = members.partition_point(|&e| self.entries.code(e) <= split.codes.0);
        for (i, &entry) in members.iter().enumerate() {
            goes_left[self.entries.row(entry)] = u8::from(i < left);
        }
        left
    }

    /// Partitions a node's rows by their marks in every column that varies but `done`, which is in order already.
    pub(super) fn partition(&mut self, node: &SubtreeNode, done: u32, goes_left: &[u8], buffer: &mut [u32]) {
        let (n, entries, columns) = (self.rows.len(), self.entries, &node.columns);
        if columns.len() * (node.end - node.start) < PARALLEL {
            for &column in columns.iter().filter(|&&column| column != done) {
                let order = &mut self.order[column as usize * n..][node.start..node.end];
                entries.partition(order, goes_left, buffer);
            }
            return;
        }
        let is_open =
            |(column, _): &(usize, _)| *column as u32 != done && columns.contains(&(*column as u32));
        self.order.par_chunks_exact_mut(n).enumerate().filter(is_open).for_each(|(_, order)| {
            let order = &mut order[node.start..node.end];
            entries.partition(order, goes_left, &mut vec![0; order.len()]);
        });
    }
}

impl Entries {
    /// Moves the marked rows to the front; both sides keep their order.
    pub(super) fn partition(self, order: &mut [u32], goes_left: &[u8], buffer: &mut [u32]) {
        let (mut left, mut right) = (0, 0);
        for i in 0..order.len() {
            let entry = order[i];
            let goes_left = usize::from(goes_left[self.row(entry)]);
            // No branch, as it would be mispredicted. One of the two entries is overwritten.
            order[left] = entry;
            buffer[right] = entry;
            left += goes_left;
            right += 1 - goes_left;
        }
        order[left..].copy_from_slice(&buffer[..right]);
    }
}
