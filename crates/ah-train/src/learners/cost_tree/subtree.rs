//! The rows of a small node and of the nodes below it. They fit into the processor's cache, so
//! their codes and lanes are copied together.
//!
//! Each column keeps the rows of each node in the order of their codes, and a split partitions
//! every column stably. So nothing is sorted twice, and a level costs rows × columns.

use super::compact::CompactLanes;
use super::fit_data::FitData;
use super::gain::{Candidate, RowSums, Totals};
use super::lanes::{Block, add};
use super::samples::Samples;

/// Most rows of a subtree: a row's position has 16 bits, beside its code.
pub(super) const MAX_ROWS: usize = 1 << 16;

/// The rows of a small node.
pub(super) struct Subtree {
    /// The leaf of the tree that it grows from.
    pub id: u32,
    pub depth: usize,
    pub rows: Vec<u32>,
    /// Positions of the columns that are not constant. Behind this point a column is a position in
    /// this list.
    pub columns: Vec<u32>,
    /// By column: `code << 16 | row`, ascending within each node.
    order: Vec<u32>,
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
    /// The range in [`Buffers::columns`] of the columns that are not constant in its parent.
    pub columns: (usize, usize),
    /// The column of its parent's split. It is searched first: a good split saves the judging of
    /// worse ones.
    pub hint: u32,
}

/// Buffers that the nodes of a subtree share.
pub(super) struct Buffers {
    pub goes_left: Vec<u8>,
    pub order: Vec<u32>,
    pub left: Vec<Block>,
    /// The columns of the nodes on the path to the present node.
    pub columns: Vec<u32>,
}

/// Returns the row of an entry of an order.
pub(super) fn row(entry: u32) -> usize {
    (entry & 0xffff) as usize
}

/// Returns the code of an entry of an order.
pub(super) fn code(entry: u32) -> u16 {
    (entry >> 16) as u16
}

impl Subtree {
    /// Copies these rows of the fit together.
    pub(super) fn from_rows(fit: &FitData<'_>, rows: &[u32], id: u32, depth: usize) -> Self {
        assert!(rows.len() <= MAX_ROWS, "a row has 16 bits");
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
        let lanes = CompactLanes::new(&fit.samples, rows);
        Self { id, depth, rows: rows.to_vec(), columns, order, lanes }
    }

    /// Copies the rows of a node together, with these of the columns.
    pub(super) fn part(&self, fit: &FitData<'_>, node: &SubtreeNode, columns: &[u32]) -> Self {
        let mut new = vec![0; self.rows.len()];
        let mut kept: Vec<u32> = self.members(node, columns[0]).iter().map(|&e| row(e) as u32).collect();
        kept.sort_unstable();
        for (&old, place) in kept.iter().zip(0_u32..) {
            new[old as usize] = place;
        }
        let mut order = Vec::with_capacity(kept.len() * columns.len());
        for &column in columns {
            let entries = self.members(node, column).iter();
            order.extend(entries.map(|&e| e & 0xffff_0000 | new[row(e)]));
        }
        let rows: Vec<u32> = kept.iter().map(|&row| self.rows[row as usize]).collect();
        let columns = columns.iter().map(|&c| self.columns[c as usize]).collect();
        let lanes = CompactLanes::new(&fit.samples, &rows);
        Self { id: node.id, depth: node.depth, rows, columns, order, lanes }
    }

    /// Returns the node that holds all rows.
    pub(super) fn root(&self, fit: &FitData<'_>) -> SubtreeNode {
        let (end, columns) = (self.rows.len(), (0, self.columns.len()));
        let totals = self.totals(&fit.samples, &self.order[..end]);
        SubtreeNode { id: self.id, depth: self.depth, start: 0, end, totals, columns, hint: 0 }
    }

    /// Returns the entries of a node's rows in the order of a column.
    #[inline(always)]
    pub(super) fn members(&self, node: &SubtreeNode, column: u32) -> &[u32] {
        &self.order[column as usize * self.rows.len()..][node.start..node.end]
    }

    /// Returns the lanes of an entry's row.
    #[inline(always)]
    pub(super) fn lanes_of(&self, entry: u32) -> &[Block] {
        &self.lanes.lanes[row(entry) * self.lanes.blocks..][..self.lanes.blocks]
    }

    /// Returns the totals of the rows of these entries.
    pub(super) fn totals(&self, samples: &Samples, members: &[u32]) -> Totals {
        let (mut lanes, mut sums) = (vec![[0; 8]; self.lanes.blocks], RowSums::default());
        for &entry in members {
            add(&mut lanes, self.lanes_of(entry));
            sums.add(samples, self.rows[row(entry)]);
        }
        Totals::new(lanes, self.lanes.target_blocks, sums)
    }

    /// Marks the rows of a node that go left and returns their number.
    pub(super) fn mark(&self, node: &SubtreeNode, split: &Candidate, goes_left: &mut [u8]) -> usize {
        let members = self.members(node, split.column);
        let left = members.partition_point(|&e| code(e) <= split.codes.0);
        for (i, &entry) in members.iter().enumerate() {
            goes_left[row(entry)] = u8::from(i < left);
        }
        left
    }

    /// Partitions a node's rows by their marks, in the order of these columns.
    pub(super) fn partition(
        &mut self,
        node: &SubtreeNode,
        columns: impl Iterator<Item = u32>,
        goes_left: &[u8],
        buffer: &mut [u32],
    ) {
        let n = self.rows.len();
        for column in columns {
            let order = &mut self.order[column as usize * n..][node.start..node.end];
            partition(order, goes_left, buffer);
        }
    }
}

/// Moves the marked rows to the front; both sides keep their order.
pub(super) fn partition(order: &mut [u32], goes_left: &[u8], buffer: &mut [u32]) {
    let (mut left, mut right) = (0, 0);
    for i in 0..order.len() {
        let entry = order[i];
        let goes_left = usize::from(goes_left[row(entry)]);
        // No branch, as it would be mispredicted. One of the two entries is overwritten.
        order[left] = entry;
        buffer[right] = entry;
        left += goes_left;
        right += 1 - goes_left;
    }
    order[left..].copy_from_slice(&buffer[..right]);
}
